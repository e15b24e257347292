//! The state machine: which input moves a run where (`controller.md` 1.3, 2.1).
//!
//! [`TABLE`] is the machine. [`step`] finds the row that fits and applies it; what no row fits is refused.

use super::error::{Code, Refusal};
use super::predicates::is_deliverable;
use super::run::{OutcomeHint, RunPhase, RunState, RunStatus};
use super::trace::EventType;
use crate::protocol::{
    AuditDecision, Body, IntentMode, Kind, PromptDecision, QualityDecision, RunEffect, TerminalStatus,
    WorkStatus,
};

/// The types that a phase accepts, the required one first. Supporting types are not among them.
#[must_use]
pub fn accepted_types(phase: RunPhase) -> &'static [Kind] {
    match phase {
        RunPhase::ContextGrounding => &[Kind::ContextManifest, Kind::ClarificationRequest],
        RunPhase::Frame => &[Kind::ProblemFrame, Kind::ClarificationRequest],
        RunPhase::Compile | RunPhase::Revise => &[Kind::TaskContract, Kind::ClarificationRequest],
        RunPhase::PromptReview => &[Kind::PromptReview, Kind::ClarificationRequest],
        RunPhase::Plan => &[Kind::WorkPlan, Kind::ClarificationRequest],
        RunPhase::Execute => &[Kind::WorkResult, Kind::ClarificationRequest],
        RunPhase::QualityReview => &[Kind::QualityReview, Kind::ClarificationRequest],
        RunPhase::Audit => &[Kind::ReleaseAudit],
        RunPhase::Report => &[Kind::UserReport],
    }
}

/// The phase in which a supporting type is accepted.
#[must_use]
pub fn supporting_phase(kind: Kind) -> Option<RunPhase> {
    match kind {
        Kind::Evidence => Some(RunPhase::Execute),
        Kind::ScenarioSpec => Some(RunPhase::Compile),
        _ => None,
    }
}

/// What moves a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The manifest of the context.
    Manifest,
    /// A problem frame.
    Frame,
    /// A contract.
    Contract,
    /// A prompt review.
    PromptReview(PromptDecision),
    /// A plan.
    Plan,
    /// The result of a node.
    Result(WorkStatus),
    /// A quality review.
    Quality(QualityDecision),
    /// A release audit.
    Audit(AuditDecision),
    /// The report.
    Report(TerminalStatus),
    /// A question to the user, while none was asked before.
    FirstQuestion,
    /// A question to the user, although one was asked before.
    LaterQuestion,
    /// The user's answer.
    Answer(RunEffect),
    /// The user's wish to end the run.
    Cancel,
}

impl Input {
    /// The input that a phase artifact is; `asked` says whether a question was asked before.
    #[must_use]
    pub fn of(body: &Body, asked: bool) -> Option<Self> {
        match body {
            Body::ContextManifest(_) => Some(Self::Manifest),
            Body::ProblemFrame(_) => Some(Self::Frame),
            Body::TaskContract(_) => Some(Self::Contract),
            Body::PromptReview(review) => Some(Self::PromptReview(review.decision)),
            Body::WorkPlan(_) => Some(Self::Plan),
            Body::WorkResult(result) => Some(Self::Result(result.status)),
            Body::QualityReview(review) => Some(Self::Quality(review.decision)),
            Body::ReleaseAudit(audit) => Some(Self::Audit(audit.decision)),
            Body::UserReport(report) => Some(Self::Report(report.terminal_status)),
            Body::ClarificationRequest(_) if asked => Some(Self::LaterQuestion),
            Body::ClarificationRequest(_) => Some(Self::FirstQuestion),
            _ => None,
        }
    }
}

/// A condition of a row beside phase and input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// None.
    Always,
    /// A prompt revision is left.
    RevisionLeft,
    /// No prompt revision is left.
    RevisionSpent,
    /// The plan itself is the deliverable.
    Deliverable,
    /// The plan is executed.
    Execution,
    /// A planned node is still not completed.
    NodesOpen,
    /// Every planned node is completed.
    NodesDone,
    /// The mode is analyse and fix.
    AnalyzeAndFix,
    /// A remediation is left.
    RemediationLeft,
    /// No remediation is left.
    RemediationSpent,
    /// Nothing so far keeps the run from being completed.
    NotHeldBack,
}

