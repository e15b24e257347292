//! Whether a target lies in the repository, and under which names scopes must match it (`controller.md` 4.6, W-3).

use crate::controller::facts::Facts;

/// A target inside the repository, relative to its root; the root itself is `.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// As it is written, with `.`, `..` and extra slashes gone.
    pub lexical: String,
    /// As it lies on disk, every link followed. Scopes must match both names.
    pub canonical: String,
}

/// Resolves a repository target; nothing when it may not be touched at all.
#[must_use]
pub fn resolve(root: &str, target: &str, facts: &dyn Facts) -> Option<Resolved> {
    if target.is_empty() || target.chars().any(|c| c.is_control() || c == '\\') {
        return None;
    }
    let absolute =
        if target.starts_with('/') { normalize(target)? } else { normalize(&format!("{root}/{target}"))? };
    let lexical = relative(&absolute, &normalize(root)?)?;
    let real_root = facts.real_path(root)?;
    let canonical = relative(&facts.real_path(&absolute)?, &real_root)?;
    Some(Resolved { lexical, canonical })
}

/// An absolute path without `.`, `..` and extra slashes. Above `/` there is nothing.
fn normalize(path: &str) -> Option<String> {
    if !path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// `path` below `root`, compared by components (W-27).
fn relative(path: &str, root: &str) -> Option<String> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() || rest == "/" {
        return Some(".".to_owned());
    }
    rest.strip_prefix('/').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::facts::NoFacts;
    use proptest::prelude::*;

    /// A file system in which some paths are links.
    struct Links(&'static [(&'static str, &'static str)]);

    impl Facts for Links {
        fn directory(&self, path: &str) -> Option<String> {
            Some(path.to_owned())
        }

        fn real_path(&self, path: &str) -> Option<String> {
            let mut path = path.to_owned();
            for (from, to) in self.0 {
                if path == *from || path.starts_with(&format!("{from}/")) {
                    path = format!("{to}{}", &path[from.len()..]);
                }
            }
            Some(path)
        }
    }

    fn lexical(target: &str) -> Option<String> {
        resolve("/r", target, &NoFacts).map(|resolved| resolved.lexical)
    }

    #[test]
    fn targets_are_taken_relative_to_the_root_by_components() {
        for (target, found) in [
            ("src/a", Some("src/a")),
            ("./src//a/", Some("src/a")),
            ("src/../b", Some("b")),
            ("/r/src/a", Some("src/a")),
            (".", Some(".")),
            ("/r", Some(".")),
            ("..cache/x", Some("..cache/x")),
            ("repo://src/a", Some("repo:/src/a")),
            ("..", None),
            ("../r2/a", None),
            ("../r/a", Some("a")),
            ("/rr/a", None),
            ("/etc/passwd", None),
            ("src\\..\\infra\\p", None),
            ("a\0b", None),
            ("a\nb", None),
            ("", None),
        ] {
            assert_eq!(lexical(target).as_deref(), found, "{target:?}");
        }
    }

    #[test]
    fn a_link_is_followed_wherever_it_points() {
        let facts =
            Links(&[("/r/out", "/elsewhere"), ("/r/src/link", "/r/infra"), ("/r/dangling", "/gone/x")]);
        let found = |target| resolve("/r", target, &facts);
        assert_eq!(found("out/new"), None);
        assert_eq!(found("dangling"), None);
        let inside = found("src/link/p").unwrap();
        assert_eq!((inside.lexical.as_str(), inside.canonical.as_str()), ("src/link/p", "infra/p"));
    }

    proptest! {
        #[test]
        fn no_target_resolves_to_something_above_the_root(target in "[a-z./]{0,24}") {
            if let Some(found) = resolve("/r/q", &target, &NoFacts) {
                prop_assert!(!found.lexical.split('/').any(|part| part == ".."));
                prop_assert!(!found.lexical.starts_with('/'));
            }
        }
    }
}
