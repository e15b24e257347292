//! The diff tab: a file tree, and the patch as one long page of which only the window is laid out.

mod lines;
mod tree;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use crate::service::link::Command;
use crate::service::snapshot::{PatchFile, RunKey};
use crate::tui::diff::{At, Model, Node};
use crate::tui::keymap::Action;
use crate::tui::list::{Cursor, Motion};
use crate::tui::msg::{Effect, Job};
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::Hits;
use crate::tui::world::{Breadth, Out, World};

/// First click index of the file tree; lines of the diff have the indexes before it.
const TREE: usize = usize::MAX / 2;

/// State of the diff tab.
#[derive(Default)]
pub struct DiffTab {
    cursor: Cursor,
    side_by_side: bool,
    wrap: bool,
    across: usize,
    hide_tree: bool,
    query: String,
    searching: bool,
    /// Digest that the cursor belongs to.
    digest: String,
}

impl DiffTab {
    /// Moves by rows; to the sides it scrolls long lines.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        let Some(model) = model(world) else { return };
        match motion {
            Motion::Left => self.across = self.across.saturating_sub(8),
            Motion::Right if !self.wrap => self.across += 8,
            _ => {
                let len = model.rows(self.side_by_side).len();
                let height = usize::from(self.panes(world, area).1.height);
                self.cursor.step(motion, len, height);
            }
        }
    }

    /// Whether a search is being written.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.searching
    }

    /// A letter of the search.
    pub fn typed(&mut self, event: KeyEvent) {
        match event.code {
            KeyCode::Char(c) if !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.query.push(c);
            }
            KeyCode::Backspace => _ = self.query.pop(),
            _ => {}
        }
    }

    /// Pasted letters of the search; false when none is being written.
    pub fn pasted(&mut self, text: &str) -> bool {
        if self.searching {
            self.query.extend(text.chars().filter(|c| !c.is_control()).take(200));
        }
        self.searching
    }

    /// Goes to the next row that holds what is searched for, around the end.
    fn next_match(&mut self, model: &Model, world: &World, area: Rect, out: &mut Out) {
        if self.query.is_empty() {
            return out.say("Nothing is searched for; / begins a search");
        }
        let rows = model.rows(self.side_by_side);
        let needle = Needle::new(&self.query);
        let len = rows.len();
        let found = (1..=len)
            .map(|step| (self.cursor.selected + step) % len)
            .find(|row| rows.at(*row).is_some_and(|at| needle.is_at(model, at, self.side_by_side)));
        match found {
            Some(row) => self.go_to(row, world, area),
            None => out.say(format!("Not in this diff: {}", self.query)),
        }
    }

    /// A click on a row of the diff or on a file of the tree.
    pub fn select(&mut self, line: usize, world: &World, area: Rect) {
        match line.checked_sub(TREE) {
            Some(file) => self.go_to_file(file, world, area),
            None => self.go_to(line, world, area),
        }
    }

    fn go_to(&mut self, row: usize, world: &World, area: Rect) {
        let Some(model) = model(world) else { return };
        let len = model.rows(self.side_by_side).len();
        self.cursor.select(row, len, usize::from(self.panes(world, area).1.height));
    }

    /// Puts a row at the top of the window, or as near as the end allows.
    fn show_at_top(&mut self, row: usize, world: &World, area: Rect) {
        self.cursor.offset = row;
        self.go_to(row, world, area);
    }

    fn go_to_file(&mut self, file: usize, world: &World, area: Rect) {
        if let Some(model) = model(world) {
            self.show_at_top(model.rows(self.side_by_side).row_of(file), world, area);
        }
    }

    /// The file at the cursor.
    fn file(&self, model: &Model) -> usize {
        model.rows(self.side_by_side).at(self.cursor.selected).map_or(0, At::file)
    }

    /// Does an action of this tab.
    pub fn act(&mut self, action: Action, world: &mut World, out: &mut Out) -> bool {
        let area = super::inner(crate::tui::view::body(world.size));
        let Some(model) = world.diff.model.clone().and_then(Result::ok) else {
            return matches!(action, Action::NextHunk | Action::PreviousHunk | Action::ToggleViewed);
        };
        let index = model.rows(self.side_by_side);
        let file = self.file(&model);
        match action {
            Action::NextHunk => match index.next_hunk(self.cursor.selected) {
                Some(row) => self.go_to(row, world, area),
                None => out.say("This is the last hunk"),
            },
            Action::PreviousHunk => match index.previous_hunk(self.cursor.selected) {
                Some(row) => self.go_to(row, world, area),
                None => out.say("This is the first hunk"),
            },
            Action::NextFile if file + 1 < model.files.len() => self.go_to_file(file + 1, world, area),
            Action::NextFile => out.say("This is the last file"),
            Action::PreviousFile => {
                let head = index.row_of(file);
                let to = if self.cursor.selected > head { file } else { file.saturating_sub(1) };
                self.go_to_file(to, world, area);
            }
            Action::ToggleViewed => self.toggle_viewed(&model, world, out),
            Action::NextUnviewed => match next_unviewed(&model, file, world) {
                Some(file) => self.go_to_file(file, world, area),
                None => out.say("Every file was viewed"),
            },
            Action::Search => (self.searching, self.query) = (true, String::new()),
            Action::Accept => {
                self.searching = false;
                self.next_match(&model, world, area, out);
            }
            Action::Clear => (self.searching, self.query) = (false, String::new()),
            Action::NextMatch => self.next_match(&model, world, area, out),
            Action::SideBySide => {
                self.side_by_side = !self.side_by_side;
                self.go_to_file(file, world, area);
            }
            Action::Wrap => {
                self.wrap = !self.wrap;
                self.across = 0;
            }
            Action::ToggleTree => self.hide_tree = !self.hide_tree,
            _ => return false,
        }
        true
    }

    fn toggle_viewed(&mut self, model: &Model, world: &mut World, out: &mut Out) {
        let file = self.file(model);
        let Some((key, patch_file)) = patch_file(model, file, world) else { return };
        let mark = (key, patch_file.path.clone(), patch_file.digest.clone());
        if world.viewed.remove(&mark) {
            out.say(format!("Not viewed: {}", mark.1));
            return;
        }
        world.viewed.insert(mark);
        let area = super::inner(crate::tui::view::body(world.size));
        match next_unviewed(model, file, world) {
            Some(next) => self.go_to_file(next, world, area),
            None => out.say("Every file was viewed"),
        }
    }

    /// Asks for the diff, and for the colours of the hunks in the window.
    pub fn want(&mut self, key: &RunKey, world: &mut World, out: &mut Out) {
        let Some(patch) = world.detail_of(key).and_then(|detail| detail.patch.as_ref()) else { return };
        if world.diff.digest != patch.digest {
            let digest = patch.digest.clone();
            world.diff = crate::tui::world::DiffSlot { digest: digest.clone(), ..Default::default() };
            out.send(Command::LoadDiff { key: key.clone(), digest });
            return;
        }
        let Some(Ok(model)) = world.diff.model.clone() else { return };
        if self.digest != model.digest {
            self.digest.clone_from(&model.digest);
            self.cursor = Cursor::default();
        }
        let area = super::inner(crate::tui::view::body(world.size));
        let index = model.rows(self.side_by_side);
        let window = self.cursor.window(index.len(), usize::from(self.panes(world, area).1.height));
        for row in window {
            let Some(At::Line(file, hunk, _)) = index.at(row) else { continue };
            if let std::collections::hash_map::Entry::Vacant(slot) = world.diff.decor.entry((file, hunk)) {
                slot.insert(None);
                out.effects.push(Effect::Work(Job::Decorate {
                    model: std::sync::Arc::clone(&model),
                    file,
                    hunk,
                }));
            }
        }
    }

    /// Tree and diff.
    fn panes(&self, world: &World, area: Rect) -> (Option<Rect>, Rect) {
        if self.hide_tree || world.breadth() == Breadth::Narrow {
            return (None, area);
        }
        let left = (area.width / 4).clamp(26, 44);
        let right = Rect { x: area.x + left + 1, width: area.width - left - 1, ..area };
        (Some(Rect { width: left, ..area }), right)
    }
}

