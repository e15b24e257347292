//! The run view: a title, tabs, and one screen per tab. Each tab has its own state, actions and file; here is only
//! which of them is asked.

mod approval;
mod checks;
mod diff;
mod overview;
mod permissions;
mod records;
mod trace;

use std::collections::HashSet;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub use approval::Approval;

use self::checks::Checks;
use self::diff::DiffTab;
use self::overview::Overview;
use self::permissions::Permissions;
use self::records::Records;
use self::trace::Trace;
use super::keymap::{Action, Scope};
use super::layers::{Confirm, Layer};
use super::list::Motion;
use super::parts;
use super::theme::Role;
use super::ui::{self, Row};
use super::view::{self, Hit, Hits};
use super::world::{Go, Out, World};
use crate::service::link::Command;
use crate::service::snapshot::RunKey;

/// The tabs of the run view, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Request, phases, next action, budgets, facts.
    Overview,
    /// The permission intersection and the decisions.
    Permissions,
    /// The patch.
    Diff,
    /// Verification, boundary, judge.
    Checks,
    /// The timeline.
    Trace,
    /// Every artifact.
    Artifacts,
    /// Attempts and steps.
    Attempts,
    /// The conversation.
    Session,
}

/// All tabs with their names.
pub const TABS: [(Tab, &str); 8] = [
    (Tab::Overview, "Overview"),
    (Tab::Permissions, "Permissions"),
    (Tab::Diff, "Diff"),
    (Tab::Checks, "Checks"),
    (Tab::Trace, "Trace"),
    (Tab::Artifacts, "Artifacts"),
    (Tab::Attempts, "Attempts"),
    (Tab::Session, "Session"),
];

/// State of an open run.
pub struct RunView {
    /// Which run.
    pub key: RunKey,
    /// The tab that is shown under the page, if one is open.
    pub tab: Tab,
    /// The approval page.
    page: Option<Approval>,
    /// Whether the person looks at a tab from the page, to come back to it.
    aside: bool,
    /// Questions and calls that the person left for later, by id.
    pub later: HashSet<String>,
    overview: Overview,
    permissions: Permissions,
    diff: DiffTab,
    checks: Checks,
    trace: Trace,
    records: Records,
}

impl RunView {
    /// A run that was just opened.
    #[must_use]
    pub fn new(key: RunKey) -> RunView {
        RunView {
            key,
            tab: Tab::Overview,
            page: None,
            aside: false,
            later: HashSet::new(),
            overview: Overview::default(),
            permissions: Permissions::default(),
            diff: DiffTab::default(),
            checks: Checks::default(),
            trace: Trace::new(),
            records: Records::default(),
        }
    }

    /// The approval page, when it is what is shown.
    #[must_use]
    pub fn shown_page(&self) -> Option<&Approval> {
        self.page.as_ref().filter(|_| !self.aside)
    }

    fn shown_page_mut(&mut self) -> Option<&mut Approval> {
        self.page.as_mut().filter(|_| !self.aside)
    }

    /// Shows a tab. From the approval page it is a look aside: going back leads to the page, as it was.
    pub fn show_tab(&mut self, tab: Tab) {
        self.tab = tab;
        self.aside = self.page.is_some();
    }

    /// Goes one level out; false when there is none in this run.
    pub fn back(&mut self) -> bool {
        let back_to_page = std::mem::take(&mut self.aside);
        back_to_page || self.page.take().is_some()
    }

