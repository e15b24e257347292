//! What a capability is: where it stands in a permission set, and whether it changes anything (`controller.md` 4.1).

use crate::protocol::{ActionCapability, PermissionSet};
use ActionCapability as C;

/// The list of scopes that backs a capability, for the capabilities that have scopes.
#[must_use]
pub fn scopes(set: &PermissionSet, capability: C) -> Option<Vec<&str>> {
    fn list<const N: usize>(entries: &[crate::protocol::Str<N>]) -> Option<Vec<&str>> {
        Some(entries.iter().map(|entry| &**entry).collect())
    }
    match capability {
        C::RepositoryRead => list(&set.repository.read),
        C::RepositoryWrite => list(&set.repository.write),
        C::RepositoryDelete => list(&set.repository.delete),
        C::ShellExecute => list(&set.shell.execute_allowlist),
        C::RuntimeInspect => list(&set.runtime.inspect),
        C::RuntimeRestart => list(&set.runtime.restart),
        C::NetworkRead => list(&set.network.read_domains),
        C::ShellInspect | C::BrowserInspect | C::BrowserMutate | C::ExternalWrite | C::SubagentSpawn => None,
    }
}

/// The flag that backs a capability, for the capabilities without scopes.
#[must_use]
pub fn flag(set: &PermissionSet, capability: C) -> Option<bool> {
    match capability {
        C::ShellInspect => Some(set.shell.inspect),
        C::BrowserInspect => Some(set.browser.inspect),
        C::BrowserMutate => Some(set.browser.mutate_state),
        C::ExternalWrite => Some(set.network.external_write),
        C::SubagentSpawn => Some(set.subagents.spawn && set.subagents.maximum_children.get() > 0),
        _ => None,
    }
}

/// Whether a set backs a capability at all.
#[must_use]
pub fn backed(set: &PermissionSet, capability: C) -> bool {
    scopes(set, capability).map_or_else(|| flag(set, capability) == Some(true), |scopes| !scopes.is_empty())
}

/// The scopes of a capability, owned; nothing for a capability without scopes.
#[must_use]
pub fn effective_scopes(set: &PermissionSet, capability: C) -> Vec<String> {
    scopes(set, capability).into_iter().flatten().map(str::to_owned).collect()
}

/// The action kind of a capability, as policies name it.
#[must_use]
pub fn kind_of(capability: C) -> &'static str {
    if capability == C::RuntimeRestart { "runtime.mutate" } else { capability.as_str() }
}

/// Whether every use of a capability changes something.
#[must_use]
pub fn always_mutating(capability: C) -> bool {
    matches!(
        capability,
        C::RepositoryWrite | C::RepositoryDelete | C::RuntimeRestart | C::BrowserMutate | C::ExternalWrite
    )
}

/// Whether no use of a capability changes anything. `shell.execute` is neither: the action says which.
#[must_use]
pub fn always_read_only(capability: C) -> bool {
    !always_mutating(capability) && capability != C::ShellExecute
}

/// Whether planning must reckon with a change.
#[must_use]
pub fn potentially_mutating(capability: C) -> bool {
    always_mutating(capability) || matches!(capability, C::ShellExecute | C::SubagentSpawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shell_execution_is_neither_always_mutating_nor_always_read_only() {
        for capability in C::ALL.iter().copied() {
            let neither = !always_mutating(capability) && !always_read_only(capability);
            assert_eq!(neither, capability == C::ShellExecute, "{capability}");
        }
    }

    #[test]
    fn the_empty_set_backs_nothing_and_spawning_needs_children() {
        let mut set = PermissionSet::empty();
        assert!(C::ALL.iter().all(|capability| !backed(&set, *capability)));
        set.subagents.spawn = true;
        assert!(!backed(&set, C::SubagentSpawn));
        set.subagents.maximum_children = 1.into();
        assert!(backed(&set, C::SubagentSpawn));
    }
}
