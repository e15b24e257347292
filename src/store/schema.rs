//! The ledger's tables: creating them, upgrading older ledgers, and telic's own additions (`store.md` 3, 9).
//!
//! The three tables of the protocol are shared with other programs and stay exactly as the chapter has them.
//! Everything of ours has the prefix `telic_`; its version stands in `telic_meta`.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::StoreError;
use super::connection::patiently;

/// The version of telic's own tables.
const VERSION: i64 = 1;

const ARTIFACTS: &str = "
CREATE TABLE IF NOT EXISTS artifacts (
  artifact_id TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  type TEXT NOT NULL,
  schema_version TEXT NOT NULL,
  producer TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  source_refs_json TEXT NOT NULL,
  redaction TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (run_id, artifact_id)
) STRICT;";

const SHARED: &str = "
CREATE TABLE IF NOT EXISTS runs (
  run_id TEXT PRIMARY KEY,
  schema_version TEXT NOT NULL,
  repository_root TEXT NOT NULL,
  requested_mode TEXT NOT NULL,
  status TEXT NOT NULL,
  phase TEXT NOT NULL,
  resume_phase TEXT,
  version INTEGER NOT NULL,
  prompt_revisions_remaining INTEGER NOT NULL CHECK (prompt_revisions_remaining >= 0),
  remediations_remaining INTEGER NOT NULL CHECK (remediations_remaining >= 0),
  outcome_hint TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS trace_events (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  sequence INTEGER NOT NULL,
  timestamp TEXT NOT NULL,
  actor TEXT NOT NULL,
  phase TEXT NOT NULL,
  event_type TEXT NOT NULL,
  input_refs_json TEXT NOT NULL,
  output_refs_json TEXT NOT NULL,
  permission_decision_json TEXT,
  decision_summary TEXT NOT NULL,
  budget_snapshot_json TEXT NOT NULL,
  UNIQUE (run_id, sequence)
) STRICT;";

const SHARED_INDEXES: &str = "
CREATE INDEX IF NOT EXISTS artifacts_run_idx ON artifacts (run_id, created_at);
CREATE INDEX IF NOT EXISTS events_run_idx ON trace_events (run_id, sequence);";

/// An index on `run_id` alone keeps its entries in row order, which is ledger order.
const OWN: &str = "
CREATE INDEX IF NOT EXISTS telic_artifacts_order_idx ON artifacts (run_id);
CREATE INDEX IF NOT EXISTS telic_artifacts_type_idx ON artifacts (run_id, type);
CREATE INDEX IF NOT EXISTS telic_runs_updated_idx ON runs (updated_at DESC, run_id);
CREATE TABLE IF NOT EXISTS telic_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS telic_blob_journal (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;";

const CONTEXT: &str = "preparing the ledger's tables";

/// Creates what is missing and upgrades what is old, in one transaction; writes nothing when all is there.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    // An older program must not write what a newer one gave a meaning it does not know.
    if let Some(found) = patiently(CONTEXT, || own_version(connection))?.filter(|found| *found > VERSION) {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    if patiently(CONTEXT, || is_current(connection))? {
        return Ok(());
    }
    patiently(CONTEXT, || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !is_current(&transaction)? {
            transaction.execute_batch(SHARED)?;
            transaction.execute_batch(ARTIFACTS)?;
            upgrade(&transaction)?;
            transaction.execute_batch(SHARED_INDEXES)?;
            transaction.execute_batch(OWN)?;
            transaction.execute_batch(&super::own_tables::statements())?;
            transaction.execute(
                "INSERT INTO telic_meta (key, value) VALUES ('version', ?1)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [VERSION.to_string()],
            )?;
        }
        transaction.commit()
    })
}

/// What [`prepare`] would do to this ledger, in words.
pub(super) fn pending(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut steps = Vec::new();
    if is_current(connection)? {
        return Ok(steps);
    }
    let there: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'trace_events')
            AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'artifacts')",
        [],
        |row| row.get(0),
    )?;
    if !there {
        steps.push("create the tables");
    } else if !has_decisions(connection)? {
        steps.push("add the column for permission decisions to the trace");
    }
    if has_global_ids(connection)? {
        steps.push("make artifact ids unique per run instead of over all runs");
    }
    if own_version(connection)?.is_none_or(|version| version < VERSION) {
        steps.push("add telic's own tables and indexes");
    }
    if steps.is_empty() {
        steps.push("create missing indexes again");
    }
    Ok(steps)
}

/// The indexes and columns an up-to-date ledger has.
fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let objects: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs', 'artifacts', 'trace_events',
         'artifacts_run_idx', 'events_run_idx', 'telic_artifacts_order_idx', 'telic_artifacts_type_idx',
         'telic_runs_updated_idx', 'telic_meta', 'telic_blob_journal')",
        [],
        |row| row.get(0),
    )?;
    if objects < 10 || !has_decisions(connection)? || has_global_ids(connection)? {
        return Ok(false);
    }
    Ok(own_version(connection)?.is_some_and(|version| version >= VERSION))
}

/// The version of telic's own tables, if it has any.
fn own_version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let there: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'telic_meta')",
        [],
        |row| row.get(0),
    )?;
    if !there {
        return Ok(None);
    }
    let version: Option<String> = connection
        .query_row("SELECT value FROM telic_meta WHERE key = 'version'", [], |row| row.get(0))
        .optional()?;
    Ok(version.and_then(|version| version.parse().ok()))
}

fn has_decisions(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_table_info('trace_events') WHERE name = 'permission_decision_json')",
        [],
        |row| row.get(0),
    )
}

/// Whether artifact ids are still unique over all runs (`store.md` 3.4, item 2).
fn has_global_ids(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_table_info('artifacts') WHERE name = 'artifact_id' AND pk = 1)
            AND NOT EXISTS (SELECT 1 FROM pragma_table_info('artifacts') WHERE name = 'run_id' AND pk = 2)",
        [],
        |row| row.get(0),
    )
}

/// `store.md` 3.4. Before anything of our own is added; columns are copied by name, rows in row order.
fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    if !has_decisions(connection)? {
        connection.execute_batch("ALTER TABLE trace_events ADD COLUMN permission_decision_json TEXT")?;
    }
    if has_global_ids(connection)? {
        connection.execute_batch(
            "DROP INDEX IF EXISTS artifacts_run_idx;
             ALTER TABLE artifacts RENAME TO artifacts_global_ids;",
        )?;
        connection.execute_batch(ARTIFACTS)?;
        connection.execute_batch(
            "INSERT INTO artifacts (artifact_id, run_id, type, schema_version, producer, sha256, source_refs_json,
                                    redaction, created_at)
             SELECT artifact_id, run_id, type, schema_version, producer, sha256, source_refs_json, redaction,
                    created_at
             FROM artifacts_global_ids ORDER BY rowid;
             DROP TABLE artifacts_global_ids;",
        )?;
    }
    Ok(())
}
