//! What goes wrong: kills, locks, damage, links, old and foreign ledgers, many programs at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Barrier};

use super::*;

fn journal_rows(temp: &TempDir) -> i64 {
    raw(temp).query_row("SELECT count(*) FROM telic_blob_journal", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_body_lost_after_its_commit_comes_back_from_the_journal() {
    let (temp, store) = open();
    started(&store, "r1");
    let artifacts = store.artifacts("r1").unwrap();
    let bodies: Vec<_> =
        artifacts.iter().map(|a| (a.digest().unwrap(), store.body_text(a).unwrap())).collect();
    drop(store);
    assert_eq!(journal_rows(&temp), 0, "closing empties the journal");
    // A power cut right after the commit: the journal has the bodies, the files are gone or cut short.
    for (digest, text) in &bodies {
        raw(&temp)
            .execute("INSERT INTO telic_blob_journal VALUES (?1, ?2)", (digest.hex(), text.as_bytes()))
            .unwrap();
    }
    fs::remove_file(blob_path(&temp, &bodies[0].0)).unwrap();
    fs::write(blob_path(&temp, &bodies[1].0), &bodies[1].1[..3]).unwrap();
    let store = Store::open(&state(&temp)).unwrap();
    assert!(store.verify_blobs(None).unwrap().is_empty());
    drop(store);
    assert_eq!(journal_rows(&temp), 0);
}

#[test]
fn a_kill_between_blob_and_commit_leaves_only_an_orphan() {
    let (temp, store) = open();
    started(&store, "r1");
    // What a killed writer leaves: a blob nobody names, and a temporary file.
    let digest = Digest::of(b"{\"killed\":true}");
    store.core().blobs.put(&digest, b"{\"killed\":true}", blobs::Durability::Visible).unwrap();
    fs::write(blob_path(&temp, &digest).with_extension("1.0.tmp"), "{\"kil").unwrap();
    drop(store);
    let store = Store::open(&state(&temp)).unwrap();
    assert_eq!(store.artifact_count("r1").unwrap(), 2);
    assert!(store.verify_blobs(None).unwrap().is_empty());
    let body = Body::new(&json!({"killed": true})).unwrap();
    let artifact = NewArtifact { body, ..artifact("r1", "late", "Evidence") };
    store.commit(&Change::new().and(Op::InsertArtifact(artifact))).unwrap();
    assert_eq!(*store.body(&store.artifact("r1", "late").unwrap()).unwrap(), json!({"killed": true}));
}

#[test]
fn a_ledger_locked_for_too_long_is_an_error_that_says_so() {
    let (temp, store) = open();
    let other = raw(&temp);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&Change::new().and(Op::InsertRun(run("r1")))).unwrap_err();
    assert_eq!(error.code(), "ledger_locked");
    assert!(error.to_string().contains("locked by another program"), "{error}");
    assert_eq!(code(store.run("r1")), "run_not_found", "reading is not blocked");
    other.execute_batch("ROLLBACK").unwrap();
    store.commit(&Change::new().and(Op::InsertRun(run("r1")))).unwrap();
}

#[test]
fn a_damaged_missing_or_linked_body_is_an_error_of_that_artifact_only() {
    let (temp, store) = open();
    started(&store, "r1");
    let artifacts = store.artifacts("r1").unwrap();
    store.body(&artifacts[0]).unwrap();
    let path = blob_path(&temp, &artifacts[0].digest().unwrap());
    let text = fs::read(&path).unwrap();
    let damage: [&dyn Fn(); 5] = [
        &|| fs::write(&path, &text[..5]).unwrap(),
        &|| fs::write(&path, "").unwrap(),
        &|| fs::write(&path, "{\"other\":1}").unwrap(),
        &|| fs::remove_file(&path).unwrap(),
        &|| symlink(blob_path(&temp, &artifacts[1].digest().unwrap()), &path).unwrap(),
    ];
    for damage in damage {
        damage();
        assert_eq!(code(store.body(&artifacts[0])), "integrity_failure");
        assert_eq!(code(store.body_text(&artifacts[0])), "integrity_failure");
        let findings = store.verify_blobs(Some("r1")).unwrap();
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].artifact_id, "message");
    }
    store.body(&artifacts[1]).unwrap();
    store.run("r1").unwrap();
}

