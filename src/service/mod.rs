//! The use cases: load a view, ask the controller, commit in one transaction.

pub mod clock;
mod error;
pub mod link;
pub mod snapshot;
pub mod views;

pub use error::ServiceError;
