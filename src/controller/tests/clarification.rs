//! Questions, answers, and what has to be said of them afterwards.

use super::play::Play;
use crate::controller::{
    Code, OutcomeHint, RunPhase, RunStatus, Schemas, Submission, Tokens, next_action, predicates,
};
use crate::protocol::{Kind, NextAction};
use serde_json::{Value, json};

fn question(play: &Play, id: &str) -> Submission {
    let body = json!({
        "schemaVersion": "1.0", "id": id, "runId": play.view.run.run_id, "question": "Round how?",
        "reason": "user_owned_materially_divergent", "divergence": "Totals differ by a cent.",
        "evidenceInspected": [play.view.reference(&play.view.artifacts()[0].id)], "blockedBoundary": "rounding",
        "responseConstraints": "Name one.", "permissionExpansionRequired": false, "rationaleSummary": "r",
        "responseChoices": [
            {"id": "up", "label": "Up", "consequence": "c", "authorityEffect": "within_current_authority", "runEffect": "resume"},
            {"id": "stop", "label": "Stop", "consequence": "d", "authorityEffect": "within_current_authority", "runEffect": "cancel"},
        ],
    });
    Submission::artifact(Tokens::of(&play.view), Kind::ClarificationRequest, body)
}

/// Asks, and answers with `up`.
fn asked(play: &mut Play) {
    let accepted = play.submit(&question(play, "ask-1")).unwrap();
    play.apply(&accepted);
    play.answer_first();
}

#[test]
fn every_phase_before_the_audit_pauses_and_resumes_into_itself() {
    let places = [
        (Kind::ContextManifest, RunPhase::ContextGrounding, "controller"),
        (Kind::ProblemFrame, RunPhase::Frame, "scenario_author"),
        (Kind::TaskContract, RunPhase::Compile, "task_compiler"),
        (Kind::PromptReview, RunPhase::PromptReview, "scenario_author"),
        (Kind::WorkPlan, RunPhase::Plan, "quality_controller"),
        (Kind::WorkResult, RunPhase::Execute, "executor"),
        (Kind::QualityReview, RunPhase::QualityReview, "quality_controller"),
    ];
    for (kind, phase, role) in places {
        let mut play = Play::before("fix", kind, 1);
        let accepted = play.submit(&question(&play, "ask-1")).unwrap();
        assert_eq!(accepted.artifacts[0].producer, role, "{phase}");
        assert_eq!((accepted.events[0].actor.as_str(), accepted.run.resume_phase), (role, Some(phase)));
        play.apply(&accepted);
        assert_eq!(play.view.run.status, RunStatus::AwaitingClarification, "{phase}");
        assert_eq!(play.refused(&question(&play, "ask-2")).0, Code::RunNotRunning, "{phase}");
        play.answer_first();
        assert_eq!((play.view.run.status, play.view.run.phase), (RunStatus::Running, phase), "{phase}");
        let (asked, _) = predicates::pending_lineage(&play.view).unwrap();
        assert_eq!(asked, play.view.reference("ask-1"), "{phase}");
    }
    for kind in [Kind::ReleaseAudit, Kind::UserReport] {
        let play = Play::before("fix", kind, 1);
        assert_eq!(play.refused(&question(&play, "ask-1")), (Code::WrongPhase, "C-SB-21"), "{kind}");
    }
}

#[test]
fn the_next_artifact_takes_up_question_and_answer_and_only_that_one() {
    let mut play = Play::before("fix", Kind::TaskContract, 1);
    asked(&mut play);
    let (question, answer) = predicates::pending_lineage(&play.view).unwrap();
    let mut contract = play.next();
    assert_eq!(play.refused(&contract), (Code::ClarificationLineageMissing, "C-CR-3"));
    contract.source_refs = vec![question.clone()];
    assert_eq!(play.refused(&contract), (Code::ClarificationLineageMissing, "C-CR-3"));
    contract.source_refs = vec![question, answer];
    let accepted = play.submit(&contract).unwrap();
    play.apply(&accepted);
    assert_eq!(predicates::pending_lineage(&play.view), None);
}

