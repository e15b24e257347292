//! The repository's policy as one more layer of authority: it only ever narrows.

use crate::protocol::{ActionCapability, IntentMode};

/// What a repository's policy (and the user's own) leaves of a grant. A part that is not given says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryPolicy {
    /// The modes that may run at all.
    pub modes: Option<Vec<IntentMode>>,
    /// Capabilities that are closed.
    pub deny: Vec<ActionCapability>,
    /// The most that may be on the command allowlist, by exact text.
    pub shell_execute: Option<Vec<String>>,
    /// The most that may be on the domain list, in normal form.
    pub read_domains: Option<Vec<String>>,
}

impl RepositoryPolicy {
    /// Whether a mode may run.
    #[must_use]
    pub fn allows_mode(&self, mode: IntentMode) -> bool {
        self.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
    }
}
