//! Tasks, runs, attempts, patches, verdicts and approvals as types, their state machines and deciders. No I/O.
//!
//! No clock, no randomness, no file: times, ids and facts come in with the call. Each record has a file; what
//! moves it stands beside it.

pub mod approval;
pub mod artifact;
pub mod attempt;
pub mod event;
pub mod ids;
pub mod judge;
pub mod patch;
pub mod policy;
pub mod request;
pub mod run;
pub mod session;
pub mod step;
pub mod task;
pub mod time;
pub mod tool_call;
pub mod verdict;
pub mod verification;
mod words;

pub use crate::protocol::{Commit, IntentMode, Sha256};
pub use approval::*;
pub use artifact::*;
pub use attempt::*;
pub use event::*;
pub use ids::*;
pub use judge::*;
pub use patch::*;
pub use policy::*;
pub use request::*;
pub use run::*;
pub use session::*;
pub use step::*;
pub use task::*;
pub use time::*;
pub use tool_call::*;
pub use verdict::*;
pub use verification::*;
