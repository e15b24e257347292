//! Taking away: runs that a person wants gone, and blobs that no row names (`store.md` 11, items 5 and 6).
//!
//! Another program may be about to name a blob that nobody names yet, so a blob is never simply deleted: young ones
//! are left alone, old ones wait in a quarantine for longer than any writer may take, and come back if they were named
//! meanwhile.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::fcntl::renameat;
use nix::unistd::{UnlinkatFlags, unlinkat};
use rusqlite::Connection;

use super::connection::{BUSY_TIMEOUT, lock};
use super::folder::QUARANTINE;
use super::own_tables::Kind;
use super::read::find_run;
use super::{Core, Digest, Store, StoreError, journal};

/// Age at which a temporary file is nobody's any more.
const TEMPORARY_AGE: Duration = Duration::from_secs(24 * 3600);

/// What to collect.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Only these blobs; all of them otherwise.
    pub only: Option<Vec<Digest>>,
    /// Blobs changed or reused within this time are left alone.
    pub minimum_age: Duration,
    /// How long blobs stay in quarantine; longer than a writer may wait for its lock.
    pub quarantine: Duration,
    /// Only count.
    pub dry_run: bool,
}

impl Default for Collection {
    /// Everything older than an hour, after a quarantine of a second over the busy timeout.
    fn default() -> Self {
        Self {
            only: None,
            minimum_age: Duration::from_secs(3600),
            quarantine: BUSY_TIMEOUT + Duration::from_secs(1),
            dry_run: false,
        }
    }
}

/// What a collection found and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Blobs that nobody names; deleted, unless it was a dry run.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Old temporary files; deleted, unless it was a dry run.
    pub temporaries: u64,
    /// Blobs that were named while they were in quarantine, and put back.
    pub restored: u64,
}

/// How a run is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Also a run whose workflow has not ended.
    pub unfinished: bool,
    /// Overwrites what was deleted in the ledger and its log.
    pub secure: bool,
}

/// What was deleted with a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Artifact rows.
    pub artifacts: usize,
    /// Trace events.
    pub events: usize,
    /// The bodies they named, for [`Collection::only`].
    pub digests: Vec<Digest>,
}

impl Store {
    /// Deletes a run: telic's own records of it, its events, its artifacts, itself, in one transaction. Its bodies stay
    /// until [`Store::collect`].
    ///
    /// # Errors
    /// [`StoreError::RunNotFound`]; [`StoreError::RunNotFinished`] without [`Deletion::unfinished`].
    pub fn delete_run(&self, run_id: &str, how: Deletion) -> Result<Deleted, StoreError> {
        let core = self.core();
        let failed = StoreError::sql("deleting a run");
        let writer = core.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        if how.secure {
            lock(writer).execute_batch("PRAGMA secure_delete = ON").map_err(failed)?;
        }
        let deleted = core.write("deleting a run", |transaction| {
            let run =
                find_run(transaction, run_id)?.ok_or_else(|| StoreError::RunNotFound(run_id.to_owned()))?;
            let open =
                run.is_ok_and(|run| matches!(run.status.as_str(), "running" | "awaiting_clarification"));
            if open && !how.unfinished {
                return Err(StoreError::RunNotFinished(run_id.to_owned()));
            }
            delete_rows(transaction, run_id)
        });
        if how.secure {
            let writer = lock(writer);
            writer.execute_batch("PRAGMA secure_delete = OFF").map_err(failed)?;
            if deleted.is_ok() {
                writer.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);").map_err(failed)?;
            }
        }
        deleted
    }

    /// Deletes the blobs that nobody names and the temporary files that nobody writes any more. It takes at least as
    /// long as the quarantine when there is anything to delete.
    ///
    /// # Errors
    /// When the ledger or the blob folder cannot be read or written.
    pub fn collect(&self, what: &Collection) -> Result<Collected, StoreError> {
        let core = self.core();
        if core.writer.is_none() {
            return Err(StoreError::ReadOnly);
        }
        let mut done = Collected::default();
        if !what.dry_run {
            // The journal names bodies too.
            journal::flush(core)?;
        }
        let candidates = candidates(core, what, &mut done)?;
        if what.dry_run {
            let named = core.write("listing named blobs", |transaction| named(transaction))?;
            let orphans = candidates.iter().filter(|(digest, _)| !named.contains(digest));
            for (_, size) in orphans {
                done.blobs += 1;
                done.bytes += size;
            }
            return Ok(done);
        }
        core.write("putting blobs into quarantine", |transaction| {
            let named = named(transaction)?;
            for (digest, _) in candidates.iter().filter(|(digest, _)| !named.contains(digest)) {
                move_blob(core, digest, true)?;
            }
            Ok(())
        })?;
        if quarantined(core)?.is_empty() {
            return Ok(done);
        }
        std::thread::sleep(what.quarantine);
        core.write("emptying the quarantine", |transaction| {
            let named = named(transaction)?;
            // Also what an earlier collection left when it was interrupted.
            for (digest, size) in quarantined(core)? {
                if named.contains(&digest) {
                    move_blob(core, &digest, false)?;
                    done.restored += 1;
                } else {
                    let dir = core.folder.quarantine_dir()?;
                    unlinkat(&dir, digest.hex().as_str(), UnlinkatFlags::NoRemoveDir)
                        .map_err(|error| StoreError::blob(&digest, &error))?;
                    done.blobs += 1;
                    done.bytes += size;
                }
            }
            Ok(())
        })?;
        Ok(done)
    }
}

