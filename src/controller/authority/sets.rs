//! Grants as permission sets, mode ceilings, and what is left of a grant in a mode (`controller.md` 3.4, 4.2, 4.3).

use super::capability::backed;
use crate::controller::policy::RepositoryPolicy;
use crate::controller::predicates;
use crate::controller::view::RunView;
use crate::protocol::{ActionCapability, Authorization, IntentMode, List, PermissionSet, Str};
use ActionCapability as C;

/// What is granted in a mode when the user says nothing (`controller.md` 3.1).
#[must_use]
pub fn default_grants(mode: IntentMode) -> &'static [C] {
    match mode {
        IntentMode::ReportOnly => &[],
        IntentMode::PlanOnly => &[C::RepositoryRead],
        IntentMode::AnalyzeOnly => {
            &[C::RepositoryRead, C::ShellInspect, C::RuntimeInspect, C::BrowserInspect]
        }
        IntentMode::FixOnly | IntentMode::AnalyzeAndFix => {
            &[C::RepositoryRead, C::RepositoryWrite, C::ShellInspect, C::RuntimeInspect]
        }
    }
}

/// Whether a mode can ever let a capability be used (`controller.md` 4.2).
#[must_use]
pub fn mode_allows(mode: IntentMode, capability: C) -> bool {
    use IntentMode::{AnalyzeAndFix, AnalyzeOnly, FixOnly, PlanOnly};
    match capability {
        C::RepositoryRead => mode != IntentMode::ReportOnly,
        C::RepositoryWrite | C::RepositoryDelete | C::ShellExecute => matches!(mode, FixOnly | AnalyzeAndFix),
        C::ShellInspect | C::RuntimeInspect => matches!(mode, AnalyzeOnly | FixOnly | AnalyzeAndFix),
        C::BrowserInspect | C::NetworkRead => matches!(mode, AnalyzeOnly | AnalyzeAndFix),
        C::SubagentSpawn => matches!(mode, PlanOnly | AnalyzeOnly | FixOnly | AnalyzeAndFix),
        C::RuntimeRestart | C::BrowserMutate | C::ExternalWrite => false,
    }
}

/// The most that a mode allows, as a permission set. Lists that only equality can meet hold `**`.
#[must_use]
pub fn ceiling(mode: IntentMode) -> PermissionSet {
    fn all<const N: usize>(allowed: bool) -> List<Str<N>> {
        allowed.then(|| Str::from("**")).into_iter().collect()
    }
    let allows = |capability| mode_allows(mode, capability);
    let mut set = PermissionSet::empty();
    set.repository.read = all(allows(C::RepositoryRead));
    set.repository.write = all(allows(C::RepositoryWrite));
    set.repository.delete = all(allows(C::RepositoryDelete));
    set.shell.inspect = allows(C::ShellInspect);
    set.shell.execute_allowlist = all(allows(C::ShellExecute));
    set.runtime.inspect = all(allows(C::RuntimeInspect));
    set.browser.inspect = allows(C::BrowserInspect);
    set.network.read_domains = all(allows(C::NetworkRead));
    if allows(C::SubagentSpawn) {
        spawn(&mut set);
    }
    set
}

fn spawn(set: &mut PermissionSet) {
    set.subagents.spawn = true;
    set.subagents.maximum_children = 3.into();
    set.subagents.maximum_depth = 1.into();
}

/// Capabilities that the user granted, as a set; commands and domains come from their lists.
#[must_use]
pub fn granted_set(granted: &[C], commands: &[String], domains: &[String]) -> PermissionSet {
    let commands = commands.iter().map(|command| Str::from(command.as_str())).collect();
    let domains = domains.iter().map(|domain| Str::from(domain.as_str())).collect();
    to_set(granted, &commands, &domains)
}

/// Capabilities that the user denied, as a set: a denial always closes the whole family.
#[must_use]
pub fn denied_set(denied: &[C]) -> PermissionSet {
    to_set(denied, &vec![Str::from("**")].into(), &vec![Str::from("**")].into())
}

