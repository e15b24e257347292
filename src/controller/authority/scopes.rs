//! When a set of permissions lies within another, and which scopes are refused unread (`controller.md` 4.4, 4.7).

use super::capability::scopes;
use crate::controller::{Code, Refusal};
use crate::domain::glob::check_scope;
use crate::protocol::{ActionCapability as C, PermissionSet};

/// Whether an allowed scope covers a requested one. Purely textual: `**` covers all, a scope covers itself, and
/// `x/**` covers `x` and all below it.
#[must_use]
pub fn covers(allowed: &str, requested: &str) -> bool {
    if allowed == "**" || allowed == requested {
        return true;
    }
    let Some(folder) = allowed.strip_suffix("/**") else { return false };
    requested.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether everything requested is allowed.
#[must_use]
pub fn subset(requested: &PermissionSet, allowed: &PermissionSet) -> bool {
    excess(requested, allowed).is_none()
}

/// The first thing that is requested and not allowed, in words, with its place below a permission set.
#[must_use]
pub fn excess(requested: &PermissionSet, allowed: &PermissionSet) -> Option<(&'static str, String)> {
    for (capability, place) in LISTS {
        let (wanted, given) = (scopes(requested, capability)?, scopes(allowed, capability)?);
        if let Some(scope) = wanted.iter().find(|scope| !given.iter().any(|allowed| covers(allowed, scope))) {
            return Some((place, format!("{capability} {scope:?}")));
        }
    }
    let flags = [
        (requested.shell.inspect, allowed.shell.inspect, "shell.inspect", C::ShellInspect),
        (requested.browser.inspect, allowed.browser.inspect, "browser.inspect", C::BrowserInspect),
        (
            requested.browser.mutate_state,
            allowed.browser.mutate_state,
            "browser.mutateState",
            C::BrowserMutate,
        ),
        (
            requested.network.external_write,
            allowed.network.external_write,
            "network.externalWrite",
            C::ExternalWrite,
        ),
        (requested.subagents.spawn, allowed.subagents.spawn, "subagents.spawn", C::SubagentSpawn),
    ];
    if let Some((.., place, capability)) = flags.into_iter().find(|(wanted, given, ..)| *wanted && !given) {
        return Some((place, capability.to_string()));
    }
    let numbers = [
        (
            requested.subagents.maximum_children.get(),
            allowed.subagents.maximum_children.get(),
            "subagents.maximumChildren",
        ),
        (
            requested.subagents.maximum_depth.get(),
            allowed.subagents.maximum_depth.get(),
            "subagents.maximumDepth",
        ),
    ];
    let over = numbers.into_iter().find(|(wanted, given, _)| wanted > given);
    over.map(|(wanted, given, place)| (place, format!("{wanted} where {given} is allowed")))
}

const LISTS: [(C, &str); 7] = [
    (C::RepositoryRead, "repository.read"),
    (C::RepositoryWrite, "repository.write"),
    (C::RepositoryDelete, "repository.delete"),
    (C::ShellExecute, "shell.executeAllowlist"),
    (C::RuntimeInspect, "runtime.inspect"),
    (C::RuntimeRestart, "runtime.restart"),
    (C::NetworkRead, "network.readDomains"),
];

/// Refuses repository scopes that could be compared as one thing and matched as another (W-2). `rule` is the
/// comparison that would follow, `place` the path of the permission set in the body.
///
/// # Errors
/// `scope_pattern_invalid`, naming the scope.
pub fn refuse_unsafe_scopes(set: &PermissionSet, rule: &'static str, place: &str) -> Result<(), Refusal> {
    for (capability, list) in &LISTS[..3] {
        for (index, scope) in scopes(set, *capability).unwrap_or_default().into_iter().enumerate() {
            if let Err(fault) = check_scope(scope) {
                let message = format!("the {capability} scope cannot be used: {fault}");
                return Err(Refusal::new(Code::ScopePatternInvalid, rule, message)
                    .at(format!("{place}.{list}[{index}]")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_covered_by_itself_by_everything_and_by_a_folder_above() {
        for (allowed, requested, covered) in [
            ("**", "anything", true),
            ("src/**", "src", true),
            ("src/**", "src/a/**", true),
            ("src/**", "src2/a", false),
            ("src/*", "src/a", false),
            ("src/", "src/a", false),
            ("src/**", "./src/a", false),
            ("src/**", "SRC/a", false),
            ("npm test", "npm test", true),
            ("npm test", "npm  test", false),
        ] {
            assert_eq!(covers(allowed, requested), covered, "{allowed} {requested}");
        }
    }

    #[test]
    fn children_and_depth_are_compared_even_where_spawning_is_not_asked_for() {
        let mut wanted = PermissionSet::empty();
        wanted.subagents.maximum_children = 1.into();
        assert_eq!(excess(&wanted, &PermissionSet::empty()).unwrap().0, "subagents.maximumChildren");
        assert!(subset(&PermissionSet::empty(), &wanted));
    }

    #[test]
    fn scopes_that_leave_their_folder_are_refused_with_their_place() {
        for scope in [
            "src/../infra/**",
            "src/{../infra,x}/**",
            "../x",
            "./src",
            "src/./a",
            "src//a",
            "/src",
            "src\\a",
            "src/\0",
        ] {
            let mut set = PermissionSet::empty();
            set.repository.write = vec!["src/**".into(), scope.into()].into();
            let refusal = refuse_unsafe_scopes(&set, "C-TC-16", "body.permissions").unwrap_err();
            assert_eq!(refusal.code, Code::ScopePatternInvalid, "{scope:?}");
            assert_eq!(refusal.path.as_deref(), Some("body.permissions.repository.write[1]"), "{scope:?}");
        }
        let mut set = PermissionSet::empty();
        set.repository.read =
            ["**", "src/**", "src/.env", "src/{a,b}/**"].into_iter().map(Into::into).collect();
        assert!(refuse_unsafe_scopes(&set, "C-TC-16", "body.permissions").is_ok());
    }
}
