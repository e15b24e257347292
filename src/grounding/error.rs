//! Why grounding ended without a result.

use thiserror::Error;

/// An error of grounding. Nothing was stored when one is returned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GroundingError {
    /// A scalar input is out of its limits (`grounding.md` 1).
    #[error("{what}: {problem}")]
    InvalidInput {
        /// Which input.
        what: &'static str,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The repository root cannot be used.
    #[error("repository root {root}: {problem}; pass the path of an existing, readable directory")]
    InvalidRoot {
        /// The root as given.
        root: String,
        /// What is wrong.
        problem: String,
    },
    /// A budget value is out of its limits.
    #[error("budget {field}: {value} is not allowed; give a whole number from 1 to {limit}")]
    InvalidBudget {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
        /// The hard limit.
        limit: u64,
    },
    /// An active path is not valid (3.6).
    #[error("active path {path:?}: {problem} (repository root {root}); {remedy}")]
    InvalidActivePath {
        /// The path as given, cut to a readable length.
        path: String,
        /// The grounding root.
        root: String,
        /// What is wrong.
        problem: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// It was cancelled.
    #[error("grounding was cancelled; nothing was stored")]
    Cancelled,
    /// The overall deadline passed.
    #[error("grounding did not finish in time; nothing was stored. Lower max_inventory_files or try again")]
    DeadlineExceeded,
}

impl GroundingError {
    /// The stable code of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidInput { .. } => "invalid_grounding_input",
            Self::InvalidRoot { .. } => "invalid_repository_root",
            Self::InvalidBudget { .. } => "invalid_grounding_budget",
            Self::InvalidActivePath { .. } => "invalid_active_path",
            Self::Cancelled => "grounding_cancelled",
            Self::DeadlineExceeded => "grounding_deadline_exceeded",
        }
    }
}
