//! Draws the rows of a diff that are in the window: headings, lines with numbers, colours and changed words.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use super::DiffTab;
use crate::text;
use crate::tui::diff::{At, Decor, Kind, Line, Model};
use crate::tui::parts;
use crate::tui::theme::{Role, Theme};
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::World;

/// Draws the window.
pub fn draw(state: &DiffTab, model: &Model, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let index = model.rows(state.side_by_side);
    let window = state.cursor.window(index.len(), usize::from(area.height));
    let first = window.start;
    let mut y = area.y;
    let mut row = first;
    // A wrapped line takes several rows, so the window may end early.
    while y < area.bottom() && row < index.len() {
        let Some(at) = index.at(row) else { break };
        let selected = row == state.cursor.selected;
        let line = Rect { y, height: area.bottom() - y, ..area };
        let used = draw_row(state, at, selected, model, world, buf, line).max(1);
        hits.add(Rect { y, height: used, ..area }, Hit::Line(row));
        y += used;
        row += 1;
    }
    parts::scroll_bar(buf, world, area, first, index.len());
}

fn draw_row(
    state: &DiffTab,
    at: At,
    selected: bool,
    model: &Model,
    world: &World,
    buf: &mut Buffer,
    area: Rect,
) -> u16 {
    match at {
        At::Gap(_) => return 1,
        At::File(file) => file_head(file, selected, model, world, buf, area),
        At::Note(file, note) => {
            let mut row = Row::new(world.paint(), area.width);
            row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
            row.put(Role::Badge, &model.files[file].notes[note]);
            row.draw(buf, area.x, area.y);
        }
        At::Hunk(file, hunk) => {
            let entry = &model.files[file].hunks[hunk];
            let mut row = Row::new(world.paint(), area.width).on(Role::Hunk);
            row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
            let range = |(first, count): (u32, u32)| match count {
                0 | 1 => first.to_string(),
                count => format!("{first}-{}", first + count - 1),
            };
            let lines = format!("lines {} {} {}", range(entry.old), world.glyphs.arrow, range(entry.new));
            row.put(Role::Muted, &lines).gap(2).put(Role::Muted, &entry.heading);
            row.draw(buf, area.x, area.y);
        }
        At::Line(file, hunk, line) => {
            let decor = world.diff.decor.get(&(file, hunk)).and_then(Option::as_deref);
            let entry = &model.files[file].hunks[hunk];
            let digits = digits(model, file);
            if state.side_by_side {
                let (old, new) = entry.pairs[line];
                let half = area.width / 2;
                let left = Rect { width: half.saturating_sub(1), ..area };
                ui::vertical(buf, world.paint(), area.x + half.saturating_sub(1), area.y, area.y + 1);
                let right = Rect { x: area.x + half, width: area.width - half, ..area };
                let side = |at: Option<usize>| at.map(|at| (at, &entry.lines[at]));
                let look = Look { state, world, decor, digits };
                let first = look.side(side(old), true, selected, buf, left);
                return first.max(look.side(side(new), false, selected, buf, right));
            }
            let look = Look { state, world, decor, digits };
            return look.unified((line, &entry.lines[line]), selected, buf, area);
        }
    }
    1
}

fn digits(model: &Model, file: usize) -> usize {
    let last = model.files[file]
        .hunks
        .last()
        .map_or(1, |hunk| (hunk.old.0 + hunk.old.1).max(hunk.new.0 + hunk.new.1));
    last.to_string().len().max(3)
}

fn file_head(file: usize, selected: bool, model: &Model, world: &World, buf: &mut Buffer, area: Rect) {
    let entry = &model.files[file];
    let mut row =
        Row::new(world.paint(), area.width).on(if selected { Role::Selection } else { Role::Panel });
    row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
    let viewed = super::is_viewed(model, file, world);
    if viewed {
        row.put(Role::Good, world.glyphs.pass).gap(1);
    }
    if let Some(old) = &entry.old_path {
        row.put(Role::Muted, old).put(Role::Muted, &format!(" {} ", world.glyphs.arrow));
    }
    row.put(Role::Strong, &entry.path);
    if let Some((_, patch)) = super::patch_file(model, file, world) {
        for flag in &patch.flags {
            row.gap(2).put(if flag == "forbidden" { Role::Bad } else { Role::Badge }, flag);
        }
    }
    let numbers = format!("+{} -{} ", entry.counts.0, entry.counts.1);
    if row.left() > numbers.len() {
        let gap = row.left() - numbers.len();
        row.gap(gap);
        row.put(Role::Good, &format!("+{} ", entry.counts.0))
            .put(Role::Bad, &format!("-{} ", entry.counts.1));
    }
    row.draw(buf, area.x, area.y);
}

/// What drawing a line needs.
struct Look<'a> {
    state: &'a DiffTab,
    world: &'a World,
    decor: Option<&'a Decor>,
    digits: usize,
}

fn roles(kind: Kind) -> (Role, Role, Role, &'static str) {
    match kind {
        Kind::Added => (Role::Added, Role::AddedWord, Role::AddedSign, "+"),
        Kind::Removed => (Role::Removed, Role::RemovedWord, Role::RemovedSign, "-"),
        Kind::Context => (Role::Text, Role::Text, Role::Faint, " "),
        Kind::NoNewline => (Role::Text, Role::Text, Role::Faint, "\\"),
    }
}