/// Where a row leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To a phase, running.
    Phase(RunPhase),
    /// The phase stays, and the run waits for an answer.
    Waiting,
    /// Back to where the question was asked.
    Resumed,
    /// The run ends; the phase stays.
    End(RunStatus),
}

/// What a row does to the outcome hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It stays.
    Keep,
    /// It is set.
    Set(OutcomeHint),
    /// It is set unless it was set before.
    SetIfNone(OutcomeHint),
    /// It is taken back.
    Clear,
}

/// The budget that a row consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// None.
    Nothing,
    /// The prompt revision.
    Revision,
    /// The remediation.
    Remediation,
}

/// One row of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its rule id.
    pub id: &'static str,
    /// The phase it starts in; none means any.
    pub phase: Option<RunPhase>,
    /// What moves the run.
    pub input: Input,
    /// Under which condition.
    pub guard: Guard,
    /// Where it leads.
    pub to: To,
    /// What becomes of the outcome hint.
    pub hint: Hint,
    /// What it costs.
    pub spend: Spend,
    /// The event that is written.
    pub event: EventType,
}

const fn row(
    id: &'static str,
    phase: RunPhase,
    input: Input,
    guard: Guard,
    next: RunPhase,
    hint: Hint,
) -> Row {
    let event = EventType::PhaseSubmitted;
    Row { id, phase: Some(phase), input, guard, to: To::Phase(next), hint, spend: Spend::Nothing, event }
}

const fn spending(row: Row, spend: Spend) -> Row {
    Row { spend, ..row }
}

const fn ending(id: &'static str, terminal: TerminalStatus, guard: Guard, status: RunStatus) -> Row {
    Row {
        to: To::End(status),
        ..row(id, RunPhase::Report, Input::Report(terminal), guard, RunPhase::Report, Hint::Keep)
    }
}

const fn anywhere(id: &'static str, input: Input, to: To, event: EventType) -> Row {
    Row { id, phase: None, input, guard: Guard::Always, to, hint: Hint::Keep, spend: Spend::Nothing, event }
}

use AuditDecision as A;
use Guard::{Always, AnalyzeAndFix, Deliverable, Execution, NodesDone, NodesOpen, NotHeldBack};
use Guard::{RemediationLeft, RemediationSpent, RevisionLeft, RevisionSpent};
use Hint::{Clear, Keep, Set, SetIfNone};
use Input::{Answer, Audit, PromptReview, Quality, Result as Done};
use OutcomeHint::{Blocked, Completed, Partial};
use PromptDecision as P;
use QualityDecision as Q;
use RunPhase as At;

