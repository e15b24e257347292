//! The few signs that the dashboard draws, with a plain ASCII set for terminals and fonts without them.

use crate::service::snapshot::{CellState, ItemState, NeedKind, PhaseCell};

/// A set of signs. Every sign is one column wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// A vertical rule.
    pub vertical: &'static str,
    /// A horizontal rule.
    pub horizontal: &'static str,
    /// Stands before the selected row.
    pub pointer: &'static str,
    /// Between words of one line.
    pub dot: &'static str,
    /// Passed.
    pub pass: &'static str,
    /// Needs attention.
    pub warn: &'static str,
    /// Failed.
    pub fail: &'static str,
    /// Only information.
    pub info: &'static str,
    /// Running or current.
    pub current: &'static str,
    /// Waits for a person.
    pub waiting: &'static str,
    /// Not yet, or not marked.
    pub empty: &'static str,
    /// Filled part of a gauge.
    pub full: &'static str,
    /// Empty part of a gauge.
    pub track: &'static str,
    /// A phase of the rail that is done.
    pub rail_done: &'static str,
    /// A phase of the rail that was entered more than once.
    pub rail_again: &'static str,
    /// A phase of the rail that is not reached.
    pub rail_todo: &'static str,
    /// A phase of the rail that was left out.
    pub rail_skipped: &'static str,
    /// First, middle and last row of a loop between two entries into a phase.
    pub loop_back: [&'static str; 3],
    /// A folder that is open.
    pub open: &'static str,
    /// Thumb of a scroll bar.
    pub thumb: &'static str,
    /// Left edge that marks something.
    pub edge: &'static str,
    /// From one to another.
    pub arrow: &'static str,
    /// More to the left, more to the right.
    pub more: [&'static str; 2],
}

/// The set for terminals with Unicode.
pub const UNICODE: Glyphs = Glyphs {
    vertical: "│",
    horizontal: "─",
    pointer: "▌",
    dot: "·",
    pass: "✓",
    warn: "▲",
    fail: "✗",
    info: "•",
    current: "●",
    waiting: "◆",
    empty: "○",
    full: "━",
    track: "─",
    rail_done: "━",
    rail_again: "═",
    rail_todo: "┄",
    rail_skipped: " ",
    loop_back: ["╭", "│", "╰"],
    open: "▾",
    thumb: "┃",
    edge: "▌",
    arrow: "→",
    more: ["‹", "›"],
};

/// The set for everything else.
pub const ASCII: Glyphs = Glyphs {
    vertical: "|",
    horizontal: "-",
    pointer: ">",
    dot: "-",
    pass: "+",
    warn: "!",
    fail: "x",
    info: "*",
    current: "o",
    waiting: "?",
    empty: ".",
    full: "#",
    track: "-",
    rail_done: "=",
    rail_again: "%",
    rail_todo: ".",
    rail_skipped: " ",
    loop_back: ["/", "|", "\\"],
    open: "v",
    thumb: "#",
    edge: "|",
    arrow: ">",
    more: ["<", ">"],
};

impl Glyphs {
    /// The sign of a phase on the small rail.
    #[must_use]
    pub fn rail(&self, cell: PhaseCell) -> &'static str {
        match cell.state {
            CellState::Done if cell.visits > 1 => self.rail_again,
            CellState::Done => self.rail_done,
            CellState::Current => self.current,
            CellState::Waiting => self.waiting,
            CellState::Failed => self.fail,
            CellState::Skipped => self.rail_skipped,
            CellState::Todo => self.rail_todo,
        }
    }

    /// The sign of one entry into a phase.
    #[must_use]
    pub fn phase(&self, state: CellState) -> &'static str {
        match state {
            CellState::Done => self.pass,
            CellState::Current => self.current,
            CellState::Waiting => self.waiting,
            CellState::Failed => self.fail,
            CellState::Todo | CellState::Skipped => self.empty,
        }
    }

    /// The sign of an item of a checklist.
    #[must_use]
    pub fn item(&self, state: ItemState) -> &'static str {
        match state {
            ItemState::Pass => self.pass,
            ItemState::Warn => self.warn,
            ItemState::Fail => self.fail,
            ItemState::Info => self.info,
        }
    }

    /// The sign of what a run needs.
    #[must_use]
    pub fn need(&self, kind: NeedKind) -> &'static str {
        match kind {
            NeedKind::Clarification | NeedKind::ToolCall | NeedKind::Budget => self.waiting,
            NeedKind::Approval => self.pass,
            NeedKind::Publication | NeedKind::Infrastructure => self.fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn every_sign_takes_one_column_and_the_plain_set_is_ascii() {
        for set in [UNICODE, ASCII] {
            let rest = [set.pass, set.warn, set.fail, set.info, set.current, set.waiting, set.empty];
            let lines = [set.vertical, set.horizontal, set.pointer, set.dot, set.full, set.track];
            let rails = [set.rail_done, set.rail_again, set.rail_todo, set.rail_skipped, set.open];
            let all: Vec<&str> =
                [&rest[..], &lines, &rails, &set.loop_back, &set.more, &[set.thumb, set.edge, set.arrow]]
                    .concat();
            for sign in all {
                assert_eq!(text::width(sign), 1, "{sign}");
                assert!(set != ASCII || sign.is_ascii(), "{sign}");
            }
        }
    }
}
