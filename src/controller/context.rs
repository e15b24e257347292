//! What a rule may look at.

use super::facts::Facts;
use super::policy::RepositoryPolicy;
use super::run::RunPhase;
use super::view::RunView;
use crate::protocol::IntentMode;

/// What comes from outside the run: the file system, the detector of credentials, the repository's policy.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// Facts of the file system.
    pub facts: &'a dyn Facts,
    /// Names the kind of likely credential that some bytes hold, if any (`controller.md` 8.1); UTF-8 and UTF-16 are
    /// both its business.
    pub secrets: &'a dyn Fn(&[u8]) -> Option<String>,
    /// What the repository's policy leaves of the user's grant.
    pub policy: Option<&'a RepositoryPolicy>,
}

impl Env<'static> {
    /// No links, no credentials, no policy.
    #[must_use]
    pub fn none() -> Self {
        Self { facts: &super::facts::NoFacts, secrets: &|_| None, policy: None }
    }
}

/// One submission as the rules of its type see it.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run before the submission.
    pub view: &'a RunView,
    /// The phase it is submitted in.
    pub phase: RunPhase,
    /// The mode of the run.
    pub mode: IntentMode,
    /// What comes from outside the run.
    pub env: Env<'a>,
    /// The references that will be stored with it (`controller.md` 6.2).
    pub effective_refs: &'a [String],
}

impl<'a> Context<'a> {
    /// The context of a submission to a run.
    #[must_use]
    pub fn new(view: &'a RunView, env: Env<'a>, effective_refs: &'a [String]) -> Self {
        Self { view, phase: view.run.phase, mode: view.run.mode, env, effective_refs }
    }

    /// Whether the effective references hold this one.
    #[must_use]
    pub fn cites(&self, reference: &str) -> bool {
        self.effective_refs.iter().any(|cited| cited == reference)
    }
}