/// The machine: C-TR-2 to C-TR-33. C-TR-1 is the start, C-TR-34 is an end that is met again.
pub const TABLE: &[Row] = &[
    row("C-TR-2", At::ContextGrounding, Input::Manifest, Always, At::Frame, Keep),
    row("C-TR-3", At::Frame, Input::Frame, Always, At::Compile, Keep),
    row("C-TR-4", At::Compile, Input::Contract, Always, At::PromptReview, Keep),
    row("C-TR-5", At::Revise, Input::Contract, Always, At::PromptReview, Keep),
    row("C-TR-6", At::PromptReview, PromptReview(P::Pass), Always, At::Plan, Keep),
    spending(
        row("C-TR-7", At::PromptReview, PromptReview(P::Revise), RevisionLeft, At::Revise, Keep),
        Spend::Revision,
    ),
    row("C-TR-8", At::PromptReview, PromptReview(P::Revise), RevisionSpent, At::Report, Set(Blocked)),
    row("C-TR-9", At::PromptReview, PromptReview(P::Block), Always, At::Report, Set(Blocked)),
    row("C-TR-10", At::Plan, Input::Plan, Deliverable, At::QualityReview, Keep),
    row("C-TR-11", At::Plan, Input::Plan, Execution, At::Execute, Keep),
    row("C-TR-12", At::Execute, Done(WorkStatus::Completed), NodesOpen, At::Execute, Keep),
    row("C-TR-13", At::Execute, Done(WorkStatus::Completed), NodesDone, At::QualityReview, Keep),
    // W-26: any other result ends the execution, even where independent nodes are ready.
    row("C-TR-14", At::Execute, Done(WorkStatus::Partial), Always, At::QualityReview, Keep),
    row("C-TR-14", At::Execute, Done(WorkStatus::Blocked), Always, At::QualityReview, Keep),
    row("C-TR-14", At::Execute, Done(WorkStatus::Failed), Always, At::QualityReview, Keep),
    row("C-TR-15", At::QualityReview, Quality(Q::ProceedToFix), AnalyzeAndFix, At::Plan, Keep),
    row("C-TR-16", At::QualityReview, Quality(Q::Pass), Always, At::Audit, Keep),
    row("C-TR-17", At::QualityReview, Quality(Q::Partial), Always, At::Audit, Set(Partial)),
    row("C-TR-18", At::QualityReview, Quality(Q::Block), Always, At::Audit, Set(Blocked)),
    spending(
        row("C-TR-19", At::QualityReview, Quality(Q::Remediate), RemediationLeft, At::Plan, Keep),
        Spend::Remediation,
    ),
    row("C-TR-20", At::QualityReview, Quality(Q::Remediate), RemediationSpent, At::Audit, Set(Blocked)),
    row("C-TR-21", At::Audit, Audit(A::Release), Always, At::Report, SetIfNone(Completed)),
    row("C-TR-22", At::Audit, Audit(A::Partial), Always, At::Report, Set(Partial)),
    row("C-TR-23", At::Audit, Audit(A::Block), Always, At::Report, Set(Blocked)),
    spending(
        row("C-TR-24", At::Audit, Audit(A::Remediate), RemediationLeft, At::Plan, Clear),
        Spend::Remediation,
    ),
    row("C-TR-25", At::Audit, Audit(A::Remediate), RemediationSpent, At::Report, Set(Blocked)),
    ending("C-TR-26", TerminalStatus::Completed, NotHeldBack, RunStatus::Completed),
    ending("C-TR-27", TerminalStatus::Partial, Always, RunStatus::Partial),
    ending("C-TR-27", TerminalStatus::FailedVerification, Always, RunStatus::Partial),
    ending("C-TR-28", TerminalStatus::Blocked, Always, RunStatus::Blocked),
    anywhere("C-TR-29", Input::FirstQuestion, To::Waiting, EventType::ClarificationRequested),
    Row {
        hint: Set(Blocked),
        ..anywhere("C-TR-30", Input::LaterQuestion, To::Phase(At::Report), EventType::BudgetConsumed)
    },
    anywhere("C-TR-31", Answer(RunEffect::Resume), To::Resumed, EventType::ClarificationAnswered),
    anywhere(
        "C-TR-32",
        Answer(RunEffect::Cancel),
        To::End(RunStatus::Cancelled),
        EventType::ClarificationAnswered,
    ),
    anywhere(
        "C-TR-32",
        Answer(RunEffect::NewRun),
        To::End(RunStatus::Cancelled),
        EventType::ClarificationAnswered,
    ),
    anywhere("C-TR-33", Input::Cancel, To::End(RunStatus::Cancelled), EventType::RunCancelled),
];

