//! The blob journal: bodies made durable by the transaction that names them (`store.md` 11, item 1).
//!
//! A body's bytes are committed with its row, so one wait for the disk covers both. A background thread then syncs
//! the files and their directories in a batch and only after that deletes the journal rows. Every opening first
//! rewrites from the journal what is missing or damaged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::blobs::Durability;
use super::{Core, Digest, StoreError};

/// Bodies larger than this are synced before their row commits instead.
pub(super) const JOURNAL_LIMIT: usize = 256 * 1024;
/// How long the background step gathers before it waits for the disk.
const GATHER: Duration = Duration::from_millis(150);
/// How long it gathers at most while more keeps coming.
const GATHER_AT_MOST: Duration = Duration::from_secs(2);
/// Rows synced at once.
const BATCH: i64 = 256;

/// Adds a body to the journal, inside the transaction that inserts its row.
pub(super) fn record(connection: &Connection, digest: &Digest, text: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO telic_blob_journal (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| insert.execute((digest.hex(), text.as_bytes())))
        .map_err(StoreError::sql("writing the blob journal"))?;
    Ok(())
}

/// Rewrites every journalled body whose file is missing or damaged.
pub(super) fn recover(core: &Core) -> Result<(), StoreError> {
    for (digest, bytes) in pending(core)? {
        core.blobs.put(&digest, &bytes, Durability::Visible)?;
    }
    Ok(())
}

/// Makes every journalled body durable in its file and empties the journal.
pub(super) fn flush(core: &Core) -> Result<(), StoreError> {
    loop {
        let batch = pending(core)?;
        if batch.is_empty() {
            return Ok(());
        }
        let mut prefixes = BTreeMap::new();
        for (digest, bytes) in &batch {
            core.blobs.put(digest, bytes, Durability::Visible)?;
            core.blobs.sync_file(digest)?;
            prefixes.insert(digest.hex()[..2].to_owned(), *digest);
        }
        for digest in prefixes.values() {
            core.blobs.sync_prefix(digest)?;
        }
        core.blobs.sync_roots(&batch[0].0)?;
        core.write("emptying the blob journal", |transaction| {
            let failed = StoreError::sql("emptying the blob journal");
            let mut delete = transaction
                .prepare_cached("DELETE FROM telic_blob_journal WHERE digest = ?1")
                .map_err(failed)?;
            for (digest, _) in &batch {
                delete.execute([digest.hex()]).map_err(failed)?;
            }
            Ok(())
        })?;
    }
}

fn pending(core: &Core) -> Result<Vec<(Digest, Vec<u8>)>, StoreError> {
    let failed = StoreError::sql("reading the blob journal");
    let reader = core.readers.take()?;
    let mut select =
        reader.prepare_cached("SELECT digest, bytes FROM telic_blob_journal LIMIT ?1").map_err(failed)?;
    let rows = select
        .query_map([BATCH], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .map_err(failed)?;
    let mut pending = Vec::new();
    for row in rows {
        let (digest, bytes) = row.map_err(failed)?;
        let digest = Digest::parse(&digest)?;
        if Digest::of(&bytes) != digest {
            return Err(StoreError::integrity(&digest, "is damaged in the blob journal"));
        }
        pending.push((digest, bytes));
    }
    Ok(pending)
}

/// The background thread that empties the journal.
pub(super) struct Syncer {
    wake: Sender<()>,
    thread: JoinHandle<()>,
}

impl Syncer {
    pub(super) fn start(core: Arc<Core>) -> Result<Self, StoreError> {
        let (wake, woken) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("telic-blob-sync".to_owned())
            .spawn(move || {
                while woken.recv().is_ok() {
                    // Gather what comes in a burst; at the end the closing store flushes itself.
                    let latest = Instant::now() + GATHER_AT_MOST;
                    while Instant::now() < latest {
                        match woken.recv_timeout(GATHER) {
                            Ok(()) => {}
                            Err(RecvTimeoutError::Timeout) => break,
                            Err(RecvTimeoutError::Disconnected) => return,
                        }
                    }
                    if let Err(error) = flush(&core) {
                        tracing::warn!(%error, "the blob journal could not be emptied; it is tried again");
                    }
                }
            })
            .map_err(|error| StoreError::Ledger {
                context: "starting the blob journal's thread",
                detail: error.to_string(),
            })?;
        let syncer = Self { wake, thread };
        syncer.wake();
        Ok(syncer)
    }

    pub(super) fn wake(&self) {
        // The thread only ends when this sender is gone.
        let _ = self.wake.send(());
    }

    pub(super) fn stop(self) {
        drop(self.wake);
        let _ = self.thread.join();
    }
}
