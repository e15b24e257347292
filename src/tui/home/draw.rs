//! Draws the home screen: the list left, a preview of the selected run right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Group, Home, Line};
use crate::service::snapshot::{CellState, Gauge, NeedKind, RunRow};
use crate::text;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{self, Hit, Hits};
use crate::tui::world::World;

/// Draws list and preview.
pub fn draw(home: &Home, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let (left, right) = view::split(area, world.breadth());
    let right = right.filter(|_| !home.hide_preview);
    let left = if right.is_some() { left } else { area };
    let (mut left, strip) = if right.is_some() { (left, None) } else { with_strip(left) };
    if area.height >= ROOMY {
        left = Rect { y: left.y + 1, height: left.height - 1, ..left };
    }
    list(home, world, buf, left, hits);
    if let (Some(strip), Some(row)) = (strip, home.selected(world)) {
        about(row, world, buf, strip);
    }
    if let Some(right) = right {
        ui::vertical(buf, world.paint(), right.x - 1, area.y, area.bottom());
        let inner = Rect { x: right.x + 1, width: right.width.saturating_sub(2), ..right };
        match home.selected(world) {
            Some(row) => preview(row, world, buf, inner),
            None => _ = ui::paragraph(buf, world.paint(), inner, Role::Faint, "\nNo run is selected."),
        }
    }
}

/// Fewest lines of the body with which there is a blank one on top.
pub(super) const ROOMY: u16 = 20;

/// Lines under the list that tell about the selected run where there is no preview.
pub(super) const STRIP: u16 = 3;

fn with_strip(area: Rect) -> (Rect, Option<Rect>) {
    let height = area.height.saturating_sub(STRIP);
    (Rect { height, ..area }, Some(Rect { y: area.y + height, height: area.height - height, ..area }))
}

/// What the selected run is at, in two lines.
fn about(run: &RunRow, world: &World, buf: &mut Buffer, area: Rect) {
    ui::horizontal(buf, world.paint(), area.x, area.y, area.width);
    let text =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height - 1 };
    let role = if run.need.is_some() { Role::Warn } else { Role::Text };
    ui::paragraph(buf, world.paint(), text, role, &run.sentence);
}

fn list(home: &Home, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let mut area = area;
    if home.shows_query() {
        let mut row = Row::new(world.paint(), area.width).on(Role::Panel);
        row.put(Role::Accent, " / ").put(Role::Text, &home.query);
        if home.editing {
            row.styled(world.theme.style(Role::Text).add_modifier(ratatui::style::Modifier::REVERSED), " ");
        }
        row.draw(buf, area.x, area.y);
        area.y += 1;
        area.height -= 1;
    }
    if home.lines.is_empty() {
        empty(home, world, buf, area);
        return;
    }
    let window = home.cursor.window(home.lines.len(), usize::from(area.height));
    // As wide as the longest name that is seen, within reason.
    let names = home.lines[window.clone()].iter().filter_map(|line| match line {
        Line::Run(index) => world.snapshot.rows.get(*index as usize),
        _ => None,
    });
    let names = names.map(|row| text::width(&row.repository)).max().unwrap_or(0).clamp(6, 14);
    for (y, at) in (area.y..).zip(window) {
        match home.lines[at] {
            Line::Gap => {}
            Line::Heading(group, count) => heading(group, count, world, buf, area, y),
            Line::Run(index) => {
                if let Some(row) = world.snapshot.rows.get(index as usize) {
                    let selected = at == home.cursor.selected;
                    run_row(row, selected, names, world, buf, Rect { y, height: 1, ..area });
                    hits.add(Rect { y, height: 1, ..area }, Hit::Line(at));
                }
            }
        }
    }
    parts::scroll_bar(buf, world, area, home.cursor.offset, home.lines.len());
}

fn empty(home: &Home, world: &World, buf: &mut Buffer, area: Rect) {
    let inner = Rect { x: area.x + 2, y: area.y + 1, width: area.width.saturating_sub(4), ..area };
    let inner = inner.intersection(area);
    if !home.query.is_empty() {
        ui::paragraph(buf, world.paint(), inner, Role::Muted, "Looking …");
        return;
    }
    let used = ui::paragraph(buf, world.paint(), inner, Role::Strong, "No runs yet.");
    let hint = "\nA run appears here when an agent starts one through telic's MCP server, or when you submit a \
                task:\n\n    telic task submit --repo . --type bug_fix \"What is to be done\"\n\n`telic demo` \
                plays a whole run in a repository of its own.";
    let rest = Rect { y: inner.y + used, height: inner.height.saturating_sub(used), ..inner };
    ui::paragraph(buf, world.paint(), rest, Role::Muted, hint);
}

