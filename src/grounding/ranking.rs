//! How much a path has to do with a request (`grounding.md` 5.2 and 5.3).
//!
//! Deterministic and fixed by recorded vectors: hosts rely on stable results. Only names are looked at.

use super::paths::{base_name, is_below, is_instruction, utf16_order};
use std::collections::BTreeSet;

/// Words that say nothing about a path, compared after the plural is folded.
const STOP_WORDS: [&str; 53] = [
    "a",
    "about",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "by",
    "can",
    "check",
    "code",
    "com",
    "could",
    "do",
    "does",
    "file",
    "fix",
    "for",
    "from",
    "have",
    "how",
    "in",
    "investigate",
    "is",
    "it",
    "me",
    "my",
    "of",
    "on",
    "or",
    "please",
    "project",
    "report",
    "review",
    "so",
    "task",
    "that",
    "the",
    "this",
    "to",
    "use",
    "using",
    "we",
    "what",
    "when",
    "where",
    "who",
    "why",
    "will",
    "with",
    "would",
    "you",
];

/// The points of 5.3.
mod points {
    pub(super) const PINNED: u64 = 1_000_000;
    pub(super) const ACTIVE: u64 = 50_000;
    pub(super) const NEAR_ACTIVE: u64 = 10_000;
    pub(super) const HINT: u64 = 5_000;
    pub(super) const BASE_TERM: u64 = 250;
    pub(super) const PATH_TERM: u64 = 75;
    pub(super) const ROOT_PROJECT_FILE: u64 = 20;
}

/// The tokens of a request or a path, in order (5.2).
#[must_use]
pub fn tokens(text: &str) -> Vec<String> {
    let mut broken = String::with_capacity(text.len() + 8);
    let mut after_lower = false;
    for c in text.chars() {
        if after_lower && c.is_ascii_uppercase() {
            broken.push(' ');
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        broken.push(c);
    }
    broken
        .to_lowercase()
        .split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
        .filter(|token| !token.is_empty())
        .map(|token| singular(token).to_owned())
        .collect()
}

/// A long token without the `s` of a plain plural. Not grammar: `policies` becomes `policie`.
fn singular(token: &str) -> &str {
    let plural = token.len() > 4
        && token.ends_with('s')
        && !["ss", "is", "us"].iter().any(|ending| token.ends_with(ending));
    if plural { &token[..token.len() - 1] } else { token }
}

/// The path hints of a request: runs of name characters joined by slashes, lower-cased, unique, in order.
#[must_use]
pub fn path_hints(request: &str) -> Vec<String> {
    let bytes = request.as_bytes();
    let name = |at: usize| {
        bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    };
    let mut seen = BTreeSet::new();
    let mut hints = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !name(at) {
            at += 1;
            continue;
        }
        let from = at;
        let mut slashes = 0;
        loop {
            while name(at) {
                at += 1;
            }
            if bytes.get(at) != Some(&b'/') || !name(at + 1) {
                break;
            }
            slashes += 1;
            at += 1;
        }
        if slashes > 0 {
            let matched = &request[from..at];
            let hint = matched.strip_prefix("./").unwrap_or(matched).to_ascii_lowercase();
            if seen.insert(hint.clone()) {
                hints.push(hint);
            }
        }
    }
    hints
}

/// A path with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The repository path.
    pub path: String,
    /// Its points.
    pub score: u64,
    /// Whether policy wants it: an instruction file or an active path.
    pub pinned: bool,
    /// Why it has these points, in words.
    pub reason: String,
}

/// What a request looks for.
#[derive(Clone, Debug)]
pub struct Query {
    terms: BTreeSet<String>,
    hints: Vec<String>,
    /// Lower-cased.
    active: Vec<String>,
    pin_nested: bool,
}

impl Query {
    /// Reads a request. `active_paths` are normalised repository paths.
    #[must_use]
    pub fn new(request: &str, active_paths: &[String]) -> Self {
        let terms = tokens(request)
            .into_iter()
            .filter(|term| term.len() >= 2 && !STOP_WORDS.contains(&term.as_str()))
            .collect();
        let active = active_paths.iter().map(|path| path.to_lowercase()).collect();
        Self { terms, hints: path_hints(request), active, pin_nested: true }
    }

    /// Pins, of the instruction files, only those at the root and those above an active path (10.13).
    #[must_use]
    pub fn pinning_only_near_instructions(mut self) -> Self {
        self.pin_nested = false;
        self
    }

    fn pins(&self, path: &str, lower: &str) -> bool {
        if !is_instruction(path) {
            return false;
        }
        let directory = lower.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.pin_nested
            || directory.is_empty()
            || directory.starts_with('.')
            || self.active.iter().any(|active| active == directory || is_below(active, directory))
    }

