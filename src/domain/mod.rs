//! Tasks, runs, attempts, patches, verdicts and approvals as types, their state machines and deciders. No I/O.
//!
//! No clock, no randomness, no file: times, ids and facts come in with the call. Each record has a file; what
//! moves it stands beside it.

pub mod approval;
pub mod approval_rules;
pub mod artifact;
pub mod attempt;
mod attempt_flow;
pub mod boundary;
#[cfg(test)]
mod boundary_tests;
pub mod budget;
pub mod classify;
pub mod error;
pub mod event;
pub mod glob;
pub mod ids;
pub mod judge;
pub mod judge_rules;
#[cfg(test)]
mod judge_rules_tests;
mod judge_workflow;
pub mod patch;
pub mod policy;
pub mod policy_file;
mod policy_reader;
pub mod policy_rules;
#[cfg(test)]
mod policy_rules_tests;
pub mod request;
pub mod run;
mod run_flow;
#[cfg(test)]
mod run_flow_tests;
pub mod runners;
#[cfg(test)]
pub(crate) mod samples;
pub mod session;
pub mod step;
mod step_flow;
pub mod task;
mod task_flow;
pub mod time;
pub mod tool_call;
pub mod verdict;
mod verdict_reasons;
pub mod verdict_rules;
#[cfg(test)]
mod verdict_rules_tests;
pub mod verification;
pub mod verification_rules;
#[cfg(test)]
mod verification_rules_tests;
mod words;

pub use crate::protocol::{Commit, IntentMode, Sha256};
pub use approval::*;
pub use approval_rules::*;
pub use artifact::*;
pub use attempt::*;
pub use attempt_flow::{backoff_millis, may_start_attempt};
pub use boundary::*;
pub use budget::*;
pub use error::*;
pub use event::*;
pub use ids::*;
pub use judge::*;
pub use patch::*;
pub use policy::*;
pub use policy_file::{PolicyError, PolicyFile};
pub use policy_rules::{EffectivePolicy, unreadable_policy};
pub use request::*;
pub use run::*;
pub use run_flow::run_after_verdict;
pub use session::*;
pub use step::*;
pub use step_flow::next_sequence;
pub use task::*;
pub use task_flow::{task_after_approval, task_after_run};
pub use time::*;
pub use tool_call::*;
pub use verdict::*;
pub use verification::*;
pub use verification_rules::*;