fn heading(group: Group, count: usize, world: &World, buf: &mut Buffer, area: Rect, y: u16) {
    let (role, words) = match group {
        Group::NeedsYou => (Role::Warn, "Needs you"),
        Group::Active => (Role::Heading, "Active"),
        Group::Recent => (Role::Muted, "Recent"),
        Group::Found => (Role::Heading, "Found"),
    };
    let mut row = Row::new(world.paint(), area.width);
    row.gap(1).put(role, words).gap(1).put(Role::Faint, &count.to_string());
    row.draw(buf, area.x, y);
}

/// Role and sign of a run's state.
fn sign(row: &RunRow, world: &World) -> (Role, &'static str) {
    let glyphs = world.glyphs;
    if let Some(need) = &row.need {
        let role = match need.kind {
            NeedKind::Publication | NeedKind::Infrastructure => Role::Bad,
            NeedKind::Approval => Role::Good,
            _ => Role::Warn,
        };
        return (role, glyphs.need(need.kind));
    }
    if !row.ended {
        return (Role::Accent, glyphs.current);
    }
    match row.verdict.as_ref().map(|verdict| verdict.status.as_str()) {
        Some("SUCCESS" | "SUCCESS_NEEDS_REVIEW") => (Role::Good, glyphs.pass),
        Some("CANCELLED") => (Role::Faint, glyphs.empty),
        Some("INCONCLUSIVE") => (Role::Warn, glyphs.warn),
        Some(_) => (Role::Bad, glyphs.fail),
        None => match row.workflow_status.as_str() {
            "completed" => (Role::Good, glyphs.pass),
            "partial" => (Role::Warn, glyphs.warn),
            "blocked" => (Role::Bad, glyphs.fail),
            _ => (Role::Faint, glyphs.empty),
        },
    }
}

fn run_row(run: &RunRow, selected: bool, names: usize, world: &World, buf: &mut Buffer, area: Rect) {
    let mut row = Row::new(world.paint(), area.width);
    if selected {
        row = row.on(Role::Selection);
    }
    let wide = usize::from(area.width);
    let (role, sign) = sign(run, world);
    row.put(
        if selected { Role::Accent } else { Role::Text },
        if selected { world.glyphs.pointer } else { " " },
    );
    row.put(role, sign).gap(1);
    let repository = if wide >= 76 { names } else { names.min(9) };
    let mode = if wide >= 76 { 12 } else { 0 };
    let tail = 1 + mode + 10 + 1 + 3 + 7 + 1;
    row.cell(Role::Muted, &run.repository, repository).gap(1);
    let title = row.left().saturating_sub(tail);
    row.cell(if run.need.is_some() { Role::Strong } else { Role::Text }, &run.title, title).gap(1);
    if mode > 0 {
        row.cell(Role::Badge, parts::mode_short(&run.mode), mode);
    }
    rail(run, world, &mut row);
    row.gap(1);
    let attempts = if run.attempts > 1 { format!("x{}", run.attempts) } else { String::new() };
    row.cell(Role::Warn, &attempts, 3);
    let since = run.need.as_ref().map_or(&run.updated_at, |need| &need.since);
    row.cell_right(if run.need.is_some() { Role::Warn } else { Role::Faint }, &world.now.ago(since), 7)
        .gap(1);
    row.draw(buf, area.x, area.y);
}

/// Draws the ten phases as ten columns.
fn rail(run: &RunRow, world: &World, row: &mut Row<'_>) {
    for cell in run.rail {
        row.put(cell_role(cell.state), world.glyphs.rail(cell));
    }
}

fn cell_role(state: CellState) -> Role {
    match state {
        CellState::Done => Role::Good,
        CellState::Current => Role::Accent,
        CellState::Waiting => Role::Warn,
        CellState::Failed => Role::Bad,
        CellState::Todo | CellState::Skipped => Role::Track,
    }
}

