//! Why a part of the engine failed.

use crate::domain::DomainError;
use crate::git::GitError;
use crate::service::ServiceError;
use std::path::Path;

/// Why a part of the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A use case failed or was refused.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file cannot be used.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Something is not there that must be.
    #[error("{0}")]
    Missing(String),
}

impl EngineError {
    /// Something that a run must have and has not.
    pub(super) fn missing(run: impl std::fmt::Display, what: &str) -> Self {
        Self::Missing(format!("run {run} has no {what}"))
    }

    /// Names what was tried with a file.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { what, path, source }
    }

    /// The stable name of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Service(error) => error.code(),
            Self::Git(error) => error.code(),
            Self::Io { .. } => "file_failed",
            Self::Missing(_) => "integrity_failure",
        }
    }

    /// Whether the lease was lost: the worker must stop and write nothing more.
    #[must_use]
    pub fn is_lease_lost(&self) -> bool {
        self.code() == "lease_lost"
    }
}

impl From<DomainError> for EngineError {
    fn from(error: DomainError) -> Self {
        Self::Service(error.into())
    }
}
