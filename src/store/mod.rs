//! The ledger (SQLite), the content-addressed blobs and the change feed. No SQL and no blob path outside.
//!
//! What the rest of the program sees (`architecture.md`, "The store's edge"): typed reads and one [`Store::commit`];
//! blobs that go in as streams or bodies and come out verified; and a feed of what changed. The layout on disk is
//! shared with other programs, which may have the same directory open (`store.md`).
//!
//! Rooms: `folder` (the directory and its safety), `connection` and `schema` (opening the ledger), `records` (rows as
//! values), `read`, `change` and `commit` (the edge), `blobs`, `bodies` and `journal` (content), `canonical_json` and
//! `json_text` (the text digests are taken over), `own`,
//! `own_read`, `own_write`, `own_tables` and `domain_records` (telic's own records), `feed` (what changed),
//! `maintenance` (the log, checking what is stored), `collect` (deleting).

mod blobs;
mod bodies;
pub mod canonical_json;
mod change;
mod collect;
mod commit;
mod connection;
mod digest;
mod domain_records;
mod error;
mod feed;
mod folder;
mod journal;
mod json_text;
mod maintenance;
mod own;
mod own_read;
mod own_tables;
mod own_write;
mod read;
mod records;
mod schema;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use bodies::BlobReader;
pub use change::{Change, Committed, Op, Outcome, Quota};
pub use collect::{Collected, Collection, Deleted, Deletion};
pub use digest::Digest;
pub use error::StoreError;
pub use feed::{Changes, Feed, RunPulse, Touched, Waker};
pub use maintenance::{BlobFinding, Fault, LogState};
pub use own::{Guard, Keys, LeaseRow, OwnOp, OwnRow, Record};
pub use own_tables::Kind;
pub use read::{RunCursor, RunSince};
pub use records::{
    ARTIFACTS_PER_RUN, ArtifactRecord, BODY_LIMIT, Body, BudgetSnapshot, EVENTS_PER_RUN, EventRecord,
    Listing, NewArtifact, NewEvent, RunRecord, SCHEMA_VERSION, SUMMARY_LIMIT, is_timestamp, timestamp_text,
};

use blobs::Blobs;
use bodies::Bodies;
use connection::{Readers, lock};
use folder::Folder;
use journal::Syncer;

/// One state directory, open. Cheap to clone; clones share everything.
///
/// When the last clone is dropped the blob journal is flushed and the ledger's log is folded in; where no other
/// program has the ledger open, no log file stays.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<Core>,
    syncer: Option<Syncer>,
}

/// What the store's rooms share.
struct Core {
    folder: Arc<Folder>,
    blobs: Blobs,
    bodies: Bodies,
    // Before the writer, so that it is the last to close and takes the log file with it.
    readers: Readers,
    writer: Option<Mutex<Connection>>,
}

impl Core {
    fn new(folder: Arc<Folder>, writer: Option<Connection>) -> Self {
        let blobs = Blobs::new(Arc::clone(&folder));
        Self {
            bodies: Bodies::new(blobs.clone()),
            readers: Readers::new(Arc::clone(&folder), writer.is_none()),
            folder,
            blobs,
            writer: writer.map(Mutex::new),
        }
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction; any error rolls it back (`store.md` 7).
    fn write<T>(
        &self,
        context: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = lock(self.writer.as_ref().ok_or(StoreError::ReadOnly)?);
        let transaction = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(StoreError::sql(context))?;
        let done = work(&transaction)?;
        transaction.commit().map_err(StoreError::sql(context))?;
        Ok(done)
    }
}

impl Store {
    /// Opens a state directory for reading and writing, creating and upgrading what is needed (`store.md` 2, 3), and
    /// mends bodies that the blob journal still holds.
    ///
    /// # Errors
    /// [`StoreError::StateDir`] when the directory or something in it is unsafe or cannot be made;
    /// [`StoreError::Locked`] when another program keeps the ledger locked for over 5 s; [`StoreError::Ledger`] when
    /// the file is not a ledger or cannot be upgraded.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        let folder = Arc::new(Folder::create(state_dir)?);
        let mut writer = connection::open_writer(&folder)?;
        schema::prepare(&mut writer)?;
        let core = Arc::new(Core::new(folder, Some(writer)));
        journal::recover(&core)?;
        let syncer = Syncer::start(Arc::clone(&core))?;
        Ok(Self { inner: Arc::new(Inner { core, syncer: Some(syncer) }) })
    }

    /// Opens a state directory for inspection. Nothing on disk is created, upgraded or changed.
    ///
    /// # Errors
    /// [`StoreError::NoLedger`] when there is none; otherwise as [`Store::open`].
    pub fn open_read_only(state_dir: &Path) -> Result<Self, StoreError> {
        let folder = Arc::new(Folder::inspect(state_dir)?);
        let core = Arc::new(Core::new(folder, None));
        drop(core.readers.take()?);
        Ok(Self { inner: Arc::new(Inner { core, syncer: None }) })
    }

    /// Whether the store was opened for inspection only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.core().writer.is_none()
    }

    /// The resolved path of the state directory.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        self.core().folder.path()
    }

    /// The folder for work trees, created if missing. Its contents are the engine's.
    ///
    /// # Errors
    /// [`StoreError::StateDir`] when it is a link or cannot be made.
    pub fn workspaces_dir(&self) -> Result<PathBuf, StoreError> {
        self.core().folder.own_dir("workspaces")
    }

    /// The folder for logs being written, created if missing. Its contents are the engine's.
    ///
    /// # Errors
    /// [`StoreError::StateDir`] when it is a link or cannot be made.
    pub fn logs_dir(&self) -> Result<PathBuf, StoreError> {
        self.core().folder.own_dir("logs")
    }

    fn core(&self) -> &Core {
        &self.inner.core
    }

    fn journal_grew(&self) {
        if let Some(syncer) = &self.inner.syncer {
            syncer.wake();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("state_dir", &self.state_dir()).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(syncer) = self.syncer.take() else { return };
        syncer.stop();
        if let Err(error) = journal::flush(&self.core) {
            tracing::warn!(%error, "the blob journal could not be flushed; the next opening does it");
        }
        self.core.readers.close();
    }
}

#[cfg(test)]
mod tests;
