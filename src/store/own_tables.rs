//! The tables of telic's own records (`store.md` 9): one per kind, all of one shape.
//!
//! A row holds the record as JSON and beside it only what rows are found by. `position` grows with each insert, so
//! the order of records survives a vacuum and the latest is the greatest.

use std::fmt::Write as _;

/// What the store knows about one kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Its name in messages and in the feed, as `verdict`.
    pub name: &'static str,
    table: &'static str,
    /// Rows go away with their run. Not for what may come before a run or outlive it.
    of_run: bool,
    /// Rows are never changed (VD-4).
    pub(super) insert_only: bool,
}

impl Kind {
    const fn new(name: &'static str, table: &'static str, of_run: bool, insert_only: bool) -> Self {
        Self { name, table, of_run, insert_only }
    }

    pub(super) const fn table(&self) -> &'static str {
        self.table
    }

    /// Sessions.
    pub const SESSION: Self = Self::new("session", "telic_sessions", false, false);
    /// Messages of sessions.
    pub const MESSAGE: Self = Self::new("message", "telic_messages", false, true);
    /// Tasks.
    pub const TASK: Self = Self::new("task", "telic_tasks", false, false);
    /// Runs as the supervision sees them.
    pub const RUN: Self = Self::new("run", "telic_runs", false, false);
    /// Attempts; at most one of a run is STARTING or ACTIVE.
    pub const ATTEMPT: Self = Self::new("attempt", "telic_attempts", true, false);
    /// Steps.
    pub const STEP: Self = Self::new("step", "telic_steps", true, false);
    /// Tool calls.
    pub const TOOL_CALL: Self = Self::new("tool call", "telic_tool_calls", true, false);
    /// Artifacts that a run produced, beside the workflow's.
    pub const RUN_ARTIFACT: Self = Self::new("run artifact", "telic_run_artifacts", true, true);
    /// Patches.
    pub const PATCH: Self = Self::new("patch", "telic_patches", true, false);
    /// Verification reports.
    pub const VERIFICATION: Self = Self::new("verification report", "telic_verifications", true, true);
    /// Judge reports.
    pub const JUDGE: Self = Self::new("judge report", "telic_judge_reports", true, true);
    /// Verdicts; never edited (VD-4).
    pub const VERDICT: Self = Self::new("verdict", "telic_verdicts", true, true);
    /// Approvals; they add, and are never edited (AP-3).
    pub const APPROVAL: Self = Self::new("approval", "telic_approvals", true, true);
    /// Questions that wait for a person.
    pub const REQUEST: Self = Self::new("request", "telic_requests", true, false);

    /// Every kind, those first that others refer to.
    pub const ALL: [Self; 14] = [
        Self::SESSION,
        Self::MESSAGE,
        Self::TASK,
        Self::RUN,
        Self::ATTEMPT,
        Self::STEP,
        Self::TOOL_CALL,
        Self::RUN_ARTIFACT,
        Self::PATCH,
        Self::VERIFICATION,
        Self::JUDGE,
        Self::VERDICT,
        Self::APPROVAL,
        Self::REQUEST,
    ];
}

/// Tables that do not have the common shape.
const OTHERS: &str = "
-- A-1: at most one attempt of a run works on it.
CREATE UNIQUE INDEX IF NOT EXISTS telic_attempts_live_idx ON telic_attempts (run_id)
  WHERE status IN ('STARTING', 'ACTIVE');
-- The one current lease of a run; taking it is one statement.
CREATE TABLE IF NOT EXISTS telic_leases (
  run_id TEXT PRIMARY KEY REFERENCES telic_runs (id) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  worker_id TEXT NOT NULL,
  status TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS telic_leases_expiry_idx ON telic_leases (status, expires_at);
-- What happened, for ever: one global sequence, never used twice.
CREATE TABLE IF NOT EXISTS telic_events (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  run_id TEXT,
  task_id TEXT,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS telic_events_run_idx ON telic_events (run_id);
CREATE INDEX IF NOT EXISTS telic_events_task_idx ON telic_events (task_id);
-- Which records were written last, for the feed; old rows are trimmed.
CREATE TABLE IF NOT EXISTS telic_touched (
  revision INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  run_id TEXT,
  task_id TEXT
) STRICT;
-- Small facts about this store: consents, counters.
CREATE TABLE IF NOT EXISTS telic_facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
";

/// Everything that creates telic's own record tables, in order.
pub(super) fn statements() -> String {
    let mut sql = String::new();
    for kind in Kind::ALL {
        let table = kind.table;
        let reference =
            if kind.of_run { "NOT NULL REFERENCES telic_runs (id) ON DELETE CASCADE" } else { "" };
        write!(
            sql,
            "CREATE TABLE IF NOT EXISTS {table} (
               position INTEGER PRIMARY KEY AUTOINCREMENT,
               id TEXT NOT NULL UNIQUE,
               run_id TEXT {reference},
               task_id TEXT,
               parent_id TEXT,
               status TEXT NOT NULL,
               body TEXT NOT NULL
             ) STRICT;
             CREATE INDEX IF NOT EXISTS {table}_status_idx ON {table} (status);
             CREATE INDEX IF NOT EXISTS {table}_run_idx ON {table} (run_id) WHERE run_id IS NOT NULL;
             CREATE INDEX IF NOT EXISTS {table}_task_idx ON {table} (task_id) WHERE task_id IS NOT NULL;
             CREATE INDEX IF NOT EXISTS {table}_parent_idx ON {table} (parent_id) WHERE parent_id IS NOT NULL;\n"
        )
        .expect("writing to a String cannot fail");
    }
    sql + OTHERS
}