#[test]
fn a_body_written_otherwise_but_meaning_the_same_verifies() {
    let (temp, store) = open();
    started(&store, "r1");
    let artifact = store.artifacts("r1").unwrap().remove(0);
    let path = blob_path(&temp, &artifact.digest().unwrap());
    fs::write(&path, "{\n  \"id\": \"message\",\n  \"frame\": \"f1\"\n}\n").unwrap();
    assert_eq!(store.body(&artifact).unwrap()["id"], "message");
    assert_eq!(store.body_text(&artifact).unwrap(), r#"{"frame":"f1","id":"message"}"#);
    assert!(store.verify_blobs(None).unwrap().is_empty());
}

#[test]
fn a_body_with_an_unpaired_surrogate_is_read_and_given_back_exactly() {
    let (temp, store) = open();
    started(&store, "r1");
    let text = r#"{"content":"a\ud800b"}"#;
    let digest = Digest::of(text.as_bytes());
    store.core().blobs.put(&digest, text.as_bytes(), blobs::Durability::Visible).unwrap();
    raw(&temp)
        .execute("UPDATE artifacts SET sha256 = ?1 WHERE artifact_id = 'message'", [digest.hex()])
        .unwrap();
    let artifact = store.artifact("r1", "message").unwrap();
    assert_eq!(artifact.sha256, digest.hex(), "a row without the prefix is accepted, and not rewritten");
    assert_eq!(store.body_text(&artifact).unwrap(), text);
    assert_eq!(store.body(&artifact).unwrap()["content"], "a\u{fffd}b");
}

#[test]
fn an_old_ledger_is_upgraded_with_its_order_kept() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(state(&temp)).unwrap();
    let old = raw(&temp);
    old.execute_batch(
        "CREATE TABLE runs (run_id TEXT PRIMARY KEY, schema_version TEXT NOT NULL, repository_root TEXT NOT NULL,
           requested_mode TEXT NOT NULL, status TEXT NOT NULL, phase TEXT NOT NULL, resume_phase TEXT,
           version INTEGER NOT NULL, prompt_revisions_remaining INTEGER NOT NULL,
           remediations_remaining INTEGER NOT NULL, outcome_hint TEXT, created_at TEXT NOT NULL,
           updated_at TEXT NOT NULL) STRICT;
         CREATE TABLE artifacts (extra TEXT, artifact_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id),
           type TEXT NOT NULL, schema_version TEXT NOT NULL, producer TEXT NOT NULL, sha256 TEXT NOT NULL,
           source_refs_json TEXT NOT NULL, redaction TEXT NOT NULL, created_at TEXT NOT NULL) STRICT;
         CREATE INDEX artifacts_run_idx ON artifacts(run_id, created_at);
         CREATE TABLE trace_events (event_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id),
           sequence INTEGER NOT NULL, timestamp TEXT NOT NULL, actor TEXT NOT NULL, phase TEXT NOT NULL,
           event_type TEXT NOT NULL, input_refs_json TEXT NOT NULL, output_refs_json TEXT NOT NULL,
           decision_summary TEXT NOT NULL, budget_snapshot_json TEXT NOT NULL, UNIQUE (run_id, sequence)) STRICT;
         INSERT INTO runs VALUES ('r1','1.0','/srv/shop','fix_only','running','agent_1_frame',NULL,1,1,1,NULL,'t','t');
         INSERT INTO trace_events VALUES ('e1','r1',1,'t','user','agent_1_frame','run_started','[]','[]','begun',
           '{\"postExecutionRemediationsRemaining\":1,\"promptRevisionsRemaining\":1}');",
    )
    .unwrap();
    let digest = Digest::of(b"1").hex();
    for id in ["z", "m", "a"] {
        old.execute(
            "INSERT INTO artifacts VALUES ('x', ?1, 'r1', 'Evidence', '1.0', 'user', ?2, '[]', 'none', 't')",
            [id, &digest],
        )
        .unwrap();
    }
    drop(old);

    let look = |store: &Store| {
        let ids: Vec<_> =
            store.artifacts("r1").unwrap().into_iter().map(|artifact| artifact.artifact_id).collect();
        assert_eq!(ids, ["z", "m", "a"]);
        assert_eq!(store.events("r1", 0, 10).unwrap()[0].decision_summary, "begun");
    };
    // Inspection reads it as it is; opening upgrades it.
    let inspected = Store::open_read_only(&state(&temp)).unwrap();
    look(&inspected);
    assert_eq!(inspected.pending_upgrade().unwrap().len(), 3);
    drop(inspected);
    let store = Store::open(&state(&temp)).unwrap();
    look(&store);
    assert!(store.pending_upgrade().unwrap().is_empty());
    store.commit(&Change::new().and(Op::InsertRun(run("r2")))).unwrap();
    store.commit(&Change::new().and(Op::InsertArtifact(artifact("r2", "z", "Evidence")))).unwrap();
    store.commit(&Change::new().and(Op::AppendEvent(event("r1", "e2")))).unwrap();
    let leftovers: i64 = raw(&temp)
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'artifacts_global_ids'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(leftovers, 0);
}