fn to_set(capabilities: &[C], commands: &List<Str<2048>>, domains: &List<Str<253>>) -> PermissionSet {
    let mut set = PermissionSet::empty();
    for capability in capabilities {
        match capability {
            C::RepositoryRead => set.repository.read = vec![Str::from("**")].into(),
            C::RepositoryWrite => set.repository.write = vec![Str::from("**")].into(),
            C::RepositoryDelete => set.repository.delete = vec![Str::from("**")].into(),
            C::ShellInspect => set.shell.inspect = true,
            C::ShellExecute => set.shell.execute_allowlist = commands.clone(),
            C::RuntimeInspect => set.runtime.inspect = vec![Str::from("local")].into(),
            C::RuntimeRestart => set.runtime.restart = vec![Str::from("local")].into(),
            C::BrowserInspect => set.browser.inspect = true,
            C::BrowserMutate => set.browser.mutate_state = true,
            C::NetworkRead => set.network.read_domains = domains.clone(),
            C::ExternalWrite => set.network.external_write = true,
            C::SubagentSpawn => spawn(&mut set),
        }
    }
    set
}

/// What is left of a grant in a mode, family by family: a denial that is not empty closes its whole family.
/// A repository's policy closes families too, and cuts the lists of commands and domains.
#[must_use]
pub fn authorized(
    mode: IntentMode,
    authorization: &Authorization,
    policy: Option<&RepositoryPolicy>,
) -> PermissionSet {
    let (granted, denied) = (&authorization.granted, &authorization.denied);
    let open = |capability: C| {
        // Any denied entry closes a family, and so does a denied `spawn` without children.
        let closed = match capability {
            C::SubagentSpawn => denied.subagents.spawn,
            _ => backed(denied, capability),
        };
        let policy =
            policy.is_none_or(|policy| policy.allows_mode(mode) && !policy.deny.contains(&capability));
        mode_allows(mode, capability) && !closed && policy
    };
    fn list<const N: usize>(open: bool, granted: &List<Str<N>>) -> List<Str<N>> {
        if open { granted.clone() } else { List::default() }
    }
    let mut set = PermissionSet::empty();
    set.repository.read = list(open(C::RepositoryRead), &granted.repository.read);
    set.repository.write = list(open(C::RepositoryWrite), &granted.repository.write);
    set.repository.delete = list(open(C::RepositoryDelete), &granted.repository.delete);
    set.shell.inspect = open(C::ShellInspect) && granted.shell.inspect;
    set.shell.execute_allowlist = list(open(C::ShellExecute), &granted.shell.execute_allowlist);
    set.runtime.inspect = list(open(C::RuntimeInspect), &granted.runtime.inspect);
    set.runtime.restart = list(open(C::RuntimeRestart), &granted.runtime.restart);
    set.browser.inspect = open(C::BrowserInspect) && granted.browser.inspect;
    set.browser.mutate_state = open(C::BrowserMutate) && granted.browser.mutate_state;
    set.network.read_domains = list(open(C::NetworkRead), &granted.network.read_domains);
    set.network.external_write = open(C::ExternalWrite) && granted.network.external_write;
    if open(C::SubagentSpawn) && granted.subagents.spawn {
        set.subagents = granted.subagents.clone();
    }
    if let Some(commands) = policy.and_then(|policy| policy.shell_execute.as_ref()) {
        set.shell.execute_allowlist = keep(&set.shell.execute_allowlist, commands);
    }
    if let Some(domains) = policy.and_then(|policy| policy.read_domains.as_ref()) {
        set.network.read_domains = keep(&set.network.read_domains, domains);
    }
    set
}

fn keep<const N: usize>(list: &List<Str<N>>, most: &[String]) -> List<Str<N>> {
    list.iter().filter(|entry| most.iter().any(|allowed| **allowed == ***entry)).cloned().collect()
}

/// What the user's grant leaves in the run's mode; empty when the envelope is missing (`controller.md` 4.3).
#[must_use]
pub fn run_authorization(view: &RunView, policy: Option<&RepositoryPolicy>) -> PermissionSet {
    within(view, view.run.mode, policy)
}

