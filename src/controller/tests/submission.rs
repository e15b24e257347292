//! The pipeline: what is asked first, what a refusal leaves behind, how runs end.

use super::play::Play;
use crate::controller::{
    Code, Effect, Env, RunPhase, RunStatus, Schemas, Stamp, Submission, Tokens, action_id, cancel, ground,
    next_action, predicates,
};
use crate::protocol::{Kind, NextAction, TerminalStatus};
use serde_json::{Value, json};

#[test]
fn each_script_plays_to_its_end() {
    for (name, status, version) in [
        ("analyze", RunStatus::Completed, 12),
        ("fix", RunStatus::Completed, 13),
        ("forbidden", RunStatus::Completed, 10),
    ] {
        let play = Play::whole(name);
        assert_eq!((play.view.run.status, play.view.run.version), (status, version), "{name}");
        assert_eq!(play.view.run.phase, RunPhase::Report, "{name}");
        let NextAction::Terminal(end) = next_action(&play.view, None, Schemas::Full).unwrap() else {
            panic!("{name} has not ended")
        };
        assert_eq!(end.status, TerminalStatus::Completed, "{name}");
        assert!(end.report_ref.unwrap().ends_with("/report-1"), "{name}");
    }
}

#[test]
fn tokens_are_asked_before_anything_else() {
    let play = Play::before("fix", Kind::ProblemFrame, 1);
    let mut stale = play.next();
    stale.tokens.expected_version -= 1;
    stale.body = Some(json!("no body at all"));
    let refusal = play.submit(&stale).unwrap_err();
    assert_eq!((refusal.code, refusal.rule), (Code::StaleVersion, Some("C-SB-3")));
    assert_eq!(refusal.details["currentVersion"], json!(2));
    let mut foreign = play.next();
    foreign.tokens.action_id = "action:other:2".to_owned();
    assert_eq!(play.refused(&foreign), (Code::StaleAction, "C-SB-4"));
}

#[test]
fn a_submission_that_was_taken_in_is_stale_the_second_time() {
    let mut play = Play::before("fix", Kind::ProblemFrame, 1);
    let submission = play.next();
    play.step();
    assert_eq!(play.refused(&submission), (Code::StaleVersion, "C-SB-3"));
}

#[test]
fn a_call_that_contradicts_itself_is_refused_with_the_rule_that_says_so() {
    let play = Play::before("fix", Kind::ProblemFrame, 1);
    let with = |change: &dyn Fn(&mut Submission)| {
        let mut submission = play.next();
        change(&mut submission);
        play.refused(&submission)
    };
    let invalid = |rule| (Code::InvalidArguments, rule);
    assert_eq!(with(&|it| it.clarification_response = Some("a".into())), invalid("C-SB-5"));
    assert_eq!(with(&|it| it.kind = None), invalid("C-SB-6"));
    assert_eq!(with(&|it| it.body_json = Some("{}".into())), invalid("C-SB-7"));
    assert_eq!(with(&|it| it.body = None), invalid("C-SB-7"));
    assert_eq!(with(&|it| it.body = Some(json!([]))), invalid("C-SB-7"));
    assert_eq!(
        with(&|it| {
            it.body = None;
            it.body_json = Some("{".into());
        }),
        invalid("C-SB-7")
    );
    assert_eq!(with(&|it| it.body.as_mut().unwrap()["id"] = json!(7)), invalid("C-SB-8"));
    assert_eq!(
        with(&|it| it.body.as_mut().unwrap()["runId"] = json!("other")),
        (Code::RunIdMismatch, "C-SB-9")
    );
    assert_eq!(with(&|it| it.kind = Some("Poem".into())), invalid("C-SB-1"));
    for kind in
        ["RunEnvelope", "ContextManifest", "NextAction", "TraceEvent", "UserMessage", "ContextDocument"]
    {
        assert_eq!(with(&|it| it.kind = Some(kind.into())), (Code::ControllerOwnedType, "C-SB-11"), "{kind}");
    }
    assert_eq!(with(&|it| it.redaction = Some("half".into())), (Code::RedactionInvalid, "C-RF-1"));
    assert_eq!(with(&|it| it.body.as_mut().unwrap()["goal"] = json!("")), (Code::SchemaInvalid, "C-SB-13"));
    assert_eq!(
        with(&|it| it.source_refs = vec!["repo://AGENTS.md".into(); 2]),
        (Code::SourceRefsInvalid, "C-RF-2")
    );
    assert_eq!(
        with(&|it| it.body.as_mut().unwrap()["id"] = json!("context-1")),
        (Code::ArtifactExists, "C-SB-22")
    );
}

