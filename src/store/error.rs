//! What can go wrong in the store, with a stable code for each case.
//!
//! Messages name artifacts and digests; a path appears only in errors of opening a state directory, which go to
//! the error stream (`store.md` 11, item 11).

use std::path::PathBuf;

use thiserror::Error;

/// An error of the store. [`StoreError::code`] is its stable name.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// The state directory, or what it must hold, is not acceptable (`store.md` 2).
    #[error("state directory {}: {reason}", path.display())]
    StateDir {
        /// What is refused.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Inspection asked for a directory that holds no ledger.
    #[error("state directory {}: there is no ledger here", path.display())]
    NoLedger {
        /// Where one was looked for.
        path: PathBuf,
    },
    /// Another program kept the ledger locked for longer than the busy timeout.
    #[error("the ledger is locked by another program (waited {waited_ms} ms, while {context})")]
    Locked {
        /// What was being done.
        context: &'static str,
        /// The timeout that passed, in milliseconds.
        waited_ms: u64,
    },
    /// The ledger refused an operation.
    #[error("the ledger failed while {context}: {detail}")]
    Ledger {
        /// What was being done.
        context: &'static str,
        /// The database's own words.
        detail: String,
    },
    /// A write was asked of a store that was opened for inspection.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// There is no such run.
    #[error("there is no run {0}")]
    RunNotFound(String),
    /// The run's workflow has not ended, and deleting it anyway was not asked for.
    #[error("run {0} has not ended")]
    RunNotFinished(String),
    /// There is no such artifact in the run.
    #[error("run {run_id} has no artifact {artifact_id}")]
    ArtifactNotFound {
        /// The run.
        run_id: String,
        /// The artifact.
        artifact_id: String,
    },
    /// There is no such record among telic's own.
    #[error("there is no {kind} {id}")]
    RecordNotFound {
        /// The kind of record.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// The version guard failed: the run has moved since it was read.
    #[error("run {run_id} is no longer at version {expected}")]
    ConcurrentUpdate {
        /// The run.
        run_id: String,
        /// The version the caller had read.
        expected: i64,
    },
    /// The status guard failed: a record of telic's own has moved since it was read.
    #[error("{kind} {id} is no longer {expected}")]
    StatusConflict {
        /// The kind of record.
        kind: &'static str,
        /// Its id.
        id: String,
        /// The status the caller had read.
        expected: String,
    },
    /// A record of that kind and id, or one excluding it, exists already.
    #[error("{kind} {id} conflicts with a stored one")]
    RecordExists {
        /// The kind of record.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// Another worker holds the run's lease.
    #[error("run {run_id} is leased to another worker")]
    LeaseHeld {
        /// The run.
        run_id: String,
    },
    /// The lease is no longer the one held on the run.
    #[error("lease {lease_id} no longer holds run {run_id}")]
    LeaseLost {
        /// The run.
        run_id: String,
        /// The lease.
        lease_id: String,
    },
    /// A newer telic has added to this ledger what this one does not know.
    #[error("the ledger has telic's tables in version {found}; this telic knows {known}: use the newer one")]
    TooNew {
        /// The version found.
        found: i64,
        /// The greatest version known.
        known: i64,
    },
    /// The run exists already.
    #[error("run {0} exists already")]
    RunExists(String),
    /// The artifact id is used in this run.
    #[error("run {run_id} already has an artifact {artifact_id}")]
    ArtifactExists {
        /// The run.
        run_id: String,
        /// The artifact.
        artifact_id: String,
    },
    /// A supporting artifact was sent again with something different.
    #[error("artifact {artifact_id} of run {run_id} is stored with other content or metadata")]
    ReplayConflict {
        /// The run.
        run_id: String,
        /// The artifact.
        artifact_id: String,
    },
    /// A body's canonical text is too large.
    #[error("the canonical body has {bytes} bytes; {limit} are allowed")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The run holds as many artifacts as it may.
    #[error("run {run_id} already holds {limit} artifacts")]
    ArtifactLimit {
        /// The run.
        run_id: String,
        /// The limit.
        limit: i64,
    },
    /// The run's trace is full.
    #[error("the trace of run {run_id} already holds {limit} events")]
    TraceLimit {
        /// The run.
        run_id: String,
        /// The limit.
        limit: i64,
    },
    /// No more artifacts of this type are accepted now.
    #[error("run {run_id} already holds {limit} {kind} here")]
    Quota {
        /// The run.
        run_id: String,
        /// The artifact type.
        kind: String,
        /// The limit.
        limit: u64,
    },
    /// A value is not what the ledger may hold, or a stored row is malformed.
    #[error("{what}: {detail}")]
    Malformed {
        /// What is malformed.
        what: String,
        /// How.
        detail: String,
    },
    /// A body is missing, damaged, or not what its row says.
    #[error("the body {digest} {detail}")]
    Integrity {
        /// The digest of the body.
        digest: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The blob folder cannot be read or written.
    #[error("blob {digest}: {detail}")]
    Blob {
        /// The digest, or what stands for it.
        digest: String,
        /// The system's own words.
        detail: String,
    },
    /// A value has no canonical text.
    #[error("not canonical JSON: {0}")]
    Canonical(#[from] super::canonical_json::CanonicalError),
}

impl StoreError {
    /// The stable name of this error. Those that `controller.md` 11 lists have its names.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::StateDir { .. } => "state_directory_refused",
            Self::NoLedger { .. } => "no_ledger",
            Self::Locked { .. } => "ledger_locked",
            Self::Ledger { .. } | Self::Blob { .. } => "storage_failure",
            Self::ReadOnly => "store_read_only",
            Self::RunNotFound(_) => "run_not_found",
            Self::RunNotFinished(_) => "run_not_finished",
            Self::ArtifactNotFound { .. } => "artifact_not_found",
            Self::RecordNotFound { .. } => "record_not_found",
            Self::ConcurrentUpdate { .. } => "concurrent_update",
            Self::StatusConflict { .. } => "status_conflict",
            Self::RecordExists { .. } => "record_exists",
            Self::LeaseHeld { .. } => "lease_held",
            Self::LeaseLost { .. } => "lease_lost",
            Self::TooNew { .. } => "store_too_new",
            Self::RunExists(_) => "run_exists",
            Self::ArtifactExists { .. } => "artifact_exists",
            Self::ReplayConflict { .. } => "replay_conflict",
            Self::TooLarge { .. } => "artifact_too_large",
            Self::ArtifactLimit { .. } => "artifact_limit",
            Self::TraceLimit { .. } => "trace_limit",
            Self::Quota { .. } => "quota_exceeded",
            Self::Malformed { .. } | Self::Integrity { .. } => "integrity_failure",
            Self::Canonical(_) => "canonical_json_invalid",
        }
    }

    pub(super) fn sql(context: &'static str) -> impl Fn(rusqlite::Error) -> Self + Copy {
        move |error| Self::from_sql(context, &error)
    }

    pub(super) fn from_sql(context: &'static str, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Locked {
                context,
                waited_ms: u64::try_from(super::connection::BUSY_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
            },
            Some(rusqlite::ErrorCode::ReadOnly) => Self::ReadOnly,
            _ => Self::Ledger { context, detail: error.to_string() },
        }
    }

    pub(super) fn malformed(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Malformed { what: what.into(), detail: detail.into() }
    }

    pub(super) fn blob(digest: &super::Digest, detail: &impl ToString) -> Self {
        Self::Blob { digest: digest.to_string(), detail: detail.to_string() }
    }

    pub(super) fn integrity(digest: &super::Digest, detail: impl Into<String>) -> Self {
        Self::Integrity { digest: digest.to_string(), detail: detail.into() }
    }
}
