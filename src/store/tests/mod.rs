//! Behaviour of the whole store.

mod collect;
mod faults;
mod feed;
mod own;
mod workflow;

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::*;

const TIME: &str = "2026-03-01T10:00:00.000Z";

fn state(temp: &TempDir) -> PathBuf {
    temp.path().join("state")
}

fn open() -> (TempDir, Store) {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::open(&state(&temp)).unwrap();
    (temp, store)
}

fn run(id: &str) -> RunRecord {
    RunRecord {
        run_id: id.to_owned(),
        schema_version: SCHEMA_VERSION.to_owned(),
        repository_root: "/srv/shop".to_owned(),
        requested_mode: "fix_only".to_owned(),
        status: "running".to_owned(),
        phase: "context_grounding".to_owned(),
        resume_phase: None,
        version: 1,
        prompt_revisions_remaining: 1,
        remediations_remaining: 1,
        outcome_hint: None,
        created_at: TIME.to_owned(),
        updated_at: TIME.to_owned(),
    }
}

fn artifact(run_id: &str, id: &str, kind: &str) -> NewArtifact {
    NewArtifact {
        artifact_id: id.to_owned(),
        run_id: run_id.to_owned(),
        kind: kind.to_owned(),
        schema_version: SCHEMA_VERSION.to_owned(),
        producer: "executor".to_owned(),
        source_refs: vec!["repo://a b".to_owned()],
        redaction: "none".to_owned(),
        created_at: TIME.to_owned(),
        body: Body::new(&json!({"id": id, "frame": "f1"})).unwrap(),
    }
}

fn event(run_id: &str, id: &str) -> NewEvent {
    NewEvent {
        event_id: id.to_owned(),
        run_id: run_id.to_owned(),
        timestamp: TIME.to_owned(),
        actor: "executor".to_owned(),
        phase: "agent_4_execute".to_owned(),
        event_type: "evidence_captured".to_owned(),
        input_refs: vec![],
        output_refs: vec![format!("artifact://{run_id}/x")],
        permission_decision: None,
        decision_summary: "captured".to_owned(),
        budget_snapshot: BudgetSnapshot { prompt_revisions_remaining: 1, remediations_remaining: 0 },
    }
}

fn started(store: &Store, id: &str) {
    let change = Change::new()
        .and(Op::InsertRun(run(id)))
        .and(Op::InsertInitialArtifact(artifact(id, "message", "UserMessage")))
        .and(Op::InsertInitialArtifact(artifact(id, id, "RunEnvelope")))
        .and(Op::AppendEvent(event(id, &format!("{id}-e1"))));
    store.commit(&change).unwrap();
}

/// A connection of another program.
fn raw(temp: &TempDir) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(state(temp).join(folder::LEDGER)).unwrap();
    connection.busy_timeout(connection::BUSY_TIMEOUT).unwrap();
    connection
}

fn blob_path(temp: &TempDir, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    state(temp).join("blobs/sha256").join(&hex[..2]).join(&hex[2..])
}

fn code<T: std::fmt::Debug>(result: Result<T, StoreError>) -> &'static str {
    result.unwrap_err().code()
}
