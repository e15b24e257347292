//! Typed reads of the workflow's three tables (`store.md` 8).
//!
//! Order is decided here and nowhere else: artifacts in ledger order, runs by their last change, events by sequence.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use super::connection::Shape;
use super::records::{
    ArtifactRecord, BudgetSnapshot, EVENTS_PER_RUN, EventRecord, Listing, RunRecord, SCHEMA_VERSION,
};
use super::{Store, StoreError};

const RUN_COLUMNS: &str =
    "run_id, schema_version, repository_root, requested_mode, status, phase, resume_phase,
    version, prompt_revisions_remaining, remediations_remaining, outcome_hint, created_at, updated_at";
const ARTIFACT_COLUMNS: &str =
    "artifact_id, run_id, type, schema_version, producer, sha256, source_refs_json, redaction, created_at";

/// A place in the list of runs; the next page starts after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCursor {
    updated_at: String,
    run_id: String,
}

impl RunCursor {
    /// The place of `run` in the list.
    #[must_use]
    pub fn of(run: &RunRecord) -> Self {
        Self { updated_at: run.updated_at.clone(), run_id: run.run_id.clone() }
    }
}

/// A run and what was added to it, all of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSince {
    /// The run.
    pub run: RunRecord,
    /// The artifacts after the one named, in ledger order.
    pub artifacts: Vec<ArtifactRecord>,
    /// The events after the sequence named, ascending.
    pub events: Vec<EventRecord>,
}

impl Store {
    /// A run with the artifacts added after `artifact` and the events after `sequence`, read at one moment: what
    /// another program commits meanwhile is in all three or in none.
    ///
    /// # Errors
    /// As [`Store::run`], [`Store::artifacts_after`] and [`Store::events`].
    pub fn run_since(
        &self,
        run_id: &str,
        artifact: Option<&str>,
        sequence: i64,
    ) -> Result<RunSince, StoreError> {
        let failed = StoreError::sql("reading a run");
        let reader = self.core().readers.take()?;
        let moment = reader.unchecked_transaction().map_err(failed)?;
        let run = find_run(&moment, run_id)?.ok_or_else(|| StoreError::RunNotFound(run_id.to_owned()))??;
        let artifacts = list_artifacts(&moment, run_id, artifact)?;
        let events = list_events(&moment, reader.shape(), run_id, sequence, EVENTS_PER_RUN)?;
        moment.finish().map_err(failed)?;
        Ok(RunSince { run, artifacts, events })
    }

    /// One run.
    ///
    /// # Errors
    /// [`StoreError::RunNotFound`]; [`StoreError::Malformed`] when its schema version is not 1.0.
    pub fn run(&self, run_id: &str) -> Result<RunRecord, StoreError> {
        find_run(&*self.core().readers.take()?, run_id)?
            .ok_or_else(|| StoreError::RunNotFound(run_id.to_owned()))?
    }

    /// The runs that changed last, at most `limit`, latest first.
    ///
    /// # Errors
    /// When the ledger cannot be read. A row that cannot be read is listed apart and hides no other.
    pub fn runs(&self, limit: u32) -> Result<Listing<RunRecord>, StoreError> {
        self.runs_after(None, limit)
    }

