//! The approval page: what is known about a verdict, what it would become, and the four decisions.
//!
//! It is bound to the verdict and the patch digest it was opened with. When either changes, the page says so and
//! decides nothing until it is reloaded. Warnings are acknowledged one by one; what is forbidden or failed cannot
//! be approved; a verdict that is not eligible has no approve action. Every decision takes its key twice, and none
//! of the keys is one that people type in texts.

mod draw;

use crossterm::event::KeyEvent;
use tui_textarea::TextArea;

pub use draw::draw;

use super::Tab;
use crate::service::link::Command;
use crate::service::snapshot::{ApprovalView, ItemState, JumpTarget, NeedKind, RunDetail};
use crate::tui::keymap::{Action, Scope};
use crate::tui::layers::{Confirm, Layer};
use crate::tui::list::Motion;
use crate::tui::parts;
use crate::tui::world::{Go, Out, World};

/// Code under which unviewed files are acknowledged.
pub const UNVIEWED: &str = "files_not_viewed";

/// State of the page.
pub struct Approval {
    /// Verdict and patch digest the page is bound to; none until the detail came.
    bound: Option<(String, String)>,
    /// The selected line among checklist and acknowledgements.
    selected: usize,
    acknowledged: Vec<String>,
    comment: TextArea<'static>,
    editing: bool,
    /// Ticket of the decision that was sent.
    sent: Option<u64>,
}

/// A selectable line of the page.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An item of the checklist, by index.
    Item(usize),
    /// A reason that has to be acknowledged, by index.
    Reason(usize),
    /// How many of how many files were viewed.
    Files(usize, usize),
}

impl Approval {
    /// A page bound to a verdict.
    #[must_use]
    pub fn new(view: Option<&ApprovalView>) -> Approval {
        let mut comment = TextArea::default();
        comment.set_max_histories(100);
        Approval {
            bound: view.map(|view| (view.verdict_id.clone(), view.patch_digest.clone())),
            selected: 0,
            acknowledged: Vec::new(),
            comment,
            editing: false,
            sent: None,
        }
    }

    /// Whether the comment is being written.
    #[must_use]
    pub fn is_editing(&self) -> bool {
        self.editing
    }

    fn comment(&self) -> String {
        self.comment.lines().join("\n").trim().to_owned()
    }

    /// Binds the page once the detail has come.
    pub fn want(&mut self, world: &World) {
        if self.bound.is_none()
            && let Some(view) = view(world)
        {
            self.bound = Some((view.verdict_id.clone(), view.patch_digest.clone()));
        }
    }

    /// Why nothing can be decided on this page, if so.
    fn dead(&self, view: &ApprovalView) -> Option<String> {
        let (verdict, digest) = self.bound.as_ref()?;
        if *digest != view.patch_digest {
            return Some("The patch changed while this page was open.".to_owned());
        }
        if *verdict != view.verdict_id {
            return Some("There is a new verdict since this page was opened.".to_owned());
        }
        None
    }

    /// The decision that holds, when one was taken.
    fn decided(view: &ApprovalView) -> Option<&str> {
        view.decision.as_deref().filter(|_| view.stale.is_none())
    }

    /// Why nothing can be rejected or sent back now, if so.
    fn closed(&self, view: &ApprovalView) -> Option<String> {
        self.dead(view).or_else(|| {
            Self::decided(view)
                .map(|decision| format!("It is decided: {}.", parts::inside(&parts::status(decision))))
        })
    }

    /// Whether what is approved can be published now.
    fn publishable(&self, view: &ApprovalView, world: &World) -> bool {
        let failed = world.detail.as_ref().and_then(|detail| detail.row.need.as_ref());
        let failed = failed.is_some_and(|need| need.kind == NeedKind::Publication);
        Self::decided(view) == Some("APPROVED")
            && (failed || view.publication.is_none())
            && self.dead(view).is_none()
    }

