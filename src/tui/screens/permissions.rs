//! The permission intersection as a table, the cursor's cell in a sentence, and the decisions taken.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::service::snapshot::{
    CellRule, DecisionLine, PERMISSION_COLUMNS, PermissionCell, PermissionRow, PermissionTable,
};
use crate::tui::keymap::Action;
use crate::tui::list::{Cursor, Motion};
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::World;

const EFFECTIVE: usize = 6;
const NAME: u16 = 19;

/// State of the permissions tab: the cursor's cell, and whether the keys go to the decisions.
pub struct Permissions {
    row: usize,
    column: usize,
    decisions: Cursor,
    in_decisions: bool,
}

impl Default for Permissions {
    fn default() -> Self {
        Permissions { row: 0, column: EFFECTIVE, decisions: Cursor::default(), in_decisions: false }
    }
}

impl Permissions {
    /// Moves the cell or through the decisions.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        if self.in_decisions {
            let height = usize::from(parts_of(area).2.height.saturating_sub(1));
            self.decisions.step(motion, detail.decisions.len(), height);
            return;
        }
        let last = detail.permissions.rows.len().saturating_sub(1);
        match motion {
            Motion::Up => self.row = self.row.saturating_sub(1),
            Motion::Down => self.row = (self.row + 1).min(last),
            Motion::Left => self.column = self.column.saturating_sub(1),
            Motion::Right => self.column = (self.column + 1).min(EFFECTIVE),
            Motion::PageUp | Motion::Top => self.row = 0,
            Motion::PageDown | Motion::Bottom => self.row = last,
        }
    }

    /// Selects a cell by a click: row times columns plus column.
    pub fn select(&mut self, cell: usize) {
        self.in_decisions = false;
        (self.row, self.column) = (cell / PERMISSION_COLUMNS.len(), cell % PERMISSION_COLUMNS.len());
    }

    /// Does an action of this tab.
    pub fn act(&mut self, action: Action) -> bool {
        if action == Action::SwitchPart {
            self.in_decisions = !self.in_decisions;
        }
        action == Action::SwitchPart
    }
}

/// Table, sentence, decisions.
fn parts_of(area: Rect) -> (Rect, Rect, Rect) {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let table = area.height.saturating_sub(4).min(13);
    let sentence = Rect { y: area.y + table, height: 3.min(area.height - table), ..area };
    let below = sentence.bottom();
    let rest = Rect { y: below, height: area.bottom() - below, ..area };
    (Rect { height: table, ..area }, sentence, rest)
}

/// Draws the tab.
pub fn draw(state: &Permissions, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let Some(detail) = &world.detail else { return };
    let (table_area, sentence_area, decisions_area) = parts_of(area);
    let table = &detail.permissions;
    if table.rows.is_empty() {
        ui::paragraph(
            buf,
            world.paint(),
            table_area,
            Role::Muted,
            "\nNo permissions are recorded for this run.",
        );
        return;
    }
    grid(state, table, world, buf, table_area, hits);
    if let Some(row) = table.rows.get(state.row) {
        let words = sentence(row, state.column, table.node.as_deref());
        let inner =
            Rect { y: sentence_area.y + 1, height: sentence_area.height.saturating_sub(1), ..sentence_area };
        ui::paragraph(buf, world.paint(), inner, Role::Text, &words);
    }
    decisions(state, &detail.decisions, world, buf, decisions_area);
}

fn heads(width: usize) -> [&'static str; 7] {
    if width >= 19 {
        PERMISSION_COLUMNS
    } else if width >= 10 {
        ["mode", "granted", "denied", "policy", "contract", "node", "EFFECTIVE"]
    } else {
        ["mode", "grant", "deny", "policy", "contr", "node", "RESULT"]
    }
}

fn grid(
    state: &Permissions,
    table: &PermissionTable,
    world: &World,
    buf: &mut Buffer,
    area: Rect,
    hits: &mut Hits,
) {
    let wide = usize::from(area.width.saturating_sub(NAME)) / PERMISSION_COLUMNS.len();
    let mut head = Row::new(world.paint(), area.width);
    head.cell(Role::Faint, "", usize::from(NAME));
    for (at, name) in heads(wide).iter().enumerate() {
        head.cell(if at == EFFECTIVE { Role::Heading } else { Role::Faint }, name, wide);
    }
    if area.height > 0 {
        head.draw(buf, area.x, area.y);
    }
    let height = usize::from(area.height.saturating_sub(1));
    let window = Cursor { selected: state.row, offset: 0 }.window(table.rows.len(), height);
    for (y, at) in (area.y + 1..).zip(window) {
        let row = &table.rows[at];
        let mut line = Row::new(world.paint(), area.width);
        let here = at == state.row && !state.in_decisions;
        let name = if here { Role::Strong } else { Role::Text };
        line.put(Role::Accent, if here { world.glyphs.pointer } else { " " });
        line.cell(name, &row.capability, usize::from(NAME) - 1);
        for (column, cell) in row.cells.iter().enumerate() {
            let (role, sign, words) = face(row, column, cell, world);
            let x = area.x + NAME + u16::try_from(column * wide).unwrap_or(0);
            let mut face = Row::new(world.paint(), u16::try_from(wide).unwrap_or(0));
            if here && column == state.column {
                face = face.on(Role::Selection);
            }
            face.put(role, sign).gap(1).cell(role, &words, wide.saturating_sub(3)).gap(1);
            face.draw(buf, x, y);
            let target = Rect::new(x, y, u16::try_from(wide).unwrap_or(0), 1);
            hits.add(target, Hit::Line(at * PERMISSION_COLUMNS.len() + column));
        }
        line.draw(buf, area.x, y);
    }
}

