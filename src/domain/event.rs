//! What happened, in one order, for ever. The feed alone is enough to rebuild every status.

use super::ids::{AttemptId, EventId, RunId, StepId, TaskId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

words! {
    /// What happened.
    pub enum EventType {
        TaskSubmitted = "TaskSubmitted",
        TaskAccepted = "TaskAccepted",
        TaskDenied = "TaskDenied",
        RunCreated = "RunCreated",
        RunQueued = "RunQueued",
        LeaseAcquired = "LeaseAcquired",
        LeaseExpired = "LeaseExpired",
        WorkspacePrepared = "WorkspacePrepared",
        StepStarted = "StepStarted",
        StepEnded = "StepEnded",
        ToolCallRequested = "ToolCallRequested",
        ToolCallDenied = "ToolCallDenied",
        ToolCallCompleted = "ToolCallCompleted",
        ClarificationRequested = "ClarificationRequested",
        ClarificationAnswered = "ClarificationAnswered",
        PatchProduced = "PatchProduced",
        VerifierStarted = "VerifierStarted",
        VerifierCompleted = "VerifierCompleted",
        JudgeCompleted = "JudgeCompleted",
        VerdictDecided = "VerdictDecided",
        ApprovalRecorded = "ApprovalRecorded",
        PrRequested = "PrRequested",
        PrCreated = "PrCreated",
        PrFailed = "PrFailed",
        RunCompleted = "RunCompleted",
        RunCancelled = "RunCancelled",
    }
}

/// One thing that happened. The ids are those it belongs to, where they exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its place in the one global order; 0 until the store gave it one.
    pub sequence: u64,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The task.
    pub task_id: Option<TaskId>,
    /// The run.
    pub run_id: Option<RunId>,
    /// The attempt.
    pub attempt_id: Option<AttemptId>,
    /// The step.
    pub step_id: Option<StepId>,
    /// Who did it: a person, a worker, `engine`, `controller`.
    pub actor: String,
    /// When.
    pub at: Timestamp,
    /// Small facts: what the status was and became, ids of other records.
    pub data: Map<String, Value>,
}
