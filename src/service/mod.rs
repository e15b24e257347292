//! The use cases: load a view, ask the controller, commit in one transaction.

pub mod clock;
mod error;
pub mod facts;
pub mod link;
pub mod publication;
pub mod queries;
pub mod snapshot;
pub mod supervision;
pub mod views;
pub mod workflow;

pub use error::ServiceError;
