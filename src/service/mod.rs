//! The use cases: load a view, ask the controller, commit in one transaction.

pub mod link;
pub mod snapshot;
