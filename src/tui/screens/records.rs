//! The tabs that list what is on record: artifacts by phase, attempts with their steps, the conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Tab;
use crate::service::link::Command;
use crate::service::snapshot::{ArtifactLine, AttemptView, MessageView, RunDetail};
use crate::tui::keymap::Action;
use crate::tui::layers::{Layer, Reader};
use crate::tui::list::{Cursor, Motion, Scroll};
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::world::{Go, Out, World};
use crate::tui::{parts, time};

/// State of the record tabs.
#[derive(Default)]
pub struct Records {
    artifacts: Cursor,
    attempts: Scroll,
    session: Scroll,
    /// Ticket of the body that was asked for.
    wanted: Option<u64>,
}

impl Records {
    /// Moves in the tab that is shown.
    pub fn step(&mut self, tab: Tab, motion: Motion, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        let height = usize::from(area.height);
        match tab {
            Tab::Artifacts => self.artifacts.step(motion, detail.artifacts.len(), height.saturating_sub(1)),
            Tab::Attempts => self.attempts.step(motion, attempt_lines(detail), height),
            _ => self.session.step(motion, session_lines(detail, area.width), height),
        }
    }

    /// Does an action of the artifacts.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) -> bool {
        if action != Action::OpenBody {
            return false;
        }
        let Some(detail) = &world.detail else { return true };
        match detail.artifacts.get(self.artifacts.selected) {
            Some(line) if line.fault.is_some() => {
                out.say("The stored bytes cannot be trusted, so they are not shown");
            }
            Some(line) => {
                let (key, id) = (detail.row.key.clone(), line.id.clone());
                self.wanted = Some(out.send(Command::LoadArtifact { key, id }));
            }
            None => out.say("There is no artifact here"),
        }
        true
    }

    /// A body came; one that is no longer wanted is dropped.
    pub fn body_came(&mut self, ticket: u64, id: &str, body: &[u8], out: &mut Out) {
        if self.wanted == Some(ticket) {
            self.wanted = None;
            out.go(Go::Open(Layer::Reader(Reader::body(id, body))));
        }
    }
}

/// Draws the tab.
pub fn draw(state: &Records, tab: Tab, world: &World, buf: &mut Buffer, area: Rect) {
    let Some(detail) = &world.detail else { return };
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    match tab {
        Tab::Artifacts => artifacts(state.artifacts, &detail.artifacts, world, buf, inner),
        Tab::Attempts => attempts(state.attempts, detail, world, buf, inner),
        _ => session(state.session, detail, world, buf, inner),
    }
}

fn artifacts(cursor: Cursor, lines: &[ArtifactLine], world: &World, buf: &mut Buffer, area: Rect) {
    let mut head = Row::new(world.paint(), area.width);
    let wide = area.width >= 100;
    head.cell(Role::Faint, " type", 23).cell(Role::Faint, "phase", 20);
    if wide {
        head.cell(Role::Faint, "producer", 19);
    }
    head.cell_right(Role::Faint, "size", 9).cell_right(Role::Faint, "age", 8).gap(2).put(Role::Faint, "id");
    head.draw(buf, area.x, area.y);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let window = cursor.window(lines.len(), usize::from(body.height));
    let first = window.start;
    for (y, at) in (body.y..).zip(window) {
        let line = &lines[at];
        let mut row = Row::new(world.paint(), body.width);
        let selected = at == cursor.selected;
        if selected {
            row = row.on(Role::Selection);
        }
        row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
        row.cell(Role::Text, &line.kind, 22).cell(Role::Muted, parts::phase(&line.phase), 20);
        if wide {
            row.cell(Role::Muted, &parts::plain(&line.producer), 19);
        }
        row.cell_right(Role::Faint, &time::bytes(line.bytes), 9);
        row.cell_right(Role::Faint, &world.now.ago(&line.at), 8).gap(2);
        match &line.fault {
            Some(fault) => row.put(Role::Bad, fault),
            None => row.put(Role::Faint, &line.id),
        };
        row.draw(buf, body.x, y);
    }
    parts::scroll_bar(buf, world, body, first, lines.len());
}

fn attempt_lines(detail: &RunDetail) -> usize {
    detail.attempts.iter().map(|attempt| attempt.steps.len() + 3).sum()
}

