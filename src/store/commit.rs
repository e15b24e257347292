//! Carrying out a [`Change`]: blobs first, then one transaction (`store.md` 7).

use rusqlite::{Connection, ErrorCode};

use crate::text::units;

use super::blobs::Durability;
use super::canonical_json::canonical;
use super::change::{Change, Committed, Op, Outcome, Quota};
use super::journal::{self, JOURNAL_LIMIT};
use super::own_write;
use super::read::{count_artifacts, find_artifact, find_run, last_sequence};
use super::records::{
    ARTIFACTS_PER_RUN, ArtifactRecord, EVENTS_PER_RUN, NewArtifact, NewEvent, RunRecord, SUMMARY_LIMIT,
    is_timestamp,
};
use super::{Core, Digest, Store, StoreError};

impl Store {
    /// Commits a change: all of its operations in one transaction, or none.
    ///
    /// Bodies are written before the lock is taken and are durable when this returns; a refusal leaves at most
    /// an unreferenced blob behind.
    ///
    /// # Errors
    /// [`StoreError::ConcurrentUpdate`] when a version guard fails; [`StoreError::ArtifactExists`],
    /// [`StoreError::ReplayConflict`], [`StoreError::Quota`], [`StoreError::ArtifactLimit`],
    /// [`StoreError::TraceLimit`], [`StoreError::RunExists`], [`StoreError::RunNotFound`] by the operation's rules;
    /// [`StoreError::Malformed`] for a value the ledger must not hold; [`StoreError::Locked`] after 5 s.
    pub fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        let core = self.core();
        if core.writer.is_none() {
            return Err(StoreError::ReadOnly);
        }
        let mut journalled = false;
        for artifact in change.ops.iter().filter_map(artifact_of) {
            let body = &artifact.body;
            let large = body.text().len() > JOURNAL_LIMIT;
            let durability = if large { Durability::Synced } else { Durability::Visible };
            core.blobs.put(&body.digest(), body.text().as_bytes(), durability)?;
            journalled |= !large;
        }
        let outcomes = core.write("writing to the ledger", |transaction| {
            change.ops.iter().map(|op| apply(core, transaction, op)).collect::<Result<_, _>>()
        })?;
        if journalled {
            self.journal_grew();
        }
        Ok(Committed { outcomes })
    }
}

fn artifact_of(op: &Op) -> Option<&NewArtifact> {
    match op {
        Op::InsertArtifact(artifact)
        | Op::InsertInitialArtifact(artifact)
        | Op::Supporting { artifact, .. } => Some(artifact),
        _ => None,
    }
}

fn apply(core: &Core, connection: &Connection, op: &Op) -> Result<Outcome, StoreError> {
    match op {
        Op::InsertRun(run) => insert_run(connection, run),
        Op::UpdateRun { expected_version, run } => update_run(connection, *expected_version, run),
        Op::InsertInitialArtifact(artifact) => insert_artifact(connection, artifact).map(Outcome::Stored),
        Op::InsertArtifact(artifact) => {
            check_slot(connection, artifact)?;
            insert_artifact(connection, artifact).map(Outcome::Stored)
        }
        Op::AppendEvent(event) => append_event(connection, event),
        Op::AppendEventOnce(event) => {
            if has_equal_event(connection, event)? {
                Ok(Outcome::AlreadyThere)
            } else {
                append_event(connection, event)
            }
        }
        Op::Supporting { artifact, quota, event } => {
            supporting(core, connection, artifact, quota.as_ref(), event)
        }
        Op::Own(op) => own_write::apply(connection, op),
    }
}

fn check_time(what: &str, text: &str) -> Result<(), StoreError> {
    if is_timestamp(text) {
        Ok(())
    } else {
        Err(StoreError::malformed(what, "its time has not three fraction digits"))
    }
}

