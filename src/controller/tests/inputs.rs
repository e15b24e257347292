//! References of artifacts, and what a role may read.

use super::play::Play;
use crate::controller::{Code, Schemas, input_refs, next_action};
use crate::protocol::{Kind, NextAction};
use serde_json::{Value, json};

fn ids(play: &Play) -> Vec<String> {
    let prefix = play.view.reference("");
    input_refs(&play.view)
        .unwrap()
        .iter()
        .map(|reference| reference.strip_prefix(&prefix).unwrap().to_owned())
        .collect()
}

#[test]
fn inputs_are_what_the_phase_may_read_in_the_order_of_the_ledger() {
    let request = "msg_T0000";
    let run = "run_T0000";
    for (kind, nth, expected) in [
        (Kind::ContextManifest, 1, vec![request, run]),
        (Kind::ProblemFrame, 1, vec![request, run, "context-1"]),
        (Kind::TaskContract, 1, vec![request, run, "context-1", "frame-1"]),
        (Kind::PromptReview, 1, vec![request, "frame-1", "contract-1"]),
        (Kind::WorkPlan, 1, vec![request, "context-1", "contract-1", "review-1"]),
        (Kind::WorkResult, 1, vec![request, "context-1", "contract-1", "plan-1"]),
        (Kind::QualityReview, 1, vec![request, "contract-1", "plan-1", "evidence-cause", "result-1"]),
        (Kind::WorkPlan, 2, vec![request, "context-1", "contract-1", "review-1", "quality-1"]),
        (Kind::WorkResult, 2, vec![request, "context-1", "contract-1", "plan-1", "quality-1", "plan-2"]),
    ] {
        assert_eq!(ids(&Play::before("fix", kind, nth)), expected, "{kind} {nth}");
    }
}

#[test]
fn an_unchanged_run_has_the_same_action_and_a_valid_one_at_every_step() {
    let mut play = Play::start("fix");
    loop {
        let first = next_action(&play.view, None, Schemas::Full).unwrap();
        assert_eq!(first, next_action(&play.view, None, Schemas::Full).unwrap());
        let body = crate::protocol::Body::from(first);
        let read = crate::protocol::Body::read(Kind::NextAction, &body.encode());
        assert!(read.is_ok(), "{:?}: {:?}", play.view.run.phase, read.unwrap_err());
        if play.step().is_none() {
            break;
        }
    }
}

#[test]
fn only_the_due_node_may_do_anything() {
    let play = Play::before("fix", Kind::WorkResult, 2);
    let NextAction::Phase(action) = next_action(&play.view, None, Schemas::Full).unwrap() else { panic!() };
    assert!(action.work_node_id.is_some());
    assert!(!action.effective_permissions.repository.write.is_empty());
    assert_eq!(
        action.additional_output_schemas.0.keys().collect::<Vec<_>>(),
        ["ClarificationRequest", "Evidence"]
    );
    let play = Play::before("fix", Kind::QualityReview, 2);
    let NextAction::Phase(action) = next_action(&play.view, None, Schemas::Full).unwrap() else { panic!() };
    assert_eq!(action.work_node_id, None);
    assert_eq!(action.effective_permissions, crate::protocol::PermissionSet::empty());
}

#[test]
fn a_compact_action_names_where_the_other_schemas_are() {
    let play = Play::before("fix", Kind::WorkResult, 1);
    let NextAction::Phase(full) = next_action(&play.view, None, Schemas::Full).unwrap() else { panic!() };
    let NextAction::Phase(compact) = next_action(&play.view, None, Schemas::Compact).unwrap() else {
        panic!()
    };
    let size = |action: &crate::protocol::PhaseAction| serde_json::to_string(action).unwrap().len();
    assert!(size(&compact) * 2 < size(&full) * 3 / 2, "{} and {}", size(&compact), size(&full));
    assert_eq!(
        full.required_output_schema.0["$schema"],
        json!("https://json-schema.org/draft/2020-12/schema")
    );
    assert!(compact.required_output_schema.0["properties"].get("filesChanged").is_some());
    let evidence = compact.additional_output_schemas.0["Evidence"]["description"].as_str().unwrap();
    assert!(evidence.contains("schema:Evidence"), "{evidence}");
}

