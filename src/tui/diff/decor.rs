//! Colours and changed words of one hunk. Made by the worker thread, cached by file and hunk.
//!
//! Grammars give scopes, scopes become the theme's roles: code is coloured as the dashboard is. Bounded: a hunk of
//! more than [`MOST_LINES`] lines and a line of more than [`LONGEST`] bytes stay plain.

use std::ops::Range;

use similar::{DiffTag, TextDiff};
use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxReference, SyntaxSet};
use unicode_segmentation::UnicodeSegmentation;

use super::{File, Hunk, Kind};
use crate::tui::theme::Role;

/// Most lines of a hunk that is coloured.
const MOST_LINES: usize = 4000;

/// Most bytes of a line that is coloured.
const LONGEST: usize = 2000;

/// Colours and changed words, one entry per line of the hunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decor {
    /// Pieces of the line and their roles; what is between them is plain.
    pub colours: Vec<Vec<(Range<usize>, Role)>>,
    /// Pieces that changed inside a changed line.
    pub changed: Vec<Vec<Range<usize>>>,
}

/// Grammars, loaded once.
pub struct Painter {
    grammars: SyntaxSet,
    scopes: Vec<(Scope, Role)>,
}

impl Default for Painter {
    fn default() -> Self {
        Painter { grammars: two_face::syntax::extra_newlines(), scopes: scopes() }
    }
}

/// Scopes and what they look like; the first that is a prefix wins.
fn scopes() -> Vec<(Scope, Role)> {
    const NAMES: [(&str, Role); 19] = [
        ("comment", Role::SyntaxComment),
        ("punctuation.definition.comment", Role::SyntaxComment),
        ("punctuation.definition.string", Role::SyntaxString),
        ("string", Role::SyntaxString),
        ("constant", Role::SyntaxNumber),
        ("entity.name.function", Role::SyntaxFunction),
        ("support.function", Role::SyntaxFunction),
        ("variable.function", Role::SyntaxFunction),
        ("support.macro", Role::SyntaxFunction),
        ("entity.name.tag", Role::SyntaxKeyword),
        ("entity.name", Role::SyntaxType),
        ("support.type", Role::SyntaxType),
        ("support.class", Role::SyntaxType),
        ("storage.type", Role::SyntaxKeyword),
        ("storage", Role::SyntaxKeyword),
        ("keyword.operator", Role::SyntaxPunctuation),
        ("keyword", Role::SyntaxKeyword),
        ("variable.language", Role::SyntaxKeyword),
        ("punctuation", Role::SyntaxPunctuation),
    ];
    NAMES.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role))).collect()
}

impl Painter {
    /// Colours and changed words of a hunk.
    #[must_use]
    pub fn paint(&self, file: &File, hunk: &Hunk) -> Decor {
        let mut decor = Decor { colours: vec![Vec::new(); hunk.lines.len()], changed: changed_words(hunk) };
        if hunk.lines.len() > MOST_LINES {
            return decor;
        }
        if let Some(grammar) = self.grammar(&file.path, hunk) {
            // Old and new text are two texts: each keeps its own parser state.
            self.colour(grammar, hunk, Kind::Removed, &mut decor);
            self.colour(grammar, hunk, Kind::Added, &mut decor);
        }
        decor
    }

    fn grammar(&self, path: &str, hunk: &Hunk) -> Option<&SyntaxReference> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit('.').next().unwrap_or(name);
        self.grammars
            .find_syntax_by_extension(name)
            .or_else(|| self.grammars.find_syntax_by_extension(extension))
            .or_else(|| self.grammars.find_syntax_by_first_line(&hunk.lines.first()?.text))
    }

    fn colour(&self, grammar: &SyntaxReference, hunk: &Hunk, side: Kind, decor: &mut Decor) {
        let mut state = ParseState::new(grammar);
        let mut stack = ScopeStack::new();
        for (at, line) in hunk.lines.iter().enumerate() {
            if (line.kind != side && line.kind != Kind::Context) || line.text.len() > LONGEST {
                continue;
            }
            let text = format!("{}\n", line.text);
            let Ok(operations) = state.parse_line(&text, &self.grammars) else { return };
            let mut pieces: Vec<(Range<usize>, Role)> = Vec::new();
            let mut from = 0;
            for (to, operation) in operations.into_iter().chain([(line.text.len(), ScopeStackOp::Noop)]) {
                let to = to.min(line.text.len());
                if let Some(role) = self.role(&stack).filter(|_| to > from) {
                    match pieces.last_mut() {
                        Some((range, last)) if *last == role && range.end == from => range.end = to,
                        _ => pieces.push((from..to, role)),
                    }
                }
                from = from.max(to);
                if stack.apply(&operation).is_err() {
                    return;
                }
            }
            decor.colours[at] = pieces;
        }
    }

    fn role(&self, stack: &ScopeStack) -> Option<Role> {
        stack.as_slice().iter().rev().find_map(|scope| {
            self.scopes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role)
        })
    }
}

