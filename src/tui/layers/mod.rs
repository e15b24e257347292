//! The modals. They stand in a stack, only the top one is asked, and each has its own file.
//!
//! The contract: dismissing never means yes; a decision names exactly what it decides; a question that was settled
//! elsewhere closes its own modal.

mod clarification;
mod confirm;
mod palette;
mod reader;
mod themes;
mod tool_call;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub use clarification::Clarification;
pub use confirm::Confirm;
pub use palette::Palette;
pub use reader::Reader;
pub use themes::ThemePicker;
pub use tool_call::ToolCall;

use super::keymap::{Action, Scope};
use super::theme::Role;
use super::ui::{self, Row};
use super::view::Hits;
use super::world::{Go, Out, World};

/// A modal.
pub enum Layer {
    /// The picker of an answer.
    Clarification(Box<Clarification>),
    /// The decision on a tool call.
    ToolCall(Box<ToolCall>),
    /// The second key of something that cannot be undone.
    Confirm(Confirm),
    /// A text to read: help, messages.
    Reader(Reader),
    /// Every action by name.
    Palette(Palette),
    /// The themes.
    Themes(ThemePicker),
}

impl Layer {
    /// Scopes of the keys, innermost first.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        match self {
            Layer::Clarification(_) => vec![Scope::Clarification, Scope::Motion],
            Layer::ToolCall(_) => vec![Scope::ToolCall, Scope::Motion],
            Layer::Confirm(confirm) => vec![Scope::Confirm, confirm.scope()],
            Layer::Reader(_) => vec![Scope::Reader, Scope::Motion],
            Layer::Palette(_) | Layer::Themes(_) => vec![Scope::Picker],
        }
    }

    /// Whether the wheel scrolls it.
    #[must_use]
    pub fn scrolls(&self) -> bool {
        matches!(self, Layer::Reader(_))
    }

    /// A click on a choice.
    pub fn select(&mut self, index: usize) {
        match self {
            Layer::Clarification(picker) => picker.select(index),
            Layer::ToolCall(modal) => modal.select(index),
            Layer::Palette(palette) => palette.select(index),
            Layer::Themes(_) | Layer::Confirm(_) | Layer::Reader(_) => {}
        }
    }

    /// A key that is bound to nothing.
    pub fn typed(&mut self, event: KeyEvent, _out: &mut Out) {
        if let Layer::Palette(palette) = self {
            palette.typed(event);
        }
    }

    /// Pasted text; false when there is no text field.
    pub fn pasted(&mut self, text: &str, _out: &mut Out) -> bool {
        match self {
            Layer::Palette(palette) => {
                palette.pasted(text);
                true
            }
            _ => false,
        }
    }
}

/// Does an action of the top modal.
pub fn act(layer: &mut Layer, action: Action, world: &World, out: &mut Out) {
    match layer {
        Layer::Clarification(picker) => picker.act(action, world, out),
        Layer::ToolCall(modal) => modal.act(action, world, out),
        Layer::Confirm(confirm) => confirm.act(action, out),
        Layer::Reader(reader) => reader.act(action, world, out),
        Layer::Palette(palette) => palette.act(action, out),
        Layer::Themes(picker) => picker.act(action, world, out),
    }
}

/// Draws a modal.
pub fn draw(layer: &Layer, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    match layer {
        Layer::Clarification(picker) => clarification::draw(picker, world, buf, area, hits),
        Layer::ToolCall(modal) => tool_call::draw(modal, world, buf, area, hits),
        Layer::Confirm(confirm) => confirm.draw(world, buf, area),
        Layer::Reader(reader) => reader.draw(world, buf, area),
        Layer::Palette(palette) => palette.draw(world, buf, area, hits),
        Layer::Themes(picker) => picker.draw(world, buf, area, hits),
    }
}

/// Clears the place of a modal, draws its title, and gives the area inside.
fn panel(world: &World, buf: &mut Buffer, area: Rect, size: (u16, u16), title: &str, note: &str) -> Rect {
    let (width, height) = (size.0.min(area.width.saturating_sub(2)), size.1.min(area.height));
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 3;
    let place = Rect::new(x, y, width, height);
    ui::fill(buf, place, &world.theme, Role::Panel);
    for y in place.top()..place.bottom() {
        Row::new(world.paint(), 1).on(Role::Panel).put(Role::Accent, world.glyphs.edge).draw(buf, x, y);
    }
    let inner = Rect::new(x + 3, y + 1, width.saturating_sub(5), height.saturating_sub(2));
    let mut head = Row::new(world.paint(), inner.width).on(Role::Panel);
    head.put(Role::Heading, title).right(Role::Faint, note);
    if inner.height > 0 {
        head.draw(buf, inner.x, inner.y);
    }
    Rect { y: inner.y + 2, height: inner.height.saturating_sub(2), ..inner }
}

/// Draws wrapped text on a modal's ground and says how many lines it took.
fn words(world: &World, buf: &mut Buffer, area: Rect, role: Role, content: &str) -> u16 {
    let mut used = 0;
    for line in ui::wrap(content, usize::from(area.width)).take(usize::from(area.height)) {
        Row::new(world.paint(), area.width).on(Role::Panel).put(role, &line).draw(buf, area.x, area.y + used);
        used += 1;
    }
    used
}

/// Closes the top modal.
fn close(out: &mut Out) {
    out.go(Go::Close);
}
