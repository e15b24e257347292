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
use crate::tui::list::{Motion, Scroll};
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{self, Hit, Hits};
use crate::tui::world::{Go, Out, World};

/// State of the picker.
pub struct Clarification {
    key: RunKey,
    /// The question as it is now.
    pub question: ClarificationView,
    chosen: Option<usize>,
    armed: bool,
    sent: bool,
    scroll: Scroll,
}

impl Clarification {
    /// A picker with nothing chosen.
    #[must_use]
    pub fn new(key: RunKey, question: ClarificationView) -> Clarification {
        Clarification { key, question, chosen: None, armed: false, sent: false, scroll: Scroll::default() }
    }

    /// Whether an answer was sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sent
    }

    /// An answer was refused: the question may be answered again.
    pub fn reopen(&mut self) {
        (self.sent, self.armed) = (false, false);
    }

    /// Takes the question as it is now; a choice made for an older version is taken back.
    pub fn renew(&mut self, question: &ClarificationView) {
        if self.question != *question {
            *self = Clarification::new(self.key.clone(), question.clone());
        }
    }

    /// Chooses without sending.
    pub fn select(&mut self, index: usize) {
        if index < self.question.choices.len() && !self.sent {
            self.chosen = Some(index);
            self.armed = false;
        }
    }

    /// Chooses, and brings the card into the window: whole where it fits, else its beginning.
    fn choose(&mut self, index: usize, world: &World) {
        self.select(index);
        let Some(chosen) = self.chosen else { return };
        let (_, room, lines) = geometry(self, view::body(world.size));
        let (first, last) = card(&lines, chosen);
        let window = self.scroll.window(lines.len(), room);
        if last >= window.end {
            self.scroll = Scroll((last + 1).saturating_sub(room).min(first));
        } else if first < window.start {
            self.scroll = Scroll(first);
        }
        if chosen == 0 && last < room {
            self.scroll = Scroll(0);
        }
    }

    /// Whether the end of the chosen card is on the screen.
    fn end_is_seen(&self, world: &World) -> bool {
        let Some(chosen) = self.chosen else { return false };
        let (_, room, lines) = geometry(self, view::body(world.size));
        self.scroll.window(lines.len(), room).contains(&card(&lines, chosen).1)
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
            self.choose(index, world);
            return;
        }
        let last = self.question.choices.len().saturating_sub(1);
        match (action, Motion::of(action)) {
            (_, Some(Motion::Down)) => self.choose(self.chosen.map_or(0, |at| (at + 1).min(last)), world),
            (_, Some(Motion::Up)) => self.choose(self.chosen.map_or(last, |at| at.saturating_sub(1)), world),
            (_, Some(motion)) => {
                let (_, room, lines) = geometry(self, view::body(world.size));
                self.scroll.step(motion, lines.len(), room);
            }
            (Action::Later, _) if self.armed => self.armed = false,
            (Action::Later, _) => {
                out.say("Left for later; the question stays in your inbox");
                out.go(Go::Later(self.question.request_id.clone()));
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
        if !self.end_is_seen(world) {
            let key = world.keymap.key(Action::PageDown);
            out.say(format!("Read the answer to its end first: {key}"));
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

/// One line of the picker's page.
enum Line {
    /// The question or why it is asked.
    Text(Role, String),
    /// A line of a card: its choice, what it is, and its words.
    Card(usize, Role, String),
    /// Between cards.
    Gap,
}

/// Width of the modal, and lines of its page that are seen at once.
fn geometry(picker: &Clarification, area: Rect) -> (u16, usize, Vec<Line>) {
    let width = area.width.saturating_sub(4).min(100);
    let lines = page(&picker.question, usize::from(width.saturating_sub(5)));
    let room = usize::from(area.height.saturating_sub(FRAME)).min(lines.len());
    (width, room, lines)
}

/// Lines of the modal that are not the page: margins, title, status.
const FRAME: u16 = 6;

fn page(question: &ClarificationView, inside: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    lines.extend(ui::wrap(&question.question, inside).map(|line| Line::Text(Role::Strong, line)));
    lines.extend(ui::wrap(&why(question), inside).map(|line| Line::Text(Role::Muted, line)));
    for (at, choice) in question.choices.iter().enumerate() {
        lines.push(Line::Gap);
        let wrapped = |text: &str| ui::wrap(text, inside.saturating_sub(5)).collect::<Vec<_>>();
        lines.extend(wrapped(&choice.label).into_iter().map(|line| Line::Card(at, Role::Strong, line)));
        lines.extend(wrapped(&choice.consequence).into_iter().map(|line| Line::Card(at, Role::Text, line)));
        let ends = choice.run_effect != "resume" || choice.authority_effect == "requires_new_run";
        let effects = format!("{}; {}", authority(choice), effect(choice, question.resume_phase.as_deref()));
        let role = if ends { Role::Warn } else { Role::Muted };
        lines.extend(wrapped(&effects).into_iter().map(|line| Line::Card(at, role, line)));
    }
    lines
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

/// First and last line of a card.
fn card(lines: &[Line], choice: usize) -> (usize, usize) {
    let is_of = |line: &Line| matches!(line, Line::Card(at, ..) if *at == choice);
    let first = lines.iter().position(is_of).unwrap_or(0);
    (first, lines.iter().rposition(is_of).unwrap_or(first))
}

/// Draws the picker.
pub fn draw(picker: &Clarification, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let (width, room, lines) = geometry(picker, area);
    let height = u16::try_from(room).unwrap_or(u16::MAX).saturating_add(FRAME);
    let note = format!("asked {} ago", world.now.ago(&picker.question.asked_at));
    let rest = panel(world, buf, area, (width, height), "A question for you", &note);
    let body = Rect { height: rest.height.saturating_sub(2), ..rest };
    let window = picker.scroll.window(lines.len(), usize::from(body.height));
    let mut numbered = None;
    for (y, at) in (body.y..).zip(window.clone()) {
        let first = matches!(&lines[at], Line::Card(choice, ..) if card(&lines, *choice).0 == at);
        draw_line(picker, &lines[at], first, world, buf, Rect { y, height: 1, ..body });
        if let Line::Card(choice, ..) = &lines[at] {
            hits.add(Rect { y, height: 1, ..body }, Hit::Choice(*choice));
            numbered = Some(*choice);
        }
    }
    if window.end < lines.len() {
        let more = picker.question.choices.len() - numbered.map_or(0, |choice| choice + 1);
        let words = if more > 0 { format!("{more} more below") } else { "more below".to_owned() };
        let mut row = Row::new(world.paint(), body.width).on(Role::Panel);
        row.right(Role::Faint, &words).draw(buf, body.x, body.bottom());
    }
    parts::scroll_bar(buf, world, Rect { width: body.width + 2, ..body }, window.start, lines.len());
    bottom(picker, world, buf, Rect { y: body.bottom() + 1, height: 1, ..rest });
}

fn draw_line(picker: &Clarification, line: &Line, first: bool, world: &World, buf: &mut Buffer, area: Rect) {
    let mut row = Row::new(world.paint(), area.width);
    match line {
        Line::Gap => return,
        Line::Text(role, words) => {
            row = row.on(Role::Panel);
            row.put(*role, words);
        }
        Line::Card(choice, role, words) => {
            let chosen = picker.chosen == Some(*choice);
            row = row.on(if chosen { Role::Selection } else { Role::Panel });
            row.put(Role::Accent, if chosen { world.glyphs.edge } else { " " }).gap(1);
            let number = if first { (choice + 1).to_string() } else { String::new() };
            row.cell(if chosen { Role::Accent } else { Role::Muted }, &number, 3).put(*role, words);
        }
    }
    row.draw(buf, area.x, area.y);
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
