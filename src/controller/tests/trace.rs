//! Events: denials, limits, and how the public sees them.

use super::play::Play;
use crate::controller::{
    Code, DENIALS_PER_VERSION, EVENT_LIMIT, EVENTS_RESERVED, EventKey, EventType, StoredEvent, Tokens,
    cancel, denial_event, public_event,
};
use crate::protocol::{Kind, TraceEventType};
use crate::text::units;
use serde_json::json;

#[test]
fn every_summary_fits_even_with_the_longest_target() {
    let play = Play::before("fix", Kind::WorkResult, 2);
    let result = play.changed(|body| body["actions"][0]["target"] = "é".repeat(2048).into());
    let refusal = play.submit(&result).unwrap_err();
    assert_eq!(refusal.code, Code::PermissionDenied);
    let event = denial_event(&play.view, &refusal, &play.stamp()).unwrap();
    assert!(units(&event.summary) <= 800);
    assert_eq!(event.output_refs, Vec::<String>::new());
    assert_eq!(event.input_refs, [play.view.reference("contract-1"), play.view.reference("plan-2")]);
    let decision = event.decision.unwrap();
    assert_eq!(units(&decision.scope), 2048);
    assert_eq!(decision.decision.as_str(), "deny");
}

#[test]
fn the_same_denial_is_the_same_event_but_for_its_id_and_time() {
    let play = Play::before("fix", Kind::WorkResult, 2);
    let result = play.changed(|body| body["actions"][0]["target"] = "/etc/passwd".into());
    let event = || {
        let refusal = play.submit(&result).unwrap_err();
        denial_event(&play.view, &refusal, &crate::controller::Stamp::new("t", "x")).unwrap()
    };
    assert_eq!(event(), event());
}

#[test]
fn an_honest_denial_of_an_untyped_inspection_is_recorded_as_a_denial() {
    let play = Play::before("fix", Kind::WorkResult, 1);
    let result = play.changed(|body| {
        let mut action = body["actions"][0].clone();
        action["id"] = "action-honest".into();
        action["capability"] = "shell.inspect".into();
        action["target"] = "rm -rf /".into();
        action["status"] = "denied".into();
        action["mutating"] = false.into();
        action["evidenceRefs"] = json!([]);
        body["actions"].as_array_mut().unwrap().push(action);
        body["status"] = "partial".into();
    });
    let accepted = play.submit(&result).unwrap();
    let decisions: Vec<_> = accepted.events.iter().filter_map(|event| event.decision.as_ref()).collect();
    let honest = decisions.iter().find(|decision| &*decision.scope == "rm -rf /").unwrap();
    assert_eq!(honest.decision.as_str(), "deny");
}

/// A run whose trace has grown to a length.
fn grown(kind: Kind, events: usize, denial: bool) -> Play {
    let mut play = Play::before("fix", kind, 1);
    while play.view.events().len() < events {
        let sequence = i64::try_from(play.view.events().len()).unwrap() + 1;
        play.view.push_event(EventKey {
            id: format!("grown-{sequence}"),
            sequence,
            event_type: if denial { EventType::PermissionChecked } else { EventType::EvidenceCaptured }
                .as_str()
                .to_owned(),
            has_output: !denial,
        });
    }
    play
}

#[test]
fn a_full_trace_takes_in_nothing_but_the_end_of_the_run() {
    let almost = grown(Kind::TaskContract, EVENT_LIMIT - EVENTS_RESERVED - 1, false);
    assert!(almost.submit(&almost.next()).is_ok());
    let full = grown(Kind::TaskContract, EVENT_LIMIT - EVENTS_RESERVED, false);
    assert_eq!(full.refused(&full.next()), (Code::TraceLimit, "C-SB-23"));
    assert!(cancel(&full.view, &Tokens::of(&full.view), &full.stamp()).is_ok());
    let report = grown(Kind::UserReport, EVENT_LIMIT - 1, false);
    assert!(report.submit(&report.next()).is_ok());
}

#[test]
fn denials_are_recorded_up_to_a_number_per_version() {
    let play = Play::before("fix", Kind::WorkResult, 1);
    let now = play.view.events().len();
    for (denials, recorded) in [(DENIALS_PER_VERSION - 1, true), (DENIALS_PER_VERSION, false)] {
        let play = grown(Kind::WorkResult, now + denials, true);
        let result = play.changed(|body| body["actions"][0]["target"] = "/etc/passwd".into());
        let refusal = play.submit(&result).unwrap_err();
        assert_eq!(denial_event(&play.view, &refusal, &play.stamp()).is_some(), recorded, "{denials}");
    }
}

fn stored(event_type: &str) -> StoredEvent {
    StoredEvent {
        id: "e-1".into(),
        sequence: 4,
        timestamp: "2026-03-01T10:00:00.000Z".into(),
        actor: "executor".into(),
        phase: "agent_2_revise".into(),
        event_type: event_type.into(),
        input_refs: vec!["repo://a".into()],
        output_refs: Vec::new(),
        decision: None,
        summary: "s".into(),
        prompt_revisions_remaining: 1,
        remediations_remaining: 0,
    }
}

#[test]
fn stored_types_have_public_names() {
    use TraceEventType as Public;
    for (event_type, public) in [
        ("run_started", Public::RunStarted),
        ("phase_submitted", Public::PhaseSubmitted),
        ("clarification_requested", Public::ClarificationRequested),
        ("clarification_answered", Public::TransitionAllowed),
        ("run_cancelled", Public::RunTerminated),
        ("context_source_stored", Public::ArtifactRecorded),
        ("evidence_captured", Public::ArtifactRecorded),
        ("scenario_presentation_stored", Public::ArtifactRecorded),
        ("budget_consumed", Public::ArtifactRecorded),
        ("something_new", Public::ArtifactRecorded),
    ] {
        let shown = public_event("r", &stored(event_type));
        assert_eq!(shown.event_type, public, "{event_type}");
        assert_eq!(shown.phase.as_str(), "agent_2_revision");
        assert_eq!(shown.input_refs[0].as_str(), "repo://a");
        assert_eq!(shown.budget_snapshot.post_execution_remediations.get(), 0);
    }
    let mut other = stored("phase_submitted");
    other.actor = "worker".into();
    assert_eq!(public_event("r", &other).actor.as_str(), "host");
}

#[test]
fn a_damaged_row_is_shown_as_a_placeholder_in_its_place() {
    let damages: [fn(&mut StoredEvent); 5] = [
        |event| event.phase = "nowhere".into(),
        |event| event.summary = String::new(),
        |event| event.input_refs = vec!["no reference".into()],
        |event| event.decision = Some(json!({ "decision": "perhaps" })),
        |event| event.id = "no id".into(),
    ];
    for damage in damages {
        let mut event = stored("permission_checked");
        damage(&mut event);
        let shown = public_event("r", &event);
        assert_eq!(
            (shown.sequence.get(), shown.event_type),
            (4, TraceEventType::ArtifactRecorded),
            "{event:?}"
        );
        let body = crate::protocol::Body::from(shown).encode();
        assert!(crate::protocol::Body::read(Kind::TraceEvent, &body).is_ok(), "{event:?}");
    }
}
