//! The glob dialect of permission scopes and patch boundaries (`controller.md` 4.7).
//!
//! Patterns match `/`-separated relative paths, case-sensitively. Backslashes in patterns are read as `/`;
//! there is no escape character, no negation by `!` and no comment by `#`. Compared with Node's matcher over
//! forty thousand random pairs, it differs in four corners, each time by matching less: a wildcard behind an
//! optional group does not match a leading dot either (`?(a)*` and `.b`), no wildcard matches a `.` or `..`
//! segment of a path, a `!(…)` directly before `**` keeps excluding, and a `!(…)` inside a repeated group is
//! refused. A `**` directly before `..` is left as it stands.

mod brace;
mod segment;

use super::error::{DomainCode, DomainError};
use segment::Segment;

/// The most alternatives that the braces of a pattern may make.
pub const ALTERNATIVES_LIMIT: usize = 1_000;

/// Whether a wildcard may match the leading dot of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// It may not: the dialect's own rule, for permission scopes and allowed patterns.
    Guarded,
    /// It may: for forbidden patterns, where `infra/**` has to catch `infra/.env` too.
    Free,
}

#[derive(Clone, Debug)]
enum Step {
    /// `**`
    Any,
    One(Segment),
}

/// A pattern, ready to match.
#[derive(Clone, Debug)]
pub struct Glob {
    alternatives: Vec<Vec<Step>>,
    dots: Dots,
}

impl Glob {
    /// Reads a pattern with the dialect's dot rule.
    ///
    /// # Errors
    /// `pattern_invalid` for a pattern with more than [`ALTERNATIVES_LIMIT`] alternatives, and for a `!(…)`
    /// inside a repeated group, which nobody reads alike.
    pub fn new(pattern: &str) -> Result<Self, DomainError> {
        Self::with_dots(pattern, Dots::Guarded)
    }

    /// Reads a pattern.
    ///
    /// # Errors
    /// As [`Glob::new`].
    pub fn with_dots(pattern: &str, dots: Dots) -> Result<Self, DomainError> {
        let fault = |what: &str| {
            DomainError::new(
                DomainCode::PatternInvalid,
                "glob dialect",
                format!("pattern {pattern:?} has {what}"),
            )
        };
        let expanded = brace::expand(&pattern.replace('\\', "/"), ALTERNATIVES_LIMIT)
            .map_err(|_| fault("too many alternatives"))?;
        let mut alternatives = Vec::with_capacity(expanded.len());
        for units in &expanded {
            let mut steps = Vec::new();
            for part in clean(units) {
                if part == [u16::from(b'*'); 2] {
                    if !matches!(steps.last(), Some(Step::Any)) {
                        steps.push(Step::Any);
                    }
                } else {
                    steps.push(Step::One(Segment::new(part).map_err(|error| fault(error.0))?));
                }
            }
            alternatives.push(steps);
        }
        Ok(Self { alternatives, dots })
    }

    /// Whether the pattern matches `path`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let units: Vec<u16> = path.encode_utf16().collect();
        let segments = split_path(&units);
        let dots_free = self.dots == Dots::Free;
        self.alternatives.iter().any(|steps| matches_steps(steps, &segments, dots_free))
    }

    /// Whether every alternative ends in a name without wildcard, so that it may name a folder.
    #[must_use]
    pub fn names_a_place(&self) -> bool {
        self.alternatives
            .iter()
            .all(|steps| matches!(steps.last(), Some(Step::One(segment)) if segment.literal().is_some()))
    }
}

/// Whether `pattern` matches `path` by the dialect's own rules; a pattern that cannot be read matches nothing.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    Glob::new(pattern).is_ok_and(|glob| glob.matches(path))
}

/// All alternatives that the braces of `pattern` make, for checks on each.
///
/// # Errors
/// `pattern_invalid` above [`ALTERNATIVES_LIMIT`].
pub fn alternatives(pattern: &str) -> Result<Vec<String>, DomainError> {
    let expanded = brace::expand(pattern, ALTERNATIVES_LIMIT).map_err(|_| {
        let message = format!("pattern {pattern:?} has too many alternatives");
        DomainError::new(DomainCode::PatternInvalid, "glob dialect", message)
    })?;
    Ok(expanded.iter().map(|units| String::from_utf16_lossy(units)).collect())
}