    /// Why this verdict cannot be approved now, if so.
    fn obstacle(&self, view: &ApprovalView, world: &World) -> Option<String> {
        if let Some(dead) = self.dead(view) {
            return Some(dead);
        }
        if let Some(decision) = Self::decided(view) {
            return Some(format!("It is decided: {}.", parts::inside(&parts::status(decision))));
        }
        if view.eligibility == "NOT_ELIGIBLE" {
            return Some("This verdict may not be approved; the reasons say why.".to_owned());
        }
        if let Some(item) = view.checklist.iter().find(|item| item.state == ItemState::Fail) {
            return Some(format!("'{}' failed, and what failed cannot be approved.", item.name));
        }
        let open =
            self.lines(view, world).into_iter().filter(|line| !self.is_acknowledged(line, view)).count();
        match open {
            0 => None,
            1 => Some("One warning is not acknowledged yet.".to_owned()),
            n => Some(format!("{n} warnings are not acknowledged yet.")),
        }
    }

    /// Selectable lines: the checklist, then what has to be acknowledged.
    fn lines(&self, view: &ApprovalView, world: &World) -> Vec<Line> {
        let mut lines: Vec<Line> = (0..view.checklist.len()).map(Line::Item).collect();
        let (viewed, all) = world.viewed_files();
        if all > 0 {
            lines.push(Line::Files(viewed.len(), all));
        }
        let open = view.reasons.iter().enumerate().filter(|(_, reason)| reason.acknowledge);
        lines.extend(open.map(|(at, _)| Line::Reason(at)));
        lines
    }

    fn code(line: &Line, view: &ApprovalView) -> Option<String> {
        match line {
            Line::Item(at) => {
                let item = &view.checklist[*at];
                (item.state == ItemState::Warn).then(|| item.name.clone())
            }
            Line::Reason(at) => Some(view.reasons[*at].code.clone()),
            Line::Files(viewed, all) => (viewed < all).then(|| UNVIEWED.to_owned()),
        }
    }

    /// Whether nothing is left to acknowledge on a line.
    fn is_acknowledged(&self, line: &Line, view: &ApprovalView) -> bool {
        Self::code(line, view).is_none_or(|code| self.acknowledged.contains(&code))
    }

