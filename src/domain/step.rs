//! One step of an attempt, in order and without gaps.

use super::ids::{ArtifactId, AttemptId, CallId, RunId, StepId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest output that stays an attribute, in bytes; more is an artifact (S-5).
pub const ATTRIBUTE_LIMIT: usize = 4_096;

words! {
    /// What a step does.
    pub enum StepType {
        PrepareWorkspace = "PREPARE_WORKSPACE",
        CloneRepository = "CLONE_REPOSITORY",
        LoadContext = "LOAD_CONTEXT",
        ModelPlanning = "MODEL_PLANNING",
        ToolCall = "TOOL_CALL",
        ApplyPatch = "APPLY_PATCH",
        RunVerifier = "RUN_VERIFIER",
        SummarizeLog = "SUMMARIZE_LOG",
        JudgeDiff = "JUDGE_DIFF",
        CollectArtifacts = "COLLECT_ARTIFACTS",
        Finalize = "FINALIZE",
    }
}

words! {
    /// Where a step stands.
    pub enum StepStatus {
        Started = "STARTED",
        Succeeded = "SUCCEEDED",
        Failed = "FAILED",
        Skipped = "SKIPPED",
        Denied = "DENIED",
        TimedOut = "TIMED_OUT",
    }
}

/// One step of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The run.
    pub run_id: RunId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// From 1, without gaps within the attempt (S-1).
    pub sequence_number: u32,
    /// What it does.
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// Where it stands.
    pub status: StepStatus,
    /// One line to know it by.
    pub title: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed (S-3).
    pub failure_code: Option<String>,
    /// The tool call that it is (S-4).
    pub tool_call_id: Option<CallId>,
    /// Small facts (S-5).
    pub attributes: Map<String, Value>,
    /// What it produced.
    pub artifacts: Vec<ArtifactId>,
}
