//! The decision on a tool call that policy wants asked for.
//!
//! What is shown is what is granted: the exact command, whole, with hidden characters visible and letters outside
//! ASCII named. One of four answers is chosen, then carried out by a key that nobody types in a text, and only
//! once the command was read to its end. Denying and cancelling the run takes the key twice. Esc leaves the call
//! for later, which is no denial. Calls wait in a queue; one that was settled elsewhere closes its own modal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel, words};
use crate::service::link::{Command, ToolCallDecision};
use crate::service::snapshot::{RunKey, ToolCallAsk};
use crate::tui::keymap::Action;
use crate::tui::list::{Motion, Scroll};
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{self, Hit, Hits};
use crate::tui::world::{Go, Out, World};

/// The answers, with their words.
const ANSWERS: [(Action, ToolCallDecision, &str); 4] = [
    (Action::Answer1, ToolCallDecision::AllowOnce, "allow this one call"),
    (Action::Answer2, ToolCallDecision::AllowForRun, "allow this exact call for the rest of the run"),
    (Action::Answer3, ToolCallDecision::Deny, "deny it; the run goes on"),
    (Action::Answer4, ToolCallDecision::DenyAndCancel, "deny it and cancel the run"),
];

/// Lines of the modal besides the page: margins, title, answers, status.
const FRAME: u16 = 12;

/// State of the modal.
pub struct ToolCall {
    key: RunKey,
    /// The call.
    pub ask: ToolCallAsk,
    chosen: Option<usize>,
    armed: bool,
    sent: bool,
    scroll: Scroll,
}

impl ToolCall {
    /// A modal with nothing chosen.
    #[must_use]
    pub fn new(key: RunKey, ask: ToolCallAsk) -> ToolCall {
        ToolCall { key, ask, chosen: None, armed: false, sent: false, scroll: Scroll::default() }
    }

    /// Whether a decision was sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sent
    }

    /// A command was refused: the call may be decided again.
    pub fn reopen(&mut self) {
        (self.sent, self.armed) = (false, false);
    }

    /// Chooses without deciding.
    pub fn select(&mut self, index: usize) {
        if index < ANSWERS.len() && !self.sent {
            (self.chosen, self.armed) = (Some(index), false);
        }
    }

    /// Does an action of the modal.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) {
        if let Some(index) = ANSWERS.iter().position(|(answer, ..)| *answer == action) {
            return self.select(index);
        }
        let last = ANSWERS.len() - 1;
        match (action, Motion::of(action)) {
            (_, Some(Motion::Down)) => self.select(self.chosen.map_or(0, |at| (at + 1).min(last))),
            (_, Some(Motion::Up)) => self.select(self.chosen.map_or(last, |at| at.saturating_sub(1))),
            (_, Some(motion)) => {
                let (_, room, lines) = geometry(self, world, view::body(world.size));
                self.scroll.step(motion, lines.len(), room);
            }
            (Action::Postpone, _) => {
                out.say("Left for later; the call keeps waiting in your inbox");
                out.go(Go::Later(self.ask.id.clone()));
                close(out);
            }
            (Action::Decide, _) => self.decide(world, out),
            _ => {}
        }
    }

    fn decide(&mut self, world: &World, out: &mut Out) {
        if self.sent {
            out.say("The decision was sent; waiting for the answer");
            return;
        }
        let Some((_, decision, _)) = self.chosen.and_then(|at| ANSWERS.get(at)) else {
            out.say("Choose an answer first, with the arrows or its number");
            return;
        };
        let (_, room, lines) = geometry(self, world, view::body(world.size));
        let allows = matches!(decision, ToolCallDecision::AllowOnce | ToolCallDecision::AllowForRun);
        if allows && self.scroll.window(lines.len(), room).end < lines.len() {
            out.say(format!("Read the call to its end first: {}", world.keymap.key(Action::PageDown)));
            return;
        }
        if *decision == ToolCallDecision::DenyAndCancel && !self.armed {
            self.armed = true;
            return;
        }
        self.sent = true;
        let (key, call) = (self.key.clone(), self.ask.id.clone());
        out.send(Command::DecideToolCall { key, call, decision: *decision });
    }
}

