//! The view models: what the dashboard draws and the command line prints as JSON.
//!
//! Plain data that serializes and compares. `service` fills it, `engine` sends it (see [`super::link`]), `tui`
//! and `cli` show it. It owns no rule: what a status means is `domain`'s, what a phase allows is the
//! controller's. Text in here is as it was stored, so whoever draws it passes it through [`crate::text`].
//! Times are RFC 3339 strings in UTC, as stored. Enum values of the protocol stand as the protocol spells them.

mod review;
mod run;

use std::sync::Arc;

use serde::Serialize;

pub use review::*;
pub use run::*;

/// A moment, RFC 3339 in UTC with three fraction digits.
pub type Stamp = String;

/// The ten phases of the rail, in order, as the protocol spells them.
pub const RAIL: [&str; 10] = [
    "context_discovery",
    "agent_1_frame",
    "agent_2_compile",
    "agent_1_review",
    "agent_2_revision",
    "agent_3_plan",
    "agent_4_execute",
    "agent_3_quality_review",
    "agent_5_release_audit",
    "user_report",
];

/// Everything that the home screen shows: the latest state of all watched stores.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Grows by one with every snapshot that differs from the one before.
    pub generation: u64,
    /// When it was taken.
    pub taken_at: Stamp,
    /// The watched stores.
    pub stores: Vec<StoreInfo>,
    /// Every run of every store, newest change first.
    pub rows: Arc<Vec<RunRow>>,
    /// What the background engine is doing.
    pub engine: EngineStatus,
}

impl Snapshot {
    /// The row of a run.
    #[must_use]
    pub fn row(&self, key: &RunKey) -> Option<&RunRow> {
        self.rows.iter().find(|row| row.key == *key)
    }
}

/// One watched store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreInfo {
    /// Name of the store in [`RunKey::store`].
    pub id: String,
    /// Root of the repository it belongs to, when known.
    pub repository_root: Option<String>,
    /// Folder that holds it.
    pub state_dir: String,
    /// Why it cannot be read, in words.
    pub error: Option<String>,
}

/// Whether an engine works on the stores, and on what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineStatus {
    /// Whether an engine runs in this process or another one.
    pub running: bool,
    /// Number of leases held.
    pub leases: usize,
    /// Number of runs that wait for a lease.
    pub queue: usize,
    /// The last thing that went wrong, in words.
    pub last_error: Option<String>,
    /// Name of the worker.
    pub worker: Option<String>,
}

/// Names a run among all watched stores.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunKey {
    /// [`StoreInfo::id`].
    pub store: String,
    /// The run's id.
    pub run: String,
}

/// State of one phase of the rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// Not reached yet.
    #[default]
    Todo,
    /// Left with an accepted artifact.
    Done,
    /// The phase the workflow is in.
    Current,
    /// The phase the workflow is in, while a person has to answer.
    Waiting,
    /// The phase in which the workflow ended badly.
    Failed,
    /// Never entered, since a later phase was.
    Skipped,
}

/// One phase of the rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseCell {
    /// Where the phase stands.
    pub state: CellState,
    /// How often it was entered; over 1 after a revision or remediation.
    pub visits: u32,
}

/// What a run wants of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A question with choices.
    Clarification,
    /// A tool call that policy wants asked for.
    ToolCall,
    /// A verdict to approve or reject.
    Approval,
    /// A publication that failed.
    Publication,
    /// Infrastructure failed and no attempts are left.
    Infrastructure,
    /// A budget is spent: extend it or end the run.
    Budget,
}

/// A run's place in the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// What is wanted.
    pub kind: NeedKind,
    /// Since when it waits.
    pub since: Stamp,
    /// One line about it, such as the question.
    pub line: String,
}

/// A verdict in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictLine {
    /// Verdict status, such as `SUCCESS_NEEDS_REVIEW`.
    pub status: String,
    /// `prEligibility`.
    pub eligibility: String,
    /// The latest approval's decision, such as `APPROVED`.
    pub approval: Option<String>,
    /// Address of the pull request, when there is one.
    pub pull_request: Option<String>,
}

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRow {
    /// Which run.
    pub key: RunKey,
    /// Its task, when it has one.
    pub task_id: Option<String>,
    /// The task's title, or the first words of the request.
    pub title: String,
    /// First line of the request.
    pub request_line: String,
    /// Name of the repository (last part of its root).
    pub repository: String,
    /// Branch or workspace branch, when known.
    pub branch: Option<String>,
    /// Intent mode.
    pub mode: String,
    /// Workflow status, such as `awaiting_clarification`.
    pub workflow_status: String,
    /// Workflow phase.
    pub phase: String,
    /// Status of the supervising run, such as `RUNNING_AGENT`; none for a run that only has a workflow.
    pub supervision_status: Option<String>,
    /// The ten phases of [`RAIL`].
    pub rail: [PhaseCell; 10],
    /// Number of attempts.
    pub attempts: u32,
    /// What it wants of a person.
    pub need: Option<Need>,
    /// Its state as one plain sentence.
    pub sentence: String,
    /// What happens next, as one plain sentence; empty when nothing does.
    pub next: String,
    /// Its verdict.
    pub verdict: Option<VerdictLine>,
    /// Version of the workflow run: the guard of every decision.
    pub version: u64,
    /// When it was created.
    pub created_at: Stamp,
    /// When it last changed.
    pub updated_at: Stamp,
    /// Whether it is over: nothing is running and nothing will.
    pub ended: bool,
}
