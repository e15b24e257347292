//! What every screen reads and few things write: the latest snapshot, the followed run, the clock, the size, the
//! looks; and [`Out`], where a screen puts what it wants done.
//!
//! Owns no screen state. What is loaded on request (diff, logs) is kept here, by identity, so that an answer about
//! something else is dropped.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::diff::{Decor, Model};
use super::glyphs::Glyphs;
use super::keymap::Keymap;
use super::layers::Layer;
use super::log::LogSlot;
use super::msg::Effect;
use super::screens::Tab;
use super::theme::Theme;
use super::time::Now;
use super::ui::Paint;
use crate::service::link::{Command, Request};
use crate::service::snapshot::{PatchFile, RunDetail, RunKey, Snapshot};

/// The part of the state that all screens see.
pub struct World {
    /// The latest snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The run that is followed.
    pub following: Option<RunKey>,
    /// Its detail, once it came.
    pub detail: Option<Arc<RunDetail>>,
    /// Now.
    pub now: Now,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Looks.
    pub theme: Theme,
    /// Signs.
    pub glyphs: Glyphs,
    /// Keys.
    pub keymap: Keymap,
    /// The diff of the followed run.
    pub diff: DiffSlot,
    /// The log that is read.
    pub log: Option<LogSlot>,
    /// Files that were viewed: run, path and digest of the file's part of the diff. A mark belongs to the
    /// content, so a changed file is unviewed again.
    pub viewed: HashSet<(RunKey, String, String)>,
}

/// The diff of the followed run.
#[derive(Debug, Clone, Default)]
pub struct DiffSlot {
    /// Digest of the patch that is loaded or being loaded.
    pub digest: String,
    /// The model, or why there is none.
    pub model: Option<Result<Arc<Model>, String>>,
    /// Colours by file and hunk; none while they are being made.
    pub decor: HashMap<(usize, usize), Option<Arc<Decor>>>,
}

impl World {
    /// What drawing needs.
    #[must_use]
    pub fn paint(&self) -> Paint<'_> {
        Paint { theme: &self.theme, glyphs: self.glyphs }
    }

    /// How wide the screen is.
    #[must_use]
    pub fn breadth(&self) -> Breadth {
        Breadth::of(self.size.0)
    }

    /// The detail of this run, if it is the one that is followed and it came.
    #[must_use]
    pub fn detail_of(&self, key: &RunKey) -> Option<&Arc<RunDetail>> {
        self.detail.as_ref().filter(|detail| detail.row.key == *key)
    }

    /// Whether a file's present content was viewed.
    #[must_use]
    pub fn is_viewed(&self, key: &RunKey, file: &PatchFile) -> bool {
        self.viewed.contains(&(key.clone(), file.path.clone(), file.digest.clone()))
    }

    /// Paths of the viewed files of the followed run, and how many files there are.
    #[must_use]
    pub fn viewed_files(&self) -> (Vec<String>, usize) {
        let Some(detail) = &self.detail else { return (Vec::new(), 0) };
        let Some(patch) = &detail.patch else { return (Vec::new(), 0) };
        let viewed = patch.files.iter().filter(|file| self.is_viewed(&detail.row.key, file));
        (viewed.map(|file| file.path.clone()).collect(), patch.files.len())
    }
}

/// Three ways to lay a screen out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breadth {
    /// One thing at a time.
    Narrow,
    /// List and detail.
    Medium,
    /// List, detail and preview.
    Wide,
}

impl Breadth {
    /// The breadth of so many columns.
    #[must_use]
    pub fn of(columns: u16) -> Breadth {
        match columns {
            0..100 => Breadth::Narrow,
            100..140 => Breadth::Medium,
            _ => Breadth::Wide,
        }
    }
}

/// Where a screen asks to go.
pub enum Go {
    /// One level out.
    Back,
    /// To a run's tab.
    Run(RunKey, Tab),
    /// To another tab of the open run.
    Tab(Tab),
    /// To the approval page of the open run.
    Approval,
    /// Put a modal on top.
    Open(Layer),
    /// Take the top modal away.
    Close,
    /// Do not bring this question or call up again by itself.
    Later(String),
    /// Do the action a confirmation was asked for.
    Confirmed(super::keymap::Action),
    /// Do an action that the palette chose.
    Act(super::keymap::Action),
    /// Draw with another theme.
    Theme(Theme),
}

/// What a screen wants done.
#[derive(Default)]
pub struct Out {
    /// Effects, in order.
    pub effects: Vec<Effect>,
    /// Changes of place, in order.
    pub go: Vec<Go>,
    /// Notices to show.
    pub say: Vec<String>,
    /// Ticket of the last request.
    pub ticket: u64,
}

impl Out {
    /// Sends a command and gives the ticket that its answer will name.
    pub fn send(&mut self, command: Command) -> u64 {
        self.ticket += 1;
        self.effects.push(Effect::Send(Request { ticket: self.ticket, command }));
        self.ticket
    }

    /// Shows a notice.
    pub fn say(&mut self, text: impl Into<String>) {
        self.say.push(text.into());
    }

    /// Changes place.
    pub fn go(&mut self, go: Go) {
        self.go.push(go);
    }
}
