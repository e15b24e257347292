//! Drawing primitives: one line at a time, in roles.
//!
//! [`Row`] is the only way that text reaches the frame, and it makes all of it visible first, so text from a
//! run can never act on the terminal. Everything is measured in columns and cut to the area it is drawn in.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

use super::theme::{Role, Theme};
use crate::text;

/// What every drawing function needs.
#[derive(Clone, Copy)]
pub struct Paint<'a> {
    /// Looks.
    pub theme: &'a Theme,
    /// Signs.
    pub glyphs: super::glyphs::Glyphs,
}

/// One line under construction.
pub struct Row<'a> {
    theme: &'a Theme,
    ground: Option<Role>,
    spans: Vec<(String, Style)>,
    used: usize,
    width: usize,
}

impl<'a> Row<'a> {
    /// An empty line of `width` columns.
    #[must_use]
    pub fn new(paint: Paint<'a>, width: u16) -> Self {
        Self { theme: paint.theme, ground: None, spans: Vec::new(), used: 0, width: usize::from(width) }
    }

    /// Stands the whole line on the background of `ground`.
    #[must_use]
    pub fn on(mut self, ground: Role) -> Self {
        self.ground = Some(ground);
        self
    }

    /// Columns that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.width - self.used
    }

    fn look(&self, role: Role) -> Style {
        match self.ground {
            Some(ground) => self.theme.on(role, ground),
            None => self.theme.style(role),
        }
    }

    fn push(&mut self, style: Style, safe: String) {
        self.used += text::width(&safe);
        self.spans.push((safe, style));
    }

    /// Adds text, cut to what is left.
    pub fn put(&mut self, role: Role, content: &str) -> &mut Self {
        self.styled(self.look(role), content)
    }

    /// Adds text in a style of its own, cut to what is left.
    pub fn styled(&mut self, style: Style, content: &str) -> &mut Self {
        if self.left() > 0 && !content.is_empty() {
            let safe = text::truncate(&safe_prefix(content, self.left()), self.left());
            self.push(style, safe);
        }
        self
    }

    /// Adds text that takes exactly `columns`: cut or filled with blanks.
    pub fn cell(&mut self, role: Role, content: &str, columns: usize) -> &mut Self {
        let columns = columns.min(self.left());
        let mut safe = text::truncate(&safe_prefix(content, columns), columns);
        safe.push_str(&" ".repeat(columns - text::width(&safe)));
        self.push(self.look(role), safe);
        self
    }

    /// Adds text that takes exactly `columns`, its end at the right.
    pub fn cell_right(&mut self, role: Role, content: &str, columns: usize) -> &mut Self {
        let columns = columns.min(self.left());
        let safe = text::truncate(&safe_prefix(content, columns), columns);
        self.gap(columns - text::width(&safe));
        self.put(role, &safe)
    }

    /// Adds blanks.
    pub fn gap(&mut self, columns: usize) -> &mut Self {
        let columns = columns.min(self.left());
        self.push(self.look(Role::Text), " ".repeat(columns));
        self
    }

    /// Adds blanks up to a column.
    pub fn to(&mut self, column: usize) -> &mut Self {
        self.gap(column.saturating_sub(self.used))
    }

    /// Adds text at the right end, if it fits with a blank before it.
    pub fn right(&mut self, role: Role, content: &str) -> &mut Self {
        let safe = text::visible(content);
        let wide = text::width(&safe);
        if wide < self.left() || (wide == self.left() && self.used == 0) {
            self.gap(self.left() - wide);
            self.put(role, &safe);
        }
        self
    }

    /// Draws the line. Without a ground, what is left of it stays as it is.
    pub fn draw(&mut self, buf: &mut Buffer, x: u16, y: u16) {
        let area = buf.area;
        if y < area.y || y >= area.bottom() || x >= area.right() {
            return;
        }
        if let Some(ground) = self.ground {
            let left = self.left();
            let style = self.theme.style(ground);
            self.push(style, " ".repeat(left));
        }
        let mut at = x;
        for (content, style) in &self.spans {
            let room = usize::from(area.right().saturating_sub(at));
            (at, _) = buf.set_stringn(at, y, content, room, *style);
        }
    }
}

/// Enough of outside text, made visible, to fill `columns` and show that more follows. Bounded, so that a line
/// of a megabyte costs no more than a short one.
fn safe_prefix(content: &str, columns: usize) -> String {
    let bound = columns.saturating_mul(8).saturating_add(64);
    if content.len() <= bound {
        return text::visible(content);
    }
    let mut end = bound;
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    let mut safe = text::visible(&content[..end]);
    safe.push('…');
    safe
}

/// Fills an area with the background of a role.
pub fn fill(buf: &mut Buffer, area: Rect, theme: &Theme, role: Role) {
    let area = area.intersection(buf.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buf[(x, y)].reset();
            buf[(x, y)].set_style(theme.style(role));
        }
    }
}

