//! Texts to read: the keys of a screen, made from the keymap, and the last messages.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel};
use crate::text;
use crate::tui::keymap::{Action, Scope};
use crate::tui::list::{Motion, Scroll};
use crate::tui::notices::Notices;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::Row;
use crate::tui::world::World;

/// A line: what stands left, what stands right of it.
struct Entry {
    left: String,
    right: String,
    heading: bool,
}

/// State of a text that is read.
pub struct Reader {
    title: &'static str,
    entries: Vec<Entry>,
    left: usize,
    scroll: Scroll,
}

impl Reader {
    /// The keys of these scopes.
    #[must_use]
    pub fn help(world: &World, scopes: &[Scope]) -> Reader {
        let mut entries: Vec<Entry> = Vec::new();
        let mut scope = None;
        for entry in world.keymap.entries(scopes) {
            if scope != Some(entry.scope) {
                if scope.is_some() {
                    entries.push(Entry { left: String::new(), right: String::new(), heading: false });
                }
                scope = Some(entry.scope);
                entries.push(Entry {
                    left: heading(entry.scope).to_owned(),
                    right: String::new(),
                    heading: true,
                });
            }
            let keys: Vec<String> = world.keymap.keys(entry.action).iter().map(ToString::to_string).collect();
            entries.push(Entry { left: keys.join(" "), right: entry.words.to_owned(), heading: false });
        }
        Reader::new("Keys", entries)
    }

    /// The last messages, newest first.
    #[must_use]
    pub fn messages(world: &World, notices: &Notices) -> Reader {
        let entries = notices.log().map(|notice| {
            let times = if notice.times > 1 { format!(" ({} times)", notice.times) } else { String::new() };
            Entry {
                left: world.now.clock(&notice.at.to_string()),
                right: format!("{}{times}", notice.text),
                heading: false,
            }
        });
        let mut entries: Vec<Entry> = entries.collect();
        if entries.is_empty() {
            entries.push(Entry {
                left: String::new(),
                right: "Nothing happened yet.".to_owned(),
                heading: false,
            });
        }
        Reader::new("Messages", entries)
    }

    /// The body of an artifact: JSON laid out, anything else line by line.
    #[must_use]
    pub fn body(id: &str, body: &[u8]) -> Reader {
        let laid_out = serde_json::from_slice::<serde_json::Value>(body)
            .ok()
            .and_then(|value| serde_json::to_string_pretty(&value).ok());
        let content = laid_out.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
        let line = |right: &str| Entry { left: String::new(), right: right.to_owned(), heading: false };
        let mut entries = vec![line(id)];
        entries.extend(content.lines().map(line));
        Reader::new("Artifact", entries)
    }

    fn new(title: &'static str, entries: Vec<Entry>) -> Reader {
        let plain = entries.iter().filter(|entry| !entry.heading);
        let left = plain.map(|entry| text::width(&entry.left)).max().unwrap_or(0).min(24);
        Reader { title, entries, left, scroll: Scroll::default() }
    }

    fn height(&self, area: Rect) -> u16 {
        u16::try_from(self.entries.len()).unwrap_or(u16::MAX).saturating_add(4).min(area.height)
    }

    /// Scrolls or closes.
    pub fn act(&mut self, action: Action, world: &World, out: &mut crate::tui::world::Out) {
        if let Some(motion) = Motion::of(action) {
            let area = crate::tui::view::body(world.size);
            let shown = usize::from(self.height(area).saturating_sub(4));
            self.scroll.step(motion, self.entries.len(), shown);
        } else if action == Action::Close {
            close(out);
        }
    }

    /// Draws it.
    pub fn draw(&self, world: &World, buf: &mut Buffer, area: Rect) {
        let size = (area.width.saturating_sub(6).min(84), self.height(area));
        let rest = panel(world, buf, area, size, self.title, "");
        let window = self.scroll.window(self.entries.len(), usize::from(rest.height));
        let first = window.start;
        for (y, at) in (rest.y..).zip(window) {
            let entry = &self.entries[at];
            let mut row = Row::new(world.paint(), rest.width).on(Role::Panel);
            if entry.heading {
                row.put(Role::Muted, &entry.left);
            } else {
                if self.left > 0 {
                    row.cell(Role::Accent, &entry.left, self.left + 2);
                }
                row.put(Role::Text, &entry.right);
            }
            row.draw(buf, rest.x, y);
        }
        parts::scroll_bar(buf, world, rest, first, self.entries.len());
    }
}

fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::Global => "Everywhere",
        Scope::Motion => "Moving",
        Scope::Home => "Runs",
        Scope::Run => "Run",
        Scope::Permissions => "Permissions",
        Scope::Trace => "Timeline",
        Scope::Diff => "Diff",
        Scope::Checks => "Checks",
        Scope::Artifacts => "Artifacts",
        Scope::Approval => "Approval",
        Scope::Clarification => "Question",
        Scope::ToolCall => "Tool call",
        Scope::Confirm => "Second key",
        Scope::Reader => "Reading",
        Scope::Picker => "Choosing",
        Scope::Field | Scope::Editor => "Writing",
    }
}