fn insert_run(connection: &Connection, run: &RunRecord) -> Result<Outcome, StoreError> {
    check_time("run", &run.created_at)?;
    check_time("run", &run.updated_at)?;
    let inserted = connection
        .prepare_cached(
            "INSERT INTO runs (run_id, schema_version, repository_root, requested_mode, status, phase, resume_phase,
             version, prompt_revisions_remaining, remediations_remaining, outcome_hint, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )
        .and_then(|mut insert| {
            insert.execute((
                &run.run_id,
                &run.schema_version,
                &run.repository_root,
                &run.requested_mode,
                &run.status,
                &run.phase,
                &run.resume_phase,
                run.version,
                run.prompt_revisions_remaining,
                run.remediations_remaining,
                &run.outcome_hint,
                &run.created_at,
                &run.updated_at,
            ))
        });
    match inserted {
        Ok(_) => Ok(Outcome::Run { version: run.version }),
        Err(error) if is_constraint(&error) => Err(StoreError::RunExists(run.run_id.clone())),
        Err(error) => Err(StoreError::from_sql("inserting a run", &error)),
    }
}

/// The guarded update of `store.md` 7: exactly one row, or nothing of the change happens.
fn update_run(connection: &Connection, expected: i64, run: &RunRecord) -> Result<Outcome, StoreError> {
    check_time("run", &run.updated_at)?;
    let changed = connection
        .prepare_cached(
            "UPDATE runs SET status = ?3, phase = ?4, resume_phase = ?5, version = ?2 + 1,
             prompt_revisions_remaining = ?6, remediations_remaining = ?7, outcome_hint = ?8, updated_at = ?9
             WHERE run_id = ?1 AND version = ?2",
        )
        .and_then(|mut update| {
            update.execute((
                &run.run_id,
                expected,
                &run.status,
                &run.phase,
                &run.resume_phase,
                run.prompt_revisions_remaining,
                run.remediations_remaining,
                &run.outcome_hint,
                &run.updated_at,
            ))
        })
        .map_err(StoreError::sql("updating a run"))?;
    if changed == 1 {
        return Ok(Outcome::Run { version: expected + 1 });
    }
    match find_run(connection, &run.run_id)? {
        None => Err(StoreError::RunNotFound(run.run_id.clone())),
        Some(_) => Err(StoreError::ConcurrentUpdate { run_id: run.run_id.clone(), expected }),
    }
}

/// The id is free and the run not full (`store.md` 6, C-SB-22).
fn check_slot(connection: &Connection, artifact: &NewArtifact) -> Result<(), StoreError> {
    if find_artifact(connection, &artifact.run_id, &artifact.artifact_id)?.is_some() {
        return Err(exists(artifact));
    }
    if count_artifacts(connection, &artifact.run_id)? >= ARTIFACTS_PER_RUN {
        return Err(StoreError::ArtifactLimit { run_id: artifact.run_id.clone(), limit: ARTIFACTS_PER_RUN });
    }
    Ok(())
}

fn exists(artifact: &NewArtifact) -> StoreError {
    StoreError::ArtifactExists { run_id: artifact.run_id.clone(), artifact_id: artifact.artifact_id.clone() }
}

fn refs_json(refs: &[String]) -> Result<String, StoreError> {
    Ok(canonical(&refs.into())?)
}

