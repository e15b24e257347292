//! What reaches the dashboard and what it asks for: messages in, effects out, and the work of the worker thread.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::diff::{Decor, Model};
use crate::service::link::{Reply, Request};
use crate::service::snapshot::{RunKey, RunRow, Snapshot};

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something over what was drawn last.
    Mouse(MouseEvent),
    /// The terminal has a new size.
    Resize(u16, u16),
    /// The terminal's window got or lost the focus.
    Focus(bool),
    /// The engine published a snapshot.
    Snapshot(Arc<Snapshot>),
    /// The engine answered.
    Reply(Reply),
    /// The worker finished.
    Worked(Work),
    /// Time passed: an age, a toast or a guard may have changed.
    Tick,
}

/// What the event loop carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send to the engine.
    Send(Request),
    /// Give to the worker thread.
    Work(Job),
    /// Put text on the clipboard (OSC 52), then say so as far as it is known.
    Copy(String),
    /// Ring the bell and notify: a run newly needs a person.
    Attention(String),
    /// Stop the program until it is continued.
    Suspend,
    /// Leave the dashboard.
    Quit,
}

/// Work that is too slow for the drawing thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// Match rows against a query.
    Filter {
        /// The rows.
        rows: Arc<Vec<RunRow>>,
        /// The query.
        query: String,
    },
    /// Parse a unified diff.
    Parse {
        /// Run.
        key: RunKey,
        /// Digest of the patch.
        digest: String,
        /// The bytes.
        patch: Arc<[u8]>,
    },
    /// Colour one hunk.
    Decorate {
        /// The diff.
        model: Arc<Model>,
        /// Index of the file.
        file: usize,
        /// Index of the hunk.
        hunk: usize,
    },
}

/// What came of a [`Job`].
#[derive(Debug, Clone)]
pub enum Work {
    /// Indexes of the matching rows, best first.
    Filtered {
        /// The rows they index.
        rows: Arc<Vec<RunRow>>,
        /// The query.
        query: String,
        /// The indexes.
        matches: Vec<u32>,
    },
    /// A diff.
    Parsed {
        /// Run.
        key: RunKey,
        /// Digest of the patch.
        digest: String,
        /// The model, or why there is none.
        model: Result<Arc<Model>, String>,
    },
    /// Colours of one hunk.
    Decorated {
        /// Digest of the patch.
        digest: String,
        /// Index of the file.
        file: usize,
        /// Index of the hunk.
        hunk: usize,
        /// Colours and changed words, line by line.
        decor: Arc<Decor>,
    },
}