/// Whether a repository scope or a boundary pattern is safe to compare and to match (W-2): no control
/// character, no backslash, no leading `/` or `./`, no empty segment, and no `.` or `..` segment before or
/// after its braces are written out.
///
/// # Errors
/// `pattern_invalid`, with what is wrong.
pub fn check_scope(pattern: &str) -> Result<(), DomainError> {
    let fault = |what: &str| {
        let message = format!("pattern {pattern:?} {what}");
        Err(DomainError::new(DomainCode::PatternInvalid, "W-2", message))
    };
    if pattern.is_empty() {
        return fault("is empty");
    }
    if pattern.chars().any(char::is_control) {
        return fault("holds a control character");
    }
    if pattern.contains('\\') {
        return fault("holds a backslash");
    }
    let mut texts = alternatives(pattern)?;
    texts.push(pattern.to_owned());
    for text in &texts {
        if text.starts_with('/') {
            return fault("starts with /");
        }
        if text.split('/').any(str::is_empty) {
            return fault("has an empty segment");
        }
        if text.split('/').any(|segment| segment == "." || segment == "..") {
            return fault("has a . or .. segment");
        }
    }
    Glob::new(pattern).map(|_| ())
}

const SLASH: u16 = b'/' as u16;
const DOT: [u16; 1] = [b'.' as u16];
const DOT_DOT: [u16; 2] = [b'.' as u16; 2];

/// The segments of a pattern: inner empty and `.` segments vanish, `x/..` pairs collapse. The first segment
/// stays whatever it is, so that `/x` and `./x` match no relative path; a last empty one stays, too.
fn clean(units: &[u16]) -> Vec<&[u16]> {
    let mut parts: Vec<&[u16]> = units.split(|unit| *unit == SLASH).collect();
    let last = parts.len() - 1;
    let mut at = 0;
    parts.retain(|part| {
        let inner = at > 0 && at < last;
        at += 1;
        !(inner && (part.is_empty() || **part == DOT))
    });
    let mut kept: Vec<&[u16]> = Vec::with_capacity(parts.len());
    for part in parts {
        let collapses = kept.last().is_some_and(|before| {
            !before.is_empty() && **before != DOT && **before != DOT_DOT && **before != [u16::from(b'*'); 2]
        });
        if *part == DOT_DOT && collapses {
            kept.pop();
        } else {
            kept.push(part);
        }
    }
    if kept.is_empty() {
        kept.push(&[]);
    }
    kept
}

fn split_path(units: &[u16]) -> Vec<&[u16]> {
    let mut segments: Vec<&[u16]> = units.split(|unit| *unit == SLASH).collect();
    let last = segments.len() - 1;
    let mut at = 0;
    segments.retain(|segment| {
        let inner = at > 0 && at < last;
        at += 1;
        !(inner && segment.is_empty())
    });
    segments
}

/// Whether `steps` match all of `segments`. Walks the set of places in `steps`, so that many `**` stay cheap.
fn matches_steps(steps: &[Step], segments: &[&[u16]], dots_free: bool) -> bool {
    // reached[n]: the first n steps match the segments so far.
    let mut reached = vec![false; steps.len() + 1];
    reached[0] = true;
    skip_globstars(steps, &mut reached);
    for (at, segment) in segments.iter().enumerate() {
        if segment.is_empty()
            && at + 1 == segments.len()
            && at > 0
            && reached[steps.len()]
            && !ends_open(steps)
        {
            // A trailing slash of the path says nothing more.
            return true;
        }
        let mut next = vec![false; steps.len() + 1];
        for (index, step) in steps.iter().enumerate().filter(|(index, _)| reached[*index]) {
            match step {
                Step::One(one) => next[index + 1] |= one.matches(segment, dots_free),
                Step::Any if swallows(segment, dots_free) => {
                    next[index] = true;
                    // At the end `**` takes the rest; it needs one segment at least.
                    next[index + 1] |= index + 1 == steps.len();
                }
                Step::Any => {}
            }
        }
        reached = next;
        skip_globstars(steps, &mut reached);
    }
    reached[steps.len()]
}

fn ends_open(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Any))
}

/// A `**` that is not the last step also matches no segment at all.
fn skip_globstars(steps: &[Step], reached: &mut [bool]) {
    for (index, step) in steps.iter().enumerate() {
        if reached[index] && matches!(step, Step::Any) && index + 1 < steps.len() {
            reached[index + 1] = true;
        }
    }
}