    /// The next page of runs after `cursor` ([`RunCursor::of`] the last one), latest first.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn runs_after(
        &self,
        cursor: Option<&RunCursor>,
        limit: u32,
    ) -> Result<Listing<RunRecord>, StoreError> {
        let failed = StoreError::sql("listing runs");
        let reader = self.core().readers.take()?;
        // Text is above every cursor's text and id when there is none to start after.
        let (filter, updated, id) = match cursor {
            None => ("?1 IS NULL AND ?2 IS NULL", None, None),
            Some(cursor) => (
                "(updated_at < ?1 OR (updated_at = ?1 AND run_id > ?2))",
                Some(&cursor.updated_at),
                Some(&cursor.run_id),
            ),
        };
        let sql = format!(
            "SELECT {RUN_COLUMNS} FROM runs WHERE {filter} ORDER BY updated_at DESC, run_id ASC LIMIT ?3"
        );
        let mut select = reader.prepare_cached(&sql).map_err(failed)?;
        let mut rows = select.query((updated, id, limit)).map_err(failed)?;
        let mut listing = Listing { items: Vec::new(), refused: Vec::new() };
        while let Some(row) = rows.next().map_err(failed)? {
            match run_row(row).map_err(failed)? {
                Ok(run) => listing.items.push(run),
                Err(error) => listing.refused.push((row.get(0).map_err(failed)?, error)),
            }
        }
        Ok(listing)
    }

    /// Every run, latest first, read in pages.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn all_runs(&self) -> Result<Listing<RunRecord>, StoreError> {
        self.runs_after(None, u32::MAX)
    }

    /// The artifacts of a run in ledger order.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row is.
    pub fn artifacts(&self, run_id: &str) -> Result<Vec<ArtifactRecord>, StoreError> {
        list_artifacts(&*self.core().readers.take()?, run_id, None)
    }

    /// The artifacts of a run that were added after the one with id `after` (all of them without it), in ledger order.
    ///
    /// # Errors
    /// [`StoreError::ArtifactNotFound`] when `after` is not in the run (any more).
    pub fn artifacts_after(
        &self,
        run_id: &str,
        after: Option<&str>,
    ) -> Result<Vec<ArtifactRecord>, StoreError> {
        list_artifacts(&*self.core().readers.take()?, run_id, after)
    }

    /// The metadata of one artifact.
    ///
    /// # Errors
    /// [`StoreError::ArtifactNotFound`].
    pub fn artifact(&self, run_id: &str, artifact_id: &str) -> Result<ArtifactRecord, StoreError> {
        find_artifact(&*self.core().readers.take()?, run_id, artifact_id)?.ok_or_else(|| {
            StoreError::ArtifactNotFound { run_id: run_id.to_owned(), artifact_id: artifact_id.to_owned() }
        })
    }

    /// How many artifacts a run holds.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn artifact_count(&self, run_id: &str) -> Result<i64, StoreError> {
        count_artifacts(&*self.core().readers.take()?, run_id)
    }

    /// The events of a run with a sequence greater than `after_sequence`, ascending, at most `limit` (1 to 10,000).
    ///
    /// # Errors
    /// [`StoreError::Malformed`] for a limit out of range or a malformed row.
    pub fn events(
        &self,
        run_id: &str,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<EventRecord>, StoreError> {
        if limit == 0 || i64::from(limit) > EVENTS_PER_RUN || after_sequence < 0 {
            return Err(StoreError::malformed("events", "the cursor or the limit is out of range"));
        }
        let reader = self.core().readers.take()?;
        list_events(&reader, reader.shape(), run_id, after_sequence, i64::from(limit))
    }

    /// The greatest event sequence of a run, 0 without events.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn last_event_sequence(&self, run_id: &str) -> Result<i64, StoreError> {
        last_sequence(&*self.core().readers.take()?, run_id)
    }
}

pub(super) fn last_sequence(connection: &Connection, run_id: &str) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT coalesce(max(sequence), 0) FROM trace_events WHERE run_id = ?1")
        .and_then(|mut select| select.query_row([run_id], |row| row.get(0)))
        .map_err(StoreError::sql("reading events"))
}

pub(super) fn count_artifacts(connection: &Connection, run_id: &str) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT count(*) FROM artifacts WHERE run_id = ?1")
        .and_then(|mut select| select.query_row([run_id], |row| row.get(0)))
        .map_err(StoreError::sql("counting artifacts"))
}

type Found<T> = Option<Result<T, StoreError>>;

pub(super) fn find_run(connection: &Connection, run_id: &str) -> Result<Found<RunRecord>, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?1"))
        .and_then(|mut select| select.query_row([run_id], run_row).optional())
        .map_err(StoreError::sql("reading a run"))
}

pub(super) fn find_artifact(
    connection: &Connection,
    run_id: &str,
    artifact_id: &str,
) -> Result<Option<ArtifactRecord>, StoreError> {
    connection
        .prepare_cached(&format!(
            "SELECT {ARTIFACT_COLUMNS} FROM artifacts WHERE run_id = ?1 AND artifact_id = ?2"
        ))
        .and_then(|mut select| select.query_row([run_id, artifact_id], artifact_row).optional())
        .map_err(StoreError::sql("reading an artifact"))?
        .transpose()
}

fn list_artifacts(
    connection: &Connection,
    run_id: &str,
    after: Option<&str>,
) -> Result<Vec<ArtifactRecord>, StoreError> {
    let failed = StoreError::sql("listing artifacts");
    // Ledger order is row order (`store.md` 8). The place is looked up anew each time, for a vacuum renumbers rows.
    let from = match after {
        None => None,
        Some(after) => Some(
            connection
                .prepare_cached("SELECT rowid FROM artifacts WHERE run_id = ?1 AND artifact_id = ?2")
                .and_then(|mut select| {
                    select.query_row([run_id, after], |row| row.get::<_, i64>(0)).optional()
                })
                .map_err(failed)?
                .ok_or_else(|| StoreError::ArtifactNotFound {
                    run_id: run_id.to_owned(),
                    artifact_id: after.to_owned(),
                })?,
        ),
    };
    let sql =
        format!("SELECT {ARTIFACT_COLUMNS} FROM artifacts WHERE run_id = ?1 AND rowid > ?2 ORDER BY rowid");
    let mut select = connection.prepare_cached(&sql).map_err(failed)?;
    let rows = select.query_map((run_id, from.unwrap_or(i64::MIN)), artifact_row).map_err(failed)?;
    let mut artifacts = Vec::new();
    for row in rows {
        artifacts.push(row.map_err(failed)??);
    }
    Ok(artifacts)
}

