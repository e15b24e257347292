//! The families of `grounding.md` 7, exactly as recorded: nothing may be added to or taken from them here.

use super::assignment;
use super::{RuleId, boundary, is_word, run_end};

/// The first family that matches, and the byte it matches at.
pub(super) fn find(text: &str) -> Option<(RuleId, usize)> {
    pem(text)
        .map(|at| (RuleId::PemPrivateKey, at))
        .or_else(|| aws(text).map(|at| (RuleId::AwsAccessKey, at)))
        .or_else(|| github(text).map(|at| (RuleId::GithubToken, at)))
        .or_else(|| json_web_token(text.as_bytes()).map(|at| (RuleId::JsonWebToken, at)))
        .or_else(|| assignment::find(text).map(|at| (RuleId::Assignment, at)))
}

/// Family 1: `-----BEGIN `, an optional type and a blank, `PRIVATE KEY-----`.
///
/// Everything up to the closing hyphens is one run of capitals, digits and blanks, so one look decides.
fn pem(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices("-----BEGIN ").map(|(at, opening)| (at, at + opening.len())).find_map(|(at, from)| {
        let end = run_end(bytes, from, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
        let kind = text[from..end].strip_suffix("PRIVATE KEY")?;
        let typed = kind.is_empty() || (kind.len() >= 2 && kind.ends_with(' '));
        (typed && text[end..].starts_with("-----")).then_some(at)
    })
}

/// Family 2: `AKIA` and exactly 16 digits or capitals, on boundaries.
fn aws(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices("AKIA").map(|(at, _)| at).find(|at| {
        let from = at + 4;
        boundary(bytes, *at)
            && bytes
                .get(from..from + 16)
                .is_some_and(|id| id.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()))
            && boundary(bytes, from + 16)
    })
}

/// Family 3: `gh`, a kind, `_` and at least 20 letters or digits, on boundaries. Inside the run there is no
/// boundary, so only its end counts.
fn github(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices("gh").map(|(at, _)| at).find(|at| {
        let from = at + 4;
        boundary(bytes, *at)
            && bytes.get(at + 2).is_some_and(|kind| b"pousr".contains(kind))
            && bytes.get(at + 3) == Some(&b'_')
            && {
                let end = run_end(bytes, from, |b| b.is_ascii_alphanumeric());
                end - from >= 20 && boundary(bytes, end)
            }
    })
}

/// Family 4: three dotted parts of which the first begins with `eyJ`.
///
/// A dot is no part character, so the parts are whole runs and each run is looked at once.
fn json_web_token(bytes: &[u8]) -> Option<usize> {
    let part = |byte: u8| is_word(byte) || byte == b'-';
    let mut at = 0;
    while at < bytes.len() {
        if !part(bytes[at]) {
            at += 1;
            continue;
        }
        let first_end = run_end(bytes, at, part);
        if let Some(start) = token_start(bytes, at, first_end)
            && bytes.get(first_end) == Some(&b'.')
        {
            let second_end = run_end(bytes, first_end + 1, part);
            if second_end - (first_end + 1) >= 8 && bytes.get(second_end) == Some(&b'.') {
                let third = second_end + 1;
                let third_end = run_end(bytes, third, part);
                if (third + 8..=third_end).any(|end| boundary(bytes, end)) {
                    return Some(start);
                }
            }
        }
        at = first_end;
    }
    None
}

/// The first place in a run where a token could begin with at least eight characters after `eyJ`.
fn token_start(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
    (from..(end + 1).saturating_sub(11)).find(|at| bytes[*at..].starts_with(b"eyJ") && boundary(bytes, *at))
}

#[cfg(test)]
mod tests {
    use super::super::{RuleId, likely_credential};

    fn rule(text: &str) -> Option<RuleId> {
        likely_credential(text).map(|hit| hit.rule)
    }

    #[test]
    fn pem_types_are_one_or_more_characters_and_a_blank() {
        assert_eq!(rule("-----BEGIN A PRIVATE KEY-----"), Some(RuleId::PemPrivateKey));
        assert_eq!(rule("-----BEGIN   PRIVATE KEY-----"), Some(RuleId::PemPrivateKey));
        assert_eq!(rule("-----BEGIN APRIVATE KEY-----"), None);
        assert_eq!(rule("-----BEGIN PRIVATE KEY----"), None);
    }

    #[test]
    fn a_web_token_may_begin_behind_a_hyphen_and_needs_a_boundary_late_in_its_last_part() {
        assert_eq!(rule("x-eyJaaaaaaaa.bbbbbbbb.cccccccc"), Some(RuleId::JsonWebToken));
        assert_eq!(rule("eyJaaaaaaaa.bbbbbbbb.--------"), None);
        assert_eq!(rule("eyJaaaaaaaa.bbbbbbbb.--------c"), Some(RuleId::JsonWebToken));
        assert_eq!(rule("eyJaaaaaaa.bbbbbbbb.cccccccc"), None);
    }

    #[test]
    fn texts_made_to_be_slow_are_read_once() {
        // Each of these restarts a naive matcher at every position of a long run.
        let hostile = [
            "-eyJ".repeat(500_000),
            "-----BEGIN ".repeat(200_000),
            format!("token{}", " ".repeat(2_000_000)),
            "token : ".repeat(250_000),
            "eyJaaaaaaaa.bbbbbbbb.-------.".repeat(70_000),
            "ghp_".repeat(500_000),
        ];
        for text in &hostile {
            assert_eq!(rule(text), None, "{}", &text[..20]);
        }
    }
}
