//! The command palette: every action that works on the screen under it, found by a few letters.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel};
use crate::tui::keymap::{Action, Scope};
use crate::tui::list::{Cursor, Motion};
use crate::tui::theme::Role;
use crate::tui::ui::Row;
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Go, Out, World};

const SHOWN: usize = 12;

struct Item {
    action: Action,
    words: &'static str,
    key: String,
}

/// State of the palette.
pub struct Palette {
    items: Vec<Item>,
    query: String,
    found: Vec<usize>,
    cursor: Cursor,
}

impl Palette {
    /// Every action of these scopes but movements. What decides an approval is not among them: it has its page.
    #[must_use]
    pub fn new(world: &World, scopes: &[Scope]) -> Palette {
        let wanted = |scope: Scope| !matches!(scope, Scope::Motion);
        let items = world.keymap.entries(scopes).filter(|entry| wanted(entry.scope));
        let items = items.filter(|entry| !matches!(entry.action, Action::Palette)).map(|entry| Item {
            action: entry.action,
            words: entry.words,
            key: world.keymap.key(entry.action),
        });
        let items: Vec<Item> = items.collect();
        let found = (0..items.len()).collect();
        Palette { items, query: String::new(), found, cursor: Cursor::default() }
    }

    fn search(&mut self) {
        let pattern = Pattern::parse(&self.query, CaseMatching::Ignore, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buf = Vec::new();
        let mut scored: Vec<(u32, usize)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let text = nucleo_matcher::Utf32Str::new(item.words, &mut buf);
            if let Some(score) = pattern.score(text, &mut matcher) {
                scored.push((score, at));
            }
        }
        scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.found = scored.into_iter().map(|(_, at)| at).collect();
        self.cursor = Cursor::default();
    }

    /// A letter of the query.
    pub fn typed(&mut self, event: KeyEvent) {
        match event.code {
            KeyCode::Char(c) if !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.query.push(c);
            }
            KeyCode::Backspace => _ = self.query.pop(),
            _ => return,
        }
        self.search();
    }

    /// Pasted letters of the query.
    pub fn pasted(&mut self, text: &str) {
        self.query.extend(text.chars().filter(|c| !c.is_control()).take(100));
        self.search();
    }

    /// A click selects a line.
    pub fn select(&mut self, index: usize) {
        self.cursor.select(index, self.found.len(), SHOWN);
    }

    /// Moves, takes the selected action, or closes.
    pub fn act(&mut self, action: Action, out: &mut Out) {
        if let Some(motion) = Motion::of(action) {
            self.cursor.step(motion, self.found.len(), SHOWN);
            return;
        }
        match action {
            Action::Take => {
                close(out);
                if let Some(at) = self.found.get(self.cursor.selected) {
                    out.go(Go::Act(self.items[*at].action));
                }
            }
            Action::Dismiss => close(out),
            _ => {}
        }
    }

    /// Draws it.
    pub fn draw(&self, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
        let height = u16::try_from(SHOWN).unwrap_or(0) + 6;
        let note = format!("{} of {}", self.found.len(), self.items.len());
        let size = (area.width.saturating_sub(6).min(72), height);
        let rest = panel(world, buf, area, size, "Actions", &note);
        let mut field = Row::new(world.paint(), rest.width).on(Role::Selection);
        field.put(Role::Accent, " : ").put(Role::Text, &self.query);
        field.styled(
            world.theme.on(Role::Text, Role::Selection).add_modifier(ratatui::style::Modifier::REVERSED),
            " ",
        );
        if rest.height > 0 {
            field.draw(buf, rest.x, rest.y);
        }
        let list = Rect { y: rest.y + 2, height: rest.height.saturating_sub(2), ..rest };
        for (y, at) in (list.y..).zip(self.cursor.window(self.found.len(), usize::from(list.height))) {
            let item = &self.items[self.found[at]];
            let selected = at == self.cursor.selected;
            let mut row =
                Row::new(world.paint(), list.width).on(if selected { Role::Selection } else { Role::Panel });
            row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " }).gap(1);
            row.put(Role::Text, item.words).right(Role::Faint, &item.key);
            row.draw(buf, list.x, y);
            hits.add(Rect { y, height: 1, ..list }, Hit::Choice(at));
        }
    }
}
