//! The inbox and the runs: which rows are shown, in which order, and which one is selected.
//!
//! Indexes into the snapshot's rows are grouped once per snapshot; a frame looks at the window only. Fuzzy matching
//! is the worker's. Drawing stands in `draw`.

mod draw;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub use draw::draw;

use super::app::landing;
use super::keymap::{Action, Scope};
use super::list::{Cursor, Motion};
use super::msg::{Effect, Job};
use super::view;
use super::world::{Breadth, Go, Out, World};
use crate::service::snapshot::{RunKey, RunRow};

/// The three groups of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Waits for a person, the longest wait first.
    NeedsYou,
    /// Going on.
    Active,
    /// Over.
    Recent,
    /// What a filter found, best first.
    Found,
}

/// One line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The heading of a group and its size.
    Heading(Group, usize),
    /// A run: index into the snapshot's rows.
    Run(u32),
    /// Between groups.
    Gap,
}

/// Orders of the active and recent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Last change first.
    #[default]
    Changed,
    /// Newest first.
    Created,
    /// By repository, then last change.
    Repository,
}

/// Numbers for the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Runs that need a person.
    pub need: usize,
    /// Runs that go on.
    pub active: usize,
    /// Runs that ended today.
    pub done_today: usize,
}

/// State of the home screen.
#[derive(Default)]
pub struct Home {
    lines: Vec<Line>,
    cursor: Cursor,
    selected: Option<RunKey>,
    sort: Sort,
    counts: Counts,
    query: String,
    editing: bool,
    matches: Option<(Arc<Vec<RunRow>>, Vec<u32>)>,
    hide_preview: bool,
    /// Whether the person has chosen a run; until then the first one is selected.
    chosen: bool,
}