    /// Scopes of the keys, innermost first.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        if let Some(page) = self.shown_page() {
            return if page.is_editing() { vec![Scope::Editor] } else { vec![Scope::Approval] };
        }
        if self.tab == Tab::Diff && self.diff.is_searching() {
            return vec![Scope::Field];
        }
        let tab = match self.tab {
            Tab::Permissions => Some(Scope::Permissions),
            Tab::Diff => Some(Scope::Diff),
            Tab::Checks => Some(Scope::Checks),
            Tab::Trace => Some(Scope::Trace),
            Tab::Artifacts => Some(Scope::Artifacts),
            _ => None,
        };
        tab.into_iter().chain([Scope::Run]).collect()
    }

    /// Does an action; false when it is not one of the run view.
    pub fn act(&mut self, action: Action, world: &mut World, out: &mut Out) -> bool {
        if let Some(page) = self.shown_page_mut() {
            return page.act(action, world, out);
        }
        if let Some(motion) = Motion::of(action) {
            self.step(motion, world);
            return true;
        }
        if let Some(index) = tab_index(action) {
            match TABS.get(index) {
                Some((tab, _)) => self.tab = *tab,
                None => out.say("There is no such tab"),
            }
            return true;
        }
        let position = TABS.iter().position(|(tab, _)| *tab == self.tab).unwrap_or(0);
        match action {
            Action::NextTab => self.tab = TABS[(position + 1) % TABS.len()].0,
            Action::PreviousTab => self.tab = TABS[(position + TABS.len() - 1) % TABS.len()].0,
            Action::Answer => self.answer(world, out),
            Action::OpenApproval => self.open_approval(world, out),
            Action::CancelRun => self.ask_to_cancel(world, out),
            _ => {
                return match self.tab {
                    Tab::Permissions => self.permissions.act(action),
                    Tab::Diff => self.diff.act(action, world, out),
                    Tab::Checks => self.checks.act(action, world, out),
                    Tab::Trace => self.trace.act(action, world, out),
                    Tab::Artifacts => self.records.act(action, world, out),
                    _ => false,
                };
            }
        }
        true
    }

    fn step(&mut self, motion: Motion, world: &World) {
        let area = inner(view::body(world.size));
        match self.tab {
            Tab::Overview => self.overview.step(motion, world, area),
            Tab::Permissions => self.permissions.step(motion, world, area),
            Tab::Diff => self.diff.step(motion, world, area),
            Tab::Checks => self.checks.step(motion, world, area),
            Tab::Trace => self.trace.step(motion, world, area),
            tab => self.records.step(tab, motion, world, area),
        }
    }

    /// A click on a line.
    pub fn select(&mut self, line: usize, world: &World) {
        let area = inner(view::body(world.size));
        if let Some(page) = self.shown_page_mut() {
            page.select(line);
            return;
        }
        match self.tab {
            Tab::Permissions => self.permissions.select(line),
            Tab::Diff => self.diff.select(line, world, area),
            Tab::Checks => self.checks.select(line),
            Tab::Trace => self.trace.select(line, world, area),
            _ => {}
        }
    }

    /// A key for an open text field.
    pub fn typed(&mut self, event: KeyEvent) {
        if let Some(page) = self.shown_page_mut() {
            page.typed(event);
        } else if self.diff.is_searching() {
            self.diff.typed(event);
        }
    }

    /// Pasted text for an open text field; false when there is none.
    pub fn pasted(&mut self, text: &str) -> bool {
        match self.shown_page_mut() {
            Some(page) => page.pasted(text),
            None => self.diff.pasted(text),
        }
    }

    fn answer(&mut self, world: &World, out: &mut Out) {
        let Some(detail) = world.detail_of(&self.key) else { return };
        if let Some(ask) = detail.tool_calls.first() {
            let modal = super::layers::ToolCall::new(self.key.clone(), ask.clone());
            out.go(Go::Open(Layer::ToolCall(Box::new(modal))));
            return;
        }
        match &detail.clarification {
            Some(question) => {
                self.later.remove(&question.request_id);
                let picker = super::layers::Clarification::new(self.key.clone(), question.clone());
                out.go(Go::Open(Layer::Clarification(Box::new(picker))));
            }
            None => out.say("No question is open in this run"),
        }
    }

    /// Opens the approval page, bound to the verdict and patch as they are now. Where there is no verdict yet,
    /// says so. Before the detail has come, the page waits for it.
    pub fn open_approval(&mut self, world: &World, out: &mut Out) {
        if std::mem::take(&mut self.aside) {
            return;
        }
        match world.detail_of(&self.key).map(|detail| detail.approval.as_ref()) {
            Some(None) => out.say("There is no verdict yet"),
            Some(Some(approval)) => self.page = Some(Approval::new(Some(approval))),
            None => self.page = Some(Approval::new(None)),
        }
    }

    fn ask_to_cancel(&self, world: &World, out: &mut Out) {
        let Some(detail) = world.detail_of(&self.key) else { return };
        if detail.row.ended {
            out.say("This run is already over");
            return;
        }
        let confirm = Confirm::new(
            Action::CancelRun,
            Scope::Run,
            "Cancel this run?",
            "Its agent is stopped and its verdict will be CANCELLED. What it did so far stays on record.",
        );
        out.go(Go::Open(Layer::Confirm(confirm)));
    }

    /// Does what was asked for twice.
    pub fn confirmed(&mut self, action: Action, world: &World, out: &mut Out) {
        if action == Action::CancelRun {
            if let Some(detail) = world.detail_of(&self.key) {
                let expected_version = detail.row.version;
                out.send(Command::Cancel { key: self.key.clone(), expected_version });
            }
        } else if let Some(page) = self.shown_page_mut() {
            page.confirmed(action, world, out);
        }
    }

    /// A command was carried out or refused.
    pub fn settled(&mut self, ticket: u64, done: bool) {
        if let Some(page) = &mut self.page {
            page.settled(ticket, done);
        }
    }

    /// An artifact's body came.
    pub fn body_came(&mut self, ticket: u64, id: &str, body: &[u8], out: &mut Out) {
        self.records.body_came(ticket, id, body, out);
    }

    /// Milliseconds until the screen wants to look at something again; none when it does not.
    #[must_use]
    pub fn next_look(&self, world: &World) -> Option<u64> {
        let detail = world.detail_of(&self.key)?;
        (self.tab == Tab::Checks && self.checks.is_running(detail)).then_some(checks::LOG_EVERY)
    }

    /// Asks for what the screen needs in order to be drawn.
    pub fn want(&mut self, world: &mut World, out: &mut Out) {
        if let Some(page) = &mut self.page {
            page.want(world);
        }
        match self.tab {
            Tab::Diff => self.diff.want(&self.key, world, out),
            Tab::Checks => self.checks.want(&self.key, world, out),
            _ => {}
        }
    }
}