/// Draws a vertical rule from `top` to `bottom` (not included).
pub fn vertical(buf: &mut Buffer, paint: Paint<'_>, x: u16, top: u16, bottom: u16) {
    for y in top..bottom {
        Row::new(paint, 1).put(Role::Border, paint.glyphs.vertical).draw(buf, x, y);
    }
}

/// Draws a horizontal rule.
pub fn horizontal(buf: &mut Buffer, paint: Paint<'_>, x: u16, y: u16, width: u16) {
    let rule = paint.glyphs.horizontal.repeat(usize::from(width));
    Row::new(paint, width).put(Role::Border, &rule).draw(buf, x, y);
}

/// Makes what is drawn already step back behind a modal.
pub fn dim(buf: &mut Buffer, theme: &Theme) {
    let faint = theme.style(Role::Border);
    for cell in &mut buf.content {
        cell.modifier = Modifier::empty();
        cell.set_style(Style { fg: faint.fg, bg: theme.style(Role::Text).bg, ..Style::new() });
        if faint.fg.is_none() {
            cell.modifier = Modifier::DIM;
        }
    }
}

/// Draws paragraphs, wrapped, and says how many lines they took. Stops at the area's end.
pub fn paragraph(buf: &mut Buffer, paint: Paint<'_>, area: Rect, role: Role, content: &str) -> u16 {
    let mut y = area.y;
    for line in wrap(content, usize::from(area.width)).take(usize::from(area.height)) {
        Row::new(paint, area.width).put(role, &line).draw(buf, area.x, y);
        y += 1;
    }
    y - area.y
}

/// Lines of `content`, made visible and wrapped at blanks to `columns`; a word that is longer is cut.
pub fn wrap(content: &str, columns: usize) -> impl Iterator<Item = String> + '_ {
    let columns = columns.max(1);
    text::visible_lines(content).flat_map(move |line| wrap_line(&line, columns))
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    let mut end = |current: &mut String| out.push(std::mem::take(current).trim_end().to_owned());
    for piece in line.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        let wide = text::width(word);
        if used + wide > columns && used > 0 && wide <= columns {
            end(&mut current);
            used = 0;
        }
        if wide <= columns {
            current.push_str(word);
            used += wide;
        } else {
            for cluster in word.graphemes(true) {
                let wide = text::width(cluster);
                if used + wide > columns && !current.is_empty() {
                    end(&mut current);
                    used = 0;
                }
                current.push_str(cluster);
                used += wide;
            }
        }
        if piece.len() > word.len() {
            current.push(' ');
            used += 1;
        }
    }
    end(&mut current);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::glyphs;
    use crate::tui::theme::Depth;

    fn draw(width: u16, build: impl FnOnce(&mut Row<'_>)) -> String {
        let theme = Theme::built_in("dark", Depth::True).unwrap();
        let mut buf = Buffer::empty(Rect::new(0, 0, width, 1));
        let mut row = Row::new(Paint { theme: &theme, glyphs: glyphs::UNICODE }, width);
        build(&mut row);
        row.draw(&mut buf, 0, 0);
        buf.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn a_row_never_writes_past_its_width_and_keeps_wide_letters_whole() {
        assert_eq!(draw(6, |row| _ = row.put(Role::Text, "日本語")), "日 本 語 ");
        assert_eq!(draw(5, |row| _ = row.put(Role::Text, "日本語")), "日 本 …");
        assert_eq!(draw(8, |row| _ = row.cell(Role::Text, "日本語", 4).put(Role::Text, "|x")), "日 … |x  ");
    }

    #[test]
    fn text_from_outside_is_made_visible() {
        assert_eq!(draw(10, |row| _ = row.put(Role::Text, "\u{1b}[2Jx")), "␛[2Jx     ");
    }

    #[test]
    fn the_right_end_is_left_out_when_it_does_not_fit() {
        assert_eq!(draw(8, |row| _ = row.put(Role::Text, "left").right(Role::Text, "end")), "left end");
        assert_eq!(draw(7, |row| _ = row.put(Role::Text, "left").right(Role::Text, "end")), "left   ");
    }

    #[test]
    fn wrapping_keeps_words_and_cuts_only_what_cannot_fit() {
        let lines: Vec<_> = wrap("one two three\nfour", 8).collect();
        assert_eq!(lines, ["one two", "three", "four"]);
        assert_eq!(wrap("abcdefghij", 4).collect::<Vec<_>>(), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語", 4).collect::<Vec<_>>(), ["日本", "語"]);
        assert_eq!(wrap("see (this)", 9).collect::<Vec<_>>(), ["see", "(this)"]);
        assert_eq!(wrap("  in", 9).collect::<Vec<_>>(), ["  in"]);
        assert_eq!(wrap("", 4).collect::<Vec<_>>(), [""]);
        assert_eq!(wrap("a\u{1b}[0m", 0).count(), 5);
    }

    #[test]
    fn a_line_of_a_megabyte_costs_no_more_than_what_is_shown() {
        let long = "x".repeat(1 << 20);
        assert_eq!(draw(4, |row| _ = row.put(Role::Text, &long)), "xxx…");
    }
}