#[test]
fn the_phase_is_asked_before_the_body_and_leaves_no_denial() {
    let play = Play::before("fix", Kind::TaskContract, 1);
    for kind in [Kind::ProblemFrame, Kind::WorkPlan, Kind::WorkResult, Kind::UserReport] {
        let body = json!({ "id": "x-1", "runId": play.view.run.run_id });
        let refusal = play.submit(&Submission::artifact(Tokens::of(&play.view), kind, body)).unwrap_err();
        assert_eq!((refusal.code, refusal.denial.is_none()), (Code::WrongPhase, true), "{kind}");
        assert_eq!(refusal.details["requiredOutputType"], json!("TaskContract"));
    }
}

#[test]
fn a_result_lists_its_decisions_before_itself_in_the_trace() {
    let mut play = Play::before("fix", Kind::WorkResult, 2);
    let accepted = play.step().unwrap();
    let (last, decisions) = accepted.events.split_last().unwrap();
    assert_eq!((last.actor.as_str(), last.event_type.as_str()), ("executor", "phase_submitted"));
    assert!(!decisions.is_empty());
    let policies = [play.view.reference("contract-1"), play.view.reference("plan-2")];
    for event in decisions {
        assert_eq!((event.actor.as_str(), event.event_type.as_str()), ("controller", "permission_checked"));
        assert_eq!(event.input_refs, policies);
        assert_eq!(event.output_refs, [play.view.reference("result-2")]);
        assert!(event.decision.is_some());
    }
}

#[test]
fn cancelling_ends_a_run_once_and_takes_back_where_it_would_resume() {
    let mut play = Play::before("analyze", Kind::ClarificationRequest, 1);
    let question = play.submit(&play.next()).unwrap();
    play.apply(&question);
    assert_eq!(play.view.run.resume_phase, Some(RunPhase::Frame));
    let accepted = cancel(&play.view, &Tokens::of(&play.view), &play.stamp()).unwrap();
    assert_eq!((accepted.run.status, accepted.run.resume_phase), (RunStatus::Cancelled, None));
    assert_eq!(accepted.events[0].event_type.as_str(), "run_cancelled");
    play.apply(&accepted);
    let again = cancel(&play.view, &Tokens::of(&play.view), &play.stamp()).unwrap();
    assert_eq!((again.effect, again.run.version), (Effect::Nothing, play.view.run.version));
    assert!(again.events.is_empty());
    let stale = Tokens { expected_version: 1, ..Tokens::of(&play.view) };
    assert_eq!(cancel(&play.view, &stale, &play.stamp()).unwrap_err().code, Code::StaleVersion);
}

#[test]
fn grounding_stores_its_documents_and_its_manifest_together_and_only_once() {
    let mut play = Play::start("fix");
    let accepted = play.step().unwrap();
    let kinds: Vec<Kind> = accepted.artifacts.iter().map(|artifact| artifact.kind).collect();
    assert_eq!(kinds[..4], [Kind::ContextDocument; 4]);
    assert_eq!(kinds[4..], [Kind::ContextManifest]);
    let types: Vec<&str> = accepted.events.iter().map(|event| event.event_type.as_str()).collect();
    assert_eq!(types[..4], ["context_source_stored"; 4]);
    assert_eq!(types[4..], ["phase_submitted"]);
    let cited = &accepted.artifacts[4].source_refs;
    assert_eq!(cited.len(), 6, "request, envelope and four documents: {cited:?}");
    assert_eq!(accepted.events[4].input_refs, *cited);
    let again = ground(&play.view, &Tokens::of(&play.view), play.grounding(), &play.stamp(), &Env::none());
    assert_eq!(again.unwrap_err().code, Code::WrongPhase);
}