/// Width of the modal, lines of its page seen at once, and the page.
fn geometry(modal: &ToolCall, world: &World, area: Rect) -> (u16, usize, Vec<(Role, String)>) {
    let width = area.width.saturating_sub(4).min(100);
    let lines = page(&modal.ask, world, usize::from(width.saturating_sub(5)));
    let room = usize::from(area.height.saturating_sub(FRAME)).min(lines.len());
    (width, room, lines)
}

fn page(ask: &ToolCallAsk, world: &World, inside: usize) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    let mut add = |role, text: &str| lines.extend(ui::wrap(text, inside).map(|line| (role, line)));
    add(Role::Strong, &ask.exact);
    let mut strange: Vec<char> = ask.exact.chars().filter(|c| !c.is_ascii()).collect();
    strange.sort_unstable();
    strange.dedup();
    if !strange.is_empty() {
        let names: Vec<String> =
            strange.iter().take(8).map(|c| format!("{c} is U+{:04X}", *c as u32)).collect();
        let more = if strange.len() > 8 { ", and more" } else { "" };
        add(Role::Warn, &format!("Letters outside ASCII: {}{more}.", names.join(", ")));
    }
    let who =
        format!("{} asks, through {}; it has waited {}.", ask.asker, ask.tool, world.now.ago(&ask.since));
    add(Role::Muted, &who);
    add(Role::Muted, &format!("Why you are asked: {}", ask.why));
    add(Role::Muted, &format!("Effective permission: {}", ask.effective));
    lines
}

/// Draws the modal.
pub fn draw(modal: &ToolCall, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let (width, room, lines) = geometry(modal, world, area);
    let height = u16::try_from(room).unwrap_or(u16::MAX).saturating_add(FRAME);
    let waiting = world.detail.as_ref().map_or(0, |detail| detail.tool_calls.len());
    let note = if waiting > 1 { format!("{waiting} calls wait") } else { String::new() };
    let rest = panel(world, buf, area, (width, height), "May the agent do this?", &note);
    let body = Rect { height: u16::try_from(room).unwrap_or(0).min(rest.height), ..rest };
    let window = modal.scroll.window(lines.len(), usize::from(body.height));
    for (y, (role, line)) in (body.y..).zip(&lines[window.clone()]) {
        Row::new(world.paint(), body.width).on(Role::Panel).put(*role, line).draw(buf, body.x, y);
    }
    parts::scroll_bar(buf, world, Rect { width: body.width + 2, ..body }, window.start, lines.len());
    let more = Rect { y: body.bottom(), height: 1, ..rest };
    if window.end < lines.len() {
        words(world, buf, more, Role::Warn, "more below: read it to its end before you allow it");
    }
    for (y, (at, (_, _, answer))) in (more.y + 1..rest.bottom()).zip(ANSWERS.iter().enumerate()) {
        let chosen = modal.chosen == Some(at);
        let mut row =
            Row::new(world.paint(), rest.width).on(if chosen { Role::Selection } else { Role::Panel });
        row.put(Role::Accent, if chosen { world.glyphs.edge } else { " " }).gap(1);
        row.cell(if chosen { Role::Accent } else { Role::Muted }, &(at + 1).to_string(), 3)
            .put(Role::Text, answer);
        row.draw(buf, rest.x, y);
        hits.add(Rect { y, height: 1, ..rest }, Hit::Choice(at));
    }
    let key = world.keymap.key(Action::Decide);
    let (role, text) = match modal.chosen.and_then(|at| ANSWERS.get(at)) {
        _ if modal.sent => (Role::Accent, "Sent; waiting for the answer …".to_owned()),
        None => (Role::Muted, "Nothing is chosen yet.".to_owned()),
        Some(_) if modal.armed => (Role::Warn, format!("This ends the run. {key} again does it.")),
        Some((.., answer)) => (Role::Text, format!("{key}: {answer}.")),
    };
    let status = Rect { y: rest.bottom().saturating_sub(1), height: rest.height.min(1), ..rest };
    words(world, buf, status, role, &text);
}