fn delete_rows(connection: &Connection, run_id: &str) -> Result<Deleted, StoreError> {
    let failed = StoreError::sql("deleting a run");
    let mut digests = HashSet::new();
    {
        let mut select =
            connection.prepare("SELECT sha256 FROM artifacts WHERE run_id = ?1").map_err(failed)?;
        let rows = select.query_map([run_id], |row| row.get::<_, String>(0)).map_err(failed)?;
        for row in rows {
            digests.extend(Digest::parse(&row.map_err(failed)?));
        }
        for kind in Kind::ALL {
            digests_in(
                connection,
                &format!("SELECT body FROM {} WHERE run_id = ?1", kind.table()),
                [run_id],
                &mut digests,
            )?;
        }
    }
    let delete = |sql: &str| connection.execute(sql, [run_id]).map_err(failed);
    // Rows of the kinds that belong to a run go with it; the rest by hand.
    delete("DELETE FROM telic_runs WHERE id = ?1")?;
    for table in [Kind::MESSAGE.table(), "telic_events", "telic_touched"] {
        delete(&format!("DELETE FROM {table} WHERE run_id = ?1"))?;
    }
    let events = delete("DELETE FROM trace_events WHERE run_id = ?1")?;
    let artifacts = delete("DELETE FROM artifacts WHERE run_id = ?1")?;
    delete("DELETE FROM runs WHERE run_id = ?1")?;
    let mut digests: Vec<_> = digests.into_iter().collect();
    digests.sort_unstable();
    Ok(Deleted { artifacts, events, digests })
}

/// Every digest that a row names: artifacts, the journal, and whatever stands in telic's own records.
fn named(connection: &Connection) -> Result<HashSet<Digest>, StoreError> {
    let mut named = HashSet::new();
    let mut sources = vec![
        "SELECT sha256 FROM artifacts".to_owned(),
        "SELECT digest FROM telic_blob_journal".to_owned(),
        "SELECT body FROM telic_events".to_owned(),
        "SELECT value FROM telic_facts".to_owned(),
    ];
    sources.extend(Kind::ALL.iter().map(|kind| format!("SELECT body FROM {}", kind.table())));
    for sql in sources {
        digests_in(connection, &sql, (), &mut named)?;
    }
    Ok(named)
}