fn insert_artifact(connection: &Connection, artifact: &NewArtifact) -> Result<ArtifactRecord, StoreError> {
    check_time("artifact", &artifact.created_at)?;
    let digest = artifact.body.digest();
    let record = ArtifactRecord {
        artifact_id: artifact.artifact_id.clone(),
        run_id: artifact.run_id.clone(),
        kind: artifact.kind.clone(),
        schema_version: artifact.schema_version.clone(),
        producer: artifact.producer.clone(),
        sha256: digest.to_string(),
        source_refs: artifact.source_refs.clone(),
        redaction: artifact.redaction.clone(),
        created_at: artifact.created_at.clone(),
    };
    let refs = refs_json(&record.source_refs)?;
    let inserted = connection
        .prepare_cached(
            "INSERT INTO artifacts (artifact_id, run_id, type, schema_version, producer, sha256, source_refs_json,
             redaction, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )
        .and_then(|mut insert| {
            insert.execute((
                &record.artifact_id,
                &record.run_id,
                &record.kind,
                &record.schema_version,
                &record.producer,
                &record.sha256,
                &refs,
                &record.redaction,
                &record.created_at,
            ))
        });
    match inserted {
        Ok(_) => {}
        Err(error) if is_constraint(&error) => {
            return Err(match find_run(connection, &artifact.run_id)? {
                None => StoreError::RunNotFound(artifact.run_id.clone()),
                Some(_) => exists(artifact),
            });
        }
        Err(error) => return Err(StoreError::from_sql("inserting an artifact", &error)),
    }
    if artifact.body.text().len() <= JOURNAL_LIMIT {
        journal::record(connection, &digest, artifact.body.text())?;
    }
    Ok(record)
}

fn decision_json(event: &NewEvent) -> Result<Option<String>, StoreError> {
    Ok(event.permission_decision.as_ref().map(canonical).transpose()?)
}

fn append_event(connection: &Connection, event: &NewEvent) -> Result<Outcome, StoreError> {
    check_time("event", &event.timestamp)?;
    let length = units(&event.decision_summary);
    if length == 0 || length > SUMMARY_LIMIT {
        let detail = format!("its summary has {length} UTF-16 units; 1 to {SUMMARY_LIMIT} are allowed");
        return Err(StoreError::malformed("event", detail));
    }
    let last = last_sequence(connection, &event.run_id)?;
    // There are at most as many rows as the greatest sequence says, so counting is needed only near the limit.
    if last >= EVENTS_PER_RUN && count_events(connection, &event.run_id)? >= EVENTS_PER_RUN {
        return Err(StoreError::TraceLimit { run_id: event.run_id.clone(), limit: EVENTS_PER_RUN });
    }
    let inserted = connection
        .prepare_cached(
            "INSERT INTO trace_events (event_id, run_id, sequence, timestamp, actor, phase, event_type,
             input_refs_json, output_refs_json, permission_decision_json, decision_summary, budget_snapshot_json)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )
        .map_err(StoreError::sql("appending an event"))?
        .execute((
            &event.event_id,
            &event.run_id,
            last + 1,
            &event.timestamp,
            &event.actor,
            &event.phase,
            &event.event_type,
            refs_json(&event.input_refs)?,
            refs_json(&event.output_refs)?,
            decision_json(event)?,
            &event.decision_summary,
            event.budget_snapshot.to_json(),
        ));
    match inserted {
        Ok(_) => Ok(Outcome::Appended { sequence: last + 1 }),
        Err(error) if is_constraint(&error) && find_run(connection, &event.run_id)?.is_none() => {
            Err(StoreError::RunNotFound(event.run_id.clone()))
        }
        Err(error) => Err(StoreError::from_sql("appending an event", &error)),
    }
}

fn count_events(connection: &Connection, run_id: &str) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT count(*) FROM trace_events WHERE run_id = ?1")
        .and_then(|mut select| select.query_row([run_id], |row| row.get(0)))
        .map_err(StoreError::sql("counting events"))
}

/// Equality of events for the once-only append (`store.md` 7): time, id, sequence and budgets do not count.
fn has_equal_event(connection: &Connection, event: &NewEvent) -> Result<bool, StoreError> {
    let failed = StoreError::sql("looking for an equal event");
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM trace_events WHERE run_id = ?1 AND actor = ?2 AND phase = ?3
             AND event_type = ?4 AND input_refs_json = ?5 AND output_refs_json = ?6
             AND coalesce(permission_decision_json, '') = ?7 AND decision_summary = ?8)",
        )
        .map_err(failed)?
        .query_row(
            (
                &event.run_id,
                &event.actor,
                &event.phase,
                &event.event_type,
                refs_json(&event.input_refs)?,
                refs_json(&event.output_refs)?,
                decision_json(event)?.unwrap_or_default(),
                &event.decision_summary,
            ),
            |row| row.get(0),
        )
        .map_err(failed)
}

