//! Keeping the store in order: folding in the log, and checking what is stored (`store.md` 11, items 8 and 10).
//!
//! Deleting is `collect`'s part. Replaying a run is not the store's business.

use rusqlite::Connection;

use super::connection::lock;
use super::{Digest, Store, StoreError, schema};

/// How far a checkpoint got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogState {
    /// Readers or writers were in the way of a complete one.
    pub busy: bool,
    /// Pages in the log.
    pub pages: i64,
    /// Pages of it that are folded in.
    pub folded: i64,
}

/// What is wrong with the body of one artifact.
#[derive(Debug, Clone)]
pub struct BlobFinding {
    /// The run.
    pub run_id: String,
    /// The artifact.
    pub artifact_id: String,
    /// What is wrong.
    pub error: StoreError,
}

/// Something in the ledger that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable word for its kind: `ledger_damaged`, `reference_broken`, `sequence_gap`, `row_malformed`,
    /// `body_damaged`.
    pub code: &'static str,
    /// The run, where it belongs to one.
    pub run_id: Option<String>,
    /// What exactly.
    pub detail: String,
}

fn checkpoint(connection: &Connection, mode: &str) -> Result<LogState, StoreError> {
    connection
        .query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
            Ok(LogState { busy: row.get::<_, i64>(0)? != 0, pages: row.get(1)?, folded: row.get(2)? })
        })
        .map_err(StoreError::sql("folding in the ledger's log"))
}

impl Store {
    /// What opening this store for writing would change in the ledger's tables; nothing for an up-to-date one.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn pending_upgrade(&self) -> Result<Vec<&'static str>, StoreError> {
        schema::pending(&*self.core().readers.take()?)
            .map_err(StoreError::sql("looking at the ledger's tables"))
    }

    /// Folds in what of the log no reader needs any more, without waiting for anyone.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or when the ledger cannot be written.
    pub fn checkpoint(&self) -> Result<LogState, StoreError> {
        checkpoint(&lock(self.core().writer.as_ref().ok_or(StoreError::ReadOnly)?), "PASSIVE")
    }

    /// Folds in the whole log and empties its file, waiting for readers up to the busy timeout.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or when the ledger cannot be written.
    pub fn empty_log(&self) -> Result<LogState, StoreError> {
        checkpoint(&lock(self.core().writer.as_ref().ok_or(StoreError::ReadOnly)?), "TRUNCATE")
    }

    /// Checks the body of every artifact of a run, or of all runs: present, a regular file, its digest right.
    ///
    /// # Errors
    /// When the ledger cannot be read. What is wrong with a body is a finding.
    pub fn verify_blobs(&self, run_id: Option<&str>) -> Result<Vec<BlobFinding>, StoreError> {
        let failed = StoreError::sql("listing artifacts");
        let rows: Vec<(String, String, String)> = {
            let reader = self.core().readers.take()?;
            let filter = if run_id.is_some() { "WHERE run_id = ?1" } else { "WHERE ?1 IS NULL" };
            let mut select = reader
                .prepare_cached(&format!(
                    "SELECT run_id, artifact_id, sha256 FROM artifacts {filter} ORDER BY rowid"
                ))
                .map_err(failed)?;
            let rows = select.query_map([run_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            rows.and_then(Iterator::collect).map_err(failed)?
        };
        let mut findings = Vec::new();
        for (run_id, artifact_id, sha256) in rows {
            // The bytes at once where they are right; else what they mean (`store.md` 4.2).
            let checked = Digest::parse(&sha256).and_then(|digest| match self.core().blobs.verify(&digest) {
                Ok(_) => Ok(()),
                Err(_) => self.core().bodies.text(&digest).map(drop),
            });
            if let Err(error) = checked {
                findings.push(BlobFinding { run_id, artifact_id, error });
            }
        }
        Ok(findings)
    }

    /// Checks the whole ledger (`store.md` 11, item 10): the database itself, its foreign keys, that every row can be
    /// read and every trace counts up by one, and that every body is there and right.
    ///
    /// # Errors
    /// When the ledger cannot be read at all. What is wrong in it is a fault.
    pub fn check(&self) -> Result<Vec<Fault>, StoreError> {
        let mut faults = self.check_database()?;
        let listing = self.all_runs()?;
        let fault =
            |code, run_id: &str, detail: String| Fault { code, run_id: Some(run_id.to_owned()), detail };
        for (run_id, error) in listing.refused {
            faults.push(fault("row_malformed", &run_id, error.to_string()));
        }
        for run in listing.items {
            let id = run.run_id.as_str();
            match self.run_since(id, None, 0) {
                Err(error) => faults.push(fault("row_malformed", id, error.to_string())),
                Ok(since) => {
                    let gap =
                        since.events.iter().zip(1..).find(|(event, expected)| event.sequence != *expected);
                    if let Some((event, expected)) = gap {
                        let detail = format!("event {expected} is missing before event {}", event.sequence);
                        faults.push(fault("sequence_gap", id, detail));
                    }
                }
            }
        }
        for finding in self.verify_blobs(None)? {
            let detail = format!("artifact {}: {}", finding.artifact_id, finding.error);
            faults.push(fault("body_damaged", &finding.run_id, detail));
        }
        Ok(faults)
    }

    fn check_database(&self) -> Result<Vec<Fault>, StoreError> {
        let failed = StoreError::sql("checking the ledger");
        let reader = self.core().readers.take()?;
        let mut faults = Vec::new();
        let mut check = |sql: &str, code| -> Result<(), StoreError> {
            let mut select = reader.prepare(sql).map_err(failed)?;
            let rows = select.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
            for row in rows {
                let detail = row.map_err(failed)?;
                if detail != "ok" {
                    faults.push(Fault { code, run_id: None, detail });
                }
            }
            Ok(())
        };
        check("PRAGMA integrity_check", "ledger_damaged")?;
        check(
            "SELECT 'a row of ' || \"table\" || ' names a missing row of ' || parent FROM pragma_foreign_key_check",
            "reference_broken",
        )?;
        Ok(faults)
    }
}
