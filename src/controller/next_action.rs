//! The one next step of a run, computed from the run alone (`controller.md` 5).

use super::error::{Code, Refusal};
use super::policy::RepositoryPolicy;
use super::run::RunState;
use super::view::RunView;
use crate::protocol::NextAction;

/// How the schemas inside a next action are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schemas {
    /// The published schemas whole, as the protocol has them.
    #[default]
    Full,
    /// Only the names of the types, for readers that know the schemas.
    Compact,
}

/// The id of a run's next action: a function of the run and its version alone.
#[must_use]
pub fn action_id(run: &RunState) -> String {
    format!("action:{}:{}", run.run_id, run.version)
}

/// The next action of a run.
///
/// # Errors
/// `context_closure_too_large` when its mandatory inputs exceed 256; `integrity_failure` when the run's artifacts
/// do not fit its state.
pub fn next_action(
    view: &RunView,
    policy: Option<&RepositoryPolicy>,
    schemas: Schemas,
) -> Result<NextAction, Refusal> {
    let _ = (view, policy, schemas);
    Err(Refusal::new(Code::IntegrityFailure, "C-SB-24", "no next action can be computed yet"))
}