/// Looks, sign and words of a cell.
fn face(
    row: &PermissionRow,
    column: usize,
    cell: &PermissionCell,
    world: &World,
) -> (Role, &'static str, String) {
    let closes = row.closed_by == Some(column);
    match cell.rule {
        CellRule::Closes if column == EFFECTIVE => (Role::Faint, world.glyphs.empty, "shut".to_owned()),
        CellRule::Closes if closes => (Role::Bad, world.glyphs.fail, "shuts".to_owned()),
        CellRule::Closes => (Role::Faint, world.glyphs.empty, "shut".to_owned()),
        CellRule::Silent => (Role::Faint, world.glyphs.dot, String::new()),
        CellRule::Allows => {
            let words = match cell.scopes.as_slice() {
                [] if column == EFFECTIVE => "open".to_owned(),
                [] => "yes".to_owned(),
                [only] => only.clone(),
                [first, rest @ ..] => format!("{first} +{}", rest.len()),
            };
            (if column == EFFECTIVE { Role::Good } else { Role::Muted }, world.glyphs.pass, words)
        }
    }
}

/// The cell in a sentence.
fn sentence(row: &PermissionRow, column: usize, node: Option<&str>) -> String {
    let Some(cell) = row.cells.get(column) else { return String::new() };
    let capability = &row.capability;
    let party = match column {
        0 => "The mode".to_owned(),
        1 => "The grant for this run".to_owned(),
        2 => "The list of denials".to_owned(),
        3 => "The repository's policy".to_owned(),
        4 => "The contract".to_owned(),
        5 => node.map_or_else(|| "The current work node".to_owned(), |node| format!("The work node {node}")),
        _ => String::new(),
    };
    let scopes = || cell.scopes.join(", ");
    let source = cell.source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
    let mut words = match (column, cell.rule) {
        (EFFECTIVE, CellRule::Allows) if cell.scopes.is_empty() => format!("{capability} is allowed now."),
        (EFFECTIVE, CellRule::Allows) => format!("{capability} is allowed now for {}.", scopes()),
        (EFFECTIVE, _) => match row.closed_by {
            Some(closer) => {
                let closer = PERMISSION_COLUMNS.get(closer).copied().unwrap_or("a party");
                format!("{capability} is not allowed now: the column '{closer}' closes it.")
            }
            None => format!("{capability} is not allowed now."),
        },
        (2, CellRule::Allows | CellRule::Silent) => format!("Nothing denies {capability}{source}."),
        (2, CellRule::Closes) if !cell.scopes.is_empty() => {
            format!("Denied for {capability}: {}{source}.", scopes())
        }
        (_, CellRule::Silent) => format!("{party} says nothing about {capability} yet{source}."),
        (_, CellRule::Allows) if cell.scopes.is_empty() => format!("{party} allows {capability}{source}."),
        (_, CellRule::Allows) => format!("{party} allows {capability} for {}{source}.", scopes()),
        (_, CellRule::Closes) => format!("{party} does not allow {capability}{source}."),
    };
    if row.closed_by == Some(column) {
        words.push_str(" This is what closes it.");
    } else if column != EFFECTIVE && cell.rule == CellRule::Allows && row.closed_by.is_some() {
        words.push_str(" Another column closes it all the same.");
    }
    words
}

fn decisions(state: &Permissions, lines: &[DecisionLine], world: &World, buf: &mut Buffer, area: Rect) {
    if area.height == 0 {
        return;
    }
    let denied = lines.iter().filter(|line| !line.allowed).count();
    let note = match (lines.len(), denied) {
        (0, _) => "none yet".to_owned(),
        (n, 0) => format!("{n}, all allowed"),
        (n, denied) => format!("{n}, {denied} denied; newest first"),
    };
    parts::heading(buf, world, area, "Decisions", &note);
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let window = state.decisions.window(lines.len(), usize::from(body.height));
    let first = window.start;
    for (y, at) in (body.y..).zip(window) {
        let line = &lines[at];
        let mut row = Row::new(world.paint(), body.width);
        if state.in_decisions && at == state.decisions.selected {
            row = row.on(Role::Selection);
        }
        let (role, sign, word) = if line.allowed {
            (Role::Good, world.glyphs.pass, "allow")
        } else {
            (Role::Bad, world.glyphs.fail, "deny")
        };
        row.put(role, sign)
            .gap(1)
            .cell(role, word, 6)
            .cell_right(Role::Faint, &world.now.ago(&line.at), 6)
            .gap(2);
        row.cell(Role::Muted, &line.capability, 17);
        let target = (row.left() / 2).max(12);
        row.cell(Role::Text, &line.target, target).gap(1).put(Role::Muted, &line.reason);
        row.draw(buf, body.x, y);
    }
    parts::scroll_bar(buf, world, body, first, lines.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cell_says_who_closes_and_where() {
        let mut row =
            PermissionRow { capability: "network.read".into(), closed_by: Some(3), ..Default::default() };
        for cell in &mut row.cells[..3] {
            cell.rule = CellRule::Allows;
        }
        row.cells[1].scopes = vec!["crates.io".into()];
        row.cells[3] = PermissionCell {
            rule: CellRule::Closes,
            scopes: Vec::new(),
            source: Some(".telic/policy.toml:9".into()),
        };
        assert_eq!(
            sentence(&row, 3, None),
            "The repository's policy does not allow network.read (.telic/policy.toml:9). This is what closes it."
        );
        assert_eq!(
            sentence(&row, 6, None),
            "network.read is not allowed now: the column 'repository policy' closes it."
        );
        assert_eq!(
            sentence(&row, 1, None),
            "The grant for this run allows network.read for crates.io. Another column closes it all the same."
        );
    }
}
