//! Writing telic's own records, inside the transaction of a change.

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::StoreError;
use super::change::Outcome;
use super::own::{Guard, LeaseRow, OwnOp, OwnRow};

/// Rows of `telic_touched` that are kept for feeds that are behind.
const TOUCHED_KEPT: i64 = 16_384;

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
