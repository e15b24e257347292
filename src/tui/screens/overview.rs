//! The overview: what was asked, where the workflow stands and how it got there, what comes next, what is left of
//! the budgets, and the facts.
//!
//! The page is a list of lines; only those in the window are drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::service::snapshot::{CellState, PhaseVisit, RAIL, RunDetail};
use crate::tui::list::{Motion, Scroll};
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::world::{Breadth, World};

/// State of the overview: how far it is scrolled.
#[derive(Default)]
pub struct Overview {
    scroll: Scroll,
}

/// One line of the page.
enum Line {
    Blank,
    Heading(&'static str, String),
    Words(Role, String),
    /// An entry into a phase, by index, and its part of a loop.
    Visit(usize, Option<usize>),
    /// A phase that may still come.
    Unreached(&'static str),
    Budget(usize),
    /// A stop condition: whether it begins here, and its words.
    Stop(bool, String),
    Fact(usize),
}

impl Overview {
    /// Scrolls.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        let lines = if world.breadth() == Breadth::Narrow {
            whole(detail, area.width.saturating_sub(2))
        } else {
            left(detail, columns(area).0.width)
        };
        self.scroll.step(motion, lines.len(), usize::from(area.height));
    }
}

fn columns(area: Rect) -> (Rect, Rect) {
    let left = area.width / 2;
    let inner = Rect { x: area.x + 1, width: left.saturating_sub(2), ..area };
    let right = Rect { x: area.x + left + 2, width: area.width.saturating_sub(left + 3), ..area };
    (inner, right)
}

/// Status, phases, request.
fn left(detail: &RunDetail, width: u16) -> Vec<Line> {
    let columns = usize::from(width);
    let mut lines = Vec::new();
    let role = if detail.row.need.is_some() { Role::Warn } else { Role::Strong };
    lines.extend(ui::wrap(&detail.row.sentence, columns).map(|line| Line::Words(role, line)));
    if let Some(next) = next_line(detail) {
        lines.extend(ui::wrap(&next, columns).map(|line| Line::Words(Role::Muted, line)));
    }
    lines.push(Line::Blank);
    lines.push(Line::Heading("Phases", String::new()));
    lines.extend(loops(&detail.phases).into_iter().enumerate().map(|(at, mark)| Line::Visit(at, mark)));
    lines.extend(unreached(detail).map(Line::Unreached));
    lines.push(Line::Blank);
    lines.push(Line::Heading("Request", format!("{} characters, exact", detail.request.chars().count())));
    lines.extend(ui::wrap(&detail.request, columns).map(|line| Line::Words(Role::Text, line)));
    lines
}

/// Budgets, stop conditions, facts.
fn right(detail: &RunDetail, width: u16) -> Vec<Line> {
    let mut lines = vec![Line::Heading("Budgets", String::new())];
    lines.extend((0..detail.budgets.len()).map(Line::Budget));
    lines.push(Line::Blank);
    if !detail.stop_conditions.is_empty() {
        lines.push(Line::Heading("Stops when", String::new()));
        for stop in &detail.stop_conditions {
            let wrapped = ui::wrap(stop, usize::from(width.saturating_sub(2)));
            lines.extend(wrapped.enumerate().map(|(at, line)| Line::Stop(at == 0, line)));
        }
        lines.push(Line::Blank);
    }
    lines.push(Line::Heading("Facts", String::new()));
    lines.extend((0..detail.facts.len()).map(Line::Fact));
    lines
}

/// Both columns under each other.
fn whole(detail: &RunDetail, width: u16) -> Vec<Line> {
    let mut lines = left(detail, width);
    lines.push(Line::Blank);
    lines.extend(right(detail, width));
    lines
}

fn next_line(detail: &RunDetail) -> Option<String> {
    let next = detail.next_action.as_ref()?;
    if next.role == "user" {
        return Some("Next: your answer".to_owned());
    }
    let node = next.node.as_ref().map_or_else(String::new, |node| format!(" for node {node}"));
    let who = parts::plain(&next.role);
    Some(if next.words.is_empty() {
        format!("Next: the {who} submits {}{node}", next.artifact_type)
    } else {
        format!("Next: {} ({who}: {}{node})", next.words, next.artifact_type)
    })
}

/// Phases of the rail that may still come.
fn unreached(detail: &RunDetail) -> impl Iterator<Item = &'static str> + '_ {
    let listed = |phase: &str| detail.phases.iter().any(|visit| visit.phase == phase);
    let todo = RAIL.iter().zip(&detail.row.rail).filter(|(_, cell)| cell.state == CellState::Todo);
    todo.map(|(phase, _)| *phase).filter(move |phase| !detail.row.ended && !listed(phase))
}

