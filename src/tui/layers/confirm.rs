//! Asking a second time. Only the key that asked says yes; every other key means no or nothing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel, words};
use crate::tui::keymap::{Action, Scope};
use crate::tui::theme::Role;
use crate::tui::ui;
use crate::tui::world::{Go, Out, World};

/// State of the confirmation.
pub struct Confirm {
    action: Action,
    scope: Scope,
    title: String,
    detail: String,
}

impl Confirm {
    /// Asks whether to do `action`, whose key is looked up in `scope`.
    #[must_use]
    pub fn new(action: Action, scope: Scope, title: &str, detail: &str) -> Confirm {
        Confirm { action, scope, title: title.to_owned(), detail: detail.to_owned() }
    }

    /// The action it asks for.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Words of the key that says yes.
    #[must_use]
    pub fn yes(&self) -> &'static str {
        "again: yes"
    }

    /// Where the key of the action is looked up.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Does the action, or goes back.
    pub fn act(&self, action: Action, out: &mut Out) {
        if action == self.action {
            close(out);
            out.go(Go::Confirmed(action));
        } else if action == Action::Decline {
            close(out);
        }
    }

    /// Draws it.
    pub fn draw(&self, world: &World, buf: &mut Buffer, area: Rect) {
        let width = area.width.saturating_sub(8).min(70);
        let lines = ui::wrap(&self.detail, usize::from(width.saturating_sub(5))).count();
        let height = u16::try_from(lines).unwrap_or(1).saturating_add(6);
        let rest = panel(world, buf, area, (width, height), &self.title, "");
        let used = words(world, buf, rest, Role::Text, &self.detail);
        let line = Rect { y: rest.y + used + 1, height: rest.height.saturating_sub(used + 1), ..rest };
        let key = world.keymap.key(self.action);
        let no = world.keymap.key(Action::Decline);
        words(world, buf, line, Role::Warn, &format!("{key} again does it. {no} goes back."));
    }
}