#[test]
fn an_upgrade_that_cannot_be_made_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(state(&temp)).unwrap();
    raw(&temp)
        .execute_batch(
            "CREATE TABLE artifacts (artifact_id TEXT PRIMARY KEY, run_id TEXT);
             CREATE TABLE artifacts_global_ids (kept TEXT);",
        )
        .unwrap();
    assert_eq!(code(Store::open(&state(&temp))), "storage_failure");
    let tables: Vec<String> = {
        let raw = raw(&temp);
        let mut select =
            raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(tables, ["artifacts", "artifacts_global_ids"]);
}

#[test]
fn a_ledger_of_a_newer_telic_is_left_alone() {
    let (temp, store) = open();
    drop(store);
    raw(&temp).execute("UPDATE telic_meta SET value = '99' WHERE key = 'version'", []).unwrap();
    assert_eq!(code(Store::open(&state(&temp))), "store_too_new");
    raw(&temp).execute_batch("PRAGMA user_version = 7; UPDATE telic_meta SET value = '1'").unwrap();
    Store::open(&state(&temp)).unwrap();
}

#[test]
fn dropped_indexes_are_made_again() {
    let (temp, store) = open();
    drop(store);
    raw(&temp).execute_batch("DROP INDEX artifacts_run_idx; DROP INDEX telic_artifacts_order_idx").unwrap();
    drop(Store::open(&state(&temp)).unwrap());
    let found: i64 = raw(&temp)
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('artifacts_run_idx', 'telic_artifacts_order_idx')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(found, 2);
}

#[test]
fn eight_openings_at_once_all_succeed() {
    for _ in 0..6 {
        let temp = tempfile::tempdir().unwrap();
        let state = Arc::new(state(&temp));
        let barrier = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (state, barrier) = (Arc::clone(&state), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    let store = Store::open(&state)?;
                    store.commit(&Change::new().and(Op::InsertRun(run(&format!("r{number}")))))
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        assert_eq!(Store::open(&state).unwrap().all_runs().unwrap().items.len(), 8);
    }
}

#[test]
fn of_two_stores_with_the_same_token_exactly_one_moves_the_run() {
    let (temp, store) = open();
    started(&store, "r1");
    let other = Store::open(&state(&temp)).unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let movers: Vec<_> = [store.clone(), other]
        .into_iter()
        .enumerate()
        .map(|(mover, store)| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                (1..=20)
                    .filter(|version| {
                        barrier.wait();
                        let change = Change::new()
                            .and(Op::UpdateRun { expected_version: *version, run: run("r1") })
                            .and(Op::AppendEvent(event("r1", &format!("m{mover}-{version}"))));
                        let won = match store.commit(&change) {
                            Ok(_) => true,
                            Err(error) => {
                                assert_eq!(error.code(), "concurrent_update");
                                false
                            }
                        };
                        barrier.wait();
                        won
                    })
                    .count()
            })
        })
        .collect();
    let won: usize = movers.into_iter().map(|mover| mover.join().unwrap()).sum();
    assert_eq!(won, 20);
    assert_eq!(store.run("r1").unwrap().version, 21);
    let sequences: Vec<_> = store.events("r1", 0, 100).unwrap().iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, (1..=21).collect::<Vec<_>>());
}

