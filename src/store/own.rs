//! telic's own records: sessions, tasks, runs, attempts and the rest, written in the same transactions as the
//! workflow's rows and read back typed.
//!
//! A kind of record joins by implementing [`Record`]; nothing here is repeated per kind. What the statuses mean and
//! which moves are legal is the domain's part; the store only guards that a record is still what the caller read. Carrying out is `own_write`'s part, reading back `own_read`'s.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use super::change::{Change, Op};
use super::own_tables::Kind;

/// What a record is found by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keys<'a> {
    /// Its id.
    pub id: &'a str,
    /// The run it belongs to.
    pub run_id: Option<&'a str>,
    /// The task it belongs to.
    pub task_id: Option<&'a str>,
    /// What it hangs under: an attempt, a session, a step, a verdict.
    pub parent_id: Option<&'a str>,
    /// Its status, or a word in its place.
    pub status: &'a str,
}

/// A record that the store keeps.
pub trait Record: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: Kind;
    /// What it is found by.
    fn keys(&self) -> Keys<'_>;
}

/// A record made ready to be written.
#[derive(Debug, Clone)]
pub struct OwnRow {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) run_id: Option<String>,
    pub(super) task_id: Option<String>,
    pub(super) parent_id: Option<String>,
    pub(super) status: String,
    pub(super) body: String,
}

/// What must still hold of a record for its update to happen.
#[derive(Debug, Clone)]
pub enum Guard {
    /// It has this status.
    Status(String),
    /// It is exactly what the caller read.
    Unchanged {
        /// What was read, as JSON.
        read: String,
        /// Writes a stored body as this program would, so that two texts of one record compare equal.
        normal: fn(&str) -> Option<String>,
    },
}

/// The current lease of a run as the ledger keeps it.
#[derive(Debug, Clone)]
pub struct LeaseRow {
    /// The run.
    pub run_id: String,
    /// The lease's id.
    pub id: String,
    /// The worker that holds it.
    pub worker_id: String,
    /// `HELD`, or how it ended.
    pub status: String,
    /// When it runs out, in the ledger's form of a time.
    pub expires_at: String,
    /// The lease as JSON.
    pub body: String,
}

/// An operation on telic's own records.
#[derive(Debug, Clone)]
pub enum OwnOp {
    /// Inserts a record.
    Insert(OwnRow),
    /// Replaces a record, if the guard holds.
    Update {
        /// The new record.
        row: OwnRow,
        /// What must still hold.
        guard: Guard,
    },
    /// Takes the lease of a run that nobody holds at `now`: one statement, one winner.
    TakeLease {
        /// The lease, as it will be held.
        lease: LeaseRow,
        /// The time of the taking.
        now: String,
    },
    /// Renews, releases or expires the lease with this id, if it is the one that is held.
    ChangeLease(LeaseRow),
    /// Fails unless this lease is the one held on the run.
    HoldsLease {
        /// The run.
        run_id: String,
        /// The lease.
        lease_id: String,
    },
    /// Appends an event; its place in the global order is found inside the transaction.
    AppendEvent {
        /// The event's id.
        id: String,
        /// The run, if it belongs to one.
        run_id: Option<String>,
        /// The task, if it belongs to one.
        task_id: Option<String>,
        /// The event as JSON.
        body: String,
    },
    /// Stores a small fact under a key, or removes it.
    PutFact {
        /// The key.
        key: String,
        /// The value; none removes it.
        value: Option<String>,
    },
}

fn body_of<T: Record>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|error| StoreError::malformed(T::KIND.name, error.to_string()))
}

fn row_of<T: Record>(record: &T) -> Result<OwnRow, StoreError> {
    let keys = record.keys();
    Ok(OwnRow {
        kind: T::KIND,
        id: keys.id.to_owned(),
        run_id: keys.run_id.map(str::to_owned),
        task_id: keys.task_id.map(str::to_owned),
        parent_id: keys.parent_id.map(str::to_owned),
        status: keys.status.to_owned(),
        body: body_of(record)?,
    })
}

fn normal<T: Record>(body: &str) -> Option<String> {
    serde_json::to_string(&serde_json::from_str::<T>(body).ok()?).ok()
}

impl Change {
    /// Adds: insert this record.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when it cannot be written as JSON.
    pub fn insert<T: Record>(&mut self, record: &T) -> Result<(), StoreError> {
        self.push(Op::Own(OwnOp::Insert(row_of(record)?)));
        Ok(())
    }

    /// Adds: replace the record with this id, if its stored status is still `expected_status`.
    ///
    /// # Errors
    /// As [`Change::insert`]. At commit: [`StoreError::StatusConflict`], [`StoreError::RecordNotFound`].
    pub fn update<T: Record>(&mut self, record: &T, expected_status: &str) -> Result<(), StoreError> {
        let guard = Guard::Status(expected_status.to_owned());
        self.push(Op::Own(OwnOp::Update { row: row_of(record)?, guard }));
        Ok(())
    }

    /// Adds: replace the record with this id, if what is stored is still exactly `read`.
    ///
    /// # Errors
    /// As [`Change::insert`]. At commit: [`StoreError::StatusConflict`], [`StoreError::RecordNotFound`].
    pub fn replace<T: Record>(&mut self, read: &T, record: &T) -> Result<(), StoreError> {
        let guard = Guard::Unchanged { read: body_of(read)?, normal: normal::<T> };
        self.push(Op::Own(OwnOp::Update { row: row_of(record)?, guard }));
        Ok(())
    }
}
