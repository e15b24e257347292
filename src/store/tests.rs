//! Behaviour of the whole store.

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

#[test]
fn what_is_committed_is_read_back_in_ledger_order() {
    let (_temp, store) = open();
    started(&store, "r1");
    assert_eq!(store.run("r1").unwrap(), run("r1"));
    let artifacts = store.artifacts("r1").unwrap();
    assert_eq!(artifacts.iter().map(|a| a.artifact_id.as_str()).collect::<Vec<_>>(), ["message", "r1"]);
    assert_eq!(*store.body(&artifacts[0]).unwrap(), json!({"frame": "f1", "id": "message"}));
    assert_eq!(store.body_text(&artifacts[0]).unwrap(), r#"{"frame":"f1","id":"message"}"#);
    assert_eq!(store.artifacts_after("r1", Some("message")).unwrap(), artifacts[1..]);
    let events = store.events("r1", 0, 500).unwrap();
    assert_eq!(
        (events.len(), events[0].sequence, events[0].budget_snapshot.remediations_remaining),
        (1, 1, 0)
    );
}

#[test]
fn an_update_with_the_wrong_version_changes_nothing_at_all() {
    let (_temp, store) = open();
    started(&store, "r1");
    let change = |expected| {
        Change::new()
            .and(Op::InsertArtifact(artifact("r1", &format!("a{expected}"), "ProblemFrame")))
            .and(Op::UpdateRun {
                expected_version: expected,
                run: RunRecord { phase: "next".into(), ..run("r1") },
            })
            .and(Op::AppendEvent(event("r1", &format!("e{expected}"))))
    };
    let error = store.commit(&change(2)).unwrap_err();
    assert_eq!(error.code(), "concurrent_update");
    assert_eq!((store.artifact_count("r1").unwrap(), store.last_event_sequence("r1").unwrap()), (2, 1));
    let done = store.commit(&change(1)).unwrap();
    assert_eq!(done.outcomes[1], Outcome::Run { version: 2 });
    assert_eq!(done.outcomes[2], Outcome::Appended { sequence: 2 });
    assert_eq!((store.run("r1").unwrap().version, store.run("r1").unwrap().phase), (2, "next".to_owned()));
}
