//! Text that came from outside: measuring it, cutting it, and making it safe to show.
//!
//! Every request, artifact, log line, diff and file name passes [`visible`] before it reaches a terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Number of UTF-16 code units, the protocol's measure of length (`protocol.md` 1.4).
#[must_use]
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The prefix of `text` with at most `limit` UTF-16 code units, never cut inside a character.
#[must_use]
pub fn cut_units(text: &str, limit: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > limit {
            return &text[..at];
        }
    }
    text
}

/// White space as ECMAScript trims it (`controller.md` 0): U+FEFF counts, U+0085 does not.
#[must_use]
pub fn is_script_space(c: char) -> bool {
    matches!(c, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// `text` without leading and trailing ECMAScript white space.
#[must_use]
pub fn script_trim(text: &str) -> &str {
    text.trim_matches(is_script_space)
}

/// Whether nothing is left of `text` after [`script_trim`].
#[must_use]
pub fn is_blank(text: &str) -> bool {
    script_trim(text).is_empty()
}

/// Whether a character could act on a terminal or hide what stands beside it: controls, bidi controls,
/// zero-width characters, and invisible fillers.
fn needs_symbol(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{61c}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// One line of outside text made safe for a terminal: control characters become their pictures
/// (`␛`, `␊`), bidi controls and invisible characters become `<U+202E>`. A joiner inside an emoji
/// family stays, since the cluster is drawn as one.
#[must_use]
pub fn visible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for cluster in line.graphemes(true) {
        let last = cluster.chars().count() - 1;
        for (at, c) in cluster.chars().enumerate() {
            match c {
                '\u{200d}' if at > 0 && at < last => out.push(c),
                '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
                '\u{7f}' => out.push('␡'),
                c if needs_symbol(c) => out.push_str(&format!("<U+{:04X}>", c as u32)),
                c => out.push(c),
            }
        }
    }
    out
}

/// Like [`visible`] for text of several lines: line feeds separate, tabs become four blanks, a carriage
/// return before a line feed is dropped.
pub fn visible_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('\n').map(|line| visible(&line.strip_suffix('\r').unwrap_or(line).replace('\t', "    ")))
}

/// Columns that `text` takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` cut to `columns`, with `…` in the last column when something was left out. Clusters stay whole.
#[must_use]
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let wide = width(cluster);
        if used + wide > columns - 1 {
            break;
        }
        used += wide;
        out.push_str(cluster);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_in_utf16_units_and_never_cut_a_character() {
        assert_eq!(units("a😀"), 3);
        assert_eq!(cut_units("a😀b", 2), "a");
        assert_eq!(cut_units("a😀b", 3), "a😀");
        assert_eq!(cut_units("ab", 9), "ab");
    }

    #[test]
    fn blank_follows_ecmascript_and_not_rust() {
        assert!(is_blank("\u{feff} \u{2003}\n"));
        assert!(!is_blank("\u{85}"));
    }

    #[test]
    fn nothing_that_acts_on_a_terminal_survives() {
        for hostile in
            ["\u{1b}[31mred", "a\u{202e}b", "\u{9b}31m", "x\u{7}y", "\u{2066}z", "\u{e0041}", "\r\n"]
        {
            let shown = visible(hostile);
            assert!(shown.chars().all(|c| !needs_symbol(c)), "{hostile:?} became {shown:?}");
        }
        assert_eq!(visible("\u{1b}[31m"), "␛[31m");
        assert_eq!(visible("a\u{202e}b"), "a<U+202E>b");
    }

    #[test]
    fn emoji_families_stay_whole() {
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(visible(family), family);
        assert_eq!(visible("a\u{200d}"), "a<U+200D>");
    }

    #[test]
    fn truncation_counts_columns() {
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(truncate("abc", 0), "");
    }
}