fn tab_index(action: Action) -> Option<usize> {
    const ORDER: [Action; 8] = [
        Action::Tab1,
        Action::Tab2,
        Action::Tab3,
        Action::Tab4,
        Action::Tab5,
        Action::Tab6,
        Action::Tab7,
        Action::Tab8,
    ];
    ORDER.iter().position(|tab| *tab == action)
}

/// The area of a tab's content, under title and tabs.
fn inner(area: Rect) -> Rect {
    Rect { y: area.y + 3, height: area.height.saturating_sub(3), ..area }
}

/// Draws the run view.
pub fn draw(run: &RunView, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    title(run, world, buf, area);
    let content = inner(area);
    if let Some(page) = run.shown_page() {
        Row::new(world.paint(), area.width).gap(1).put(Role::Heading, "Approval").draw(
            buf,
            area.x,
            area.y + 1,
        );
        ui::horizontal(buf, world.paint(), area.x, area.y + 2, area.width);
        approval::draw(page, world, buf, content, hits);
        return;
    }
    tabs(run, world, buf, area, hits);
    if world.detail_of(&run.key).is_none() {
        let inner = Rect { x: content.x + 1, width: content.width.saturating_sub(2), ..content };
        ui::paragraph(buf, world.paint(), inner, Role::Muted, "\nReading the run …");
        return;
    }
    match run.tab {
        Tab::Overview => overview::draw(&run.overview, world, buf, content),
        Tab::Permissions => permissions::draw(&run.permissions, world, buf, content, hits),
        Tab::Diff => diff::draw(&run.diff, world, buf, content, hits),
        Tab::Checks => checks::draw(&run.checks, world, buf, content, hits),
        Tab::Trace => trace::draw(&run.trace, world, buf, content, hits),
        tab => records::draw(&run.records, tab, world, buf, content),
    }
}

fn title(run: &RunView, world: &World, buf: &mut Buffer, area: Rect) {
    let row = world.detail_of(&run.key).map(|detail| &detail.row).or_else(|| world.snapshot.row(&run.key));
    let mut line = Row::new(world.paint(), area.width);
    line.gap(1);
    let Some(row) = row else {
        line.put(Role::Muted, &run.key.run).draw(buf, area.x, area.y);
        return;
    };
    let (role, state) = if row.need.is_some() {
        (Role::Warn, "needs you".to_owned())
    } else if let Some(verdict) = &row.verdict {
        (parts::status_role(&verdict.status), parts::status(&verdict.status))
    } else {
        let status = row.supervision_status.as_ref().map_or_else(
            || parts::plain(&row.workflow_status),
            |status| parts::plain(&status.to_ascii_lowercase()),
        );
        (Role::Accent, status)
    };
    let tail = format!("{state} ");
    let room = line.left().saturating_sub(crate::text::width(&tail) + row.repository.len() + 20);
    let title = crate::text::truncate(&crate::text::visible(&row.title), room);
    line.put(Role::Strong, &title).gap(2).put(Role::Muted, &row.repository);
    line.gap(2).put(Role::Badge, parts::mode(&row.mode));
    line.right(role, &tail);
    line.draw(buf, area.x, area.y);
}

fn tabs(run: &RunView, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let y = area.y + 1;
    ui::horizontal(buf, world.paint(), area.x, y + 1, area.width);
    let room = usize::from(area.width) - 2;
    let numbers = TABS.iter().map(|(_, name)| name.len() + 4).sum::<usize>() <= room;
    let wide = |name: &str| name.len() + if numbers { 4 } else { 2 };
    let current = TABS.iter().position(|(tab, _)| *tab == run.tab).unwrap_or(0);
    // The first tab shown is as far left as lets the current one be seen.
    let fits =
        |first: &usize| TABS[*first..=current].iter().map(|(_, name)| wide(name)).sum::<usize>() <= room - 2;
    let first = (0..=current).find(fits).unwrap_or(current);
    let mut row = Row::new(world.paint(), area.width);
    row.put(Role::Faint, if first > 0 { world.glyphs.more[0] } else { " " });
    for (at, (tab, name)) in TABS.iter().enumerate().skip(first) {
        if wide(name) > row.left() {
            row.right(Role::Faint, world.glyphs.more[1]);
            break;
        }
        let x = area.x + area.width - u16::try_from(row.left()).unwrap_or(0);
        let here = *tab == run.tab;
        if numbers {
            row.put(if here { Role::Accent } else { Role::Faint }, &(at + 1).to_string()).gap(1);
        }
        row.put(if here { Role::Heading } else { Role::Muted }, name).gap(2);
        let columns = u16::try_from(wide(name) - 2).unwrap_or(0);
        hits.add(Rect::new(x, y, columns, 1), Hit::Tab(*tab));
        if here {
            let mark = world.glyphs.full.repeat(usize::from(columns));
            Row::new(world.paint(), columns).put(Role::Accent, &mark).draw(buf, x, y + 1);
        }
    }
    row.draw(buf, area.x, y);
}
