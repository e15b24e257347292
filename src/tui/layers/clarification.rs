//! The picker of an answer to a clarification.
//!
//! A choice is sent only by Enter after one was chosen; nothing is chosen at first, so an Enter typed ahead does
//! nothing. A choice that ends the run takes a second Enter. Esc leaves the question for later, which is no answer.
//! Exactly one choice id is sent, with the version of the run it was chosen for; when the run moves on meanwhile,
//! the choice is taken back. There is no free text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{close, panel, words};
use crate::service::link::Command;
use crate::service::snapshot::{ChoiceView, ClarificationView, RunKey};
use crate::tui::keymap::Action;
use crate::tui::list::Motion;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Out, World};

/// State of the picker.
pub struct Clarification {
    key: RunKey,
    /// The question as it is now.
    pub question: ClarificationView,
    chosen: Option<usize>,
    armed: bool,
    sent: bool,
}

impl Clarification {
    /// A picker with nothing chosen.
    #[must_use]
    pub fn new(key: RunKey, question: ClarificationView) -> Clarification {
        Clarification { key, question, chosen: None, armed: false, sent: false }
    }

    /// Whether an answer was sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sent
    }

    /// Takes the question as it is now; a choice made for an older version is taken back.
    pub fn renew(&mut self, question: &ClarificationView) {
        if self.question != *question {
            self.question = question.clone();
            (self.chosen, self.armed, self.sent) = (None, false, false);
        }
    }

    /// Chooses without sending.
    pub fn select(&mut self, index: usize) {
        if index < self.question.choices.len() && !self.sent {
            self.chosen = Some(index);
            self.armed = false;
        }
    }

    /// Does an action of the picker.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) {
        const NUMBERS: [Action; 8] = [
            Action::Choose1,
            Action::Choose2,
            Action::Choose3,
            Action::Choose4,
            Action::Choose5,
            Action::Choose6,
            Action::Choose7,
            Action::Choose8,
        ];
        if let Some(index) = NUMBERS.iter().position(|number| *number == action) {
            self.select(index);
            return;
        }
        let last = self.question.choices.len().saturating_sub(1);
        match (action, Motion::of(action)) {
            (_, Some(Motion::Down)) => self.select(self.chosen.map_or(0, |at| (at + 1).min(last))),
            (_, Some(Motion::Up)) => self.select(self.chosen.map_or(last, |at| at.saturating_sub(1))),
            (_, Some(Motion::Top | Motion::PageUp)) => self.select(0),
            (_, Some(Motion::Bottom | Motion::PageDown)) => self.select(last),
            (Action::Later, _) if self.armed => self.armed = false,
            (Action::Later, _) => {
                out.say("Left for later; the question stays in your inbox");
                close(out);
            }
            (Action::Submit, _) => self.submit(world, out),
            _ => {}
        }
    }

    fn submit(&mut self, world: &World, out: &mut Out) {
        if self.sent {
            out.say("The answer was sent; waiting for the run to go on");
            return;
        }
        let Some(choice) = self.chosen.and_then(|at| self.question.choices.get(at)) else {
            out.say("Choose an answer first, with the arrows or its number");
            return;
        };
        let row = world.detail_of(&self.key).map(|detail| &detail.row);
        if let Some(row) = row.filter(|row| row.version != self.question.version) {
            out.say(format!("Nothing was sent: the run moved on. {}", row.sentence));
            return;
        }
        if choice.run_effect != "resume" && !self.armed {
            self.armed = true;
            return;
        }
        self.sent = true;
        out.send(Command::Answer {
            key: self.key.clone(),
            request_id: self.question.request_id.clone(),
            choice: choice.id.clone(),
            expected_version: self.question.version,
        });
    }
}

fn authority(choice: &ChoiceView) -> &'static str {
    match choice.authority_effect.as_str() {
        "requires_new_run" => "needs a new run with new authority",
        _ => "stays within current authority",
    }
}

fn effect(choice: &ChoiceView, resume: Option<&str>) -> String {
    match (choice.run_effect.as_str(), resume) {
        ("cancel", _) => "cancels this run".to_owned(),
        ("new_run", _) => "ends this run; you start another".to_owned(),
        (_, Some(phase)) => format!("the run goes on at '{}'", parts::phase(phase)),
        _ => "the run goes on".to_owned(),
    }
}