impl Look<'_> {
    fn unified(&self, (at, line): (usize, &Line), selected: bool, buf: &mut Buffer, area: Rect) -> u16 {
        let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
        let numbers = [number(line.old), number(line.new)];
        self.row(at, line, &numbers, selected, buf, area)
    }

    fn side(
        &self,
        line: Option<(usize, &Line)>,
        old: bool,
        selected: bool,
        buf: &mut Buffer,
        area: Rect,
    ) -> u16 {
        let Some((at, line)) = line else { return 1 };
        let number = if old { line.old } else { line.new };
        let number = number.map_or_else(String::new, |n| n.to_string());
        self.row(at, line, &[number], selected, buf, area)
    }

    fn row(
        &self,
        at: usize,
        line: &Line,
        numbers: &[String],
        selected: bool,
        buf: &mut Buffer,
        area: Rect,
    ) -> u16 {
        let world = self.world;
        let (ground, word, sign_role, sign) = roles(line.kind);
        let ground = if selected && line.kind == Kind::Context { Role::Selection } else { ground };
        let gutter = 1 + numbers.len() * (self.digits + 1) + 2;
        let room = usize::from(area.width).saturating_sub(gutter).max(1);
        let cells = self.cells(at, line, ground, word);
        let rows =
            if self.state.wrap { wrap(&cells, room) } else { vec![scroll(&cells, self.state.across, room)] };
        let mut y = area.y;
        for (part, range) in rows.into_iter().enumerate() {
            if y >= area.bottom() {
                break;
            }
            let mut row = Row::new(world.paint(), area.width).on(ground);
            row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
            for number in numbers {
                row.cell_right(Role::Faint, if part == 0 { number } else { "" }, self.digits).gap(1);
            }
            row.put(sign_role, if part == 0 { sign } else { " " }).gap(1);
            for (symbol, style) in &cells[range] {
                row.styled(*style, symbol);
            }
            row.draw(buf, area.x, y);
            y += 1;
        }
        y - area.y
    }

    /// The line as clusters with their styles: hostile characters visible, tabs as blanks with a mark.
    fn cells(&self, at: usize, line: &Line, ground: Role, word: Role) -> Vec<(String, Style)> {
        let theme = &self.world.theme;
        let plain = if line.kind == Kind::NoNewline { Role::Faint } else { Role::Text };
        let base = theme.on(plain, ground);
        let colours = self.decor.and_then(|decor| decor.colours.get(at)).map_or(&[][..], Vec::as_slice);
        let changed = self.decor.and_then(|decor| decor.changed.get(at)).map_or(&[][..], Vec::as_slice);
        let found = matches(&line.text, &self.state.query);
        let mut out = Vec::new();
        let mut column = 0;
        for (from, cluster) in line.text.grapheme_indices(true) {
            if out.len() > 4096 {
                out.push(("…".to_owned(), base));
                break;
            }
            let mut style = base;
            if let Some((_, role)) = colours.iter().find(|(range, _)| range.contains(&from)) {
                style = theme.on(*role, ground);
            }
            if changed.iter().any(|range| range.contains(&from)) {
                style = with_ground(style, theme, word);
            }
            if found.iter().any(|range| range.contains(&from)) {
                style = theme.on(Role::Match, ground);
            }
            if cluster == "\t" {
                let blanks = 4 - column % 4;
                let mark = if self.world.glyphs.dot.is_ascii() { ">" } else { "→" };
                let mut look = theme.on(Role::Border, ground);
                look.bg = style.bg;
                out.push((mark.to_owned(), look));
                out.extend((1..blanks).map(|_| (" ".to_owned(), style)));
                column += blanks;
                continue;
            }
            let shown = text::visible(cluster);
            if shown != cluster {
                style.fg = theme.style(Role::Symbol).fg;
            }
            column += text::width(&shown);
            out.push((shown, style));
        }
        out
    }
}

/// Where a search occurs in a line; capitals matter as they do for the search itself.
fn matches(line: &str, query: &str) -> Vec<Range<usize>> {
    if query.is_empty() {
        return Vec::new();
    }
    // Folding can change lengths; then only what is written the same is marked.
    let folded = line.to_lowercase();
    let fold = !query.chars().any(char::is_uppercase) && folded.len() == line.len();
    let text = if fold { &folded } else { line };
    text.match_indices(query).map(|(at, part)| at..at + part.len()).collect()
}

fn with_ground(mut style: Style, theme: &Theme, word: Role) -> Style {
    let look = theme.style(word);
    style.bg = look.bg;
    style.add_modifier |= look.add_modifier;
    style
}

/// The clusters that are shown when the line is scrolled to the side.
fn scroll(cells: &[(String, Style)], across: usize, room: usize) -> Range<usize> {
    let mut column = 0;
    let mut first = cells.len();
    for (at, (symbol, _)) in cells.iter().enumerate() {
        if column >= across {
            first = at;
            break;
        }
        column += text::width(symbol);
    }
    let mut used = 0;
    let mut end = first;
    while end < cells.len() && used < room {
        used += text::width(&cells[end].0);
        end += 1;
    }
    first..end
}

/// The clusters of each row when the line is wrapped.
fn wrap(cells: &[(String, Style)], room: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut first, mut used) = (0, 0);
    for (at, (symbol, _)) in cells.iter().enumerate() {
        let wide = text::width(symbol);
        if used + wide > room && at > first {
            rows.push(first..at);
            (first, used) = (at, 0);
        }
        used += wide;
    }
    rows.push(first..cells.len());
    rows
}
