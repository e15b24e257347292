//! Every row of the state machine, and what no row holds.

use crate::controller::transition::{Input, step};
use crate::controller::{Code, OutcomeHint, RunPhase, RunState, RunStatus};
use crate::protocol::{
    AuditDecision as A, IntentMode, PromptDecision as P, QualityDecision as Q, RunEffect, TerminalStatus,
    WorkStatus,
};
use Input::{Answer, Audit, PromptReview, Quality, Result as Done};
use OutcomeHint::{Blocked, Completed, Partial};
use RunPhase as At;

fn run(mode: IntentMode, phase: RunPhase) -> RunState {
    RunState {
        run_id: "r".into(),
        repository_root: "/r".into(),
        mode,
        status: RunStatus::Running,
        phase,
        resume_phase: None,
        version: 7,
        prompt_revisions_remaining: 1,
        remediations_remaining: 1,
        outcome_hint: None,
        created_at: "2026-01-01T00:00:00.000Z".into(),
        updated_at: "2026-01-01T00:00:00.000Z".into(),
    }
}

/// id, mode, phase, input, spent budgets, hint before, nodes done -> phase, status, hint, budgets, event.
type Case = (
    &'static str,
    (IntentMode, RunPhase, Input, bool, Option<OutcomeHint>, bool),
    (RunPhase, RunStatus, Option<OutcomeHint>, (u8, u8), &'static str),
);

#[test]
fn every_row_of_the_table_does_what_it_says() {
    use IntentMode::{AnalyzeAndFix as AF, FixOnly as F, PlanOnly as PO, ReportOnly as RO};
    use RunStatus::Running as Run;
    let s = "phase_submitted";
    let cases: Vec<Case> = vec![
        (
            "C-TR-2",
            (F, At::ContextGrounding, Input::Manifest, false, None, false),
            (At::Frame, Run, None, (1, 1), s),
        ),
        ("C-TR-3", (F, At::Frame, Input::Frame, false, None, false), (At::Compile, Run, None, (1, 1), s)),
        (
            "C-TR-4",
            (F, At::Compile, Input::Contract, false, None, false),
            (At::PromptReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-5",
            (F, At::Revise, Input::Contract, true, None, false),
            (At::PromptReview, Run, None, (0, 0), s),
        ),
        (
            "C-TR-6",
            (F, At::PromptReview, PromptReview(P::Pass), false, None, false),
            (At::Plan, Run, None, (1, 1), s),
        ),
        (
            "C-TR-7",
            (F, At::PromptReview, PromptReview(P::Revise), false, None, false),
            (At::Revise, Run, None, (0, 1), s),
        ),
        (
            "C-TR-8",
            (F, At::PromptReview, PromptReview(P::Revise), true, None, false),
            (At::Report, Run, Some(Blocked), (0, 0), s),
        ),
        (
            "C-TR-9",
            (F, At::PromptReview, PromptReview(P::Block), false, None, false),
            (At::Report, Run, Some(Blocked), (1, 1), s),
        ),
        (
            "C-TR-10",
            (RO, At::Plan, Input::Plan, false, None, false),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-10",
            (PO, At::Plan, Input::Plan, false, None, false),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        ("C-TR-11", (F, At::Plan, Input::Plan, false, None, false), (At::Execute, Run, None, (1, 1), s)),
        (
            "C-TR-12",
            (F, At::Execute, Done(WorkStatus::Completed), false, None, false),
            (At::Execute, Run, None, (1, 1), s),
        ),
        (
            "C-TR-13",
            (F, At::Execute, Done(WorkStatus::Completed), false, None, true),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-14",
            (F, At::Execute, Done(WorkStatus::Partial), false, None, false),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-14",
            (F, At::Execute, Done(WorkStatus::Blocked), false, None, true),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-14",
            (F, At::Execute, Done(WorkStatus::Failed), false, None, false),
            (At::QualityReview, Run, None, (1, 1), s),
        ),
        (
            "C-TR-15",
            (AF, At::QualityReview, Quality(Q::ProceedToFix), false, None, true),
            (At::Plan, Run, None, (1, 1), s),
        ),
        (
            "C-TR-16",
            (F, At::QualityReview, Quality(Q::Pass), false, None, true),
            (At::Audit, Run, None, (1, 1), s),
        ),
        (
            "C-TR-17",
            (F, At::QualityReview, Quality(Q::Partial), false, None, true),
            (At::Audit, Run, Some(Partial), (1, 1), s),
        ),
        (
            "C-TR-18",
            (F, At::QualityReview, Quality(Q::Block), false, None, true),
            (At::Audit, Run, Some(Blocked), (1, 1), s),
        ),
        (
            "C-TR-19",
            (F, At::QualityReview, Quality(Q::Remediate), false, None, true),
            (At::Plan, Run, None, (1, 0), s),
        ),
        (
            "C-TR-20",
            (F, At::QualityReview, Quality(Q::Remediate), true, None, true),
            (At::Audit, Run, Some(Blocked), (0, 0), s),
        ),
        (
            "C-TR-21",
            (F, At::Audit, Audit(A::Release), false, None, true),
            (At::Report, Run, Some(Completed), (1, 1), s),
        ),
        (
            "C-TR-21",
            (F, At::Audit, Audit(A::Release), false, Some(Partial), true),
            (At::Report, Run, Some(Partial), (1, 1), s),
        ),
        (
            "C-TR-22",
            (F, At::Audit, Audit(A::Partial), false, None, true),
            (At::Report, Run, Some(Partial), (1, 1), s),
        ),
        (
            "C-TR-23",
            (F, At::Audit, Audit(A::Block), false, Some(Partial), true),
            (At::Report, Run, Some(Blocked), (1, 1), s),
        ),
        (
            "C-TR-24",
            (F, At::Audit, Audit(A::Remediate), false, Some(Partial), true),
            (At::Plan, Run, None, (1, 0), s),
        ),
        (
            "C-TR-25",
            (F, At::Audit, Audit(A::Remediate), true, None, true),
            (At::Report, Run, Some(Blocked), (0, 0), s),
        ),
        (
            "C-TR-26",
            (F, At::Report, Input::Report(TerminalStatus::Completed), false, Some(Completed), true),
            (At::Report, RunStatus::Completed, Some(Completed), (1, 1), s),
        ),
        (
            "C-TR-27",
            (F, At::Report, Input::Report(TerminalStatus::Partial), false, None, true),
            (At::Report, RunStatus::Partial, None, (1, 1), s),
        ),
        (
            "C-TR-27",
            (F, At::Report, Input::Report(TerminalStatus::FailedVerification), false, None, true),
            (At::Report, RunStatus::Partial, None, (1, 1), s),
        ),
        (
            "C-TR-28",
            (F, At::Report, Input::Report(TerminalStatus::Blocked), false, Some(Blocked), true),
            (At::Report, RunStatus::Blocked, Some(Blocked), (1, 1), s),
        ),
        (
            "C-TR-29",
            (F, At::Plan, Input::FirstQuestion, false, None, true),
            (At::Plan, RunStatus::AwaitingClarification, None, (1, 1), "clarification_requested"),
        ),
        (
            "C-TR-30",
            (F, At::Plan, Input::LaterQuestion, false, Some(Partial), true),
            (At::Report, Run, Some(Blocked), (1, 1), "budget_consumed"),
        ),
        (
            "C-TR-33",
            (F, At::Audit, Input::Cancel, false, Some(Partial), true),
            (At::Audit, RunStatus::Cancelled, Some(Partial), (1, 1), "run_cancelled"),
        ),
    ];
    for (id, (mode, phase, input, spent, hint, nodes_done), expected) in cases {
        let mut before = run(mode, phase);
        before.outcome_hint = hint;
        if spent {
            (before.prompt_revisions_remaining, before.remediations_remaining) = (0, 0);
        }
        let (row, after) = step(&before, input, nodes_done, "2026-01-02T00:00:00.000Z").unwrap();
        assert_eq!(row.id, id);
        let budgets = (after.prompt_revisions_remaining, after.remediations_remaining);
        let found = (after.phase, after.status, after.outcome_hint, budgets, row.event.as_str());
        assert_eq!(found, expected, "{id}");
        assert_eq!(after.version, 8, "{id}");
        assert_eq!(after.updated_at, "2026-01-02T00:00:00.000Z", "{id}");
        let waits = after.status == RunStatus::AwaitingClarification;
        assert_eq!(after.resume_phase, waits.then_some(before.phase), "{id}");
    }
}

#[test]
fn an_answer_resumes_where_the_question_was_asked_or_ends_the_run() {
    let mut waiting = run(IntentMode::FixOnly, At::Compile);
    waiting.status = RunStatus::AwaitingClarification;
    waiting.resume_phase = Some(At::Compile);
    let (row, after) = step(&waiting, Answer(RunEffect::Resume), false, "t").unwrap();
    assert_eq!((row.id, after.phase, after.status), ("C-TR-31", At::Compile, RunStatus::Running));
    for effect in [RunEffect::Cancel, RunEffect::NewRun] {
        let (row, after) = step(&waiting, Answer(effect), false, "t").unwrap();
        assert_eq!((row.id, after.phase, after.status), ("C-TR-32", At::Compile, RunStatus::Cancelled));
        assert_eq!(after.resume_phase, None);
    }
    let (_, cancelled) = step(&waiting, Input::Cancel, false, "t").unwrap();
    assert_eq!((cancelled.status, cancelled.resume_phase), (RunStatus::Cancelled, None));
    let refusal = step(&run(IntentMode::FixOnly, At::Compile), Answer(RunEffect::Resume), false, "t");
    assert_eq!(refusal.unwrap_err().code, Code::RunNotRunning);
}

#[test]
fn what_no_row_holds_is_refused_with_the_code_that_fits() {
    let code = |run: &RunState, input| step(run, input, true, "t").unwrap_err().code;
    let fix = |phase| run(IntentMode::FixOnly, phase);
    assert_eq!(code(&fix(At::Frame), Input::Plan), Code::WrongPhase);
    assert_eq!(code(&fix(At::Audit), Input::FirstQuestion), Code::WrongPhase);
    assert_eq!(code(&fix(At::Report), Input::LaterQuestion), Code::WrongPhase);
    assert_eq!(code(&fix(At::QualityReview), Quality(Q::ProceedToFix)), Code::TransitionInvalid);
    let cancelled = Input::Report(TerminalStatus::Cancelled);
    assert_eq!(code(&fix(At::Report), cancelled), Code::TransitionInvalid);
    for hint in [Blocked, Partial] {
        let held = RunState { outcome_hint: Some(hint), ..fix(At::Report) };
        assert_eq!(code(&held, Input::Report(TerminalStatus::Completed)), Code::OutcomeNotAllowed);
    }
    let ended = RunState { status: RunStatus::Completed, ..fix(At::Report) };
    assert_eq!(code(&ended, Input::Cancel), Code::RunNotRunning);
    assert_eq!(code(&ended, Input::Report(TerminalStatus::Completed)), Code::RunNotRunning);
}