/// Where a loop runs beside a visit: from the entry before into the same phase to this one.
fn loops(phases: &[PhaseVisit]) -> Vec<Option<usize>> {
    let mut marks = vec![None; phases.len()];
    for (at, visit) in phases.iter().enumerate() {
        let Some(before) = phases[..at].iter().rposition(|other| other.phase == visit.phase) else {
            continue;
        };
        // Only the outer loop is drawn: the phases inside it come again because of it.
        if at - before < 2 || marks[before..=at].iter().any(Option::is_some) {
            continue;
        }
        marks[before..=at].fill(Some(1));
        (marks[before], marks[at]) = (Some(0), Some(2));
    }
    marks
}

/// Draws the overview.
pub fn draw(state: &Overview, world: &World, buf: &mut Buffer, area: Rect) {
    let Some(detail) = &world.detail else { return };
    if world.breadth() == Breadth::Narrow {
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        column(&whole(detail, inner.width), detail, world, buf, inner, state.scroll);
        return;
    }
    let (first, second) = columns(area);
    ui::vertical(buf, world.paint(), second.x - 2, area.y, area.bottom());
    column(&left(detail, first.width), detail, world, buf, first, state.scroll);
    column(&right(detail, second.width), detail, world, buf, second, Scroll(0));
}

fn column(lines: &[Line], detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect, scroll: Scroll) {
    let window = scroll.window(lines.len(), usize::from(area.height));
    let looped = lines.iter().any(|line| matches!(line, Line::Visit(_, Some(_))));
    let names = detail.facts.iter().map(|fact| crate::text::width(&fact.name)).max().unwrap_or(0).min(18);
    for (y, line) in (area.y..).zip(&lines[window.clone()]) {
        let place = Rect { y, height: 1, ..area };
        let mut row = Row::new(world.paint(), area.width);
        match line {
            Line::Blank => continue,
            Line::Heading(words, note) => {
                parts::heading(buf, world, place, words, note);
                continue;
            }
            Line::Words(role, words) => _ = row.put(*role, words),
            Line::Visit(at, mark) => visit(&mut row, &detail.phases[*at], *mark, looped, world),
            Line::Unreached(phase) => {
                row.gap(if looped { 2 } else { 0 }).put(Role::Faint, world.glyphs.empty).gap(1);
                row.put(Role::Faint, parts::phase(phase));
            }
            Line::Budget(at) => {
                parts::gauge(buf, world, place, &detail.budgets[*at]);
                continue;
            }
            Line::Stop(first, words) => {
                row.put(Role::Faint, if *first { world.glyphs.dot } else { " " })
                    .gap(1)
                    .put(Role::Muted, words);
            }
            Line::Fact(at) => {
                let fact = &detail.facts[*at];
                row.cell(Role::Faint, &fact.name, names + 2).put(Role::Text, &fact.value);
            }
        }
        row.draw(buf, area.x, y);
    }
    parts::scroll_bar(buf, world, Rect { width: area.width + 1, ..area }, window.start, lines.len());
}

fn visit(row: &mut Row<'_>, visit: &PhaseVisit, mark: Option<usize>, looped: bool, world: &World) {
    let role = match visit.state {
        CellState::Done => Role::Good,
        CellState::Current => Role::Accent,
        CellState::Waiting => Role::Warn,
        CellState::Failed => Role::Bad,
        CellState::Todo | CellState::Skipped => Role::Faint,
    };
    if looped {
        row.put(Role::Badge, mark.map_or(" ", |part| world.glyphs.loop_back[part])).gap(1);
    }
    row.put(role, world.glyphs.phase(visit.state)).gap(1);
    let reached = !matches!(visit.state, CellState::Todo | CellState::Skipped);
    row.cell(if reached { Role::Text } else { Role::Faint }, parts::phase(&visit.phase), 20).gap(1);
    match &visit.at {
        Some(at) => row.cell_right(Role::Faint, &world.now.ago(at), 6).gap(2),
        None => row.gap(8),
    };
    row.cell(Role::Muted, &parts::plain(&visit.producer), 18).gap(1).put(Role::Muted, &visit.note);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_comes_again_is_joined_to_its_entry_before() {
        let visit = |phase: &str| PhaseVisit { phase: phase.into(), ..PhaseVisit::default() };
        let phases = ["compile", "review", "revise", "review", "plan"].map(visit);
        assert_eq!(loops(&phases), [None, Some(0), Some(1), Some(2), None]);
        assert_eq!(loops(&["plan", "plan"].map(visit)), [None, None]);
        let again = ["plan", "execute", "quality", "plan", "execute", "quality"].map(visit);
        assert_eq!(loops(&again), [Some(0), Some(1), Some(1), Some(2), None, None]);
    }
}