fn digests_in(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    into: &mut HashSet<Digest>,
) -> Result<(), StoreError> {
    let failed = StoreError::sql("listing named blobs");
    let mut select = connection.prepare(sql).map_err(failed)?;
    let mut rows = select.query(params).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let text = row.get_ref(0).and_then(|value| Ok(value.as_str()?)).map_err(failed)?;
        // Any run of 64 hexadecimal digits may be a digest; taking one too many keeps a blob.
        into.extend(
            text.split(|c: char| !matches!(c, '0'..='9' | 'a'..='f'))
                .filter(|word| word.len() == 64)
                .filter_map(|word| Digest::parse(word).ok()),
        );
    }
    Ok(())
}

/// The old blobs and their sizes; old temporary files are dealt with on the way.
fn candidates(
    core: &Core,
    what: &Collection,
    done: &mut Collected,
) -> Result<Vec<(Digest, u64)>, StoreError> {
    let mut found = Vec::new();
    let sha = core.folder.path().join("blobs/sha256");
    for (name, path) in entries(&sha)? {
        // `put_stream` writes here before it knows the digest.
        if is_old_temporary(&name, &path) {
            remove_temporary(&path, what, done)?;
        }
        let is_prefix = name.len() == 2 && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if !is_prefix {
            continue;
        }
        for (rest, path) in entries(&path)? {
            let digest =
                name.to_str().zip(rest.to_str()).and_then(|(a, b)| Digest::parse(&format!("{a}{b}")).ok());
            let wanted = |digest: &Digest| what.only.as_ref().is_none_or(|only| only.contains(digest));
            match (digest, fs::symlink_metadata(&path)) {
                (Some(digest), Ok(metadata))
                    if metadata.is_file() && wanted(&digest) && age(&metadata) >= what.minimum_age =>
                {
                    found.push((digest, metadata.len()));
                }
                (None, _) if is_old_temporary(&rest, &path) => remove_temporary(&path, what, done)?,
                _ => {}
            }
        }
    }
    Ok(found)
}

fn entries(dir: &Path) -> Result<Vec<(OsString, PathBuf)>, StoreError> {
    let failed =
        |error: std::io::Error| StoreError::Blob { digest: "folder".to_owned(), detail: error.to_string() };
    let entries = fs::read_dir(dir).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| (entry.file_name(), entry.path())).map_err(failed)).collect()
}

fn age(metadata: &fs::Metadata) -> Duration {
    // A time in the future is the youngest there can be.
    metadata.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default()
}

fn is_old_temporary(name: &OsString, path: &Path) -> bool {
    name.to_string_lossy().ends_with(".tmp")
        && fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && age(&found) >= TEMPORARY_AGE)
}

fn remove_temporary(path: &Path, what: &Collection, done: &mut Collected) -> Result<(), StoreError> {
    done.temporaries += 1;
    if what.dry_run {
        return Ok(());
    }
    fs::remove_file(path)
        .map_err(|error| StoreError::Blob { digest: "temporary file".to_owned(), detail: error.to_string() })
}

/// Moves a blob into the quarantine or back. One that is gone is no error.
fn move_blob(core: &Core, digest: &Digest, into_quarantine: bool) -> Result<(), StoreError> {
    let hex = digest.hex();
    let prefix = core.folder.prefix_dir(&hex[..2])?;
    let quarantine = core.folder.quarantine_dir()?;
    let moved = if into_quarantine {
        renameat(&prefix, &hex[2..], &quarantine, hex.as_str())
    } else {
        renameat(&quarantine, hex.as_str(), &prefix, &hex[2..])
    };
    match moved {
        Ok(()) | Err(nix::errno::Errno::ENOENT) => Ok(()),
        Err(error) => Err(StoreError::blob(digest, &error)),
    }
}

fn quarantined(core: &Core) -> Result<Vec<(Digest, u64)>, StoreError> {
    let path = core.folder.path().join(QUARANTINE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let named = |(name, path): (OsString, PathBuf)| {
        let size = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        Some((Digest::parse(name.to_str()?).ok()?, size))
    };
    Ok(entries(&path)?.into_iter().filter_map(named).collect())
}