    /// Does an action of the page.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) -> bool {
        if action == Action::Leave {
            self.editing = false;
            return true;
        }
        let Some(detail) = &world.detail else { return false };
        let Some(view) = &detail.approval else { return false };
        let lines = self.lines(view, world);
        match action {
            Action::Acknowledge => self.acknowledge(&lines, view, out),
            Action::Jump => self.jump(&lines, view, out),
            Action::Comment => self.editing = true,
            Action::Reload => {
                *self = Approval { comment: std::mem::take(&mut self.comment), ..Approval::new(Some(view)) };
                out.say("The page shows the patch as it is now");
            }
            Action::ApproveAndPublish | Action::ApproveOnly | Action::RequestChanges | Action::Reject => {
                self.ask(action, detail, view, world, out);
            }
            action => match Motion::of(action) {
                Some(motion) => {
                    let mut cursor = crate::tui::list::Cursor { selected: self.selected, offset: 0 };
                    cursor.step(motion, lines.len(), 8);
                    self.selected = cursor.selected;
                }
                None => return false,
            },
        }
        true
    }

    fn acknowledge(&mut self, lines: &[Line], view: &ApprovalView, out: &mut Out) {
        let Some(code) = lines.get(self.selected).and_then(|line| Self::code(line, view)) else {
            out.say("Nothing to acknowledge on this line");
            return;
        };
        match self.acknowledged.iter().position(|known| *known == code) {
            Some(at) => _ = self.acknowledged.remove(at),
            None => self.acknowledged.push(code),
        }
    }

    fn jump(&self, lines: &[Line], view: &ApprovalView, out: &mut Out) {
        let target = match lines.get(self.selected) {
            Some(Line::Item(at)) => view.checklist[*at].jump,
            Some(Line::Files(..)) => JumpTarget::Diff,
            _ => JumpTarget::Checks,
        };
        let tab = match target {
            JumpTarget::None => return out.say("There is nothing more to see for this line"),
            JumpTarget::Overview => Tab::Overview,
            JumpTarget::Permissions => Tab::Permissions,
            JumpTarget::Diff => Tab::Diff,
            JumpTarget::Checks => Tab::Checks,
            JumpTarget::Trace => Tab::Trace,
        };
        out.go(Go::Tab(tab));
    }

    /// Asks for the second key of a decision, or says why it cannot be taken.
    fn ask(&self, action: Action, detail: &RunDetail, view: &ApprovalView, world: &World, out: &mut Out) {
        if self.sent.is_some() {
            out.say("A decision was sent; waiting for the answer");
            return;
        }
        if action == Action::ApproveAndPublish && self.publishable(view, world) {
            let words = format!("The approved patch is pushed as {} on {}.", view.branch, view.remote);
            let confirm = Confirm::new(action, Scope::Approval, "Publish?", &words);
            out.go(Go::Open(Layer::Confirm(confirm)));
            return;
        }
        let approves = matches!(action, Action::ApproveAndPublish | Action::ApproveOnly);
        let obstacle = if approves { self.obstacle(view, world) } else { self.closed(view) };
        if let Some(obstacle) = obstacle {
            out.say(obstacle);
            return;
        }
        if !approves && self.comment().is_empty() {
            out.say("Say why first: this decision needs a comment");
            return;
        }
        let digest = short_digest(&view.patch_digest);
        let target = format!("{} on {}", view.branch, view.remote);
        let (title, detail_line) = match action {
            Action::ApproveAndPublish => (
                "Approve and publish?",
                format!(
                    "Patch {digest} of '{}' is pushed as {target}; the pull request is yours to open.",
                    detail.row.title
                ),
            ),
            Action::ApproveOnly => (
                "Approve?",
                format!("Patch {digest} of '{}' is approved; nothing is pushed yet.", detail.row.title),
            ),
            Action::RequestChanges => {
                ("Request changes?", "A new run of the same task starts with your comment.".to_owned())
            }
            _ => ("Reject?", "The task ends as failed. The patch is not published.".to_owned()),
        };
        let confirm = Confirm::new(action, Scope::Approval, title, &detail_line);
        out.go(Go::Open(Layer::Confirm(confirm)));
    }

    /// The second key was pressed: the decision is checked once more against what is shown, and sent.
    pub fn confirmed(&mut self, action: Action, world: &World, out: &mut Out) {
        let Some(detail) = &world.detail else { return };
        let Some(view) = &detail.approval else { return };
        if action == Action::ApproveAndPublish && self.publishable(view, world) {
            self.sent = Some(out.send(Command::Publish { key: detail.row.key.clone() }));
            return;
        }
        let approves = matches!(action, Action::ApproveAndPublish | Action::ApproveOnly);
        let obstacle = if approves { self.obstacle(view, world) } else { self.closed(view) };
        if let Some(obstacle) = obstacle {
            out.say(format!("Nothing was sent. {obstacle}"));
            return;
        }
        let key = detail.row.key.clone();
        let (verdict_id, patch_digest) = (view.verdict_id.clone(), view.patch_digest.clone());
        let comment = self.comment();
        let command = match action {
            Action::ApproveAndPublish | Action::ApproveOnly => Command::Approve {
                key,
                verdict_id,
                patch_digest,
                comment,
                publish: action == Action::ApproveAndPublish,
                acknowledged: self.acknowledged.clone(),
                reviewed_files: world.viewed_files().0,
            },
            Action::RequestChanges => Command::RequestChanges { key, verdict_id, patch_digest, comment },
            Action::Reject => Command::Reject { key, verdict_id, patch_digest, comment },
            _ => return,
        };
        self.sent = Some(out.send(command));
    }

    /// A command was carried out or refused: after a refusal the page may decide again.
    pub fn settled(&mut self, ticket: u64, _done: bool) {
        if self.sent == Some(ticket) {
            self.sent = None;
        }
    }

    /// A click selects a line.
    pub fn select(&mut self, line: usize) {
        self.selected = line;
    }

    /// A key for the comment.
    pub fn typed(&mut self, event: KeyEvent) {
        if self.editing {
            self.comment.input(event);
        }
    }

    /// Pasted text for the comment; false when it is not being written.
    pub fn pasted(&mut self, text: &str) -> bool {
        if self.editing {
            let clean: String = text
                .replace("\r\n", "\n")
                .chars()
                .map(|c| if c == '\r' { '\n' } else { c })
                .filter(|c| *c == '\n' || !c.is_control())
                .collect();
            self.comment.insert_str(clean);
        }
        self.editing
    }
}

fn view(world: &World) -> Option<&ApprovalView> {
    world.detail.as_ref()?.approval.as_ref()
}

/// The beginning of a digest, enough to compare by eye.
fn short_digest(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}
