//! What the server says on its error stream: single lines, never more than 800 characters (`mcp.md` 1.2).

use crate::text::{cut_units, visible};
use std::io::Write as _;

/// The longest line, in UTF-16 units.
const LINE: usize = 800;

/// Writes one line; line breaks become blanks, control characters visible.
pub fn say(text: &str) {
    // A closed error stream is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{}", line(text));
}

fn line(text: &str) -> String {
    let words: Vec<&str> = text.split(['\r', '\n']).filter(|part| !part.is_empty()).collect();
    let whole = format!("telic: {}", visible(&words.join(" ")));
    cut_units(&whole, LINE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_is_one_short_line_without_control_characters() {
        assert_eq!(line("a\r\nb\u{1b}[2J"), "telic: a b␛[2J");
        assert_eq!(crate::text::units(&line(&"ä".repeat(2000))), LINE);
    }
}
