//! A task: what somebody wants done, where, and how far it may go.

use super::ids::{SessionId, TaskId};
use super::policy::{AutonomyLevel, PlannedCheck, Reason};
use super::session::Source;
use super::time::Timestamp;
use super::words::words;
use crate::protocol::{Commit, IntentMode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest instruction, in UTF-16 code units (it becomes the workflow's original request, unchanged).
pub const INSTRUCTION_LIMIT: usize = 32_768;

words! {
    /// What kind of work is asked for.
    pub enum TaskType {
        DependencyUpgrade = "dependency_upgrade",
        ApiMigration = "api_migration",
        BugFix = "bug_fix",
        Feature = "feature",
        Refactor = "refactor",
        Analysis = "analysis",
        Report = "report",
        Other = "other",
    }
}

impl TaskType {
    /// The workflow mode of a task whose submitter named none.
    #[must_use]
    pub fn default_mode(self) -> IntentMode {
        match self {
            Self::Analysis => IntentMode::AnalyzeOnly,
            Self::Report => IntentMode::ReportOnly,
            _ => IntentMode::AnalyzeAndFix,
        }
    }
}

words! {
    /// Where a task stands (T-6 says how it moves).
    pub enum TaskStatus {
        Draft = "DRAFT",
        Accepted = "ACCEPTED",
        PolicyDenied = "POLICY_DENIED",
        ReadyForRun = "READY_FOR_RUN",
        Running = "RUNNING",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
        Archived = "ARCHIVED",
    }
}

/// What somebody wants done. It never holds logs of steps (T-5): those belong to runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The session it came out of.
    pub session_id: SessionId,
    /// The channel it came in by.
    pub source: Source,
    /// Who asked: a person, or the host that started a run by itself.
    pub created_by: String,
    /// What kind of work it is.
    #[serde(rename = "type")]
    pub task_type: TaskType,
    /// One line to know it by.
    pub title: String,
    /// The request itself, never blank (T-1), at most [`INSTRUCTION_LIMIT`] units, never changed.
    pub instruction: String,
    /// The workflow's intent mode.
    pub mode: IntentMode,
    /// The real path of the repository root, once resolved.
    pub repository: Option<String>,
    /// The branch or revision that was named.
    pub base_ref: Option<String>,
    /// What it resolved to; none in a folder without git.
    pub base_commit: Option<Commit>,
    /// How far a run may go by itself.
    pub autonomy_level: AutonomyLevel,
    /// The person's own narrowing of what may change; empty means no narrowing.
    pub allowed_paths: Vec<String>,
    /// What the person forbids to change.
    pub forbidden_paths: Vec<String>,
    /// Checks that the person asks for.
    pub verification: Vec<PlannedCheck>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Where it stands.
    pub status: TaskStatus,
    /// Why it was denied; never empty when it was (T-3).
    pub denial_reasons: Vec<Reason>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its status last moved.
    pub updated_at: Timestamp,
}
