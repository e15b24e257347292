//! The state machine of the workflow as a pure function from a run view and a submission to what changes.
//!
//! Nothing here reads a clock, a random source, a file or the database: time and ids come in with the
//! submission, facts of the file system through one small trait. So a run can be replayed from its artifacts.
//!
//! The way of a submission: [`submit()`] checks tokens, type and schema, then [`references`], then [`rules`], then
//! the table in [`transition`]; what comes out is [`Accepted`], which the store writes in one transaction.

mod accepted;
pub mod authority;
mod clarification;
mod context;
pub mod decisions;
mod error;
pub mod evidence;
mod facts;
mod grounding;
mod next_action;
mod phase;
mod policy;
pub mod predicates;
pub mod references;
mod rule_index;
pub mod rules;
mod run;
mod screen;
mod stamp;
mod start;
mod submit;
mod supporting;
mod trace;
pub mod transition;
mod view;

pub use accepted::{Accepted, Effect, NewArtifact, NewEvent, SlotQuota};
pub use context::{Context, Env};
pub use error::{Code, Refusal};
pub use facts::{Facts, NoFacts};
pub use grounding::{Grounding, check_groundable, ground};
pub use next_action::{
    Schemas, action_id, compact_schema, full_schema, input_refs, may_ground_repository, next_action,
};
pub use policy::RepositoryPolicy;
pub use rule_index::{RULES, Rule, find_rule};
pub use run::{OutcomeHint, RunPhase, RunState, RunStatus};
pub use stamp::Stamp;
pub use start::{LIST_LIMIT, REQUEST_LIMIT, StartInput, start};
pub use submit::{ARTIFACT_LIMIT, Submission, Tokens, cancel, denial_event, submit};
pub use supporting::EVIDENCE_PER_PLAN;
pub use trace::{
    DENIALS_PER_VERSION, EVENT_LIMIT, EVENTS_RESERVED, EventType, SUMMARY_LIMIT, StoredEvent, public_event,
};
pub use view::{EventKey, RunView, Stored};

#[cfg(test)]
mod tests;