fn attempts(scroll: Scroll, detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    if detail.attempts.is_empty() {
        ui::paragraph(buf, world.paint(), area, Role::Muted, "\nNo attempt was made yet.");
        return;
    }
    let window = scroll.window(attempt_lines(detail), usize::from(area.height));
    let first = window.start;
    let mut at = 0;
    let mut y = area.y;
    for attempt in &detail.attempts {
        for line in 0..attempt.steps.len() + 3 {
            if window.contains(&at) {
                attempt_line(attempt, line, world, buf, Rect { y, height: 1, ..area });
                y += 1;
            }
            at += 1;
        }
    }
    parts::scroll_bar(buf, world, area, first, at);
}

fn attempt_line(attempt: &AttemptView, line: usize, world: &World, buf: &mut Buffer, area: Rect) {
    let mut row = Row::new(world.paint(), area.width);
    match line {
        0 => {
            let role = parts::status_role(&attempt.status);
            row.put(role, parts::status_sign(&attempt.status, world));
            row.put(Role::Strong, &format!(" Attempt {}", attempt.number)).gap(2);
            row.put(role, &parts::status(&attempt.status));
            if let Some(code) = &attempt.failure_code {
                row.gap(2).put(Role::Bad, &parts::plain(code));
            }
            row.gap(2).put(Role::Muted, &attempt.worker);
        }
        1 => {
            let mut words = format!("  began {}", world.now.clock(&attempt.started_at));
            if let Some(ended) = &attempt.ended_at {
                words.push_str(&format!(", ended {}", world.now.clock(ended)));
            } else if let Some(beat) = &attempt.heartbeat_at {
                words.push_str(&format!(", last heard of {} ago", world.now.ago(beat)));
            }
            row.put(Role::Faint, &words);
        }
        line => {
            let Some(step) = attempt.steps.get(line - 2) else { return };
            let role = parts::status_role(&step.status);
            row.gap(2).cell_right(Role::Faint, &step.sequence.to_string(), 4).gap(1);
            row.put(role, parts::status_sign(&step.status, world)).gap(1);
            row.cell(Role::Muted, &parts::plain(&step.kind.to_ascii_lowercase()), 19);
            let took = step.ended_at.as_deref().and_then(|ended| took(&step.started_at, ended));
            row.cell_right(Role::Faint, &took.map_or_else(String::new, time::length), 9).gap(2);
            row.put(Role::Text, &step.title);
            if let Some(call) = &step.call {
                row.gap(2).put(Role::Muted, call);
            }
        }
    }
    row.draw(buf, area.x, area.y);
}

fn took(from: &str, to: &str) -> Option<u64> {
    let (from, to): (jiff::Timestamp, jiff::Timestamp) = (from.parse().ok()?, to.parse().ok()?);
    u64::try_from(to.duration_since(from).as_millis()).ok()
}

fn message_lines(message: &MessageView, width: u16) -> usize {
    2 + ui::wrap(&message.text, usize::from(width.saturating_sub(4))).count()
}

fn session_lines(detail: &RunDetail, width: u16) -> usize {
    detail.messages.iter().map(|message| message_lines(message, width)).sum()
}

fn session(scroll: Scroll, detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    if detail.messages.is_empty() {
        ui::paragraph(buf, world.paint(), area, Role::Muted, "\nNothing was said yet.");
        return;
    }
    let width = area.width + 2;
    let total = session_lines(detail, width);
    let window = scroll.window(total, usize::from(area.height));
    let mut at = 0;
    for message in &detail.messages {
        let height = message_lines(message, width);
        if at + height <= window.start || at >= window.end {
            at += height;
            continue;
        }
        let (role, who) = match message.role.as_str() {
            "USER" => (Role::Accent, "you"),
            "REVIEWER" => (Role::Badge, "reviewer"),
            "AGENT" => (Role::Good, "agent"),
            _ => (Role::Faint, "telic"),
        };
        let text = ui::wrap(&message.text, usize::from(area.width.saturating_sub(2)));
        for (line, content) in std::iter::once(String::new()).chain(text).enumerate() {
            let Some(y) = (at + line).checked_sub(window.start).filter(|y| *y < usize::from(area.height))
            else {
                continue;
            };
            let y = area.y + u16::try_from(y).unwrap_or(0);
            let mut row = Row::new(world.paint(), area.width);
            if line == 0 {
                row.put(role, who).gap(2).put(Role::Faint, &world.now.clock(&message.at));
            } else {
                row.put(role, world.glyphs.vertical).gap(1).put(Role::Text, &content);
            }
            row.draw(buf, area.x, y);
        }
        at += height;
    }
    parts::scroll_bar(buf, world, area, window.start, total);
}
