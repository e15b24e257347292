//! The workflow's rows: transactions, guards, replay, quotas, limits, order.

use super::*;

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

fn evidence(id: &str) -> Op {
    Op::Supporting {
        artifact: artifact("r1", id, "Evidence"),
        quota: None,
        event: event("r1", &format!("ev-{id}")),
    }
}

fn changed(op: Op, change: impl FnOnce(&mut NewArtifact)) -> Op {
    match op {
        Op::Supporting { mut artifact, quota, event } => {
            change(&mut artifact);
            Op::Supporting { artifact, quota, event }
        }
        other => other,
    }
}

fn limited(op: Op, limit: Quota) -> Op {
    match op {
        Op::Supporting { artifact, event, .. } => Op::Supporting { artifact, quota: Some(limit), event },
        other => other,
    }
}

#[test]
fn a_supporting_artifact_does_not_move_the_run_and_its_replay_has_no_effect() {
    let (_temp, store) = open();
    started(&store, "r1");
    let stored = store.commit(&Change::new().and(evidence("e1"))).unwrap();
    assert!(matches!(stored.outcomes[0], Outcome::Stored(_)));
    // Times do not count: the replay returns what is stored.
    let later =
        changed(evidence("e1"), |artifact| artifact.created_at = "2027-01-01T00:00:00.000Z".to_owned());
    let replayed = store.commit(&Change::new().and(later)).unwrap();
    assert!(matches!(&replayed.outcomes[0], Outcome::Replayed(artifact) if artifact.created_at == TIME));
    assert_eq!(store.run("r1").unwrap(), run("r1"));
    assert_eq!((store.artifact_count("r1").unwrap(), store.last_event_sequence("r1").unwrap()), (3, 2));
}

#[test]
fn a_replay_with_any_difference_is_a_conflict() {
    let (_temp, store) = open();
    started(&store, "r1");
    store.commit(&Change::new().and(evidence("e1"))).unwrap();
    let differences: [fn(&mut NewArtifact); 6] = [
        |artifact| artifact.kind = "ScenarioSpec".to_owned(),
        |artifact| artifact.schema_version = "1.1".to_owned(),
        |artifact| artifact.producer = "user".to_owned(),
        |artifact| artifact.body = Body::new(&json!({"other": 1})).unwrap(),
        |artifact| artifact.source_refs.push("repo://more".to_owned()),
        |artifact| artifact.redaction = "partial".to_owned(),
    ];
    for difference in differences {
        let change = Change::new().and(changed(evidence("e1"), difference));
        assert_eq!(code(store.commit(&change)), "replay_conflict");
    }
    assert_eq!(store.last_event_sequence("r1").unwrap(), 2);
}

#[test]
fn evidence_is_counted_from_the_latest_plan_on() {
    let (_temp, store) = open();
    started(&store, "r1");
    let quota = || Quota::AfterLatest { after: "WorkPlan".to_owned(), limit: 2 };
    let send = |id: &str| store.commit(&Change::new().and(limited(evidence(id), quota())));
    assert_eq!(code(send("e0")), "integrity_failure", "without a plan");
    let plan =
        |id: &str| store.commit(&Change::new().and(Op::InsertArtifact(artifact("r1", id, "WorkPlan"))));
    plan("p1").unwrap();
    send("e1").unwrap();
    send("e2").unwrap();
    assert_eq!(code(send("e3")), "quota_exceeded");
    assert!(matches!(send("e2").unwrap().outcomes[0], Outcome::Replayed(_)), "a replay asks no quota");
    plan("p2").unwrap();
    send("e3").unwrap();
}

#[test]
fn a_quota_by_field_reads_the_bodies() {
    let (_temp, store) = open();
    started(&store, "r1");
    let send = |id: &str, value: &str| {
        let quota = Quota::WithField { field: "frame".to_owned(), value: value.to_owned(), limit: 1 };
        store.commit(&Change::new().and(limited(evidence(id), quota)))
    };
    send("s1", "f1").unwrap();
    assert_eq!(code(send("s2", "f1")), "quota_exceeded");
    send("s2", "f2").unwrap();
}

