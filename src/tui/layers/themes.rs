//! The theme picker: the screen under it shows the selected theme at once; Esc brings the old one back.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel};
use crate::tui::keymap::Action;
use crate::tui::list::{Cursor, Motion};
use crate::tui::theme::{BUILT_IN, Depth, Role, Theme};
use crate::tui::ui::Row;
use crate::tui::view::Hits;
use crate::tui::world::{Go, Out, World};

/// State of the picker.
pub struct ThemePicker {
    themes: Vec<Theme>,
    before: Theme,
    cursor: Cursor,
}

impl ThemePicker {
    /// A picker over the built-in themes, as deep as the one that is shown.
    #[must_use]
    pub fn new(world: &World) -> ThemePicker {
        let before = world.theme.clone();
        let depth = before.depth();
        let names: &[&str] = if depth == Depth::Mono { &["mono"] } else { &BUILT_IN.map(|(name, _)| name) };
        let themes: Vec<Theme> = names.iter().filter_map(|name| Theme::built_in(name, depth).ok()).collect();
        let selected = themes.iter().position(|theme| theme.name() == before.name()).unwrap_or(0);
        ThemePicker { themes, before, cursor: Cursor { selected, offset: 0 } }
    }

    /// Moves and shows, keeps, or brings the old one back.
    pub fn act(&mut self, action: Action, _world: &World, out: &mut Out) {
        if let Some(motion) = Motion::of(action) {
            self.cursor.step(motion, self.themes.len(), self.themes.len());
            if let Some(theme) = self.themes.get(self.cursor.selected) {
                out.go(Go::Theme(theme.clone()));
            }
            return;
        }
        match action {
            Action::Take => close(out),
            Action::Dismiss => {
                out.go(Go::Theme(self.before.clone()));
                close(out);
            }
            _ => {}
        }
    }

    /// Draws it.
    pub fn draw(&self, world: &World, buf: &mut Buffer, area: Rect, _hits: &mut Hits) {
        let height = u16::try_from(self.themes.len()).unwrap_or(3) + 4;
        let rest = panel(world, buf, area, (40, height), "Themes", "");
        for (y, (at, theme)) in (rest.y..rest.bottom()).zip(self.themes.iter().enumerate()) {
            let selected = at == self.cursor.selected;
            let mut row =
                Row::new(world.paint(), rest.width).on(if selected { Role::Selection } else { Role::Panel });
            row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " }).gap(1);
            row.put(Role::Text, theme.name());
            row.draw(buf, rest.x, y);
        }
    }
}
