//! telic's own records: sessions, tasks, runs, attempts and the rest, written in the same transactions as the
//! workflow's rows and read back typed.
//!
//! A kind of record joins by implementing [`Record`]; nothing here is repeated per kind. What the statuses mean and
//! which moves are legal is the domain's part; the store only guards that a record is still what the caller read.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::change::{Change, Op, Outcome};
use super::own_tables::Kind;
use super::{Store, StoreError};

/// Rows of `telic_touched` that are kept for feeds that are behind.
pub(super) const TOUCHED_KEPT: i64 = 16_384;

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
    kind: Kind,
    id: String,
    run_id: Option<String>,
    task_id: Option<String>,
    parent_id: Option<String>,
    status: String,
    body: String,
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

pub(super) fn apply(connection: &Connection, op: &OwnOp) -> Result<Outcome, StoreError> {
    match op {
        OwnOp::Insert(row) => insert(connection, row),
        OwnOp::Update { row, guard } => update(connection, row, guard),
        OwnOp::TakeLease { lease, now } => take_lease(connection, lease, now),
        OwnOp::ChangeLease(lease) => change_lease(connection, lease),
        OwnOp::HoldsLease { run_id, lease_id } => holds_lease(connection, run_id, lease_id),
        OwnOp::AppendEvent { id, run_id, task_id, body } => {
            append_event(connection, id, run_id.as_deref(), task_id.as_deref(), body)
        }
        OwnOp::PutFact { key, value } => put_fact(connection, key, value.as_deref()),
    }
}

fn insert(connection: &Connection, row: &OwnRow) -> Result<Outcome, StoreError> {
    let sql = format!(
        "INSERT INTO {} (id, run_id, task_id, parent_id, status, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        row.kind.table()
    );
    let inserted = connection.prepare_cached(&sql).and_then(|mut insert| {
        insert.execute((&row.id, &row.run_id, &row.task_id, &row.parent_id, &row.status, &row.body))
    });
    match inserted {
        Ok(_) => touch(connection, row.kind.name, &row.id, row.run_id.as_deref(), row.task_id.as_deref()),
        Err(error) if is_foreign_key(&error) => {
            Err(StoreError::RunNotFound(row.run_id.clone().unwrap_or_default()))
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(StoreError::RecordExists { kind: row.kind.name, id: row.id.clone() })
        }
        Err(error) => Err(StoreError::from_sql("inserting a record", &error)),
    }
}

fn is_foreign_key(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

fn update(connection: &Connection, row: &OwnRow, guard: &Guard) -> Result<Outcome, StoreError> {
    let (kind, id) = (row.kind, &row.id);
    if kind.insert_only {
        return Err(StoreError::malformed(format!("{} {id}", kind.name), "it is never changed once stored"));
    }
    let failed = StoreError::sql("updating a record");
    let stored: Option<(String, String)> = connection
        .prepare_cached(&format!("SELECT status, body FROM {} WHERE id = ?1", kind.table()))
        .and_then(|mut select| select.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(failed)?;
    let Some((status, body)) = stored else {
        return Err(StoreError::RecordNotFound { kind: kind.name, id: id.clone() });
    };
    let (holds, expected) = match guard {
        Guard::Status(expected) => (status == *expected, expected.clone()),
        Guard::Unchanged { read, normal } => {
            (body == *read || normal(&body).as_ref() == Some(read), "what was read".to_owned())
        }
    };
    if !holds {
        return Err(StoreError::StatusConflict { kind: kind.name, id: id.clone(), expected });
    }
    let sql = format!(
        "UPDATE {} SET run_id = ?2, task_id = ?3, parent_id = ?4, status = ?5, body = ?6 WHERE id = ?1",
        kind.table()
    );
    let updated = connection.prepare_cached(&sql).and_then(|mut update| {
        update.execute((id, &row.run_id, &row.task_id, &row.parent_id, &row.status, &row.body))
    });
    match updated {
        Ok(_) => touch(connection, kind.name, id, row.run_id.as_deref(), row.task_id.as_deref()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(StoreError::RecordExists { kind: kind.name, id: id.clone() })
        }
        Err(error) => Err(failed(error)),
    }
}

/// One statement decides: it inserts the run's first lease, or replaces one that is over or has run out.
fn take_lease(connection: &Connection, lease: &LeaseRow, now: &str) -> Result<Outcome, StoreError> {
    let taken = connection
        .prepare_cached(
            "INSERT INTO telic_leases (run_id, id, worker_id, status, expires_at, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (run_id) DO UPDATE SET id = excluded.id, worker_id = excluded.worker_id,
               status = excluded.status, expires_at = excluded.expires_at, body = excluded.body
             WHERE telic_leases.status <> 'HELD' OR telic_leases.expires_at <= ?7",
        )
        .and_then(|mut take| {
            take.execute((
                &lease.run_id,
                &lease.id,
                &lease.worker_id,
                &lease.status,
                &lease.expires_at,
                &lease.body,
                now,
            ))
        });
    match taken {
        Ok(1) => touch(connection, "lease", &lease.id, Some(&lease.run_id), None),
        Ok(_) => Err(StoreError::LeaseHeld { run_id: lease.run_id.clone() }),
        Err(error) if is_foreign_key(&error) => Err(StoreError::RunNotFound(lease.run_id.clone())),
        Err(error) => Err(StoreError::from_sql("taking a lease", &error)),
    }
}

fn change_lease(connection: &Connection, lease: &LeaseRow) -> Result<Outcome, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE telic_leases SET worker_id = ?3, status = ?4, expires_at = ?5, body = ?6
             WHERE run_id = ?1 AND id = ?2 AND status = 'HELD'",
        )
        .and_then(|mut update| {
            update.execute((
                &lease.run_id,
                &lease.id,
                &lease.worker_id,
                &lease.status,
                &lease.expires_at,
                &lease.body,
            ))
        })
        .map_err(StoreError::sql("changing a lease"))?;
    if changed == 1 {
        return touch(connection, "lease", &lease.id, Some(&lease.run_id), None);
    }
    Err(StoreError::LeaseLost { run_id: lease.run_id.clone(), lease_id: lease.id.clone() })
}