#[test]
fn citing_question_and_answer_in_the_body_is_enough() {
    let mut play = Play::before("fix", Kind::TaskContract, 1);
    asked(&mut play);
    let (question, answer) = predicates::pending_lineage(&play.view).unwrap();
    let contract = play.changed(|body| {
        body["contextRefs"].as_array_mut().unwrap().extend([Value::from(question), answer.into()]);
    });
    assert!(play.submit(&contract).is_ok());
}

#[test]
fn evidence_does_not_take_up_an_answer() {
    let mut play = Play::before("fix", Kind::Evidence, 1);
    asked(&mut play);
    let (question, answer) = predicates::pending_lineage(&play.view).unwrap();
    let mut evidence = play.next();
    evidence.source_refs = vec![question, answer];
    let accepted = play.submit(&evidence).unwrap();
    play.apply(&accepted);
    assert!(predicates::pending_lineage(&play.view).is_some());
}

#[test]
fn an_answer_is_the_trimmed_id_of_a_choice_and_stored_as_it_was_given() {
    let mut play = Play::before("fix", Kind::TaskContract, 1);
    let code = |play: &Play, text: &str| play.refused(&Submission::answer(Tokens::of(&play.view), text));
    assert_eq!(code(&play, "up"), (Code::NotAwaitingClarification, "C-AN-3"));
    let accepted = play.submit(&question(&play, "ask-1")).unwrap();
    play.apply(&accepted);
    assert_eq!(code(&play, "\u{feff} "), (Code::ResponseEmpty, "C-AN-1"));
    assert_eq!(code(&play, &"a".repeat(32_769)), (Code::ResponseTooLong, "C-AN-2"));
    assert_eq!(code(&play, "Up"), (Code::ResponseChoiceUnknown, "C-AN-5"));
    let answer = Submission::answer(Tokens::of(&play.view), " up\n");
    let accepted = play.submit(&answer).unwrap();
    assert_eq!(accepted.artifacts[0].body.encode()["content"], json!(" up\n"));
    assert_eq!(accepted.artifacts[0].source_refs, [play.view.reference("ask-1")]);
    let event = &accepted.events[0];
    assert_eq!((event.actor.as_str(), event.event_type.as_str()), ("user", "clarification_answered"));
    assert_eq!(event.input_refs, [play.view.reference("ask-1")]);
}

#[test]
fn a_choice_can_end_the_run() {
    let mut play = Play::before("fix", Kind::TaskContract, 1);
    let accepted = play.submit(&question(&play, "ask-1")).unwrap();
    play.apply(&accepted);
    let accepted = play.submit(&Submission::answer(Tokens::of(&play.view), "stop")).unwrap();
    assert_eq!((accepted.run.status, accepted.run.phase), (RunStatus::Cancelled, RunPhase::Compile));
}

#[test]
fn a_second_question_blocks_the_run_and_the_report_is_told_what_to_cite() {
    let mut play = Play::before("fix", Kind::WorkPlan, 1);
    asked(&mut play);
    let accepted = play.submit(&question(&play, "ask-2")).unwrap();
    assert_eq!(
        (accepted.run.phase, accepted.run.outcome_hint),
        (RunPhase::Report, Some(OutcomeHint::Blocked))
    );
    assert_eq!(accepted.events[0].event_type.as_str(), "budget_consumed");
    play.apply(&accepted);
    let NextAction::Phase(action) = next_action(&play.view, None, Schemas::Full).unwrap() else { panic!() };
    assert!(
        action.rationale_summary.contains(&play.view.reference("review-1")),
        "{}",
        action.rationale_summary
    );
    assert_eq!(play.refused(&question(&play, "ask-3")), (Code::ClarificationNotAllowed, "C-CR-2"));
}
