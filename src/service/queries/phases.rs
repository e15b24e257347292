//! The phases of a run: the rail of a row, and the visits of the detail.

use crate::controller::{RunPhase, RunState, RunStatus, RunView};
use crate::protocol::{
    Kind, PromptReview, QualityReview, ReleaseAudit, TaskContract, UserReport, WorkPlan, WorkResult,
};
use crate::service::snapshot::{CellState, PhaseCell, PhaseVisit};
use crate::store::EventRecord;

/// How often each phase was left with an accepted artifact, by the types that are stored.
fn finished(kinds: &[String]) -> [u32; 10] {
    let count = |name: Kind| {
        u32::try_from(kinds.iter().filter(|kind| *kind == name.as_str()).count()).unwrap_or(u32::MAX)
    };
    let contracts = count(Kind::TaskContract);
    [
        count(Kind::ContextManifest),
        count(Kind::ProblemFrame),
        contracts.min(1),
        count(Kind::PromptReview),
        contracts.saturating_sub(1),
        count(Kind::WorkPlan),
        count(Kind::WorkResult),
        count(Kind::QualityReview),
        count(Kind::ReleaseAudit),
        count(Kind::UserReport),
    ]
}

/// The rail of a run from its record and the types of its artifacts, in ledger order.
pub(super) fn rail(run: &RunState, kinds: &[String]) -> [PhaseCell; 10] {
    let done = finished(kinds);
    let current = RunPhase::ALL.iter().position(|phase| *phase == run.phase).unwrap_or(0);
    let reached = done.iter().rposition(|&visits| visits > 0).unwrap_or(0).max(current);
    std::array::from_fn(|at| {
        let open = at == current && !run.status.is_terminal();
        let state = match run.status {
            _ if open && run.status == RunStatus::AwaitingClarification => CellState::Waiting,
            _ if open => CellState::Current,
            RunStatus::Blocked | RunStatus::Cancelled if at == current => CellState::Failed,
            _ if done[at] > 0 => CellState::Done,
            _ if at < reached => CellState::Skipped,
            _ => CellState::Todo,
        };
        PhaseCell { state, visits: done[at] + u32::from(open) }
    })
}

/// The name of a stored phase as hosts see it; one that is not known stays as it is.
pub(super) fn public(stored: &str) -> String {
    stored.parse::<RunPhase>().map_or_else(|_| stored.to_owned(), |phase| phase.public().as_str().to_owned())
}

/// What a phase is called in a sentence.
pub(super) fn words(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::ContextGrounding => "reading the repository",
        RunPhase::Frame => "framing the problem",
        RunPhase::Compile => "writing the contract",
        RunPhase::PromptReview => "reviewing the contract",
        RunPhase::Revise => "revising the contract",
        RunPhase::Plan => "planning the work",
        RunPhase::Execute => "doing the work",
        RunPhase::QualityReview => "reviewing the work",
        RunPhase::Audit => "auditing the release",
        RunPhase::Report => "writing the report",
    }
}

/// Every entry into a phase, in order: consecutive events of one phase are one visit.
pub(super) fn visits(view: &RunView, events: &[EventRecord]) -> Vec<PhaseVisit> {
    let mut visits: Vec<PhaseVisit> = Vec::new();
    let mut closed = true;
    for event in events {
        let submitted = event.event_type == "phase_submitted";
        let counts = submitted
            || matches!(
                event.event_type.as_str(),
                "evidence_captured"
                    | "scenario_presentation_stored"
                    | "clarification_requested"
                    | "clarification_answered"
                    | "budget_consumed"
            );
        if !counts {
            continue;
        }
        let phase = public(&event.phase);
        let goes_on = !closed && visits.last().is_some_and(|visit| visit.phase == phase);
        if !goes_on {
            visits.push(PhaseVisit { phase, state: CellState::Current, ..PhaseVisit::default() });
        }
        let Some(visit) = visits.last_mut() else { continue };
        for reference in &event.output_refs {
            if let Some(stored) = view.resolve(reference) {
                visit.artifacts.push(stored.id.clone());
                if submitted {
                    visit.note = note(stored);
                }
            }
        }
        visit.producer.clone_from(&event.actor);
        visit.at = Some(event.timestamp.clone());
        closed = submitted;
        if submitted {
            visit.state = CellState::Done;
        }
    }
    let run = &view.run;
    if !run.status.is_terminal() {
        let phase = run.phase.public().as_str().to_owned();
        if closed || visits.last().is_none_or(|visit| visit.phase != phase) {
            visits.push(PhaseVisit { phase, ..PhaseVisit::default() });
        }
        if let Some(visit) = visits.last_mut() {
            let waits = run.status == RunStatus::AwaitingClarification;
            visit.state = if waits { CellState::Waiting } else { CellState::Current };
        }
    } else if matches!(run.status, RunStatus::Blocked | RunStatus::Cancelled)
        && let Some(visit) = visits.last_mut()
    {
        visit.state = CellState::Failed;
    }
    visits
}

/// What came of an accepted artifact, in a word or two.
fn note(stored: &crate::controller::Stored) -> String {
    if let Some(contract) = stored.read::<TaskContract>() {
        return format!("version {}, {} criteria", contract.version, contract.acceptance_criteria.len());
    }
    if let Some(review) = stored.read::<PromptReview>() {
        return format!("{}, score {}", review.decision, review.overall_score.get());
    }
    if let Some(plan) = stored.read::<WorkPlan>() {
        let nodes = plan.nodes.len();
        return format!("{nodes} {}", if nodes == 1 { "node" } else { "nodes" });
    }
    if let Some(result) = stored.read::<WorkResult>() {
        return format!("{} {}", result.node_id, result.status);
    }
    if let Some(review) = stored.read::<QualityReview>() {
        return format!("{}, score {}", review.decision, review.score.get());
    }
    if let Some(audit) = stored.read::<ReleaseAudit>() {
        return audit.decision.to_string();
    }
    stored.read::<UserReport>().map_or_else(String::new, |report| report.terminal_status.to_string())
}
