//! The timeline: every event in order, following what comes in, filtered by type and actor, with what went in and
//! out of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::service::snapshot::TraceLine;
use crate::tui::keymap::Action;
use crate::tui::list::{Cursor, Motion};
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Out, World};

/// State of the timeline.
#[derive(Default)]
pub struct Trace {
    cursor: Cursor,
    follow: bool,
    event: Option<String>,
    actor: Option<String>,
    details: bool,
}

impl Trace {
    /// A timeline that follows.
    #[must_use]
    pub fn new() -> Trace {
        Trace { follow: true, ..Trace::default() }
    }

    fn shows(&self, line: &TraceLine) -> bool {
        self.event.as_ref().is_none_or(|event| *event == line.event)
            && self.actor.as_ref().is_none_or(|actor| *actor == line.actor)
    }

    /// Indexes of the lines that pass the filter. Without one, all of them.
    fn lines(&self, trace: &[TraceLine]) -> Vec<usize> {
        (0..trace.len()).filter(|at| self.shows(&trace[*at])).collect()
    }

    fn place(&self, len: usize) -> Cursor {
        if self.follow { Cursor { selected: len.saturating_sub(1), offset: len } } else { self.cursor }
    }

    /// Moves; the end of the list is where following goes on.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        let len = self.lines(&detail.trace).len();
        let height = usize::from(split(area, self.details).0.height);
        let mut cursor = self.place(len);
        cursor.offset = cursor.window(len, height).start;
        cursor.step(motion, len, height);
        self.cursor = cursor;
        self.follow = matches!(motion, Motion::Bottom) && len > 0;
    }

    /// A click on a line.
    pub fn select(&mut self, line: usize, world: &World, area: Rect) {
        let Some(detail) = &world.detail else { return };
        let len = self.lines(&detail.trace).len();
        let height = usize::from(split(area, self.details).0.height);
        self.cursor = self.place(len);
        self.cursor.offset = self.cursor.window(len, height).start;
        self.cursor.select(line, len, height);
        self.follow = false;
    }

    /// Does an action of this tab.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) -> bool {
        let Some(detail) = &world.detail else { return false };
        match action {
            Action::Follow => {
                let len = self.lines(&detail.trace).len();
                self.cursor = self.place(len);
                self.follow = !self.follow;
                out.say(if self.follow { "Following" } else { "Not following" });
            }
            Action::Details => self.details = !self.details,
            Action::FilterType => {
                self.event = next_value(&detail.trace, self.event.as_deref(), |line| &line.event);
                self.cursor = Cursor::default();
            }
            Action::FilterActor => {
                self.actor = next_value(&detail.trace, self.actor.as_deref(), |line| &line.actor);
                self.cursor = Cursor::default();
            }
            _ => return false,
        }
        true
    }
}

/// The value after this one among all that occur, in order; none after the last.
fn next_value(
    trace: &[TraceLine],
    now: Option<&str>,
    value: impl Fn(&TraceLine) -> &String,
) -> Option<String> {
    let mut all: Vec<&String> = trace.iter().map(value).collect();
    all.sort();
    all.dedup();
    let at = now.and_then(|now| all.iter().position(|known| *known == now)).map_or(0, |at| at + 1);
    all.get(at).map(|value| (*value).clone())
}

/// List and details.
fn split(area: Rect, details: bool) -> (Rect, Rect) {
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if !details {
        return (list, Rect { y: list.bottom(), height: 0, ..list });
    }
    let below = (list.height / 3).max(5).min(list.height);
    let upper = list.height - below;
    (Rect { height: upper, ..list }, Rect { y: list.y + upper, height: below, ..list })
}