/// Replay check, slot check, quota check, row, event, in this order (`store.md` 7; C-EV-10 to 12, C-SS-6, 7).
fn supporting(
    core: &Core,
    connection: &Connection,
    artifact: &NewArtifact,
    quota: Option<&Quota>,
    event: &NewEvent,
) -> Result<Outcome, StoreError> {
    if let Some(stored) = find_artifact(connection, &artifact.run_id, &artifact.artifact_id)? {
        let same = stored.kind == artifact.kind
            && stored.schema_version == artifact.schema_version
            && stored.producer == artifact.producer
            && stored.digest()? == artifact.body.digest()
            && stored.source_refs == artifact.source_refs
            && stored.redaction == artifact.redaction;
        if same {
            return Ok(Outcome::Replayed(stored));
        }
        let (run_id, artifact_id) = (artifact.run_id.clone(), artifact.artifact_id.clone());
        return Err(StoreError::ReplayConflict { run_id, artifact_id });
    }
    check_slot(connection, artifact)?;
    if let Some(quota) = quota {
        check_quota(core, connection, artifact, quota)?;
    }
    let stored = insert_artifact(connection, artifact)?;
    append_event(connection, event)?;
    Ok(Outcome::Stored(stored))
}

fn check_quota(
    core: &Core,
    connection: &Connection,
    artifact: &NewArtifact,
    quota: &Quota,
) -> Result<(), StoreError> {
    let (held, limit) = match quota {
        Quota::AfterLatest { after, limit } => (held_after(connection, artifact, after)?, *limit),
        Quota::WithField { field, value, limit } => {
            (held_with(core, connection, artifact, field, value)?, *limit)
        }
    };
    if held < limit {
        return Ok(());
    }
    Err(StoreError::Quota { run_id: artifact.run_id.clone(), kind: artifact.kind.clone(), limit })
}

fn held_after(connection: &Connection, artifact: &NewArtifact, after: &str) -> Result<u64, StoreError> {
    let failed = StoreError::sql("checking a quota");
    let latest: Option<i64> = connection
        .prepare_cached("SELECT max(rowid) FROM artifacts WHERE run_id = ?1 AND type = ?2")
        .and_then(|mut select| select.query_row([&artifact.run_id, after], |row| row.get(0)))
        .map_err(failed)?;
    let Some(latest) = latest else {
        return Err(StoreError::malformed(
            format!("run {}", artifact.run_id),
            format!("it has no {after} yet"),
        ));
    };
    let held: i64 = connection
        .prepare_cached("SELECT count(*) FROM artifacts WHERE run_id = ?1 AND type = ?2 AND rowid > ?3")
        .and_then(|mut select| select.query_row((&artifact.run_id, &artifact.kind, latest), |row| row.get(0)))
        .map_err(failed)?;
    Ok(u64::try_from(held).unwrap_or(0))
}

fn held_with(
    core: &Core,
    connection: &Connection,
    artifact: &NewArtifact,
    field: &str,
    value: &str,
) -> Result<u64, StoreError> {
    let failed = StoreError::sql("checking a quota");
    let mut select = connection
        .prepare_cached("SELECT sha256 FROM artifacts WHERE run_id = ?1 AND type = ?2")
        .map_err(failed)?;
    let rows = select
        .query_map([&artifact.run_id, &artifact.kind], |row| row.get::<_, String>(0))
        .map_err(failed)?;
    let mut held = 0;
    for row in rows {
        let body = core.bodies.value(&Digest::parse(&row.map_err(failed)?)?)?;
        held += u64::from(body.get(field).and_then(|found| found.as_str()) == Some(value));
    }
    Ok(held)
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}