/// What the user's grant leaves in an analysis: the ceiling before the fix is unlocked.
#[must_use]
pub fn analysis_ceiling(view: &RunView, policy: Option<&RepositoryPolicy>) -> PermissionSet {
    // Whether the run's own mode may run is the policy's word on the run, not on the ceiling.
    if policy.is_some_and(|policy| !policy.allows_mode(view.run.mode)) {
        return PermissionSet::empty();
    }
    let narrowed = policy.map(|policy| RepositoryPolicy { modes: None, ..policy.clone() });
    within(view, IntentMode::AnalyzeOnly, narrowed.as_ref())
}

fn within(view: &RunView, mode: IntentMode, policy: Option<&RepositoryPolicy>) -> PermissionSet {
    predicates::envelope(view)
        .map_or_else(PermissionSet::empty, |envelope| authorized(mode, &envelope.authorization, policy))
}

#[cfg(test)]
mod tests {
    use super::super::scopes::subset;
    use super::*;

    fn everything() -> PermissionSet {
        granted_set(C::ALL, &["npm test".into()], &["example.com".into()])
    }

    fn modes(capability: C) -> Vec<IntentMode> {
        let authorization = Authorization { granted: everything(), denied: PermissionSet::empty() };
        let open = |mode: &IntentMode| backed(&authorized(*mode, &authorization, None), capability);
        IntentMode::ALL.iter().copied().filter(open).collect()
    }

    #[test]
    fn each_capability_is_effective_in_the_modes_of_the_ceiling_table() {
        use IntentMode::{AnalyzeAndFix, AnalyzeOnly, FixOnly, PlanOnly};
        assert_eq!(modes(C::RepositoryRead), [PlanOnly, AnalyzeOnly, FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::RepositoryWrite), [FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::RepositoryDelete), [FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::ShellInspect), [AnalyzeOnly, FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::ShellExecute), [FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::RuntimeInspect), [AnalyzeOnly, FixOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::BrowserInspect), [AnalyzeOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::NetworkRead), [AnalyzeOnly, AnalyzeAndFix]);
        assert_eq!(modes(C::SubagentSpawn), [PlanOnly, AnalyzeOnly, FixOnly, AnalyzeAndFix]);
        for capability in [C::RuntimeRestart, C::BrowserMutate, C::ExternalWrite] {
            assert_eq!(modes(capability), [], "{capability}");
        }
    }

    #[test]
    fn a_denial_closes_its_family_and_nothing_else() {
        for capability in C::ALL.iter().copied() {
            let authorization = Authorization { granted: everything(), denied: denied_set(&[capability]) };
            let open = authorized(IntentMode::AnalyzeAndFix, &authorization, None);
            for other in C::ALL.iter().copied() {
                let expected = other != capability && mode_allows(IntentMode::AnalyzeAndFix, other);
                assert_eq!(backed(&open, other), expected, "{other} with {capability} denied");
            }
        }
    }

    #[test]
    fn a_policy_only_narrows() {
        let authorization = Authorization { granted: everything(), denied: PermissionSet::empty() };
        let free = authorized(IntentMode::AnalyzeAndFix, &authorization, None);
        let policy = RepositoryPolicy {
            modes: None,
            deny: vec![C::RepositoryDelete],
            shell_execute: Some(vec!["npm test".into(), "rm -rf /".into()]),
            read_domains: Some(vec!["other.example".into()]),
        };
        let narrowed = authorized(IntentMode::AnalyzeAndFix, &authorization, Some(&policy));
        assert!(subset(&narrowed, &free));
        assert!(!backed(&narrowed, C::RepositoryDelete) && !backed(&narrowed, C::NetworkRead));
        assert_eq!(&*narrowed.shell.execute_allowlist[0], "npm test");
        let other_mode =
            RepositoryPolicy { modes: Some(vec![IntentMode::PlanOnly]), ..RepositoryPolicy::default() };
        assert_eq!(
            authorized(IntentMode::FixOnly, &authorization, Some(&other_mode)),
            PermissionSet::empty()
        );
    }

    #[test]
    fn a_ceiling_covers_whatever_can_be_authorised_in_its_mode() {
        let authorization = Authorization { granted: everything(), denied: PermissionSet::empty() };
        for mode in IntentMode::ALL.iter().copied() {
            assert!(subset(&authorized(mode, &authorization, None), &ceiling(mode)), "{mode}");
        }
    }
}