#[test]
fn an_equal_event_is_appended_once_whatever_its_id_time_and_budgets() {
    let (_temp, store) = open();
    started(&store, "r1");
    let denial = |id: &str| NewEvent {
        permission_decision: Some(json!({"decision": "deny", "capability": "shell.execute"})),
        ..event("r1", id)
    };
    let first = store.commit(&Change::new().and(Op::AppendEventOnce(denial("d1")))).unwrap();
    assert_eq!(first.outcomes, [Outcome::Appended { sequence: 2 }]);
    let again = NewEvent { budget_snapshot: BudgetSnapshot::of(&run("r1")), ..denial("d2") };
    let second = store.commit(&Change::new().and(Op::AppendEventOnce(again))).unwrap();
    assert_eq!(second.outcomes, [Outcome::AlreadyThere]);
    let other = NewEvent { decision_summary: "other words".to_owned(), ..denial("d3") };
    let third = store.commit(&Change::new().and(Op::AppendEventOnce(other))).unwrap();
    assert_eq!(third.outcomes, [Outcome::Appended { sequence: 3 }]);
    let stored = &store.events("r1", 1, 1).unwrap()[0];
    assert_eq!(stored.permission_decision.as_ref().unwrap()["decision"], "deny");
}

#[test]
fn a_used_artifact_id_is_refused_but_free_in_another_run() {
    let (_temp, store) = open();
    started(&store, "r1");
    started(&store, "r2");
    let insert =
        |run: &str| store.commit(&Change::new().and(Op::InsertArtifact(artifact(run, "a", "WorkPlan"))));
    insert("r1").unwrap();
    insert("r2").unwrap();
    assert_eq!(code(insert("r1")), "artifact_exists");
    assert_eq!(code(insert("nobody")), "run_not_found");
    assert_eq!(code(store.commit(&Change::new().and(Op::InsertRun(run("r1"))))), "run_exists");
    assert_eq!(code(store.artifact("r1", "none")), "artifact_not_found");
    assert_eq!(code(store.artifacts_after("r1", Some("none"))), "artifact_not_found");
}

#[test]
fn a_run_holds_at_most_2048_artifacts_and_10000_events() {
    let (temp, store) = open();
    started(&store, "r1");
    let mut fill = Change::new();
    for number in 2..ARTIFACTS_PER_RUN {
        fill.push(Op::InsertArtifact(NewArtifact {
            body: Body::new(&json!(1)).unwrap(),
            ..artifact("r1", &format!("a{number}"), "Evidence")
        }));
    }
    for number in 1..EVENTS_PER_RUN {
        fill.push(Op::AppendEvent(event("r1", &format!("fill-{number}"))));
    }
    store.commit(&fill).unwrap();
    let one_more = Change::new().and(Op::InsertArtifact(artifact("r1", "over", "Evidence")));
    assert_eq!(code(store.commit(&one_more)), "artifact_limit");
    assert_eq!(code(store.commit(&Change::new().and(Op::AppendEvent(event("r1", "over"))))), "trace_limit");
    // A gap in the sequence leaves room: rows count, not numbers (`store.md` 6).
    raw(&temp).execute("DELETE FROM trace_events WHERE run_id = 'r1' AND sequence = 5", []).unwrap();
    let appended = store.commit(&Change::new().and(Op::AppendEvent(event("r1", "over")))).unwrap();
    assert_eq!(appended.outcomes, [Outcome::Appended { sequence: EVENTS_PER_RUN + 1 }]);
}

#[test]
fn a_summary_has_one_to_800_utf16_units_and_times_three_digits() {
    let (_temp, store) = open();
    started(&store, "r1");
    let say = |id: &str, summary: String| {
        let event = NewEvent { decision_summary: summary, ..event("r1", id) };
        store.commit(&Change::new().and(Op::AppendEvent(event)))
    };
    assert_eq!(code(say("s1", String::new())), "integrity_failure");
    assert_eq!(code(say("s2", "\u{1f600}".repeat(400) + "x")), "integrity_failure");
    say("s3", "\u{1f600}".repeat(400)).unwrap();
    let late = NewEvent { timestamp: "2026-03-01T10:00:00Z".to_owned(), ..event("r1", "s4") };
    assert_eq!(code(store.commit(&Change::new().and(Op::AppendEvent(late)))), "integrity_failure");
}

