//! The dashboard without a terminal: messages in, frames out, slow work done at once. For `telic render` and tests.

use std::collections::HashMap;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::{App, update};
use super::keymap::Chord;
use super::msg::{Effect, Msg};
use super::view::{self, Hits};
use super::worker::Worker;
use super::world::World;
use crate::service::link::{Command, Reply, Request};
use crate::service::snapshot::{RunDetail, RunKey, Snapshot};

/// What the engine would send, kept at hand.
#[derive(Debug, Clone, Default)]
pub struct Supply {
    /// Details by run.
    pub details: HashMap<RunKey, Arc<RunDetail>>,
    /// Patches by digest.
    pub patches: HashMap<String, Arc<[u8]>>,
    /// Logs by artifact id.
    pub logs: HashMap<String, Arc<[u8]>>,
}

/// A dashboard and its supply.
pub struct Stage {
    /// The state.
    pub app: App,
    /// Commands that were sent, oldest first.
    pub sent: Vec<Request>,
    /// Effects other than commands and work.
    pub effects: Vec<Effect>,
    supply: Supply,
    worker: Worker,
}

impl Stage {
    /// A dashboard that has just been given a snapshot.
    #[must_use]
    pub fn new(world: World, snapshot: Arc<Snapshot>, supply: Supply) -> Stage {
        let app = App::new(world);
        let mut stage =
            Stage { app, sent: Vec::new(), effects: Vec::new(), supply, worker: Worker::default() };
        stage.take(Msg::Snapshot(snapshot));
        stage
    }

    /// Takes a message in, does the work it leads to, and answers from the supply.
    pub fn take(&mut self, msg: Msg) {
        let mut waiting = std::collections::VecDeque::from([msg]);
        while let Some(msg) = waiting.pop_front() {
            let now = self.app.world.now.clone();
            for effect in update(&mut self.app, now, msg) {
                match effect {
                    Effect::Send(request) => {
                        waiting.extend(self.answer(&request).map(Msg::Reply));
                        self.sent.push(request);
                    }
                    Effect::Work(job) => waiting.push_back(Msg::Worked(self.worker.work(job))),
                    effect => self.effects.push(effect),
                }
            }
        }
    }

    fn answer(&self, request: &Request) -> Option<Reply> {
        let ticket = request.ticket;
        match &request.command {
            Command::Follow(key) => {
                self.supply.details.get(key).map(|detail| Reply::Detail(Arc::clone(detail)))
            }
            Command::LoadDiff { key, digest } => {
                let patch = Arc::clone(self.supply.patches.get(digest)?);
                Some(Reply::Diff { request: ticket, key: key.clone(), digest: digest.clone(), patch })
            }
            Command::LoadLog { key, artifact, from } => {
                let log = self.supply.logs.get(artifact)?;
                let total = log.len() as u64;
                let from_index = usize::try_from(*from).unwrap_or(usize::MAX).min(log.len());
                let bytes = Arc::from(&log[from_index..]);
                let (key, artifact) = (key.clone(), artifact.clone());
                Some(Reply::Log { request: ticket, key, artifact, from: *from, bytes, total })
            }
            _ => None,
        }
    }

    /// Sends an answer of the engine.
    pub fn reply(&mut self, reply: Reply) {
        self.take(Msg::Reply(reply));
    }

    /// Lets time pass on the steady clock.
    pub fn wait(&mut self, milliseconds: u64) {
        self.app.world.now.steady += milliseconds;
        self.take(Msg::Tick);
    }

    /// Presses keys, written as in configuration and divided by blanks: `j Enter Ctrl-Y`. A name that is no key is
    /// typed letter by letter.
    pub fn press(&mut self, keys: &str) {
        for name in keys.split_whitespace() {
            match name.parse::<Chord>() {
                Ok(chord) => self.take(Msg::Key(chord.event())),
                Err(_) => {
                    for letter in name.chars() {
                        self.take(Msg::Key(KeyEvent::from(crossterm::event::KeyCode::Char(letter))));
                    }
                }
            }
        }
    }

    /// Draws a frame.
    pub fn frame(&mut self) -> Buffer {
        let (columns, rows) = self.app.world.size;
        let area = Rect::new(0, 0, columns, rows);
        let mut buf = Buffer::empty(area);
        let mut hits = Hits::default();
        view::draw(&self.app, &mut buf, area, &mut hits);
        self.app.hits = hits;
        buf
    }
}
