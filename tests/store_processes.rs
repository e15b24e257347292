//! Several processes and one state directory: kills at any moment, and many writers.
//!
//! The test program starts itself again as the other process; [`another_process`] does nothing otherwise.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use telic::store::{
    Body, BudgetSnapshot, Change, NewArtifact, NewEvent, Op, RunRecord, SCHEMA_VERSION, Store, StoreError,
};

const STATE: &str = "TELIC_TEST_STATE";
const WRITER: &str = "TELIC_TEST_WRITER";
const TIME: &str = "2026-03-01T10:00:00.000Z";
/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

fn run() -> RunRecord {
    RunRecord {
        run_id: "r1".to_owned(),
        schema_version: SCHEMA_VERSION.to_owned(),
        repository_root: "/srv/shop".to_owned(),
        requested_mode: "fix_only".to_owned(),
        status: "running".to_owned(),
        phase: "agent_4_execute".to_owned(),
        resume_phase: None,
        version: 1,
        prompt_revisions_remaining: 1,
        remediations_remaining: 1,
        outcome_hint: None,
        created_at: TIME.to_owned(),
        updated_at: TIME.to_owned(),
    }
}

/// One transition: an artifact, the guarded update, an event.
fn step(store: &Store, writer: &str) -> Result<(), StoreError> {
    let version = store.run("r1")?.version;
    let name = format!("{writer}-{version}");
    let artifact = NewArtifact {
        artifact_id: name.clone(),
        run_id: "r1".to_owned(),
        kind: "Evidence".to_owned(),
        schema_version: SCHEMA_VERSION.to_owned(),
        producer: "executor".to_owned(),
        source_refs: Vec::new(),
        redaction: "none".to_owned(),
        created_at: TIME.to_owned(),
        body: Body::new(&json!({"writer": writer, "version": version}))?,
    };
    let event = NewEvent {
        event_id: name.clone(),
        run_id: "r1".to_owned(),
        timestamp: TIME.to_owned(),
        actor: "executor".to_owned(),
        phase: "agent_4_execute".to_owned(),
        event_type: "phase_submitted".to_owned(),
        input_refs: Vec::new(),
        output_refs: vec![format!("artifact://r1/{name}")],
        permission_decision: None,
        decision_summary: "moved".to_owned(),
        budget_snapshot: BudgetSnapshot::of(&run()),
    };
    let change = Change::new()
        .and(Op::InsertArtifact(artifact))
        .and(Op::UpdateRun { expected_version: version, run: run() })
        .and(Op::AppendEvent(event));
    store.commit(&change).map(drop)
}

/// What the other process does: move the run until it is killed or full.
#[test]
fn another_process() {
    let (Some(state), Ok(writer)) = (std::env::var_os(STATE), std::env::var(WRITER)) else { return };
    let store = Store::open(Path::new(&state)).unwrap();
    loop {
        match step(&store, &writer) {
            Ok(()) => {}
            Err(error) if error.code() == "concurrent_update" => {}
            Err(error) if error.code() == "artifact_limit" => return,
            Err(error) => panic!("{error}"),
        }
    }
}

fn start(state: &Path, writer: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "another_process", "--nocapture"])
        .env(STATE, state)
        .env(WRITER, writer)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits, woken by the store's own feed, until the run has reached a version.
fn wait_for(store: &Store, version: i64) {
    let mut feed = store.feed().unwrap();
    loop {
        let changes = feed.changes().unwrap();
        if changes.runs.iter().any(|run| run.version >= version) {
            return;
        }
        assert!(feed.wait(LONG).unwrap(), "the other process moves the run");
    }
}

/// Everything that was committed is whole, and there is as much of one as of the other.
fn assert_whole(store: &Store) -> i64 {
    assert_eq!(store.check().unwrap(), []);
    let version = store.run("r1").unwrap().version;
    assert_eq!(store.artifact_count("r1").unwrap(), version - 1);
    assert_eq!(store.last_event_sequence("r1").unwrap(), version - 1);
    version
}

#[test]
fn a_writer_killed_at_any_moment_leaves_whole_transitions_only() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    Store::open(&state).unwrap().commit(&Change::new().and(Op::InsertRun(run()))).unwrap();
    let mut version = 1;
    for round in 0..4 {
        let mut child = start(&state, &format!("k{round}"));
        let store = Store::open(&state).unwrap();
        wait_for(&store, version + 5);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(store);
        let reached = assert_whole(&Store::open(&state).unwrap());
        assert!(reached >= version + 5);
        version = reached;
    }
}

#[test]
fn three_processes_move_one_run_without_losing_or_repeating_a_version() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    let store = Store::open(&state).unwrap();
    store.commit(&Change::new().and(Op::InsertRun(run()))).unwrap();
    let mut children: Vec<_> = ["a", "b", "c"].into_iter().map(|writer| start(&state, writer)).collect();
    wait_for(&store, 60);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(assert_whole(&store) >= 60);
}