    /// The score of one path (5.3).
    #[must_use]
    pub fn rank(&self, path: &str) -> Ranked {
        let lower = path.to_lowercase();
        let instruction = self.pins(path, &lower);
        let active = self.active.contains(&lower);
        let near =
            !active && self.active.iter().any(|other| is_below(other, &lower) || is_below(&lower, other));
        let hints: Vec<&str> = self
            .hints
            .iter()
            .map(String::as_str)
            .filter(|hint| {
                lower.strip_suffix(hint).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            })
            .collect();
        let base_tokens: BTreeSet<String> = tokens(base_name(path)).into_iter().collect();
        let path_tokens: BTreeSet<String> = tokens(path).into_iter().collect();
        let in_base: Vec<&str> = self.terms.intersection(&base_tokens).map(String::as_str).collect();
        let in_path: Vec<&str> = self
            .terms
            .intersection(&path_tokens)
            .filter(|term| !base_tokens.contains(*term))
            .map(String::as_str)
            .collect();
        let root_project = is_root_project_file(&lower);

        let pinned = instruction || active;
        let mut score = 0;
        for (points, times) in [
            (points::PINNED, usize::from(pinned)),
            (points::ACTIVE, usize::from(active)),
            (points::NEAR_ACTIVE, usize::from(near)),
            (points::HINT, hints.len()),
            (points::BASE_TERM, in_base.len()),
            (points::PATH_TERM, in_path.len()),
            (points::ROOT_PROJECT_FILE, usize::from(root_project)),
        ] {
            score += points * times as u64;
        }
        let reason = if instruction {
            "Instruction file that applies to agents in its directory".to_owned()
        } else if active {
            "Active path named by the host".to_owned()
        } else if !hints.is_empty() {
            format!("The request names {}", listed(&hints, 3))
        } else if !in_base.is_empty() || !in_path.is_empty() {
            let terms: Vec<&str> = in_base.into_iter().chain(in_path).collect();
            format!("Its path holds words of the request: {}", listed(&terms, 5))
        } else if near {
            "Near an active path".to_owned()
        } else if root_project {
            "Project file at the root".to_owned()
        } else {
            "No word of the request matched; kept as a sample of the repository".to_owned()
        };
        Ranked { path: path.to_owned(), score, pinned, reason }
    }

    /// All paths, best first; equal scores in UTF-16 order of the path.
    #[must_use]
    pub fn rank_all<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<Ranked> {
        let mut ranked: Vec<Ranked> = paths.into_iter().map(|path| self.rank(path)).collect();
        ranked.sort_unstable_by(|a, b| b.score.cmp(&a.score).then_with(|| utf16_order(&a.path, &b.path)));
        ranked
    }
}

/// The first names of a list, each cut so that a reason stays short.
fn listed(names: &[&str], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(|name| crate::text::cut_units(name, 120)).collect();
    shown.join(", ")
}

fn is_root_project_file(lower: &str) -> bool {
    const FILES: [&str; 6] =
        ["package.json", "package-lock.json", "pyproject.toml", "cargo.toml", "go.mod", "readme"];
    !lower.contains('/')
        && (FILES.contains(&lower)
            || lower.starts_with("readme.")
            || lower == "tsconfig.json"
            || lower
                .strip_prefix("tsconfig.")
                .and_then(|rest| rest.strip_suffix(".json"))
                .is_some_and(|middle| !middle.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_split_at_capitals_and_lose_the_plural() {
        for (text, expected) in [
            ("parseRequests", vec!["parse", "request"]),
            ("HTTPServer", vec!["httpserver"]),
            ("utf8String", vec!["utf8", "string"]),
            ("policies apis bus class", vec!["policie", "apis", "bus", "class"]),
            ("naïve", vec!["na", "ve"]),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn hints_need_a_slash_between_names() {
        for (request, expected) in [
            ("open ./src//a.rs and/or src/a.rs, src/b.rs.", vec!["src", "and/or", "src/a.rs", "src/b.rs."]),
            ("https://host.example/a/b", vec!["host.example/a/b"]),
            ("./Makefile a/", vec!["makefile"]),
            ("A/B a/b", vec!["a/b"]),
        ] {
            assert_eq!(path_hints(request), expected, "{request}");
        }
    }

    #[test]
    fn reasons_name_what_decided_first() {
        let query = Query::new("retry in net/http.rs", &["net".to_owned()]);
        assert_eq!(query.rank("net/http.rs").reason, "The request names net/http.rs");
        assert_eq!(query.rank("src/retry.ts").reason, "Its path holds words of the request: retry");
        assert_eq!(Query::new("look", &["net".to_owned()]).rank("net/a.rs").reason, "Near an active path");
    }

    #[test]
    fn the_option_pins_root_instructions_and_those_above_active_paths_only() {
        let active = ["pkg/a/src/x.rs".to_owned()];
        let all = Query::new("look", &active);
        let near = Query::new("look", &active).pinning_only_near_instructions();
        for (path, pinned_near) in [
            ("AGENTS.md", true),
            ("pkg/a/AGENTS.md", true),
            ("pkg/b/AGENTS.md", false),
            (".github/instructions/x.md", true),
        ] {
            assert!(all.rank(path).pinned, "{path}");
            assert_eq!(near.rank(path).pinned, pinned_near, "{path}");
        }
    }
}
