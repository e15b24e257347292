//! When a set of permissions lies within another, and which scopes are refused unread (`controller.md` 4.4, 4.7).

use super::capability::scopes;
use crate::controller::{Code, Refusal};
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
            if let Some(why) = unsafe_scope(scope) {
                let shown = crate::text::cut_units(scope, 200);
                let message =
                    format!("the {capability} scope {shown:?} {why}; write it as a plain path or glob");
                return Err(Refusal::new(Code::ScopePatternInvalid, rule, message)
                    .at(format!("{place}.{list}[{index}]")));
            }
        }
    }
    Ok(())
}

/// Why a repository scope is refused unread, if it is.
fn unsafe_scope(scope: &str) -> Option<&'static str> {
    if scope.chars().any(char::is_control) {
        return Some("holds a control character");
    }
    if scope.contains('\\') {
        return Some("holds a backslash");
    }
    if scope.starts_with('/') {
        return Some("starts with a slash");
    }
    // Extended groups are matched only by the few; the characters that open one are refused, not misread.
    if ["?(", "*(", "+(", "@(", "!("].iter().any(|open| scope.contains(open)) {
        return Some("uses an extended group");
    }
    let Some(forms) = expand_braces(scope) else { return Some("has too many alternatives") };
    for form in std::iter::once(scope).chain(forms.iter().map(String::as_str)) {
        // Alternatives may hold slashes, so the pattern as written is split only where it is not inside braces.
        let segments: Vec<&str> = form.split('/').collect();
        if segments.iter().any(|segment| matches!(*segment, "." | "..")) {
            return Some("holds a `.` or `..` segment");
        }
        if segments.iter().any(|segment| segment.is_empty()) {
            return Some("holds an empty segment");
        }
    }
    None
}

/// Alternatives of `{a,b}` written out, nested ones too; ranges stay, since they hold no slash and no dot segment
/// (`{1..3}` is written with dots, but a segment that is only a range of digits or letters never is `.` or `..`).
/// Nothing when there are more than a thousand.
fn expand_braces(pattern: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        if done.len() + open.len() > 1000 {
            return None;
        }
        match first_choice(&next) {
            None => done.push(next),
            Some((before, choices, after)) => {
                open.extend(choices.iter().map(|choice| format!("{before}{choice}{after}")));
            }
        }
    }
    Some(done)
}

/// The first brace group with a comma: what stands before it, its choices, what stands after it.
fn first_choice(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    let starts = pattern.match_indices('{').map(|(at, _)| at);
    starts.into_iter().find_map(|start| {
        let (mut depth, mut cuts) = (0_usize, vec![start + 1]);
        for (at, c) in pattern[start..].char_indices().map(|(at, c)| (start + at, c)) {
            match c {
                '{' => depth += 1,
                ',' if depth == 1 => cuts.push(at + 1),
                '}' if depth == 1 => {
                    let ends = cuts[1..].iter().map(|cut| cut - 1).chain([at]);
                    let choices = cuts.iter().zip(ends).map(|(from, to)| &pattern[*from..to]).collect();
                    return (cuts.len() > 1).then_some((&pattern[..start], choices, &pattern[at + 1..]));
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        None
    })
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
    fn scopes_that_leave_their_folder_are_refused_in_every_disguise() {
        for scope in [
            "src/../infra/**",
            "src/{../infra,x}/**",
            "../x",
            "./src",
            "src/./a",
            "src//a",
            "/src",
            "src/",
            "src\\a",
            "src/\0",
            "{src/../infra,a}",
            "{.,src}/x",
            "src/{..,a}",
            "a/{b,}/c",
            "src/@(a|..)",
        ] {
            assert!(unsafe_scope(scope).is_some(), "{scope:?}");
        }
        for scope in
            ["**", "src/**", "src/.env", "src/{a,b}/**", "a/{b/c,d}", "file{1..3}.txt", "src/[ab]?.rs", "..a"]
        {
            assert_eq!(unsafe_scope(scope), None, "{scope:?}");
        }
    }
}