#[test]
fn the_last_to_close_takes_the_log_file_along() {
    let (temp, store) = open();
    started(&store, "r1");
    store.run("r1").unwrap();
    let other = Store::open(&state(&temp)).unwrap();
    let feed = other.feed().unwrap();
    let log = state(&temp).join("ledger.sqlite3-wal");
    drop(store);
    assert!(log.exists());
    drop(other);
    drop(feed);
    assert!(!log.exists());
    assert!(!log.with_file_name("ledger.sqlite3-shm").exists());
}

#[test]
fn the_log_can_be_folded_in_and_emptied() {
    let (temp, store) = open();
    started(&store, "r1");
    let log = state(&temp).join("ledger.sqlite3-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    assert!(!store.checkpoint().unwrap().busy);
    assert!(!store.empty_log().unwrap().busy);
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    store.run("r1").unwrap();
}

#[test]
fn what_is_no_ledger_or_no_place_for_one_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(state(&temp)).unwrap();
    fs::write(state(&temp).join(folder::LEDGER), "this is no database, but long enough to be read as one")
        .unwrap();
    assert_eq!(code(Store::open(&state(&temp))), "storage_failure");
    assert_eq!(code(Store::open_read_only(&state(&temp))), "storage_failure");
    fs::write(temp.path().join("file"), "").unwrap();
    assert_eq!(code(Store::open(&temp.path().join("file/state"))), "state_directory_refused");
    symlink(state(&temp), temp.path().join("link")).unwrap();
    assert_eq!(code(Store::open(&temp.path().join("link"))), "state_directory_refused");
    assert_eq!(code(Store::open_read_only(&temp.path().join("link"))), "state_directory_refused");
}

#[test]
fn an_empty_file_is_taken_as_a_new_ledger() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(state(&temp)).unwrap();
    fs::write(state(&temp).join(folder::LEDGER), "").unwrap();
    started(&Store::open(&state(&temp)).unwrap(), "r1");
}

#[test]
fn a_store_opened_for_inspection_writes_nothing_and_sees_what_others_write() {
    let (temp, store) = open();
    started(&store, "r1");
    drop(store);
    let inspected = Store::open_read_only(&state(&temp)).unwrap();
    assert_eq!(code(inspected.commit(&Change::new())), "store_read_only");
    assert_eq!(code(inspected.put_blob(&mut &b"x"[..])), "store_read_only");
    assert_eq!(code(inspected.checkpoint()), "store_read_only");
    assert_eq!(inspected.runs(10).unwrap().items.len(), 1);
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(state(&temp)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["blobs", folder::LEDGER]);
    // Another program opens it and writes, then closes.
    let writer = Store::open(&state(&temp)).unwrap();
    started(&writer, "r2");
    assert_eq!(inspected.runs(10).unwrap().items.len(), 2);
    drop(writer);
    let writer = Store::open(&state(&temp)).unwrap();
    started(&writer, "r3");
    drop(writer);
    assert_eq!(inspected.runs(10).unwrap().items.len(), 3);
}

#[test]
fn streamed_blobs_give_any_range_of_their_checked_bytes() {
    let (temp, store) = open();
    let (digest, size) = store.put_blob(&mut &b"hello, log"[..]).unwrap();
    let mut reader = store.open_blob(&digest).unwrap();
    assert_eq!((reader.size(), size), (10, 10));
    assert_eq!(reader.range(7, 100).unwrap(), b"log");
    assert_eq!(reader.range(0, 5).unwrap(), b"hello");
    assert_eq!(reader.range(99, 5).unwrap(), b"");
    fs::write(blob_path(&temp, &digest), "jello, log").unwrap();
    assert_eq!(code(store.open_blob(&digest)), "integrity_failure");
    assert_eq!(code(store.open_blob(&Digest::of(b"none"))), "integrity_failure");
}

#[test]
fn a_body_over_the_journals_limit_is_stored_all_the_same() {
    let (temp, store) = open();
    started(&store, "r1");
    let body = Body::new(&json!("x".repeat(journal::JOURNAL_LIMIT + 1))).unwrap();
    let digest = body.digest();
    let large = NewArtifact { body, ..artifact("r1", "large", "Evidence") };
    store.commit(&Change::new().and(Op::InsertArtifact(large))).unwrap();
    let held: i64 = raw(&temp)
        .query_row("SELECT count(*) FROM telic_blob_journal WHERE digest = ?1", [digest.hex()], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(held, 0);
    assert!(store.verify_blobs(None).unwrap().is_empty());
}
