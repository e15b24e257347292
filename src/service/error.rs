//! Why a use case failed: one error type for everything above the store.

use crate::controller::Refusal;
use crate::store::StoreError;

/// Why a use case failed. Nothing was changed, unless the message says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The controller refused.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was asked for cannot be done; `code` is stable, `message` names what and where.
    #[error("{message}")]
    Invalid {
        /// A stable snake_case name.
        code: &'static str,
        /// What is wrong, and what would be right.
        message: String,
    },
}

impl ServiceError {
    /// A refusal by a use case itself.
    pub fn invalid(code: &'static str, message: impl std::fmt::Display) -> Self {
        Self::Invalid { code, message: message.to_string() }
    }

    /// The stable name of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code.as_str(),
            Self::Store(error) => error.code(),
            Self::Invalid { code, .. } => code,
        }
    }
}

impl From<Refusal> for ServiceError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
