//! A log as far as it is loaded: bytes come in windows, lines come out; colours of the log are kept, everything
//! else that could act on a terminal is shown.

use ratatui::style::{Color, Modifier, Style};

use crate::text;

/// Most lines that are kept; earlier ones are dropped and counted.
const KEPT: usize = 200_000;

/// A log that is being read.
#[derive(Debug, Clone, Default)]
pub struct LogSlot {
    /// Artifact id.
    pub artifact: String,
    /// Lines that were dropped at the beginning.
    pub dropped: usize,
    /// Offset of the next byte to load.
    pub next: u64,
    /// Size of the whole log.
    pub total: u64,
    /// Whether a window is on its way.
    pub loading: bool,
    /// When a window was asked for last, on the steady clock.
    pub asked_at: Option<u64>,
    lines: Vec<Vec<u8>>,
    tail: Vec<u8>,
}

/// A piece of a log line in one style.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Text, visible.
    pub text: String,
    /// Colours as the log asked for them, over the theme's.
    pub style: Style,
}

impl LogSlot {
    /// An empty log.
    #[must_use]
    pub fn new(artifact: &str) -> LogSlot {
        LogSlot { artifact: artifact.to_owned(), ..LogSlot::default() }
    }

    /// Takes a window in. One that does not go on where the last ended is dropped. An empty window is the end,
    /// whatever size it claims: otherwise a log that cannot be read to its end would be asked for without pause.
    pub fn take(&mut self, from: u64, bytes: &[u8], total: u64) {
        self.loading = false;
        self.total = total;
        if from != self.next {
            return;
        }
        if bytes.is_empty() {
            self.total = self.next;
        }
        self.next += bytes.len() as u64;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.tail.extend_from_slice(part);
            if self.tail.last() == Some(&b'\n') {
                self.tail.pop();
                self.lines.push(std::mem::take(&mut self.tail));
            }
        }
        let over = self.lines.len().saturating_sub(KEPT);
        if over > 0 {
            self.lines.drain(..over);
            self.dropped += over;
        }
    }

    /// Number of lines, the unfinished one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len() + usize::from(!self.tail.is_empty())
    }

    /// Whether nothing is loaded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether more is there to load.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.next < self.total
    }

    /// A line in pieces of one style each.
    #[must_use]
    pub fn line(&self, index: usize) -> Vec<Piece> {
        let bytes = self.lines.get(index).unwrap_or(&self.tail);
        pieces(&String::from_utf8_lossy(bytes))
    }

    /// The first line that reads like a failure.
    #[must_use]
    pub fn first_failure(&self) -> Option<usize> {
        self.lines.iter().position(|line| {
            let line = String::from_utf8_lossy(line).to_ascii_lowercase();
            ["error", "failed", "failure", "panicked"].iter().any(|word| line.contains(word))
        })
    }
}

/// Splits a line at its colour sequences (SGR). Any other control is shown, never passed on; of a line that
/// overwrote itself with carriage returns the last writing is kept.
#[must_use]
pub fn pieces(line: &str) -> Vec<Piece> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut out: Vec<Piece> = Vec::new();
    let mut style = Style::new();
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        let (before, sequence) = rest.split_at(at);
        add(&mut out, before, style);
        let body = &sequence[2..];
        let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':')).unwrap_or(body.len());
        if body[end..].starts_with('m') {
            style = sgr(style, &body[..end]);
            rest = &body[end + 1..];
        } else {
            add(&mut out, &sequence[..2], style);
            rest = body;
        }
    }
    add(&mut out, rest, style);
    out
}

fn add(out: &mut Vec<Piece>, content: &str, style: Style) {
    if !content.is_empty() {
        out.push(Piece { text: text::visible(&content.replace('\t', "    ")), style });
    }
}

fn sgr(mut style: Style, parameters: &str) -> Style {
    const NAMED: [Color; 8] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    let mut codes = parameters.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => style = Style::new(),
            1 => style.add_modifier |= Modifier::BOLD,
            2 => style.add_modifier |= Modifier::DIM,
            3 => style.add_modifier |= Modifier::ITALIC,
            4 => style.add_modifier |= Modifier::UNDERLINED,
            22 => style.add_modifier -= Modifier::BOLD | Modifier::DIM,
            30..=37 => style.fg = Some(NAMED[usize::from(code - 30)]),
            90..=97 => style.fg = Some(NAMED[usize::from(code - 90)]),
            39 => style.fg = None,
            38 | 48 => {
                // Extended colours: their parameters are used up; the background is left to the theme.
                let colour = match codes.next() {
                    Some(5) => codes.next().and_then(|n| u8::try_from(n).ok()).map(Color::Indexed),
                    Some(2) => {
                        let mut part = || codes.next().and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
                        Some(Color::Rgb(part(), part(), part()))
                    }
                    _ => None,
                };
                if code == 38 {
                    style.fg = colour;
                }
            }
            _ => {}
        }
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_window_ends_a_log_that_claims_to_be_longer() {
        let mut log = LogSlot::new("log");
        log.take(0, b"one\n", 10);
        assert!(log.has_more());
        log.take(4, b"", 10);
        assert!(!log.has_more());
        log.take(4, b"two\n", 12);
        assert_eq!((log.len(), log.has_more()), (2, true), "it goes on when more was written");
    }

    fn plain(line: &str) -> String {
        pieces(line).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn lines_grow_over_windows_and_a_window_that_does_not_fit_is_dropped() {
        let mut log = LogSlot::new("a");
        log.take(0, b"one\ntw", 12);
        assert_eq!((log.len(), log.next), (2, 6));
        log.take(0, b"one\ntw", 12);
        log.take(6, b"o\nend\n", 12);
        assert_eq!((log.len(), log.has_more()), (3, false));
        assert_eq!(log.line(1), [Piece { text: "two".into(), style: Style::new() }]);
    }

    #[test]
    fn colours_stay_and_everything_else_is_shown() {
        let red = pieces("a\u{1b}[31mred\u{1b}[0m b");
        assert_eq!(red[1], Piece { text: "red".into(), style: Style::new().fg(Color::Red) });
        assert_eq!(red[2].style, Style::new());
        assert_eq!(plain("x\u{1b}[2Jy\u{1b}]0;title\u{7}"), "x␛[2Jy␛]0;title␇");
        assert_eq!(plain("10%\r100%"), "100%");
        assert_eq!(pieces("\u{1b}[38;5;9mx")[0].style.fg, Some(Color::Indexed(9)));
        assert_eq!(plain("\u{1b}[38;2;1"), "␛[38;2;1");
    }

    #[test]
    fn the_first_failure_is_found() {
        let mut log = LogSlot::new("a");
        log.take(0, b"ok\ntest x ... FAILED\nerror\n", 26);
        assert_eq!(log.first_failure(), Some(1));
    }
}