fn holds_lease(connection: &Connection, run_id: &str, lease_id: &str) -> Result<Outcome, StoreError> {
    let held: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM telic_leases WHERE run_id = ?1 AND id = ?2 AND status = 'HELD')",
        )
        .and_then(|mut select| select.query_row([run_id, lease_id], |row| row.get(0)))
        .map_err(StoreError::sql("checking a lease"))?;
    if held {
        return Ok(Outcome::Holds);
    }
    Err(StoreError::LeaseLost { run_id: run_id.to_owned(), lease_id: lease_id.to_owned() })
}

fn append_event(
    connection: &Connection,
    id: &str,
    run_id: Option<&str>,
    task_id: Option<&str>,
    body: &str,
) -> Result<Outcome, StoreError> {
    let failed = StoreError::sql("appending an event");
    let sequence: i64 = connection
        .prepare_cached(
            "INSERT INTO telic_events (id, run_id, task_id, body) VALUES (?1, ?2, ?3, ?4) RETURNING sequence",
        )
        .and_then(|mut insert| insert.query_row((id, run_id, task_id, body), |row| row.get(0)))
        .map_err(failed)?;
    touch(connection, "event", id, run_id, task_id)?;
    Ok(Outcome::Appended { sequence })
}

fn put_fact(connection: &Connection, key: &str, value: Option<&str>) -> Result<Outcome, StoreError> {
    let failed = StoreError::sql("storing a fact");
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO telic_facts (key, value) VALUES (?1, ?2)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )
            .and_then(|mut put| put.execute([key, value]))
            .map_err(failed)?,
        None => connection
            .prepare_cached("DELETE FROM telic_facts WHERE key = ?1")
            .and_then(|mut delete| delete.execute([key]))
            .map_err(failed)?,
    };
    touch(connection, "fact", key, None, None)
}

/// Notes for the feed that a record was written.
fn touch(
    connection: &Connection,
    kind: &str,
    id: &str,
    run_id: Option<&str>,
    task_id: Option<&str>,
) -> Result<Outcome, StoreError> {
    let failed = StoreError::sql("noting a change");
    let revision: i64 = connection
        .prepare_cached(
            "INSERT INTO telic_touched (kind, id, run_id, task_id) VALUES (?1, ?2, ?3, ?4) RETURNING revision",
        )
        .and_then(|mut insert| insert.query_row((kind, id, run_id, task_id), |row| row.get(0)))
        .map_err(failed)?;
    if revision % 512 == 0 {
        connection
            .prepare_cached("DELETE FROM telic_touched WHERE revision <= ?1")
            .and_then(|mut trim| trim.execute([revision - TOUCHED_KEPT]))
            .map_err(failed)?;
    }
    Ok(Outcome::Recorded)
}