/// Draws the picker.
pub fn draw(picker: &Clarification, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let question = &picker.question;
    let width = area.width.saturating_sub(4).min(100);
    let inside = usize::from(width.saturating_sub(5));
    let why = why(question);
    let cards: u16 = question.choices.iter().map(|choice| card_height(choice, inside)).sum();
    let head = ui::wrap(&question.question, inside).count() + ui::wrap(&why, inside).count() + 2;
    let height = cards + u16::try_from(head).unwrap_or(u16::MAX).saturating_add(5);
    let note = format!("asked {} ago", world.now.ago(&question.asked_at));
    let mut rest = panel(world, buf, area, (width, height), "A question for you", &note);
    let take = |rest: &mut Rect, lines: u16| {
        let lines = lines.min(rest.height);
        rest.y += lines;
        rest.height -= lines;
    };
    let status = Rect { y: rest.bottom().saturating_sub(1), height: rest.height.min(1), ..rest };
    rest.height = rest.height.saturating_sub(2);
    // The choices come first where room is short: what is decided on must be readable.
    let spare = rest.height.saturating_sub(cards.min(rest.height.saturating_sub(2)));
    let used =
        words(world, buf, Rect { height: spare.min(rest.height), ..rest }, Role::Strong, &question.question);
    take(&mut rest, used);
    let left = spare.saturating_sub(used);
    if left > 1 {
        let used = words(world, buf, Rect { height: (left - 1).min(rest.height), ..rest }, Role::Muted, &why);
        take(&mut rest, used + 1);
    } else if left == 1 {
        take(&mut rest, 1);
    }
    let first = first_card(picker, inside, rest.height);
    for (at, choice) in question.choices.iter().enumerate().skip(first) {
        let height = card_height(choice, inside).min(rest.height);
        if height == 0 {
            break;
        }
        let place = Rect { height, ..rest };
        hits.add(place, Hit::Choice(at));
        card(picker, at, choice, world, buf, place);
        take(&mut rest, height);
    }
    bottom(picker, world, buf, status);
}

fn why(question: &ClarificationView) -> String {
    let reason = match question.reason.as_str() {
        "permission_expanding" => "It is asked because one way needs more authority than this run has.",
        "user_owned_materially_divergent" => {
            "It is asked because the ways lead apart and the choice is yours."
        }
        _ => "",
    };
    let inspected = match question.inspected.len() {
        0 => String::new(),
        1 => " 1 source was looked at before asking.".to_owned(),
        n => format!(" {n} sources were looked at before asking."),
    };
    format!("{reason} {}\nStopped at: {}.{inspected}", question.divergence, question.blocked_boundary)
}

/// The first card that is shown, so that the chosen one is seen whole.
fn first_card(picker: &Clarification, inside: usize, room: u16) -> usize {
    let chosen = picker.chosen.unwrap_or(0);
    let heights: Vec<u16> =
        picker.question.choices.iter().map(|choice| card_height(choice, inside)).collect();
    (0..=chosen).find(|first| heights[*first..=chosen].iter().sum::<u16>() <= room).unwrap_or(chosen)
}

fn card_height(choice: &ChoiceView, inside: usize) -> u16 {
    let body = ui::wrap(&choice.consequence, inside.saturating_sub(5)).count();
    u16::try_from(body).unwrap_or(u16::MAX).saturating_add(3)
}

fn card(picker: &Clarification, at: usize, choice: &ChoiceView, world: &World, buf: &mut Buffer, area: Rect) {
    let chosen = picker.chosen == Some(at);
    let ground = if chosen { Role::Selection } else { Role::Panel };
    let height = area.height.saturating_sub(1).max(1);
    if chosen {
        ui::fill(buf, Rect { height, ..area }, &world.theme, ground);
    }
    let row = |edge: &str| {
        let mut row = Row::new(world.paint(), area.width).on(ground);
        row.put(Role::Accent, if chosen { world.glyphs.edge } else { " " }).gap(1).put(Role::Key, edge);
        row
    };
    let mut lines = Vec::new();
    let mut head = Row::new(world.paint(), area.width).on(ground);
    head.put(Role::Accent, if chosen { world.glyphs.edge } else { " " }).gap(1);
    head.put(if chosen { Role::Accent } else { Role::Faint }, &(at + 1).to_string()).gap(2);
    head.put(Role::Strong, &choice.label);
    lines.push(head);
    for line in ui::wrap(&choice.consequence, usize::from(area.width.saturating_sub(5))) {
        let mut row = row("");
        row.gap(3).put(Role::Text, &line);
        lines.push(row);
    }
    let mut tail = row("");
    let ends = choice.run_effect != "resume";
    let more = choice.authority_effect == "requires_new_run";
    tail.gap(3).put(if more { Role::Warn } else { Role::Muted }, authority(choice));
    tail.put(Role::Faint, &format!(" {} ", world.glyphs.dot));
    tail.put(
        if ends { Role::Warn } else { Role::Muted },
        &effect(choice, picker.question.resume_phase.as_deref()),
    );
    lines.push(tail);
    for (y, row) in (area.y..area.y + height).zip(&mut lines) {
        row.draw(buf, area.x, y);
    }
}

fn bottom(picker: &Clarification, world: &World, buf: &mut Buffer, area: Rect) {
    let chosen = picker.chosen.and_then(|at| picker.question.choices.get(at));
    let enter = world.keymap.key(Action::Submit);
    let (role, text) = match chosen {
        _ if picker.sent => (Role::Accent, "Sent; waiting for the run to go on …".to_owned()),
        None => (Role::Muted, "Nothing is chosen yet.".to_owned()),
        Some(choice) if picker.armed => {
            let effect = effect(choice, None);
            (Role::Warn, format!("This {effect}. {enter} again sends it; Esc goes back."))
        }
        Some(choice) => (Role::Text, format!("{enter} sends '{}'.", choice.label)),
    };
    words(world, buf, area, role, &text);
}
