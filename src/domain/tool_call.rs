//! A call of a mediated tool: asked, decided, and only then carried out (TC-1, TC-2).

use super::ids::{ArtifactId, CallId, RunId, StepId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What was decided about a call before anything ran.
    pub enum CallDecision {
        Allowed = "ALLOWED",
        DeniedByPolicy = "DENIED_BY_POLICY",
        DeniedByPathGuard = "DENIED_BY_PATH_GUARD",
        DeniedByCommandGuard = "DENIED_BY_COMMAND_GUARD",
        DeniedByBudget = "DENIED_BY_BUDGET",
        RequiresApproval = "REQUIRES_APPROVAL",
    }
}

impl CallDecision {
    /// Whether it may never run (TC-3).
    #[must_use]
    pub fn is_denied(self) -> bool {
        !matches!(self, Self::Allowed | Self::RequiresApproval)
    }
}

/// What came of an allowed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallResult {
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// Logs and evidence that telic captured.
    pub artifacts: Vec<ArtifactId>,
    /// One line.
    pub summary: String,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    /// Its id.
    pub id: CallId,
    /// The run.
    pub run_id: RunId,
    /// The step that it is (S-4).
    pub step_id: StepId,
    /// The tool.
    pub tool_name: String,
    /// The arguments as JSON text; likely secrets are masked (TC-5).
    pub arguments_json: String,
    /// What was decided.
    pub decision: CallDecision,
    /// Why it was denied.
    pub denial_reason: Option<String>,
    /// What came of it; none while it waits and when it was denied.
    pub result: Option<CallResult>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}
