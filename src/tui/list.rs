//! Where a list stands: the selected line and the first one that is shown. Owns no data and draws nothing.

use std::ops::Range;

use super::keymap::Action;

/// A movement in a list, a table or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One column to the left.
    Left,
    /// One column to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first line.
    Top,
    /// To the last line.
    Bottom,
}

impl Motion {
    /// The movement that an action is.
    #[must_use]
    pub fn of(action: Action) -> Option<Motion> {
        Some(match action {
            Action::Up | Action::PickUp => Motion::Up,
            Action::Down | Action::PickDown => Motion::Down,
            Action::Left => Motion::Left,
            Action::Right => Motion::Right,
            Action::PageUp => Motion::PageUp,
            Action::PageDown => Motion::PageDown,
            Action::Top => Motion::Top,
            Action::Bottom => Motion::Bottom,
            _ => return None,
        })
    }
}

/// The selected line and the first one shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The selected line.
    pub selected: usize,
    /// The first line that is shown.
    pub offset: usize,
}

impl Cursor {
    /// Moves in a list of `len` lines of which `height` are shown.
    pub fn step(&mut self, motion: Motion, len: usize, height: usize) {
        let page = height.saturating_sub(1).max(1);
        let at = self.selected.min(len.saturating_sub(1));
        let to = match motion {
            Motion::Up => at.saturating_sub(1),
            Motion::Down => at + 1,
            Motion::PageUp => at.saturating_sub(page),
            Motion::PageDown => at + page,
            Motion::Top => 0,
            Motion::Bottom => len,
            Motion::Left | Motion::Right => at,
        };
        self.select(to, len, height);
    }

    /// Selects a line and brings it into the window.
    pub fn select(&mut self, line: usize, len: usize, height: usize) {
        self.selected = line.min(len.saturating_sub(1));
        self.offset = self.window(len, height).start;
    }

    /// The lines that are shown: the selected one is among them, and no room is left under the last one.
    #[must_use]
    pub fn window(&self, len: usize, height: usize) -> Range<usize> {
        let selected = self.selected.min(len.saturating_sub(1));
        let mut first = self.offset.min(len.saturating_sub(height));
        if selected < first {
            first = selected;
        } else if height > 0 && selected >= first + height {
            first = selected + 1 - height;
        }
        first..(first + height).min(len)
    }
}

/// The first line shown of a page that is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scroll(pub usize);

impl Scroll {
    /// Moves a page of `len` lines of which `height` are shown.
    pub fn step(&mut self, motion: Motion, len: usize, height: usize) {
        let last = len.saturating_sub(height);
        let page = height.saturating_sub(1).max(1);
        let at = self.0.min(last);
        self.0 = match motion {
            Motion::Up => at.saturating_sub(1),
            Motion::Down => (at + 1).min(last),
            Motion::PageUp => at.saturating_sub(page),
            Motion::PageDown => (at + page).min(last),
            Motion::Top => 0,
            Motion::Bottom => last,
            Motion::Left | Motion::Right => at,
        };
    }

    /// The lines that are shown.
    #[must_use]
    pub fn window(&self, len: usize, height: usize) -> Range<usize> {
        let first = self.0.min(len.saturating_sub(height));
        first..(first + height).min(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_line_is_always_in_the_window() {
        for len in [0usize, 1, 5, 100] {
            for height in [0usize, 1, 3, 200] {
                let mut cursor = Cursor::default();
                for motion in [Motion::Down, Motion::PageDown, Motion::Bottom, Motion::Up, Motion::Top] {
                    cursor.step(motion, len, height);
                    let window = cursor.window(len, height);
                    assert!(window.end <= len);
                    assert!(len == 0 || height == 0 || window.contains(&cursor.selected));
                }
            }
        }
    }

    #[test]
    fn a_list_that_shrank_shows_its_end() {
        let cursor = Cursor { selected: 90, offset: 80 };
        assert_eq!(cursor.window(5, 10), 0..5);
        assert_eq!(Scroll(90).window(5, 3), 2..5);
    }
}