/// Changed pieces of paired lines. Lines with little in common are shown as changed whole, that is: not at all.
fn changed_words(hunk: &Hunk) -> Vec<Vec<Range<usize>>> {
    let mut out = vec![Vec::new(); hunk.lines.len()];
    for (old, new) in &hunk.pairs {
        let (Some(old), Some(new)) = (*old, *new) else { continue };
        let (before, after) = (&hunk.lines[old], &hunk.lines[new]);
        if old == new || before.text.len().max(after.text.len()) > LONGEST {
            continue;
        }
        let words = |text: &'_ str| -> Vec<String> { text.split_word_bounds().map(str::to_owned).collect() };
        let (before, after) = (words(&before.text), words(&after.text));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let diff = TextDiff::from_slices(&before, &after);
        if !alike(&before, &after, diff.ops()) {
            continue;
        }
        let span = |words: &[&str], range: Range<usize>| {
            let start: usize = words[..range.start].iter().map(|word| word.len()).sum();
            start..start + words[range].iter().map(|word| word.len()).sum::<usize>()
        };
        for operation in diff.ops() {
            if operation.tag() == DiffTag::Equal {
                continue;
            }
            push(&mut out[old], span(&before, operation.old_range()));
            push(&mut out[new], span(&after, operation.new_range()));
        }
    }
    out
}

/// Whether at least two fifths of what is not blank is on both sides.
fn alike(before: &[&str], after: &[&str], operations: &[similar::DiffOp]) -> bool {
    let size = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let equal = operations.iter().filter(|operation| operation.tag() == DiffTag::Equal);
    let common: usize = equal.map(|operation| size(&before[operation.old_range()])).sum();
    common * 5 >= size(before) + size(after)
}

fn push(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    if !range.is_empty() {
        ranges.push(range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::diff::parse;

    fn decor(path: &str, lines: &str) -> (Decor, Vec<String>) {
        let count = |sign: char| lines.lines().filter(|line| line.starts_with(sign)).count();
        let (old, new) = (count('-') + count(' '), count('+') + count(' '));
        let patch = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{old} +1,{new} @@\n{lines}"
        );
        let model = parse("d", patch.as_bytes()).unwrap();
        let hunk = &model.files[0].hunks[0];
        let texts = hunk.lines.iter().map(|line| line.text.clone()).collect();
        (Painter::default().paint(&model.files[0], hunk), texts)
    }

    #[test]
    fn keywords_and_strings_have_their_roles() {
        let (decor, texts) = decor("a.rs", " fn main() { let x = \"hi\"; } // end\n");
        let role = |word: &str| {
            let at = texts[0].find(word).unwrap();
            decor.colours[0].iter().find(|(range, _)| range.contains(&at)).map(|(_, role)| *role)
        };
        assert_eq!(role("fn"), Some(Role::SyntaxKeyword));
        assert_eq!(role("main"), Some(Role::SyntaxFunction));
        assert_eq!(role("hi"), Some(Role::SyntaxString));
        assert_eq!(role("// end"), Some(Role::SyntaxComment));
    }

    #[test]
    fn only_the_changed_words_of_a_pair_are_marked() {
        let (decor, texts) = decor("a.txt", "-keep the old word\n+keep the new word\n");
        let marked = |line: usize| {
            decor.changed[line].iter().map(|range| texts[line][range.clone()].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((marked(0), marked(1)), (vec!["old".to_owned()], vec!["new".to_owned()]));
    }

    #[test]
    fn lines_that_have_nothing_in_common_are_not_marked() {
        let (decor, _) = decor("a.txt", "-alpha beta gamma\n+one two three\n");
        assert!(decor.changed.iter().all(Vec::is_empty));
    }
}