fn list_events(
    connection: &Connection,
    shape: Shape,
    run_id: &str,
    after_sequence: i64,
    limit: i64,
) -> Result<Vec<EventRecord>, StoreError> {
    let failed = StoreError::sql("reading events");
    // A ledger that was not upgraded yet has no decisions (`store.md` 3.4).
    let decisions = if shape.decisions { "permission_decision_json" } else { "NULL" };
    let sql = format!(
        "SELECT event_id, run_id, sequence, timestamp, actor, phase, event_type, input_refs_json,
                output_refs_json, {decisions}, decision_summary, budget_snapshot_json
         FROM trace_events WHERE run_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
    );
    let mut select = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = select.query((run_id, after_sequence, limit)).map_err(failed)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        events.push(event_row(row).map_err(failed)??);
    }
    Ok(events)
}

fn budget(row: &Row<'_>, at: usize) -> rusqlite::Result<u8> {
    row.get::<_, i64>(at).map(|value| u8::try_from(value).unwrap_or(u8::MAX))
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<Result<RunRecord, StoreError>> {
    let run = RunRecord {
        run_id: row.get(0)?,
        schema_version: row.get(1)?,
        repository_root: row.get(2)?,
        requested_mode: row.get(3)?,
        status: row.get(4)?,
        phase: row.get(5)?,
        resume_phase: row.get(6)?,
        version: row.get(7)?,
        prompt_revisions_remaining: budget(row, 8)?,
        remediations_remaining: budget(row, 9)?,
        outcome_hint: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    };
    if run.schema_version == SCHEMA_VERSION {
        return Ok(Ok(run));
    }
    let detail = format!("its schema version is {}, not {SCHEMA_VERSION}", run.schema_version);
    Ok(Err(StoreError::malformed(format!("run {}", run.run_id), detail)))
}

fn artifact_row(row: &Row<'_>) -> rusqlite::Result<Result<ArtifactRecord, StoreError>> {
    let refs: String = row.get(6)?;
    let artifact = ArtifactRecord {
        artifact_id: row.get(0)?,
        run_id: row.get(1)?,
        kind: row.get(2)?,
        schema_version: row.get(3)?,
        producer: row.get(4)?,
        sha256: row.get(5)?,
        source_refs: Vec::new(),
        redaction: row.get(7)?,
        created_at: row.get(8)?,
    };
    Ok(match serde_json::from_str(&refs) {
        Ok(source_refs) => Ok(ArtifactRecord { source_refs, ..artifact }),
        Err(error) => Err(StoreError::malformed(
            format!("artifact {}", artifact.artifact_id),
            format!("source refs: {error}"),
        )),
    })
}

fn event_row(row: &Row<'_>) -> rusqlite::Result<Result<EventRecord, StoreError>> {
    let (inputs, outputs): (String, String) = (row.get(7)?, row.get(8)?);
    let (decision, budgets): (Option<String>, String) = (row.get(9)?, row.get(11)?);
    let event = EventRecord {
        event_id: row.get(0)?,
        run_id: row.get(1)?,
        sequence: row.get(2)?,
        timestamp: row.get(3)?,
        actor: row.get(4)?,
        phase: row.get(5)?,
        event_type: row.get(6)?,
        input_refs: Vec::new(),
        output_refs: Vec::new(),
        permission_decision: None,
        decision_summary: row.get(10)?,
        budget_snapshot: BudgetSnapshot { prompt_revisions_remaining: 0, remediations_remaining: 0 },
    };
    Ok(event_json(event, &inputs, &outputs, decision.as_deref(), &budgets))
}

fn event_json(
    mut event: EventRecord,
    inputs: &str,
    outputs: &str,
    decision: Option<&str>,
    budgets: &str,
) -> Result<EventRecord, StoreError> {
    let malformed = |column: &str| {
        StoreError::malformed(
            format!("event {} of run {}", event.sequence, event.run_id),
            format!("its {column}"),
        )
    };
    let refs = |text: &str, column| serde_json::from_str::<Vec<String>>(text).map_err(|_| malformed(column));
    let (input_refs, output_refs) = (refs(inputs, "input references")?, refs(outputs, "output references")?);
    // NULL and empty text both mean none (`store.md` 3.2).
    let permission_decision = match decision {
        None | Some("") => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|_| malformed("permission decision"))?),
    };
    let budgets: Value = serde_json::from_str(budgets).map_err(|_| malformed("budget snapshot"))?;
    let budget = |name: &str| {
        budgets
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|value| u8::try_from(value).ok())
            .ok_or_else(|| malformed("budget snapshot"))
    };
    event.budget_snapshot = BudgetSnapshot {
        prompt_revisions_remaining: budget("promptRevisionsRemaining")?,
        remediations_remaining: budget("postExecutionRemediationsRemaining")?,
    };
    event.input_refs = input_refs;
    event.output_refs = output_refs;
    event.permission_decision = permission_decision;
    Ok(event)
}