#[test]
fn runs_are_listed_by_their_last_change_and_paged_without_gaps() {
    let (temp, store) = open();
    for (id, second) in [("c", 2), ("a", 1), ("b", 1), ("d", 0)] {
        let time = format!("2026-03-01T10:00:0{second}.000Z");
        store.commit(&Change::new().and(Op::InsertRun(RunRecord { updated_at: time, ..run(id) }))).unwrap();
    }
    let ids = |listing: &Listing<RunRecord>| {
        listing.items.iter().map(|run| run.run_id.clone()).collect::<Vec<_>>().join("")
    };
    assert_eq!(ids(&store.all_runs().unwrap()), "cabd");
    let mut cursor = None;
    let mut paged = String::new();
    loop {
        let page = store.runs_after(cursor.as_ref(), 1).unwrap();
        let Some(last) = page.items.last() else { break };
        cursor = Some(RunCursor::of(last));
        paged += &ids(&page);
    }
    assert_eq!(paged, "cabd");

    // A row of another schema version hides no other (`store.md` 3.4).
    raw(&temp).execute("UPDATE runs SET schema_version = '2.0' WHERE run_id = 'a'", []).unwrap();
    let listing = store.runs(100).unwrap();
    assert_eq!((ids(&listing).as_str(), listing.refused[0].0.as_str()), ("cbd", "a"));
    assert_eq!(code(store.run("a")), "integrity_failure");
    assert_eq!(code(store.run("none")), "run_not_found");
}

#[test]
fn ledger_order_survives_a_vacuum() {
    let (temp, store) = open();
    started(&store, "r0");
    started(&store, "r1");
    for id in ["z", "y", "x"] {
        store.commit(&Change::new().and(Op::InsertArtifact(artifact("r1", id, "Evidence")))).unwrap();
    }
    let raw = raw(&temp);
    raw.execute_batch(
        "DELETE FROM trace_events WHERE run_id = 'r0'; DELETE FROM artifacts WHERE run_id = 'r0';",
    )
    .unwrap();
    raw.execute_batch("DELETE FROM runs WHERE run_id = 'r0'; VACUUM;").unwrap();
    let ids: Vec<_> =
        store.artifacts("r1").unwrap().into_iter().map(|artifact| artifact.artifact_id).collect();
    assert_eq!(ids, ["message", "r1", "z", "y", "x"]);
    assert_eq!(store.artifacts_after("r1", Some("z")).unwrap().len(), 2);
}

#[test]
fn what_the_ledger_holds_has_the_chapters_form() {
    let (temp, store) = open();
    started(&store, "r1");
    let raw = raw(&temp);
    let text = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("SELECT source_refs_json FROM artifacts"), r#"["repo://a b"]"#);
    assert_eq!(
        text("SELECT budget_snapshot_json FROM trace_events"),
        r#"{"postExecutionRemediationsRemaining":0,"promptRevisionsRemaining":1}"#
    );
    assert_eq!(text("SELECT output_refs_json FROM trace_events"), r#"["artifact://r1/x"]"#);
    assert!(text("SELECT sha256 FROM artifacts").starts_with("sha256:"));
    assert_eq!(text("PRAGMA journal_mode"), "wal");
    assert_eq!(text("PRAGMA integrity_check"), "ok");
    let strict: i64 = raw
        .query_row(
            "SELECT count(*) FROM pragma_table_list WHERE name IN ('runs', 'artifacts', 'trace_events') AND strict = 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(strict, 3);
    let foreign: i64 = raw
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name NOT IN ('runs', 'artifacts', 'trace_events',
             'artifacts_run_idx', 'events_run_idx') AND name NOT LIKE 'telic_%' AND name NOT LIKE 'sqlite_%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(foreign, 0, "everything of ours has its prefix");
}