fn model(world: &World) -> Option<&std::sync::Arc<Model>> {
    world.diff.model.as_ref()?.as_ref().ok()
}

/// The patch's entry for a file of the diff.
fn patch_file<'a>(model: &Model, file: usize, world: &'a World) -> Option<(RunKey, &'a PatchFile)> {
    let detail = world.detail.as_ref()?;
    let path = &model.files.get(file)?.path;
    let patch = detail.patch.as_ref()?;
    let entry = patch.files.get(file).filter(|entry| entry.path == *path);
    let entry = entry.or_else(|| patch.files.iter().find(|entry| entry.path == *path))?;
    Some((detail.row.key.clone(), entry))
}

fn is_viewed(model: &Model, file: usize, world: &World) -> bool {
    patch_file(model, file, world).is_some_and(|(key, entry)| world.is_viewed(&key, entry))
}

/// The next file after this one, around the end, that was not viewed.
fn next_unviewed(model: &Model, file: usize, world: &World) -> Option<usize> {
    let count = model.files.len();
    (1..=count).map(|step| (file + step) % count.max(1)).find(|at| !is_viewed(model, *at, world))
}

/// Draws the tab.
pub fn draw(state: &DiffTab, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let text = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let patch = world.detail.as_ref().and_then(|detail| detail.patch.as_ref());
    let Some(patch) = patch else {
        ui::paragraph(buf, world.paint(), text, Role::Muted, "\nThis run has no patch.");
        return;
    };
    let model = match &world.diff.model {
        Some(Ok(model)) if model.digest == patch.digest => model,
        Some(Err(error)) => {
            let words = format!("\nThe diff cannot be shown: {error}");
            ui::paragraph(buf, world.paint(), text, Role::Bad, &words);
            return;
        }
        _ => {
            let words = format!("\nReading {} files …", patch.files.len());
            ui::paragraph(buf, world.paint(), text, Role::Muted, &words);
            return;
        }
    };
    let (left, mut right) = state.panes(world, area);
    if state.searching {
        let mut row = Row::new(world.paint(), right.width).on(Role::Selection);
        row.put(Role::Accent, " / ").put(Role::Text, &state.query);
        let cursor = world.theme.on(Role::Text, Role::Selection).add_modifier(Modifier::REVERSED);
        row.styled(cursor, " ").draw(buf, right.x, right.bottom() - 1);
        right.height -= 1;
    }
    let current = state.file(model);
    if let Some(left) = left {
        tree::draw(current, model, world, buf, left, hits);
        ui::vertical(buf, world.paint(), right.x - 1, area.y, area.bottom());
    }
    lines::draw(state, model, world, buf, right, hits);
}

/// What is searched for: without capitals in it, capitals do not matter.
struct Needle {
    text: String,
    fold: bool,
}

impl Needle {
    fn new(query: &str) -> Needle {
        Needle { text: query.to_owned(), fold: !query.chars().any(char::is_uppercase) }
    }

    fn is_in(&self, text: &str) -> bool {
        if self.fold { text.to_lowercase().contains(&self.text) } else { text.contains(&self.text) }
    }

    fn is_at(&self, model: &Model, at: At, side_by_side: bool) -> bool {
        match at {
            At::File(file) => self.is_in(&model.files[file].path),
            At::Line(file, hunk, line) => {
                let hunk = &model.files[file].hunks[hunk];
                let (old, new) = if side_by_side { hunk.pairs[line] } else { (Some(line), None) };
                [old, new].into_iter().flatten().any(|line| self.is_in(&hunk.lines[line].text))
            }
            _ => false,
        }
    }
}

/// Index of the tree's clicks.
fn tree_hit(node: &Node) -> Option<usize> {
    node.file.map(|file| TREE + file)
}