/// Draws what is known of a run: from its row, and from its detail when it is the followed one.
fn preview(run: &RunRow, world: &World, buf: &mut Buffer, area: Rect) {
    let paint = world.paint();
    let mut rest = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let take = |rest: &mut Rect, lines: u16| {
        let lines = lines.min(rest.height);
        rest.y += lines;
        rest.height -= lines;
    };
    let used =
        ui::paragraph(buf, paint, Rect { height: rest.height.min(2), ..rest }, Role::Strong, &run.title);
    take(&mut rest, used);
    let mut row = Row::new(paint, rest.width);
    row.put(Role::Muted, &run.repository);
    if let Some(branch) = &run.branch {
        row.put(Role::Faint, &format!(" {} {branch}", world.glyphs.dot));
    }
    row.gap(2).put(Role::Badge, parts::mode(&run.mode));
    if rest.height > 0 {
        row.draw(buf, rest.x, rest.y);
    }
    take(&mut rest, 2);
    let role = if run.need.is_some() { Role::Warn } else { Role::Text };
    let used = ui::paragraph(buf, paint, Rect { height: rest.height.min(4), ..rest }, role, &run.sentence);
    take(&mut rest, used);
    if !run.next.is_empty() {
        let next = format!("Next: {}", run.next);
        let used = ui::paragraph(buf, paint, Rect { height: rest.height.min(3), ..rest }, Role::Muted, &next);
        take(&mut rest, used);
    }
    take(&mut rest, 1);
    let section = |buf: &mut Buffer, rest: &mut Rect, words: &str| {
        if rest.height > 1 {
            Row::new(paint, rest.width).put(Role::Heading, words).draw(buf, rest.x, rest.y);
        }
        take(rest, 1);
    };
    section(buf, &mut rest, "Phases");
    phases(run, world, buf, &mut rest);
    take(&mut rest, 1);
    section(buf, &mut rest, "Request");
    let request = world.detail_of(&run.key).map_or(&run.request_line, |detail| &detail.request);
    let room = (rest.height / 2).max(1).min(rest.height);
    let used = ui::paragraph(buf, paint, Rect { height: room, ..rest }, Role::Text, request);
    take(&mut rest, used + 1);
    if let Some(detail) = world.detail_of(&run.key) {
        section(buf, &mut rest, "Budgets");
        for gauge in detail.budgets.iter().filter(|gauge| gauge.limit > 0).take(3) {
            budget(gauge, world, buf, rest);
            take(&mut rest, 1);
        }
        take(&mut rest, 1);
        section(buf, &mut rest, "Latest");
        let from = detail.trace.len().saturating_sub(usize::from(rest.height).min(5));
        for line in detail.trace.iter().skip(from).rev() {
            let mut row = Row::new(paint, rest.width);
            row.put(Role::Faint, &format!("{:>7} ", world.now.ago(&line.at))).put(Role::Muted, &line.summary);
            if rest.height > 0 {
                row.draw(buf, rest.x, rest.y);
            }
            take(&mut rest, 1);
        }
    }
    if rest.height > 1 {
        let mut row = Row::new(paint, rest.width);
        row.put(Role::Faint, &format!("created {} ago", world.now.ago(&run.created_at)));
        row.gap(2).put(Role::Faint, &run.key.run);
        row.draw(buf, rest.x, rest.bottom() - 1);
    }
}

/// The ten phases as one line, and where the run stands in them.
fn phases(run: &RunRow, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    if rest.height < 2 {
        return;
    }
    let step = (usize::from(rest.width) / 10).clamp(2, 7);
    let mut row = Row::new(world.paint(), rest.width);
    for cell in run.rail {
        let (role, sign) = (cell_role(cell.state), world.glyphs.rail(cell));
        let line = matches!(cell.state, CellState::Done);
        row.put(role, if cell.state == CellState::Skipped { world.glyphs.rail_todo } else { sign });
        let fill = if line { sign } else { world.glyphs.rail_todo };
        row.put(if line { role } else { Role::Track }, &fill.repeat(step - 2)).gap(1);
    }
    row.draw(buf, rest.x, rest.y);
    let done = run.rail.iter().filter(|cell| cell.state == CellState::Done).count();
    let at = run
        .rail
        .iter()
        .position(|cell| matches!(cell.state, CellState::Current | CellState::Waiting | CellState::Failed));
    let mut words = Row::new(world.paint(), rest.width);
    match at.and_then(|at| crate::service::snapshot::RAIL.get(at)) {
        Some(phase) => words.put(Role::Muted, &format!("{done} done, now: {}", parts::phase(phase))),
        None if done == 0 => words.put(Role::Faint, "not begun"),
        None => words.put(Role::Muted, "all done"),
    };
    words.draw(buf, rest.x, rest.y + 1);
    rest.y += 2;
    rest.height -= 2;
}

fn budget(gauge: &Gauge, world: &World, buf: &mut Buffer, rest: Rect) {
    if rest.height > 0 {
        parts::gauge(buf, world, rest, gauge);
    }
}