/// The row that fits, and the run after it.
///
/// # Errors
/// C-SB-21: `run_not_running`, `wrong_phase`, `outcome_not_allowed` or `transition_invalid`.
pub fn step(
    run: &RunState,
    input: Input,
    nodes_done: bool,
    now: &str,
) -> Result<(&'static Row, RunState), Refusal> {
    admit(run, input)?;
    let fits = |row: &&Row| {
        row.input == input
            && row.phase.is_none_or(|phase| phase == run.phase)
            && holds(row.guard, run, nodes_done)
    };
    let row = TABLE.iter().find(fits).ok_or_else(|| no_row(run, input))?;
    let mut after = run.clone();
    after.version += 1;
    after.updated_at = now.to_owned();
    after.resume_phase = None;
    match row.to {
        To::Phase(phase) => {
            after.phase = phase;
            after.status = RunStatus::Running;
        }
        To::Waiting => {
            after.status = RunStatus::AwaitingClarification;
            after.resume_phase = Some(run.phase);
        }
        To::Resumed => {
            after.phase = run.resume_phase.unwrap_or(run.phase);
            after.status = RunStatus::Running;
        }
        // W-30: an ended run resumes nowhere.
        To::End(status) => after.status = status,
    }
    match row.hint {
        Hint::Keep => {}
        Hint::Set(hint) => after.outcome_hint = Some(hint),
        Hint::SetIfNone(hint) => after.outcome_hint = Some(run.outcome_hint.unwrap_or(hint)),
        Hint::Clear => after.outcome_hint = None,
    }
    match row.spend {
        Spend::Nothing => {}
        Spend::Revision => {
            after.prompt_revisions_remaining = run.prompt_revisions_remaining.saturating_sub(1);
        }
        Spend::Remediation => after.remediations_remaining = run.remediations_remaining.saturating_sub(1),
    }
    Ok((row, after))
}

/// Whether the run's status and phase admit this kind of input at all.
fn admit(run: &RunState, input: Input) -> Result<(), Refusal> {
    let refuse = |code, message: String| Err(Refusal::new(code, "C-SB-21", message));
    match input {
        Input::Cancel if run.status.is_terminal() => {
            refuse(Code::RunNotRunning, format!("the run has ended: it is {}", run.status))
        }
        Input::Cancel => Ok(()),
        Input::Answer(_) if run.status == RunStatus::AwaitingClarification => Ok(()),
        Input::Answer(_) => refuse(Code::RunNotRunning, "the run waits for no answer".to_owned()),
        _ if run.status != RunStatus::Running => {
            refuse(Code::RunNotRunning, format!("the run is {}, it takes in no artifact", run.status))
        }
        Input::FirstQuestion | Input::LaterQuestion
            if !accepted_types(run.phase).contains(&Kind::ClarificationRequest) =>
        {
            refuse(Code::WrongPhase, format!("{} takes in no ClarificationRequest", run.phase))
        }
        _ => Ok(()),
    }
}

fn holds(guard: Guard, run: &RunState, nodes_done: bool) -> bool {
    match guard {
        Guard::Always => true,
        Guard::RevisionLeft => run.prompt_revisions_remaining > 0,
        Guard::RevisionSpent => run.prompt_revisions_remaining == 0,
        Guard::Deliverable => is_deliverable(run.mode),
        Guard::Execution => !is_deliverable(run.mode),
        Guard::NodesOpen => !nodes_done,
        Guard::NodesDone => nodes_done,
        Guard::AnalyzeAndFix => run.mode == IntentMode::AnalyzeAndFix,
        Guard::RemediationLeft => run.remediations_remaining > 0,
        Guard::RemediationSpent => run.remediations_remaining == 0,
        Guard::NotHeldBack => !matches!(run.outcome_hint, Some(Blocked | Partial)),
    }
}

fn no_row(run: &RunState, input: Input) -> Refusal {
    let here = TABLE.iter().any(|row| {
        row.phase == Some(run.phase) && std::mem::discriminant(&row.input) == std::mem::discriminant(&input)
    });
    if !here {
        return Refusal::new(Code::WrongPhase, "C-SB-21", format!("{} does not take this in", run.phase));
    }
    if input == Input::Report(TerminalStatus::Completed) {
        let hint = run.outcome_hint.map_or("held back", OutcomeHint::as_str);
        let message = format!("the run can end as {hint} at best, not as completed");
        return Refusal::new(Code::OutcomeNotAllowed, "C-SB-21", message);
    }
    Refusal::new(Code::TransitionInvalid, "C-SB-21", format!("{input:?} leads nowhere from {}", run.phase))
}