#[test]
fn documents_of_an_interrupted_grounding_are_replays_and_others_conflicts() {
    let mut play = Play::start("fix");
    let mut whole = ground(
        &play.view,
        &Tokens::of(&play.view),
        play.grounding(),
        &Stamp::new("2026-03-01T09:00:00.000Z", "old"),
        &Env::none(),
    )
    .unwrap();
    // Only the first two documents were stored.
    whole.artifacts.truncate(2);
    whole.events.truncate(2);
    whole.run = play.view.run.clone();
    play.apply(&whole);
    let rest =
        ground(&play.view, &Tokens::of(&play.view), play.grounding(), &play.stamp(), &Env::none()).unwrap();
    assert_eq!((rest.artifacts.len(), rest.events.len()), (3, 3));
    let mut other = play.grounding();
    other.documents[0].content = "different".into();
    let refusal =
        ground(&play.view, &Tokens::of(&play.view), other, &play.stamp(), &Env::none()).unwrap_err();
    assert_eq!(refusal.code, Code::ReplayConflict);
}

#[test]
fn an_action_id_is_known_without_computing_the_action() {
    let play = Play::before("fix", Kind::WorkPlan, 1);
    let id = action_id(&play.view.run);
    assert_eq!(id, format!("action:{}:{}", play.view.run.run_id, play.view.run.version));
    let NextAction::Phase(action) = next_action(&play.view, None, Schemas::Compact).unwrap() else {
        panic!()
    };
    assert_eq!(action.id.as_str(), id);
}

#[test]
fn the_fix_is_locked_until_a_plan_was_made_for_the_correction() {
    let locked = |play: &Play| predicates::before_gate(&play.view);
    assert!(locked(&Play::before("fix", Kind::WorkPlan, 1)));
    assert!(locked(&Play::before("fix", Kind::WorkPlan, 2)));
    assert!(!locked(&Play::before("fix", Kind::Evidence, 2)));
}

#[test]
fn a_revised_contract_may_not_come_without_a_review_that_asks_for_it() {
    let mut play = Play::before("fix", Kind::PromptReview, 1);
    let contract = play.view.reference("contract-1");
    let review = play.changed(|body| {
        body["decision"] = "revise".into();
        body["findings"] = json!([{
            "id": "f-1", "severity": "blocking", "claim": "The objective is vague.", "sourceRefs": [contract],
            "rubricDimension": null, "requiredCorrection": "Say what is to be found.",
            "preserveFields": ["scope"], "correctionFields": ["objective"], "rationaleSummary": "vague",
        }]);
    });
    let accepted = play.submit(&review).unwrap();
    assert_eq!((accepted.run.phase, accepted.run.prompt_revisions_remaining), (RunPhase::Revise, 0));
    assert_eq!(accepted.events[0].prompt_revisions_remaining, 0);
    play.apply(&accepted);
    let NextAction::Phase(action) = next_action(&play.view, None, Schemas::Full).unwrap() else { panic!() };
    assert_eq!(action.phase.as_str(), "agent_2_revision");
    assert_eq!(action.logical_role.as_str(), "task_compiler");
}

#[test]
fn likely_credentials_outside_evidence_are_spoken_of_and_stored() {
    let play = Play::before("fix", Kind::ProblemFrame, 1);
    let submission = play.changed(|body| body["goal"] = Value::from("use hunter2 to log in"));
    let find =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("hunter2").then(|| "password".to_owned());
    let env = Env { secrets: &find, ..Env::none() };
    let accepted = crate::controller::submit(&play.view, &submission, &play.stamp(), &env).unwrap();
    assert_eq!(accepted.warnings.len(), 1);
    assert!(accepted.warnings[0].contains("body.goal"), "{:?}", accepted.warnings);
    assert!(!accepted.warnings[0].contains("hunter2"));
}
