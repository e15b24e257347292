//! Who asked, and the conversation around it. Messages are free text and never instructions to telic.

use super::ids::{MessageId, RunId, SessionId, TaskId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

words! {
    /// Where a session or a task came from.
    pub enum Source {
        Cli = "cli",
        Tui = "tui",
        Mcp = "mcp",
        Api = "api",
    }
}

words! {
    /// Whether a session is still talked in.
    pub enum SessionStatus {
        Open = "OPEN",
        Idle = "IDLE",
        Closed = "CLOSED",
    }
}

words! {
    /// Who wrote a message.
    pub enum MessageRole {
        User = "USER",
        System = "SYSTEM",
        Agent = "AGENT",
        Reviewer = "REVIEWER",
    }
}

/// A conversation that tasks came out of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The person it belongs to.
    pub owner: String,
    /// The channel it was opened in.
    pub source: Source,
    /// The tasks that came out of it, oldest first.
    pub related_tasks: Vec<TaskId>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything was last said or asked.
    pub last_activity_at: Timestamp,
    /// Whether it goes on.
    pub status: SessionStatus,
}

/// One thing said in a session: a request, a question, an answer, a review comment, an approval note.
///
/// Messages are records of their own, only ever added to, so that a long session costs nothing to open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The session it was said in.
    pub session_id: SessionId,
    /// The task it is about, if any.
    pub task_id: Option<TaskId>,
    /// The run it is about, if any.
    pub run_id: Option<RunId>,
    /// Who said it.
    pub role: MessageRole,
    /// What was said, as it came in.
    pub content: String,
    /// When.
    pub created_at: Timestamp,
    /// Small facts about it.
    pub metadata: Map<String, Value>,
}
