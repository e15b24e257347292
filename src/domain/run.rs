//! A run: one carrying-out of a task. Paths and pids belong to its attempts, since a run is not bound to a machine.

use super::ids::{PatchId, RunId, TaskId, VerdictId};
use super::policy::PolicyDecision;
use super::time::Timestamp;
use super::words::words;
use crate::protocol::{Commit, IntentMode, Sha256};
use serde::{Deserialize, Serialize};

words! {
    /// Where a run stands. Waiting for a clarification is not a status of its own.
    pub enum RunStatus {
        Created = "CREATED",
        Queued = "QUEUED",
        Leased = "LEASED",
        PreparingWorkspace = "PREPARING_WORKSPACE",
        RunningAgent = "RUNNING_AGENT",
        Verifying = "VERIFYING",
        Judging = "JUDGING",
        NeedsApproval = "NEEDS_APPROVAL",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
        Expired = "EXPIRED",
    }
}

impl RunStatus {
    /// Whether the run has ended. A completed run may still be re-checked until it is published.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

words! {
    /// What became of the run's workspace.
    pub enum WorkspaceState {
        None = "NONE",
        Ready = "READY",
        Kept = "KEPT",
        Removed = "REMOVED",
    }
}

words! {
    /// How far publishing got.
    pub enum PublicationStatus {
        NotRequested = "NOT_REQUESTED",
        Requested = "REQUESTED",
        Pushed = "PUSHED",
        Created = "CREATED",
        Failed = "FAILED",
    }
}

/// What was, or is to be, published for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Publication {
    /// How far it got.
    pub status: PublicationStatus,
    /// The remote.
    pub remote: String,
    /// The branch that carries the patch.
    pub branch: String,
    /// The commit that carries the patch, once made.
    pub commit: Option<Commit>,
    /// The pull request, or the page to open one.
    pub url: Option<String>,
    /// What is left to run by hand, when no program could do it.
    pub next_commands: Vec<String>,
    /// Whether it is a draft.
    pub draft: bool,
    /// Digest of the body as it was sent.
    pub body_sha256: Option<Sha256>,
    /// The verdict it stands on.
    pub verdict_id: VerdictId,
    /// Why it failed.
    pub failure: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it last moved.
    pub updated_at: Timestamp,
}

words! {
    /// What a budget measures.
    pub enum BudgetKind {
        WallClock = "wall_clock",
        Attempts = "attempts",
        ToolCalls = "tool_calls",
        OutputBytes = "output_bytes",
    }
}

/// What a run has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetUse {
    /// Milliseconds of wall clock without the time that waited for a person.
    pub active_millis: u64,
    /// Mediated tool calls.
    pub tool_calls: u64,
    /// Bytes of captured output.
    pub output_bytes: u64,
}

/// More budget, granted by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetExtension {
    /// Which budget.
    pub kind: BudgetKind,
    /// By how much: seconds, attempts, calls or bytes.
    pub amount: u64,
    /// Who granted it.
    pub actor: String,
    /// When.
    pub granted_at: Timestamp,
}

/// One carrying-out of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// Its id, which is also the workflow run's id.
    pub id: RunId,
    /// The task it carries out.
    pub task_id: TaskId,
    /// The run that this one repeats, if any.
    pub previous_run_id: Option<RunId>,
    /// The repository root.
    pub repository: String,
    /// The branch or revision that was named.
    pub base_ref: Option<String>,
    /// The base commit, bound before it is queued; none in a folder without git.
    pub base_commit: Option<Commit>,
    /// The workflow's intent mode.
    pub mode: IntentMode,
    /// The configured agent; none when a host drives the run.
    pub agent: Option<String>,
    /// Whether a host drives it in the repository itself, without an engine.
    pub host_driven: bool,
    /// Where it stands.
    pub status: RunStatus,
    /// Whether its workflow waits for a person; no attempt is active then.
    pub paused: bool,
    /// What was decided about the task before it.
    pub policy_decision: Option<PolicyDecision>,
    /// Digest of its frozen execution spec.
    pub execution_spec_sha256: Option<Sha256>,
    /// Attempts started so far.
    pub attempts_used: u32,
    /// What it spent.
    pub budget_use: BudgetUse,
    /// What a person granted on top.
    pub budget_extensions: Vec<BudgetExtension>,
    /// What became of its workspace.
    pub workspace_state: WorkspaceState,
    /// The final patch, if there is one.
    pub patch_id: Option<PatchId>,
    /// The effective verdict.
    pub verdict_id: Option<VerdictId>,
    /// What was published, or asked to be.
    pub publication: Option<Publication>,
    /// Why it failed, as a code.
    pub failure_code: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When anything about it last moved.
    pub updated_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Run {
    /// The workflow run that belongs to it: the same id.
    #[must_use]
    pub fn workflow_run_id(&self) -> &RunId {
        &self.id
    }
}
