//! The state machine of the workflow as a pure function from a run view and a submission to what changes.
//!
//! Nothing here reads a clock, a random source, a file or the database: time and ids come in with the
//! submission, facts of the file system through one small trait. So a run can be replayed from its artifacts.

mod error;
pub mod rules;
mod run;
mod view;

pub use error::{Code, Refusal};
pub use run::{OutcomeHint, RunPhase, RunState, RunStatus};
pub use view::{EventKey, RunView, Stored};
