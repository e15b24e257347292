//! The overview: what was asked, where the workflow stands and how it got there, what comes next, what is left of
//! the budgets, and the facts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::service::snapshot::{CellState, PhaseVisit, RunDetail};
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

impl Overview {
    /// Scrolls.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        let len = if world.breadth() == Breadth::Narrow {
            page_height(detail, area.width)
        } else {
            request_height(detail, columns(area).0.width)
        };
        let height = usize::from(area.height);
        self.scroll.step(motion, len, height);
    }
}

fn columns(area: Rect) -> (Rect, Rect) {
    let left = area.width / 2;
    let inner = Rect { x: area.x + 1, width: left.saturating_sub(2), ..area };
    let right = Rect { x: area.x + left + 2, width: area.width.saturating_sub(left + 3), ..area };
    (inner, right)
}

fn request_height(detail: &RunDetail, width: u16) -> usize {
    blocks_left(detail).iter().map(|block| block.height(detail, width) + 1).sum()
}

fn page_height(detail: &RunDetail, width: u16) -> usize {
    let width = width.saturating_sub(2);
    let all = blocks_left(detail).into_iter().chain(blocks_right(detail));
    all.map(|block| block.height(detail, width) + 1).sum()
}

/// One part of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Status,
    Phases,
    Request,
    Budgets,
    Stops,
    Facts,
}

fn blocks_left(_: &RunDetail) -> Vec<Block> {
    vec![Block::Status, Block::Phases, Block::Request]
}

fn blocks_right(detail: &RunDetail) -> Vec<Block> {
    let mut blocks = vec![Block::Budgets];
    if !detail.stop_conditions.is_empty() {
        blocks.push(Block::Stops);
    }
    blocks.push(Block::Facts);
    blocks
}

impl Block {
    /// Lines that the block takes, its heading included.
    fn height(self, detail: &RunDetail, width: u16) -> usize {
        let columns = usize::from(width);
        match self {
            Block::Status => {
                ui::wrap(&detail.row.sentence, columns).count()
                    + next_line(detail).map_or(0, |next| ui::wrap(&next, columns).count())
            }
            Block::Phases => 1 + detail.phases.len(),
            Block::Request => 1 + ui::wrap(&detail.request, columns).count(),
            Block::Budgets => 1 + detail.budgets.len(),
            Block::Stops => {
                let wrapped = detail.stop_conditions.iter();
                1 + wrapped.map(|stop| ui::wrap(stop, columns.saturating_sub(2)).count()).sum::<usize>()
            }
            Block::Facts => 1 + detail.facts.len(),
        }
    }
}

fn next_line(detail: &RunDetail) -> Option<String> {
    let next = detail.next_action.as_ref()?;
    let node = next.node.as_ref().map_or_else(String::new, |node| format!(" for node {node}"));
    let who = parts::plain(&next.role);
    Some(if next.words.is_empty() {
        format!("Next: the {who} submits {}{node}", next.artifact_type)
    } else {
        format!("Next: {} ({who}: {}{node})", next.words, next.artifact_type)
    })
}

/// Draws the overview.
pub fn draw(state: &Overview, world: &World, buf: &mut Buffer, area: Rect) {
    let Some(detail) = &world.detail else { return };
    if world.breadth() == Breadth::Narrow {
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let blocks: Vec<Block> = blocks_left(detail).into_iter().chain(blocks_right(detail)).collect();
        column(&blocks, detail, world, buf, inner, state.scroll);
        let len = page_height(detail, area.width);
        let first = state.scroll.window(len, usize::from(area.height)).start;
        parts::scroll_bar(buf, world, area, first, len);
        return;
    }
    let (left, right) = columns(area);
    ui::vertical(buf, world.paint(), right.x - 2, area.y, area.bottom());
    column(&blocks_left(detail), detail, world, buf, left, state.scroll);
    column(&blocks_right(detail), detail, world, buf, right, Scroll(0));
}

/// Draws blocks under each other, from the scrolled line on.
fn column(blocks: &[Block], detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect, scroll: Scroll) {
    let total: usize = blocks.iter().map(|block| block.height(detail, area.width) + 1).sum();
    let first = scroll.window(total, usize::from(area.height)).start;
    let mut at = 0usize;
    for block in blocks {
        let height = block.height(detail, area.width);
        if at + height > first && at < first + usize::from(area.height) {
            // The part of the block that is in the window, drawn to the side and copied line by line.
            let scratch = Rect::new(area.x, 0, area.width, u16::try_from(height).unwrap_or(u16::MAX));
            let mut own = Buffer::empty(scratch);
            ui::fill(&mut own, scratch, &world.theme, Role::Text);
            render(*block, detail, world, &mut own, scratch);
            for line in 0..height {
                let Some(y) = (at + line).checked_sub(first) else { continue };
                if y >= usize::from(area.height) {
                    break;
                }
                let (from, to) = (u16::try_from(line).unwrap_or(0), area.y + u16::try_from(y).unwrap_or(0));
                for x in area.x..area.right().min(buf.area.right()) {
                    buf[(x, to)] = own[(x, from)].clone();
                }
            }
        }
        at += height + 1;
    }
}

