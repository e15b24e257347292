//! Deleting runs and collecting blobs.

use std::fs;
use std::time::Duration;

use super::*;

const NOW: Collection =
    Collection { only: None, minimum_age: Duration::ZERO, quarantine: Duration::ZERO, dry_run: false };

fn ended(store: &Store, id: &str) {
    started(store, id);
    let run = RunRecord { status: "completed".to_owned(), ..run(id) };
    store.commit(&Change::new().and(Op::UpdateRun { expected_version: 1, run })).unwrap();
}

fn orphan(store: &Store, text: &str) -> Digest {
    let digest = Digest::of(text.as_bytes());
    store.core().blobs.put(&digest, text.as_bytes(), blobs::Durability::Visible).unwrap();
    digest
}

#[test]
fn only_blobs_that_nobody_names_are_collected() {
    let (temp, store) = open();
    started(&store, "r1");
    let lost = orphan(&store, "\"lost\"");
    let named = orphan(&store, "named by a fact");
    let mut change = Change::new();
    change.put_fact("spec", Some(&format!("{{\"sha256\":\"{named}\"}}")));
    store.commit(&change).unwrap();

    let counted = store.collect(&Collection { dry_run: true, ..NOW }).unwrap();
    assert_eq!((counted.blobs, counted.bytes), (1, 6));
    assert!(blob_path(&temp, &lost).exists());
    assert_eq!(store.collect(&NOW).unwrap(), counted);
    assert!(!blob_path(&temp, &lost).exists());
    assert!(blob_path(&temp, &named).exists());
    assert!(store.verify_blobs(None).unwrap().is_empty());
}

#[test]
fn young_blobs_and_temporary_files_are_left_alone() {
    let (temp, store) = open();
    let young = orphan(&store, "\"young\"");
    let temporary = blob_path(&temp, &young).with_extension("1.1.tmp");
    fs::write(&temporary, "half").unwrap();
    assert_eq!(
        store.collect(&Collection { quarantine: Duration::ZERO, ..Collection::default() }).unwrap().blobs,
        0
    );
    assert!(blob_path(&temp, &young).exists() && temporary.exists());
    let old = fs::File::options().write(true).open(&temporary).unwrap();
    old.set_modified(std::time::SystemTime::now() - Duration::from_secs(90_000)).unwrap();
    assert_eq!(
        store
            .collect(&Collection { quarantine: Duration::ZERO, ..Collection::default() })
            .unwrap()
            .temporaries,
        1
    );
    assert!(!temporary.exists());
}

#[test]
fn a_blob_named_while_in_quarantine_comes_back() {
    let (temp, store) = open();
    started(&store, "r1");
    let artifact = store.artifacts("r1").unwrap().remove(0);
    let digest = artifact.digest().unwrap();
    // An interrupted collection left it there; a row names it by now.
    drop(store.core().folder.quarantine_dir().unwrap());
    fs::rename(blob_path(&temp, &digest), state(&temp).join(folder::QUARANTINE).join(digest.hex())).unwrap();
    assert_eq!(code(store.body(&artifact)), "integrity_failure");
    let done = store.collect(&NOW).unwrap();
    assert_eq!((done.restored, done.blobs), (1, 0));
    store.body(&artifact).unwrap();
}

#[test]
fn a_deleted_run_is_gone_with_its_bodies_and_takes_nothing_else_along() {
    let (_temp, store) = open();
    ended(&store, "r1");
    ended(&store, "r2");
    let deleted = store.delete_run("r1", Deletion { secure: true, ..Deletion::default() }).unwrap();
    // The initial message is the same body in both runs.
    assert_eq!((deleted.artifacts, deleted.events, deleted.digests.len()), (2, 1, 2));
    assert_eq!(code(store.run("r1")), "run_not_found");
    let only = Collection { only: Some(deleted.digests), ..NOW };
    assert_eq!(store.collect(&only).unwrap().blobs, 1);
    assert!(store.check().unwrap().is_empty());
    assert_eq!(store.artifact_count("r2").unwrap(), 2);
    assert_eq!(code(store.delete_run("r1", Deletion::default())), "run_not_found");
}

#[test]
fn a_run_that_has_not_ended_is_deleted_only_when_asked() {
    let (_temp, store) = open();
    started(&store, "r1");
    assert_eq!(code(store.delete_run("r1", Deletion::default())), "run_not_finished");
    assert_eq!(store.artifact_count("r1").unwrap(), 2);
    store.delete_run("r1", Deletion { unfinished: true, secure: false }).unwrap();
    assert_eq!(store.all_runs().unwrap().items, []);
}

#[test]
fn a_check_names_every_kind_of_fault() {
    let (temp, store) = open();
    started(&store, "r1");
    started(&store, "r2");
    store.commit(&Change::new().and(Op::AppendEvent(event("r2", "more")))).unwrap();
    assert!(store.check().unwrap().is_empty());
    let artifact = store.artifact("r1", "r1").unwrap();
    fs::write(blob_path(&temp, &artifact.digest().unwrap()), "{}").unwrap();
    let raw = raw(&temp);
    raw.execute_batch(
        "PRAGMA foreign_keys = OFF;
         DELETE FROM trace_events WHERE run_id = 'r2' AND sequence = 1;
         UPDATE trace_events SET budget_snapshot_json = '{}' WHERE run_id = 'r1';
         INSERT INTO artifacts SELECT artifact_id, 'nobody', type, schema_version, producer, sha256,
           source_refs_json, redaction, created_at FROM artifacts WHERE run_id = 'r2' AND artifact_id = 'r2';",
    )
    .unwrap();
    let mut faults: Vec<_> = store
        .check()
        .unwrap()
        .into_iter()
        .map(|fault| (fault.code, fault.run_id.unwrap_or_default()))
        .collect();
    faults.sort();
    let expected =
        [("body_damaged", "r1"), ("reference_broken", ""), ("row_malformed", "r1"), ("sequence_gap", "r2")];
    assert_eq!(faults, expected.map(|(code, run)| (code, run.to_owned())));
}

#[test]
fn a_run_and_what_was_added_are_read_at_one_moment() {
    let (_temp, store) = open();
    started(&store, "r1");
    let all = store.run_since("r1", None, 0).unwrap();
    assert_eq!((all.run.version, all.artifacts.len(), all.events.len()), (1, 2, 1));
    store.commit(&Change::new().and(Op::AppendEvent(event("r1", "more")))).unwrap();
    let since = store.run_since("r1", Some("r1"), 1).unwrap();
    assert_eq!((since.artifacts.len(), since.events.len(), since.events[0].sequence), (0, 1, 2));
    assert_eq!(code(store.run_since("none", None, 0)), "run_not_found");
}