#[test]
fn references_are_refused_with_their_place_and_the_rule_they_break() {
    let play = Play::before("fix", Kind::ProblemFrame, 1);
    let run = play.view.run.run_id.clone();
    let cases = [
        ("artifact://system/roles/poet-v1".to_owned(), Code::MisplacedSystemReference, "C-RF-3"),
        ("artifact://system/roles/executor-v1".to_owned(), Code::MisplacedSystemReference, "C-RF-3"),
        ("repo://lib/other.sh".to_owned(), Code::UnselectedRepositoryReference, "C-RF-5"),
        (format!("trace://{run}/a/b"), Code::InvalidReference, "C-RF-8"),
        ("trace://other".to_owned(), Code::CrossRunReference, "C-RF-8"),
        (format!("trace://{run}/event-0099"), Code::UnknownReference, "C-RF-10"),
        ("artifact://alone".to_owned(), Code::InvalidReference, "C-RF-12"),
        (format!("artifact://{run}/a/b"), Code::InvalidReference, "C-RF-12"),
        ("artifact://other/frame-1".to_owned(), Code::CrossRunReference, "C-RF-13"),
        (format!("artifact://{run}/frame-9"), Code::UnknownReference, "C-RF-15"),
    ];
    for (reference, code, rule) in cases {
        let frame = play.changed(|body| body["inferences"][0]["sourceRefs"][0] = reference.as_str().into());
        let refusal = play.submit(&frame).unwrap_err();
        assert_eq!((refusal.code, refusal.rule), (code, Some(rule)), "{reference}");
        assert_eq!(refusal.path.as_deref(), Some("body.inferences[0].sourceRefs[0]"), "{reference}");
    }
    for reference in
        [format!("trace://{run}"), format!("trace://{run}/event-0001"), format!("trace://{run}/evt_T0000_0")]
    {
        let frame = play.changed(|body| {
            body["inferences"][0]["sourceRefs"].as_array_mut().unwrap().push(Value::from(reference.as_str()));
        });
        assert!(play.submit(&frame).is_ok(), "{reference}");
    }
    let wrong = play.changed(|body| body["originalRequestRef"] = play.view.reference("context-1").into());
    assert_eq!(play.refused(&wrong), (Code::WrongReferenceType, "C-RF-16"));
}

#[test]
fn proof_is_evidence_and_neither_sources_nor_events() {
    let play = Play::before("fix", Kind::WorkResult, 1);
    let run = play.view.run.run_id.clone();
    for (reference, rule) in [
        ("repo://AGENTS.md".to_owned(), "C-RF-6"),
        (format!("trace://{run}"), "C-RF-9"),
        (format!("trace://{run}/event-0001"), "C-RF-11"),
        (play.view.reference("contract-1"), "C-RF-18"),
        (play.view.reference("plan-1"), "C-RF-18"),
    ] {
        let result = play.changed(|body| body["evidenceRefs"] = json!([reference]));
        assert_eq!(play.refused(&result), (Code::NotDirectEvidence, rule), "{reference}");
    }
    let document = play.view.reference("source-1");
    let cited =
        play.changed(|body| body["evidenceRefs"].as_array_mut().unwrap().push(document.clone().into()));
    assert_eq!(play.refused(&cited), (Code::EvidenceIncompatible, "C-ES-1"));
}

#[test]
fn an_audit_announces_a_report_that_is_not_there_yet() {
    let play = Play::before("fix", Kind::ReleaseAudit, 1);
    let announced = |id: &str| play.changed(|body| body["userReportRef"] = play.view.reference(id).into());
    assert_eq!(play.refused(&announced("plan-1")), (Code::ReportRefTaken, "C-RF-14"));
    let own = play.next().body.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(play.refused(&announced(&own)), (Code::ReportRefTaken, "C-RF-14"));
    assert_eq!(play.refused(&announced("-not-an-id")), (Code::InvalidReference, "C-RF-14"));
    assert!(play.submit(&announced("report-7")).is_ok());
}

#[test]
fn what_is_stored_with_an_artifact_is_the_callers_list_and_then_the_bodys() {
    let play = Play::before("fix", Kind::TaskContract, 1);
    let mut contract = play.next();
    contract.source_refs = vec!["repo://tests/shipping_test.sh".to_owned(), "repo://AGENTS.md".to_owned()];
    let accepted = play.submit(&contract).unwrap();
    let expected = [
        "repo://tests/shipping_test.sh".to_owned(),
        "repo://AGENTS.md".to_owned(),
        play.view.reference("msg_T0000"),
        play.view.reference("frame-1"),
        "repo://lib/shipping.sh".to_owned(),
    ];
    assert_eq!(accepted.artifacts[0].source_refs, expected);
    assert_eq!(accepted.events[0].input_refs, expected);
}

/// A run at its quality review with more artifacts of a type, none of which has a readable body.
fn crowded(kind: Kind, count: usize) -> Play {
    let mut play = Play::before("fix", Kind::QualityReview, 1);
    for number in 0..count {
        play.view.push(std::sync::Arc::new(crate::controller::Stored {
            id: format!("crowd-{number}"),
            kind: Some(kind),
            producer: "executor".into(),
            source_refs: Vec::new(),
            sha256: String::new(),
            redaction: "none".into(),
            created_at: "2026-03-01T10:00:00.000Z".into(),
            body: None,
        }));
    }
    play
}

#[test]
fn inputs_that_must_be_there_are_never_cut_off() {
    // Beside the crowd: request, contract, plan and the run's own result.
    assert_eq!(input_refs(&crowded(Kind::WorkResult, 252).view).unwrap().len(), 256);
    let refusal = input_refs(&crowded(Kind::WorkResult, 253).view).unwrap_err();
    assert_eq!(refusal.code, Code::ContextClosureTooLarge);
}

#[test]
fn evidence_fills_what_is_left_from_the_newest() {
    let inputs = ids(&crowded(Kind::Evidence, 300));
    assert_eq!(inputs.len(), 256);
    assert_eq!(inputs.last().map(String::as_str), Some("crowd-299"));
    assert!(
        inputs.contains(&"crowd-48".to_owned()) && !inputs.contains(&"crowd-47".to_owned()),
        "{inputs:?}"
    );
    assert!(!inputs.contains(&"evidence-cause".to_owned()));
}