fn swallows(segment: &[u16], dots_free: bool) -> bool {
    *segment != DOT && *segment != DOT_DOT && (dots_free || segment.first() != Some(&DOT[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extended_groups_match_inside_one_segment() {
        for (pattern, path, expected) in [
            ("!(a|b).rs", "c.rs", true),
            ("!(a|b).rs", "b.rs", false),
            ("!(a).rs", "ab.rs", true),
            ("!(*.test).ts", "a.ts", true),
            ("!(*.test).ts", "a.test.ts", false),
            ("!(a)", ".a", false),
            ("!(a).x", ".x", false),
            ("@(.a|b)", ".a", true),
            ("?(x).rs", ".rs", true),
            ("?(a)*", ".b", false),
            ("+(ab|c)d", "abcabd", true),
            ("+(ab|c)d", "d", false),
            ("@(a|+(b|c)x)y", "bcbxy", true),
            ("@(a", "@(a", true),
            ("a@(b|)c", "ac", true),
            ("x!(y)z", "xyz", false),
            ("x!(y)z", "xz", true),
            ("x!(y)z", "xyyz", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn classes_are_read_by_the_dialect() {
        for (pattern, path, expected) in [
            ("[]]", "]", true),
            ("[!]]", "]", false),
            ("[a-]", "-", true),
            ("[b-a]", "a", false),
            ("[b-ac]", "c", true),
            ("[a", "[a", true),
            ("[.]x", ".x", true),
            ("[.x]x", ".x", false),
            ("[[:upper:][:digit:]]", "7", true),
            ("[[:alpha:]]", "é", true),
            ("[^[:space:]]", "a", true),
            ("??", "𝒳", true),
            ("?", "𝒳", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_are_cleaned_before_they_are_matched() {
        for (pattern, path, expected) in [
            ("a//b", "a/b", true),
            ("a/./b", "a/b", true),
            ("a/x/../b", "a/b", true),
            ("a/{x/..,y}/b", "a/b", true),
            ("/a", "a", false),
            ("./a", "a", false),
            ("a/", "a", false),
            ("../a", "a", false),
            ("**/**/a", "x/y/a", true),
            ("a/**/**", "a", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn with_free_dots_wildcards_match_hidden_names_but_never_dot_and_dot_dot() {
        let free = |pattern: &str, path: &str| Glob::with_dots(pattern, Dots::Free).unwrap().matches(path);
        assert!(free("infra/**", "infra/.env"));
        assert!(free("infra/**", "infra/.x/y"));
        assert!(free("*.yml", ".travis.yml"));
        assert!(free("**", ".git/config"));
        assert!(!free("infra/**", "infra"));
        assert!(!free("infra/**", "infra/.."));
        assert!(!free("infra/*", "infra/."));
    }

    #[test]
    fn w_2_scopes_that_could_be_misread_are_refused() {
        for pattern in [
            "",
            "/a",
            "./a",
            "a/../b",
            "src/{../infra,x}/**",
            "a//b",
            "a\\b",
            "a\u{0}b",
            "a\nb",
            "src/.",
            "a/",
            "{a,/b}",
            "*(!(a))",
            "{1..100000}",
        ] {
            assert_eq!(check_scope(pattern).unwrap_err().code(), "pattern_invalid", "{pattern:?}");
        }
        for pattern in ["**", "src/**", ".github/**", "a/{b,c}.rs", "..cache/x", "a...b"] {
            assert_eq!(check_scope(pattern), Ok(()), "{pattern:?}");
        }
    }

    #[test]
    fn hostile_patterns_stay_cheap() {
        let path = "a".repeat(3_000);
        assert!(!matches(&format!("{}b", "*a".repeat(200)), &path));
        assert!(!matches(&format!("{}b", "*(a|aa)".repeat(20)), &path));
        assert!(matches("!(!(!(b)))a*", &path));
        let deep = "a/".repeat(300) + "x";
        assert!(!matches(&("**/a/".repeat(60) + "y"), &deep));
    }

    /// A plain reading of `*`, `?` and literals, to compare with.
    fn slow(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| slow(rest, &text[at..])),
            Some((b'?', rest)) => !text.is_empty() && slow(rest, &text[1..]),
            Some((unit, rest)) => text.first() == Some(unit) && slow(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_segment_matches_as_a_plain_reading_says(pattern in "[ab*?]{1,8}", text in "[ab]{1,8}") {
            prop_assume!(pattern != "**");
            prop_assert_eq!(matches(&pattern, &text), slow(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn a_negation_is_the_complement_of_its_alternatives(inner in "[ab*]{1,5}", text in "[ab]{1,6}") {
            let not = format!("!({inner})");
            prop_assert_eq!(matches(&not, &text), !slow(inner.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn no_pattern_panics(pattern in "[ab./{},()|!?*+@\\[\\]\\-0-9:$]{0,24}", path in "[ab./-]{0,12}") {
            let _ = matches(&pattern, &path);
            let _ = check_scope(&pattern);
        }

        #[test]
        fn free_dots_never_match_less(pattern in "[ab./{},*?]{1,12}", path in "[ab./]{1,10}") {
            let free = Glob::with_dots(&pattern, Dots::Free).unwrap();
            prop_assert!(!matches(&pattern, &path) || free.matches(&path));
        }
    }
}
