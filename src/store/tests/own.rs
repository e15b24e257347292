//! telic's own records: guards, order, leases, events.

use serde::Deserialize;

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Thing<const KIND: u8> {
    id: String,
    run: Option<String>,
    status: String,
    note: Option<f64>,
}

const RUN: u8 = 0;
const ATTEMPT: u8 = 1;
const VERDICT: u8 = 2;

impl<const K: u8> Record for Thing<K> {
    const KIND: Kind = match K {
        RUN => Kind::RUN,
        ATTEMPT => Kind::ATTEMPT,
        _ => Kind::VERDICT,
    };
    fn keys(&self) -> Keys<'_> {
        Keys {
            id: &self.id,
            run_id: self.run.as_deref(),
            task_id: Some("task"),
            parent_id: None,
            status: &self.status,
        }
    }
}

use serde::Serialize;

fn thing<const K: u8>(id: &str, status: &str) -> Thing<K> {
    let run = (K != RUN).then(|| "run_1".to_owned());
    Thing { id: id.to_owned(), run, status: status.to_owned(), note: None }
}

fn insert<const K: u8>(store: &Store, record: &Thing<K>) -> Result<Committed, StoreError> {
    let mut change = Change::new();
    change.insert(record)?;
    store.commit(&change)
}

fn update<const K: u8>(store: &Store, record: &Thing<K>, expected: &str) -> Result<Committed, StoreError> {
    let mut change = Change::new();
    change.update(record, expected)?;
    store.commit(&change)
}

