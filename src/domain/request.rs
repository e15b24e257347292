//! A question that waits for a person. It has no default answer and no timer that picks one.

use super::ids::{CallId, RequestId, RunId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What is asked.
    pub enum RequestKind {
        /// The workflow asks for a clarification.
        Clarification = "CLARIFICATION",
        /// A tool call needs leave.
        ToolCall = "TOOL_CALL",
        /// A budget is spent.
        Budget = "BUDGET",
        /// Commands of a repository want to run for the first time.
        Consent = "CONSENT",
        /// A verdict waits for approval.
        Approval = "APPROVAL",
    }
}

words! {
    /// What became of it; the four ends are four different records.
    pub enum RequestStatus {
        Open = "OPEN",
        Answered = "ANSWERED",
        Withdrawn = "WITHDRAWN",
        Expired = "EXPIRED",
        Cancelled = "CANCELLED",
        Superseded = "SUPERSEDED",
    }
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestChoice {
    /// The word that answers.
    pub id: String,
    /// What it means.
    pub label: String,
    /// What follows from it.
    pub consequence: String,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// The run that waits.
    pub run_id: RunId,
    /// What is asked.
    pub kind: RequestKind,
    /// What became of it.
    pub status: RequestStatus,
    /// The question.
    pub question: String,
    /// What it is about, shown whole: a command, a list of commands, a budget.
    pub subject: String,
    /// The ways to answer.
    pub choices: Vec<RequestChoice>,
    /// The tool call that waits, if one does.
    pub tool_call_id: Option<CallId>,
    /// The answer, once given.
    pub answer: Option<String>,
    /// Who answered or ended it.
    pub actor: Option<String>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}
