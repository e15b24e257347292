//! One try at a run by one worker, and the lease it holds meanwhile.

use super::ids::{AttemptId, LeaseId, RunId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};

/// How long a lease holds without a heartbeat, in milliseconds.
pub const LEASE_MILLIS: i64 = 30_000;
/// How often a worker says that it is alive, in milliseconds.
pub const HEARTBEAT_MILLIS: i64 = 5_000;

words! {
    /// Where an attempt stands.
    pub enum AttemptStatus {
        Starting = "STARTING",
        Active = "ACTIVE",
        Completed = "COMPLETED",
        Failed = "FAILED",
        LeaseExpired = "LEASE_EXPIRED",
        Cancelled = "CANCELLED",
    }
}

impl AttemptStatus {
    /// Whether it still works on the run (A-1 allows one such attempt).
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Starting | Self::Active)
    }
}

words! {
    /// Why an attempt failed.
    pub enum FailureCode {
        WorkerLost = "worker_lost",
        WorkspaceFailed = "workspace_failed",
        AgentNotFound = "agent_not_found",
        AgentStartFailed = "agent_start_failed",
        AgentCrashed = "agent_crashed",
        /// The agent exited although its phase is open.
        AgentExitedEarly = "agent_exited_early",
        AgentTimeout = "agent_timeout",
        AgentOutputLimit = "agent_output_limit",
        ToolUnavailable = "tool_unavailable",
        DiskFull = "disk_full",
        StoreUnavailable = "store_unavailable",
        Cancelled = "cancelled",
    }
}

words! {
    /// Whether a lease still holds.
    pub enum LeaseStatus {
        Held = "HELD",
        Released = "RELEASED",
        Expired = "EXPIRED",
    }
}

/// The right of one worker to work on a run until a moment that its heartbeats push on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The run.
    pub run_id: RunId,
    /// The attempt that holds it.
    pub attempt_id: AttemptId,
    /// The worker.
    pub worker_id: String,
    /// Whether it holds.
    pub status: LeaseStatus,
    /// When it was taken.
    pub acquired_at: Timestamp,
    /// When the worker was last heard.
    pub last_heartbeat_at: Timestamp,
    /// When it runs out.
    pub expires_at: Timestamp,
}

/// Where a worker works: true on its machine only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerPlace {
    /// The worker's machine.
    pub host: String,
    /// The workspace's real path.
    pub workspace: String,
    /// Whether telic made the workspace, and so may remove it.
    pub workspace_is_ours: bool,
}

/// A process that an attempt started; known by pid and start time, since pids come again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentProcess {
    /// The process id.
    pub pid: u32,
    /// Its process group.
    pub process_group: u32,
    /// When it started, in whatever unit the system counts.
    pub start_mark: String,
}

/// One try at a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// The run.
    pub run_id: RunId,
    /// 1, 2, and so on within the run.
    pub attempt_number: u32,
    /// The worker, or `host:<name>`.
    pub worker_id: String,
    /// The lease; none when a host drives the run.
    pub lease_id: Option<LeaseId>,
    /// Where it stands.
    pub status: AttemptStatus,
    /// Whether it ended because the workflow waits for an answer.
    pub paused: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was last heard.
    pub last_heartbeat_at: Timestamp,
    /// When its lease runs out.
    pub lease_expires_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed.
    pub failure_code: Option<FailureCode>,
    /// Where it works.
    pub place: Option<WorkerPlace>,
    /// The agent's process.
    pub process: Option<AgentProcess>,
    /// The agent's exit code, once it exited.
    pub exit_code: Option<i32>,
}