#[test]
fn records_are_found_by_id_run_task_and_status_in_order_of_insertion() {
    let (_temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    for (id, status) in [("c", "FAILED"), ("b", "COMPLETED"), ("a", "ACTIVE")] {
        insert(&store, &thing::<ATTEMPT>(id, status)).unwrap();
    }
    let ids = |found: Vec<Thing<ATTEMPT>>| found.into_iter().map(|thing| thing.id).collect::<String>();
    assert_eq!(ids(store.records_of_run("run_1").unwrap()), "cba");
    assert_eq!(ids(store.records_of_task("task").unwrap()), "cba");
    assert_eq!(ids(store.records_with_status(&["ACTIVE", "FAILED"]).unwrap()), "ca");
    assert_eq!(ids(store.latest_records(1, 5).unwrap()), "bc");
    assert_eq!(store.latest_of_run::<Thing<ATTEMPT>>("run_1").unwrap().unwrap().id, "a");
    assert_eq!(store.record::<Thing<RUN>>("run_1").unwrap(), thing("run_1", "QUEUED"));
    assert_eq!(code(store.record::<Thing<RUN>>("run_2")), "record_not_found");
}

#[test]
fn an_update_needs_the_status_that_was_read() {
    let (_temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    update(&store, &thing::<RUN>("run_1", "LEASED"), "QUEUED").unwrap();
    assert_eq!(code(update(&store, &thing::<RUN>("run_1", "CANCELLED"), "QUEUED")), "status_conflict");
    assert_eq!(code(update(&store, &thing::<RUN>("run_2", "LEASED"), "QUEUED")), "record_not_found");
    assert_eq!(store.record::<Thing<RUN>>("run_1").unwrap().status, "LEASED");
}

#[test]
fn a_replacement_needs_exactly_what_was_read() {
    let (_temp, store) = open();
    let first = thing::<RUN>("run_1", "QUEUED");
    insert(&store, &first).unwrap();
    let second = Thing { note: Some(0.1), ..first.clone() };
    let replace = |read: &Thing<RUN>, new: &Thing<RUN>| {
        let mut change = Change::new();
        change.replace(read, new)?;
        store.commit(&change)
    };
    replace(&first, &second).unwrap();
    assert_eq!(code(replace(&first, &second)), "status_conflict");
    replace(&second, &first).unwrap();
}

#[test]
fn a_record_written_with_fewer_fields_can_still_be_replaced() {
    let (temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    raw(&temp)
        .execute("UPDATE telic_runs SET body = '{\"id\":\"run_1\",\"status\":\"QUEUED\"}'", [])
        .unwrap();
    let read: Thing<RUN> = store.record("run_1").unwrap();
    let mut change = Change::new();
    change.replace(&read, &thing("run_1", "LEASED")).unwrap();
    store.commit(&change).unwrap();
}

#[test]
fn a_verdict_is_never_changed() {
    let (_temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "JUDGING")).unwrap();
    insert(&store, &thing::<VERDICT>("verdict_1", "SUCCESS")).unwrap();
    assert_eq!(
        code(update(&store, &thing::<VERDICT>("verdict_1", "CANCELLED"), "SUCCESS")),
        "integrity_failure"
    );
    assert_eq!(code(insert(&store, &thing::<VERDICT>("verdict_1", "CANCELLED"))), "record_exists");
    assert_eq!(store.record::<Thing<VERDICT>>("verdict_1").unwrap().status, "SUCCESS");
}

#[test]
fn a_run_has_at_most_one_live_attempt() {
    let (_temp, store) = open();
    assert_eq!(code(insert(&store, &thing::<ATTEMPT>("a1", "STARTING"))), "run_not_found");
    insert(&store, &thing::<RUN>("run_1", "LEASED")).unwrap();
    insert(&store, &thing::<ATTEMPT>("a1", "STARTING")).unwrap();
    assert_eq!(code(insert(&store, &thing::<ATTEMPT>("a2", "ACTIVE"))), "record_exists");
    update(&store, &thing::<ATTEMPT>("a1", "ACTIVE"), "STARTING").unwrap();
    update(&store, &thing::<ATTEMPT>("a1", "LEASE_EXPIRED"), "ACTIVE").unwrap();
    insert(&store, &thing::<ATTEMPT>("a2", "STARTING")).unwrap();
    assert_eq!(code(update(&store, &thing::<ATTEMPT>("a1", "ACTIVE"), "LEASE_EXPIRED")), "record_exists");
}

fn lease(id: &str, expires: &str) -> LeaseRow {
    LeaseRow {
        run_id: "run_1".to_owned(),
        id: id.to_owned(),
        worker_id: id.to_owned(),
        status: "HELD".to_owned(),
        expires_at: expires.to_owned(),
        body: format!("{{\"id\":\"{id}\"}}"),
    }
}

fn take(store: &Store, id: &str, expires: &str, now: &str) -> Result<Committed, StoreError> {
    store.commit(
        &Change::new().and(Op::Own(OwnOp::TakeLease { lease: lease(id, expires), now: now.to_owned() })),
    )
}

#[test]
fn a_lease_has_one_winner_until_it_is_released_or_runs_out() {
    let (temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    let other = Store::open(&state(&temp)).unwrap();
    take(&store, "l1", "12:30", "12:00").unwrap();
    assert_eq!(code(take(&other, "l2", "12:31", "12:01")), "lease_held");
    // Run out: another may take it, and the first is refused from then on.
    take(&other, "l2", "13:00", "12:30").unwrap();
    let holds = |id: &str| {
        let (run_id, lease_id) = ("run_1".to_owned(), id.to_owned());
        store.commit(&Change::new().and(Op::Own(OwnOp::HoldsLease { run_id, lease_id })))
    };
    assert_eq!(code(holds("l1")), "lease_lost");
    assert_eq!(holds("l2").unwrap().outcomes, [Outcome::Holds]);
    let change = |lease: LeaseRow| store.commit(&Change::new().and(Op::Own(OwnOp::ChangeLease(lease))));
    assert_eq!(code(change(lease("l1", "14:00"))), "lease_lost");
    change(LeaseRow { status: "RELEASED".to_owned(), ..lease("l2", "13:00") }).unwrap();
    assert_eq!(code(holds("l2")), "lease_lost");
    take(&store, "l3", "12:50", "12:40").unwrap();
}

#[test]
fn a_lost_lease_takes_the_rest_of_the_change_with_it() {
    let (_temp, store) = open();
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    take(&store, "l1", "12:30", "12:00").unwrap();
    let mut change = Change::new();
    change.update(&thing::<RUN>("run_1", "VERIFYING"), "QUEUED").unwrap();
    change.push(Op::Own(OwnOp::HoldsLease { run_id: "run_1".to_owned(), lease_id: "l0".to_owned() }));
    assert_eq!(code(store.commit(&change)), "lease_lost");
    assert_eq!(store.record::<Thing<RUN>>("run_1").unwrap().status, "QUEUED");
}

fn happened(store: &Store, id: &str, run: Option<&str>) -> i64 {
    let op = OwnOp::AppendEvent {
        id: id.to_owned(),
        run_id: run.map(str::to_owned),
        task_id: None,
        body: format!("{{\"id\":\"{id}\"}}"),
    };
    match store.commit(&Change::new().and(Op::Own(op))).unwrap().outcomes[0] {
        Outcome::Appended { sequence } => sequence,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn events_have_one_global_order_over_all_runs_and_programs() {
    let (temp, store) = open();
    let other = Store::open(&state(&temp)).unwrap();
    assert_eq!(happened(&store, "e1", Some("run_1")), 1);
    assert_eq!(happened(&other, "e2", None), 2);
    assert_eq!(happened(&store, "e3", Some("run_1")), 3);
    let sequences =
        |run| store.event_bodies(0, 10, run).unwrap().into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(sequences(None), [1, 2, 3]);
    assert_eq!(sequences(Some("run_1")), [1, 3]);
    // A number is never used twice, even when its event was deleted.
    raw(&temp).execute("DELETE FROM telic_events WHERE sequence = 3", []).unwrap();
    assert_eq!(happened(&store, "e4", None), 4);
}

#[test]
fn records_do_not_stop_whoever_deletes_a_run() {
    let (temp, store) = open();
    started(&store, "run_1");
    insert(&store, &thing::<RUN>("run_1", "QUEUED")).unwrap();
    insert(&store, &thing::<ATTEMPT>("a1", "ACTIVE")).unwrap();
    let raw = raw(&temp);
    raw.execute_batch("PRAGMA foreign_keys = ON").unwrap();
    raw.execute_batch("DELETE FROM trace_events; DELETE FROM artifacts; DELETE FROM runs;").unwrap();
    raw.execute_batch("DELETE FROM telic_runs").unwrap();
    assert!(store.find_record::<Thing<ATTEMPT>>("a1").unwrap().is_none());
}

#[test]
fn a_fact_is_kept_replaced_and_removed() {
    let (_temp, store) = open();
    let put = |value: Option<&str>| {
        let op = OwnOp::PutFact { key: "consent".to_owned(), value: value.map(str::to_owned) };
        store.commit(&Change::new().and(Op::Own(op))).unwrap();
        store.fact("consent").unwrap()
    };
    assert_eq!(put(Some("a")).as_deref(), Some("a"));
    assert_eq!(put(Some("b")).as_deref(), Some("b"));
    assert_eq!(put(None), None);
}

#[test]
fn a_ledger_without_telics_tables_has_no_records() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(state(&temp)).unwrap();
    raw(&temp).execute_batch("CREATE TABLE runs (run_id TEXT PRIMARY KEY)").unwrap();
    let store = Store::open_read_only(&state(&temp)).unwrap();
    assert!(store.records_of_run::<Thing<ATTEMPT>>("run_1").unwrap().is_empty());
    assert!(store.event_bodies(0, 10, None).unwrap().is_empty());
    assert_eq!(store.fact("any").unwrap(), None);
}