fn render(block: Block, detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    match block {
        Block::Status => status(detail, world, buf, area),
        Block::Phases => {
            parts::heading(buf, world, area, "Phases", "");
            phases(detail, world, buf, below);
        }
        Block::Request => {
            let letters = detail.request.chars().count();
            parts::heading(buf, world, area, "Request", &format!("{letters} characters, exact"));
            ui::paragraph(buf, world.paint(), below, Role::Text, &detail.request);
        }
        Block::Budgets => {
            parts::heading(buf, world, area, "Budgets", "");
            for (y, gauge) in (below.y..below.bottom()).zip(&detail.budgets) {
                parts::gauge(buf, world, Rect { y, height: 1, ..below }, gauge);
            }
        }
        Block::Stops => {
            parts::heading(buf, world, area, "Stops when", "");
            let mut rest = below;
            for stop in &detail.stop_conditions {
                let mark = Rect { height: rest.height.min(1), ..rest };
                ui::paragraph(buf, world.paint(), mark, Role::Faint, world.glyphs.dot);
                let text = Rect { x: rest.x + 2, width: rest.width.saturating_sub(2), ..rest };
                let used = ui::paragraph(buf, world.paint(), text, Role::Muted, stop);
                rest.y += used;
                rest.height -= used;
            }
        }
        Block::Facts => {
            parts::heading(buf, world, area, "Facts", "");
            let name =
                detail.facts.iter().map(|fact| crate::text::width(&fact.name)).max().unwrap_or(0).min(18);
            for (y, fact) in (below.y..below.bottom()).zip(&detail.facts) {
                let mut row = Row::new(world.paint(), below.width);
                row.cell(Role::Faint, &fact.name, name + 2).put(Role::Text, &fact.value);
                row.draw(buf, below.x, y);
            }
        }
    }
}

fn status(detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    let role = if detail.row.need.is_some() { Role::Warn } else { Role::Strong };
    let used = ui::paragraph(buf, world.paint(), area, role, &detail.row.sentence);
    if let Some(next) = next_line(detail) {
        let rest = Rect { y: area.y + used, height: area.height.saturating_sub(used), ..area };
        ui::paragraph(buf, world.paint(), rest, Role::Muted, &next);
    }
}

/// Where a loop runs beside a visit: from the entry before into the same phase to this one.
fn loops(phases: &[PhaseVisit]) -> Vec<Option<usize>> {
    let mut marks = vec![None; phases.len()];
    for (at, visit) in phases.iter().enumerate() {
        let Some(before) = phases[..at].iter().rposition(|other| other.phase == visit.phase) else {
            continue;
        };
        if at - before < 2 {
            continue;
        }
        marks[before].get_or_insert(0);
        for mark in &mut marks[before + 1..at] {
            mark.get_or_insert(1);
        }
        marks[at] = Some(2);
    }
    marks
}

fn phases(detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    let marks = loops(&detail.phases);
    let looped = marks.iter().any(Option::is_some);
    for (y, (visit, mark)) in (area.y..area.bottom()).zip(detail.phases.iter().zip(&marks)) {
        let role = match visit.state {
            CellState::Done => Role::Good,
            CellState::Current => Role::Accent,
            CellState::Waiting => Role::Warn,
            CellState::Failed => Role::Bad,
            CellState::Todo | CellState::Skipped => Role::Faint,
        };
        let mut row = Row::new(world.paint(), area.width);
        if looped {
            row.put(Role::Badge, mark.map_or(" ", |part| world.glyphs.loop_back[part])).gap(1);
        }
        row.put(role, world.glyphs.phase(visit.state)).gap(1);
        let reached = !matches!(visit.state, CellState::Todo | CellState::Skipped);
        row.cell(if reached { Role::Text } else { Role::Faint }, parts::phase(&visit.phase), 20).gap(1);
        if let Some(at) = &visit.at {
            row.cell_right(Role::Faint, &world.now.ago(at), 6).gap(2);
        } else {
            row.gap(8);
        }
        row.cell(Role::Muted, &parts::plain(&visit.producer), 18).gap(1).put(Role::Muted, &visit.note);
        row.draw(buf, area.x, y);
    }
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
    }
}