fn read_row<T: Record>(row: &Row<'_>) -> rusqlite::Result<Result<T, StoreError>> {
    let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(serde_json::from_str(&body)
        .map_err(|error| StoreError::malformed(format!("{} {id}", T::KIND.name), error.to_string())))
}

impl Store {
    /// The record with this id.
    ///
    /// # Errors
    /// [`StoreError::RecordNotFound`]; [`StoreError::Malformed`] when the row cannot be read.
    pub fn record<T: Record>(&self, id: &str) -> Result<T, StoreError> {
        self.find_record(id)?
            .ok_or_else(|| StoreError::RecordNotFound { kind: T::KIND.name, id: id.to_owned() })
    }

    /// The record with this id, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when the row cannot be read.
    pub fn find_record<T: Record>(&self, id: &str) -> Result<Option<T>, StoreError> {
        Ok(self.select("WHERE id = ?1", (id,))?.pop())
    }

    /// The records of a run, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_of_run<T: Record>(&self, run_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE run_id = ?1 ORDER BY position", (run_id,))
    }

    /// The record of a run that was inserted last.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn latest_of_run<T: Record>(&self, run_id: &str) -> Result<Option<T>, StoreError> {
        Ok(self.select("WHERE run_id = ?1 ORDER BY position DESC LIMIT 1", (run_id,))?.pop())
    }

    /// The records of a task, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_of_task<T: Record>(&self, task_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE task_id = ?1 ORDER BY position", (task_id,))
    }

    /// The records that hang under this one, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_under<T: Record>(&self, parent_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE parent_id = ?1 ORDER BY position", (parent_id,))
    }

    /// The records with one of these statuses, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_with_status<T: Record>(&self, statuses: &[&str]) -> Result<Vec<T>, StoreError> {
        let statuses = serde_json::Value::from(statuses).to_string();
        self.select("WHERE status IN (SELECT value FROM json_each(?1)) ORDER BY position", (statuses,))
    }

    /// The records that were inserted last, newest first, after skipping `offset` of them.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn latest_records<T: Record>(&self, offset: u32, limit: u32) -> Result<Vec<T>, StoreError> {
        self.select("ORDER BY position DESC LIMIT ?1 OFFSET ?2", (limit, offset))
    }

    fn select<T: Record>(&self, tail: &str, params: impl rusqlite::Params) -> Result<Vec<T>, StoreError> {
        let failed = StoreError::sql("reading records");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT id, body FROM {} {tail}", T::KIND.table());
        let mut select = reader.prepare_cached(&sql).map_err(failed)?;
        let rows = select.query_map(params, read_row).map_err(failed)?;
        rows.map(|row| row.map_err(failed)?).collect()
    }

    /// The events of the supervision after a place in the global order, ascending, at most `limit`, as JSON with
    /// their sequences; those of one run only when `run_id` is given.
    pub(super) fn event_bodies(
        &self,
        after: i64,
        limit: u32,
        run_id: Option<&str>,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let failed = StoreError::sql("reading events");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let filter = if run_id.is_some() { "run_id = ?3" } else { "?3 IS NULL" };
        let sql = format!(
            "SELECT sequence, body FROM telic_events WHERE sequence > ?1 AND {filter} ORDER BY sequence LIMIT ?2"
        );
        let mut select = reader.prepare_cached(&sql).map_err(failed)?;
        let rows =
            select.query_map((after, limit, run_id), |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
        rows.map(|row| row.map_err(failed)).collect()
    }

    /// The body of a run's current lease, and of every lease still held that ran out by `now`.
    pub(super) fn lease_bodies(&self, filter: &str, value: &str) -> Result<Vec<String>, StoreError> {
        let failed = StoreError::sql("reading leases");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let mut select = reader
            .prepare_cached(&format!("SELECT body FROM telic_leases WHERE {filter}"))
            .map_err(failed)?;
        let rows = select.query_map([value], |row| row.get(0)).map_err(failed)?;
        rows.map(|row| row.map_err(failed)).collect()
    }

    /// A small fact stored under this key.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn fact(&self, key: &str) -> Result<Option<String>, StoreError> {
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(None);
        }
        reader
            .prepare_cached("SELECT value FROM telic_facts WHERE key = ?1")
            .and_then(|mut select| select.query_row([key], |row| row.get(0)).optional())
            .map_err(StoreError::sql("reading a fact"))
    }
}