impl Home {
    /// Numbers for the header.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Scopes of the keys.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        if self.editing { vec![Scope::Field] } else { vec![Scope::Home] }
    }

    /// The selected run.
    #[must_use]
    pub fn selected<'a>(&self, world: &'a World) -> Option<&'a RunRow> {
        match self.lines.get(self.cursor.selected) {
            Some(Line::Run(index)) => world.snapshot.rows.get(*index as usize),
            _ => None,
        }
    }

    /// The run whose detail the preview shows; none when there is no preview.
    #[must_use]
    pub fn previewed(&self, world: &World) -> Option<RunKey> {
        if self.hide_preview || world.breadth() == Breadth::Narrow {
            return None;
        }
        self.selected(world).map(|row| row.key.clone())
    }

    /// Groups the rows of a new snapshot; the selected run stays selected wherever it went.
    pub fn refresh(&mut self, world: &World) {
        let rows = &world.snapshot.rows;
        let (mut need, mut active, mut recent) = (Vec::new(), Vec::new(), Vec::new());
        self.counts = Counts::default();
        let today = world.now.today_began();
        for (index, row) in rows.iter().enumerate() {
            let Ok(index) = u32::try_from(index) else { break };
            if row.need.is_some() {
                need.push(index);
            } else if row.ended {
                self.counts.done_today += usize::from(row.updated_at >= today);
                recent.push(index);
            } else {
                active.push(index);
            }
        }
        (self.counts.need, self.counts.active) = (need.len(), active.len());
        self.lines.clear();
        if let Some((_, found)) = self.matches.as_ref().filter(|(of, _)| Arc::ptr_eq(of, rows)) {
            let found = found.clone();
            self.group(Group::Found, &found);
        } else if self.query.is_empty() {
            need.sort_by_key(|index| rows[*index as usize].need.as_ref().map(|need| need.since.as_str()));
            for group in [&mut active, &mut recent] {
                self.order(group, rows);
            }
            self.group(Group::NeedsYou, &need);
            self.group(Group::Active, &active);
            self.group(Group::Recent, &recent);
        } else if let Some((of, found)) = &self.matches {
            // Older matches stand until the worker has looked through the new rows.
            let keys: std::collections::HashSet<&RunKey> =
                found.iter().filter_map(|index| of.get(*index as usize)).map(|row| &row.key).collect();
            let still = rows.iter().enumerate().filter(|(_, row)| keys.contains(&row.key));
            let still: Vec<u32> = still.filter_map(|(index, _)| u32::try_from(index).ok()).collect();
            self.group(Group::Found, &still);
        }
        self.reselect(world);
    }

    fn order(&self, group: &mut [u32], rows: &[RunRow]) {
        let row = |index: &u32| &rows[*index as usize];
        match self.sort {
            Sort::Changed => group.sort_by(|a, b| row(b).updated_at.cmp(&row(a).updated_at)),
            Sort::Created => group.sort_by(|a, b| row(b).created_at.cmp(&row(a).created_at)),
            Sort::Repository => group.sort_by(|a, b| {
                let (a, b) = (row(a), row(b));
                a.repository.cmp(&b.repository).then_with(|| b.updated_at.cmp(&a.updated_at))
            }),
        }
    }

    fn group(&mut self, group: Group, indexes: &[u32]) {
        if indexes.is_empty() && group != Group::Found {
            return;
        }
        if !self.lines.is_empty() {
            self.lines.push(Line::Gap);
        }
        self.lines.push(Line::Heading(group, indexes.len()));
        self.lines.extend(indexes.iter().map(|index| Line::Run(*index)));
    }

    fn reselect(&mut self, world: &World) {
        let kept = self.selected.as_ref().filter(|_| self.chosen).and_then(|key| {
            self.lines.iter().position(|line| match line {
                Line::Run(index) => world.snapshot.rows[*index as usize].key == *key,
                _ => false,
            })
        });
        let near = if self.chosen { self.cursor.selected } else { 0 };
        let at = kept.unwrap_or_else(|| self.run_near(near));
        self.place(at, world);
    }

    /// The run line at or after `at`, else the one before it.
    fn run_near(&self, at: usize) -> usize {
        let is_run = |at: &usize| matches!(self.lines.get(*at), Some(Line::Run(_)));
        let at = at.min(self.lines.len());
        (at..self.lines.len()).find(is_run).or_else(|| (0..at).rev().find(is_run)).unwrap_or(0)
    }

    fn place(&mut self, at: usize, world: &World) {
        let height = self.height(world);
        self.cursor.select(at, self.lines.len(), height);
        if at == self.run_near(0) {
            self.cursor.offset = 0;
        }
        self.selected = self.selected(world).map(|row| row.key.clone());
    }

    fn height(&self, world: &World) -> usize {
        let body = view::body(world.size).height;
        let strip = if self.hide_preview || world.breadth() == Breadth::Narrow { draw::STRIP } else { 0 };
        let taken = strip + u16::from(body >= draw::ROOMY) + u16::from(self.shows_query());
        usize::from(body.saturating_sub(taken))
    }

    fn shows_query(&self) -> bool {
        self.editing || !self.query.is_empty()
    }

    /// A click on a line selects it.
    pub fn select(&mut self, line: usize, world: &World) {
        if matches!(self.lines.get(line), Some(Line::Run(_))) {
            self.chosen = true;
            self.place(line, world);
        }
    }

    /// Does an action; false when it is not one of this screen.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) -> bool {
        if let Some(motion) = Motion::of(action) {
            self.step(motion, world);
            return true;
        }
        match action {
            Action::Open => match self.selected(world) {
                Some(row) => {
                    self.chosen = true;
                    let need = row.need.as_ref().map(|need| need.kind);
                    out.go(Go::Run(row.key.clone(), landing(need)));
                    if need == Some(crate::service::snapshot::NeedKind::Approval) {
                        out.go(Go::Approval);
                    }
                }
                None => out.say("There is no run here yet"),
            },
            Action::Filter => self.editing = true,
            Action::Accept => self.editing = false,
            Action::Clear => {
                self.editing = false;
                self.query.clear();
                self.matches = None;
                self.refresh(world);
            }
            Action::Back if !self.query.is_empty() => return self.act(Action::Clear, world, out),
            Action::Sort => {
                self.sort = match self.sort {
                    Sort::Changed => Sort::Created,
                    Sort::Created => Sort::Repository,
                    Sort::Repository => Sort::Changed,
                };
                out.say(match self.sort {
                    Sort::Changed => "Sorted by last change",
                    Sort::Created => "Sorted by age, newest first",
                    Sort::Repository => "Sorted by repository",
                });
                self.refresh(world);
            }
            Action::NextNeed => self.next_need(world, out),
            Action::TogglePreview => self.hide_preview = !self.hide_preview,
            _ => return false,
        }
        true
    }

    fn step(&mut self, motion: Motion, world: &World) {
        self.chosen = true;
        let before = self.cursor.selected;
        let mut cursor = self.cursor;
        cursor.step(motion, self.lines.len(), self.height(world));
        let mut at = self.run_near(cursor.selected);
        if matches!(motion, Motion::Up | Motion::PageUp) && at >= before {
            let above = (0..cursor.selected).rev().find(|at| matches!(self.lines[*at], Line::Run(_)));
            at = above.unwrap_or(before);
        }
        self.place(at, world);
    }

    fn next_need(&mut self, world: &World, out: &mut Out) {
        let wanted = |line: &Line| match line {
            Line::Run(index) => world.snapshot.rows[*index as usize].need.is_some(),
            _ => false,
        };
        let from = self.cursor.selected + 1;
        let after = self.lines.iter().skip(from).position(wanted).map(|at| at + from);
        match after.or_else(|| self.lines.iter().position(wanted)) {
            Some(at) => {
                self.chosen = true;
                self.place(at, world);
            }
            None => out.say("Nothing needs you"),
        }
    }

    /// A key for the filter.
    pub fn typed(&mut self, event: KeyEvent, world: &World, out: &mut Out) {
        if !self.editing {
            return;
        }
        match event.code {
            KeyCode::Char('u') if event.modifiers == KeyModifiers::CONTROL => self.query.clear(),
            KeyCode::Char(c) if !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.query.push(c);
            }
            KeyCode::Backspace => _ = self.query.pop(),
            KeyCode::Up => return self.step(Motion::Up, world),
            KeyCode::Down => return self.step(Motion::Down, world),
            _ => return,
        }
        self.query_changed(world, out);
    }

    /// Text for the filter; false when it is not open.
    pub fn pasted(&mut self, text: &str, world: &World, out: &mut Out) -> bool {
        if self.editing {
            self.query.extend(text.chars().filter(|c| !c.is_control()).take(200));
            self.query_changed(world, out);
        }
        self.editing
    }

    fn query_changed(&mut self, world: &World, out: &mut Out) {
        if self.query.trim().is_empty() {
            self.matches = None;
            self.refresh(world);
        }
        self.ask_matches(world, out);
    }

    /// Asks the worker to match, when there is a query.
    pub fn ask_matches(&self, world: &World, out: &mut Out) {
        if !self.query.trim().is_empty() {
            let rows = Arc::clone(&world.snapshot.rows);
            out.effects.push(Effect::Work(Job::Filter { rows, query: self.query.clone() }));
        }
    }

    /// Matches came; late ones for another query or older rows are dropped.
    pub fn matched(&mut self, world: &World, rows: &Arc<Vec<RunRow>>, query: &str, matches: Vec<u32>) {
        if query == self.query && Arc::ptr_eq(rows, &world.snapshot.rows) {
            self.matches = Some((Arc::clone(rows), matches));
            self.selected = None;
            self.cursor = Cursor::default();
            self.refresh(world);
        }
    }
}
