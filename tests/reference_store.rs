//! A state directory written by the protocol's reference implementation opens, verifies and stays as it is.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;
use telic::store::{Change, Digest, Op, RunRecord, Store};

/// The unpacked store and what is expected of it; nothing, said aloud, where the vectors are not.
fn reference_store() -> Option<(tempfile::TempDir, PathBuf, Vec<Value>)> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/conformance");
    let folder =
        std::env::var_os("TELIC_CONFORMANCE_DIR").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let archive = folder.join("reference-store/state.tar.gz");
    if !archive.is_file() {
        println!("skipped: {} is not here", archive.display());
        return None;
    }
    let temp = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("--no-same-owner")
        .arg("-C")
        .arg(temp.path())
        .status();
    assert!(unpacked.unwrap().success());
    let expected = fs::read_to_string(folder.join("reference-store/expected.json")).unwrap();
    let state = temp.path().join("state");
    Some((temp, state, serde_json::from_str(&expected).unwrap()))
}

/// Every file and folder below `root`: its bytes and when it was changed.
fn everything(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let bytes = if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (bytes, metadata.modified().unwrap()));
    }
    found
}

/// Compares everything the store says with what the reference said.
fn compare(store: &Store, expected: &[Value]) {
    let listing = store.all_runs().unwrap();
    assert!(listing.refused.is_empty());
    assert_eq!(listing.items.len(), expected.len());
    for run in expected {
        let id = run["runId"].as_str().unwrap();
        let found = store.run(id).unwrap();
        assert_eq!(found.requested_mode, run["mode"].as_str().unwrap());
        assert_eq!(found.status, run["status"].as_str().unwrap());
        assert_eq!(found.phase, run["phase"].as_str().unwrap());
        assert_eq!(found.version, run["version"].as_i64().unwrap());
        assert_eq!(found.outcome_hint.as_deref(), run["outcomeHint"].as_str());
        let budgets = &run["budgets"];
        assert_eq!(
            u64::from(found.prompt_revisions_remaining),
            budgets["promptRevisionsRemaining"].as_u64().unwrap()
        );
        assert_eq!(
            u64::from(found.remediations_remaining),
            budgets["postExecutionRemediationsRemaining"].as_u64().unwrap()
        );

        let artifacts = store.artifacts(id).unwrap();
        let wanted = run["artifacts"].as_array().unwrap();
        assert_eq!(artifacts.len(), wanted.len());
        for (artifact, wanted) in artifacts.iter().zip(wanted) {
            assert_eq!(artifact.artifact_id, wanted["id"].as_str().unwrap());
            assert_eq!(artifact.kind, wanted["type"].as_str().unwrap());
            assert_eq!(artifact.sha256, wanted["sha256"].as_str().unwrap());
            let text = store.body_text(artifact).unwrap();
            assert_eq!(Digest::of(text.as_bytes()).to_string(), artifact.sha256);
            assert_eq!(*store.body(artifact).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }

        let events = store.events(id, 0, 10_000).unwrap();
        let wanted = run["events"].as_array().unwrap();
        assert_eq!(events.len(), wanted.len());
        for (event, wanted) in events.iter().zip(wanted) {
            assert_eq!(event.sequence, wanted[0].as_i64().unwrap());
            assert_eq!(event.actor, wanted[2].as_str().unwrap());
        }
    }
    assert!(store.verify_blobs(None).unwrap().is_empty());
}

#[test]
fn reading_the_reference_store_changes_no_byte() {
    let Some((_temp, state, expected)) = reference_store() else { return };
    let before = everything(&state);
    let store = Store::open_read_only(&state).unwrap();
    compare(&store, &expected);
    drop(store);
    assert!(everything(&state) == before);
}

#[test]
fn opening_the_reference_store_for_writing_keeps_all_it_says() {
    let Some((_temp, state, expected)) = reference_store() else { return };
    let store = Store::open(&state).unwrap();
    compare(&store, &expected);
    let id = expected[0]["runId"].as_str().unwrap();
    let run = store.run(id).unwrap();
    let change = Change::new()
        .and(Op::InsertRun(RunRecord { run_id: "run_added".to_owned(), ..run.clone() }))
        .and(Op::UpdateRun { expected_version: 1, run: RunRecord { run_id: "run_added".to_owned(), ..run } });
    // The inserted copy is at another version, so the whole change is refused.
    assert_eq!(store.commit(&change).unwrap_err().code(), "concurrent_update");
    drop(store);
    compare(&Store::open_read_only(&state).unwrap(), &expected);
}

/// Runs the program on a state directory.
fn telic(state: &Path, arguments: &[&str]) -> Value {
    let home = state.parent().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_telic"))
        .args(arguments)
        .arg("--json")
        .env("TELIC_STATE_DIR", state)
        .env("HOME", home)
        .env_remove("TELIC_REPOSITORY_ROOT")
        .env_remove("TELIC_RUN_ID")
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(home)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The columns of the reference's three tables, as the ledger declares them.
fn columns(state: &Path) -> Vec<Vec<String>> {
    let ledger = rusqlite::Connection::open(state.join("ledger.sqlite3")).unwrap();
    let of = |table: &str| {
        let sql = "SELECT name || ' ' || type || ' ' || \"notnull\" || ' ' || pk FROM pragma_table_info(?1)";
        let mut statement = ledger.prepare(sql).unwrap();
        let rows = statement.query_map([table], |row| row.get(0)).unwrap();
        rows.collect::<Result<Vec<String>, _>>().unwrap()
    };
    ["runs", "artifacts", "trace_events"].map(of).to_vec()
}

#[test]
fn the_program_lists_shows_and_answers_runs_of_the_reference_and_leaves_its_tables_as_they_are() {
    let Some((_temp, state, expected)) = reference_store() else { return };
    let before = columns(&state);
    assert!(before.iter().all(|columns| !columns.is_empty()), "{before:?}");
    let listed = telic(&state, &["runs"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 10);
    assert_eq!(listed["faults"], serde_json::json!([]));
    for run in &expected {
        let id = run["runId"].as_str().unwrap();
        let shown = telic(&state, &["show", id]);
        assert_eq!(shown["run"]["row"]["workflowStatus"], run["status"], "{id}");
    }
    let waiting: Vec<&Value> =
        expected.iter().filter(|run| run["status"] == "awaiting_clarification").collect();
    let [waiting] = waiting[..] else { panic!("one run waits") };
    let id = waiting["runId"].as_str().unwrap();
    telic(&state, &["answer", id, "half-up", "--yes-i-am", "tester"]);

    assert_eq!(columns(&state), before);
    let store = Store::open_read_only(&state).unwrap();
    let run = store.run(id).unwrap();
    assert_eq!(run.status, "running");
    assert_eq!(run.version, waiting["version"].as_i64().unwrap() + 1);
    let artifacts = store.artifacts(id).unwrap();
    let answer = artifacts.last().unwrap();
    assert_eq!((answer.kind.as_str(), answer.producer.as_str()), ("UserMessage", "user"));
    assert_eq!(store.body(answer).unwrap()["content"], "half-up");
    assert!(store.verify_blobs(None).unwrap().is_empty());
}