/// Draws the timeline.
pub fn draw(state: &Trace, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let Some(detail) = &world.detail else { return };
    let lines = state.lines(&detail.trace);
    let mut head = Row::new(world.paint(), area.width);
    head.gap(1).put(
        Role::Faint,
        &match lines.len() {
            1 => "1 event".to_owned(),
            n => format!("{n} events"),
        },
    );
    if let Some(event) = &state.event {
        head.gap(2).put(Role::Accent, &parts::plain(event));
    }
    if let Some(actor) = &state.actor {
        head.gap(2).put(Role::Accent, &format!("by {}", parts::plain(actor)));
    }
    if state.follow {
        head.right(Role::Accent, &format!("{} following ", world.glyphs.current));
    }
    head.draw(buf, area.x, area.y);
    let (list, below) = split(area, state.details);
    let cursor = state.place(lines.len());
    let window = cursor.window(lines.len(), usize::from(list.height));
    let first = window.start;
    let clocks = lines[window.clone()].iter().map(|at| world.now.clock(&detail.trace[*at].at).len());
    let clock = clocks.max().unwrap_or(0);
    for (y, at) in (list.y..).zip(window) {
        let line = &detail.trace[lines[at]];
        event(line, at == cursor.selected, clock, world, buf, Rect { y, height: 1, ..list });
        hits.add(Rect { y, height: 1, ..list }, Hit::Line(at));
    }
    parts::scroll_bar(buf, world, list, first, lines.len());
    if let Some(line) = lines.get(cursor.selected).map(|at| &detail.trace[*at]).filter(|_| state.details) {
        about(line, world, buf, below);
    }
}

fn event(line: &TraceLine, selected: bool, clock: usize, world: &World, buf: &mut Buffer, area: Rect) {
    let mut row = Row::new(world.paint(), area.width);
    if selected {
        row = row.on(Role::Selection);
    }
    let (role, sign) = match (line.allowed, line.event.as_str()) {
        (Some(false), _) | (_, "transition_denied") => (Role::Bad, world.glyphs.fail),
        (_, "clarification_requested") => (Role::Warn, world.glyphs.waiting),
        (_, "phase_submitted" | "transition_allowed" | "run_terminated") => (Role::Good, world.glyphs.pass),
        (_, "run_started" | "phase_started") => (Role::Accent, world.glyphs.current),
        _ => (Role::Faint, world.glyphs.dot),
    };
    row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
    row.cell_right(Role::Faint, &line.sequence.to_string(), 5).gap(1);
    row.cell(Role::Faint, &world.now.clock(&line.at), clock + 2);
    row.put(role, sign).gap(1);
    let wide = area.width >= 120;
    if wide {
        row.cell(Role::Muted, &parts::plain(&line.actor), 19);
        row.cell(Role::Muted, parts::phase(&line.phase), 21);
    }
    row.cell(Role::Muted, &parts::plain(&line.event), if wide { 24 } else { 20 }).gap(1);
    row.put(Role::Text, &line.summary);
    row.draw(buf, area.x, area.y);
}

fn about(line: &TraceLine, world: &World, buf: &mut Buffer, area: Rect) {
    ui::horizontal(buf, world.paint(), area.x, area.y, area.width);
    let mut rest = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(1),
    };
    let used = ui::paragraph(buf, world.paint(), rest, Role::Text, &line.summary);
    rest.y += used;
    rest.height -= used;
    let refs = [("in", &line.inputs), ("out", &line.outputs)];
    for (name, list) in refs {
        for reference in list {
            if rest.height == 0 {
                return;
            }
            let mut row = Row::new(world.paint(), rest.width);
            row.cell(Role::Faint, name, 4).put(Role::Muted, reference);
            row.draw(buf, rest.x, rest.y);
            rest.y += 1;
            rest.height -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_go_through_every_value_and_back_to_all() {
        let line = |actor: &str| TraceLine { actor: actor.into(), ..TraceLine::default() };
        let trace = [line("user"), line("executor"), line("user")];
        let next = |now: Option<&str>| next_value(&trace, now, |line| &line.actor);
        assert_eq!(next(None).as_deref(), Some("executor"));
        assert_eq!(next(Some("executor")).as_deref(), Some("user"));
        assert_eq!(next(Some("user")), None);
    }
}
