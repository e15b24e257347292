//! The feed: it wakes for other programs' changes and tells exactly what changed.

use std::time::Duration;

use super::*;

/// Long enough for any machine; a test that waits this long fails.
const LONG: Duration = Duration::from_secs(30);

fn ids(changes: &Changes) -> Vec<&str> {
    changes.runs.iter().map(|run| run.run_id.as_str()).collect()
}

#[test]
fn it_starts_with_everything_and_is_quiet_then() {
    let (_temp, store) = open();
    started(&store, "r1");
    let mut feed = store.feed().unwrap();
    assert!(feed.wait(LONG).unwrap());
    let first = feed.changes().unwrap();
    assert_eq!((ids(&first), first.records_unknown), (vec!["r1"], true));
    assert_eq!((first.runs[0].version, first.runs[0].last_event, first.runs[0].artifacts), (1, 1, 2));
    assert!(feed.changes().unwrap().is_empty());
}

#[test]
fn a_commit_of_another_program_wakes_it() {
    let (temp, store) = open();
    started(&store, "r1");
    let mut feed = store.feed().unwrap();
    feed.changes().unwrap();
    let other = Store::open(&state(&temp)).unwrap();
    let writer = std::thread::spawn(move || {
        let op = Op::Supporting {
            artifact: artifact("r1", "e1", "Evidence"),
            quota: None,
            event: event("r1", "e2"),
        };
        other.commit(&Change::new().and(op)).unwrap();
        other
    });
    loop {
        assert!(feed.wait(LONG).unwrap());
        let changes = feed.changes().unwrap();
        if let Some(run) = changes.runs.first() {
            assert_eq!((run.run_id.as_str(), run.last_event, run.artifacts), ("r1", 2, 3));
            break;
        }
    }
    drop(writer.join().unwrap());
}

#[test]
fn only_the_runs_that_moved_are_told() {
    let (_temp, store) = open();
    for id in ["r1", "r2", "r3"] {
        started(&store, id);
    }
    let mut feed = store.feed().unwrap();
    feed.changes().unwrap();
    let change = Change::new()
        .and(Op::UpdateRun { expected_version: 1, run: run("r2") })
        .and(Op::AppendEvent(event("r2", "moved")));
    store.commit(&change).unwrap();
    started(&store, "r4");
    let mut told = feed.changes().unwrap();
    told.runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    assert_eq!(ids(&told), ["r2", "r4"]);
    assert_eq!(told.runs[0].version, 2);
}

#[test]
fn deleted_runs_and_renumbered_rows_are_noticed() {
    let (temp, store) = open();
    for id in ["r1", "r2", "r3"] {
        started(&store, id);
    }
    let mut feed = store.feed().unwrap();
    feed.changes().unwrap();
    let raw = raw(&temp);
    let delete = |id: &str| {
        for table in ["trace_events", "artifacts", "runs"] {
            raw.execute(&format!("DELETE FROM {table} WHERE run_id = ?1"), [id]).unwrap();
        }
    };
    // The last run goes, and its row numbers are used again.
    delete("r3");
    started(&store, "r4");
    let told = feed.changes().unwrap();
    assert_eq!((ids(&told), &told.removed), (vec!["r4"], &vec!["r3".to_owned()]));
    // An earlier one goes and all rows are renumbered.
    delete("r1");
    raw.execute_batch("VACUUM").unwrap();
    started(&store, "r5");
    let told = feed.changes().unwrap();
    assert_eq!((ids(&told), &told.removed), (vec!["r5"], &vec!["r1".to_owned()]));
}

#[test]
fn records_of_our_own_are_told_once_each() {
    let (_temp, store) = open();
    let mut feed = store.feed().unwrap();
    assert!(feed.changes().unwrap().records_unknown);
    let fact = |key: &str| Op::Own(OwnOp::PutFact { key: key.to_owned(), value: Some("x".to_owned()) });
    store.commit(&Change::new().and(fact("a")).and(fact("b")).and(fact("a"))).unwrap();
    let told = feed.changes().unwrap();
    assert_eq!(told.records.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(feed.changes().unwrap().is_empty());
}

#[test]
fn a_feed_too_far_behind_says_so() {
    let (temp, store) = open();
    let mut feed = store.feed().unwrap();
    feed.changes().unwrap();
    let fact = |key: &str| Op::Own(OwnOp::PutFact { key: key.to_owned(), value: Some("x".to_owned()) });
    store.commit(&Change::new().and(fact("a")).and(fact("b"))).unwrap();
    raw(&temp).execute("DELETE FROM telic_touched WHERE id = 'a'", []).unwrap();
    let told = feed.changes().unwrap();
    assert!(told.records_unknown && told.records.is_empty());
}

#[test]
fn it_can_be_woken_without_a_change() {
    let (_temp, store) = open();
    let mut feed = store.feed().unwrap();
    feed.changes().unwrap();
    let waker = feed.waker();
    let thread = std::thread::spawn(move || waker.wake());
    assert!(!feed.wait(LONG).unwrap());
    thread.join().unwrap();
}

#[test]
fn a_feed_of_an_inspected_store_notices_another_programs_writes() {
    let (temp, store) = open();
    started(&store, "r1");
    drop(store);
    let inspected = Store::open_read_only(&state(&temp)).unwrap();
    let mut feed = inspected.feed().unwrap();
    assert_eq!(ids(&feed.changes().unwrap()), ["r1"]);
    let writer = Store::open(&state(&temp)).unwrap();
    started(&writer, "r2");
    assert_eq!(ids(&feed.changes().unwrap()), ["r2"]);
}
