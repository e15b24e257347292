//! Why a step comes next and what stops it, in words.

use crate::controller::authority::potentially_mutating;
use crate::controller::predicates::{control, non_mutating_stage, pending_lineage, pending_node};
use crate::controller::run::{OutcomeHint, RunPhase, RunStatus};
use crate::controller::view::RunView;
use crate::protocol::{Kind, ReleaseAudit, WorkPlan};

/// When a role stops, in the order of `controller.md` 5.4.
pub(super) const STOP_CONDITIONS: [&str; 3] = [
    "Keep to the mode and the permissions granted here.",
    "Ask when a decision is the user's and its answers lead to different work.",
    "Hand in short summaries and references, never hidden reasoning.",
];

/// Why a run waits.
pub(super) const WAITING: &str =
    "The user is asked; the run goes on, or ends, with the choice whose id is handed in as the answer.";

/// Why a run that has ended has no next step.
pub(super) fn ended(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Cancelled => "The run was cancelled; nothing more can be handed in.",
        _ => "The run has ended with its report; nothing more can be handed in.",
    }
}

/// Why the phase's artifact comes next.
pub(super) fn rationale(view: &RunView) -> String {
    let mut words = vec![phase_words(view)];
    if let Some((question, answer)) = pending_lineage(view) {
        words.push(format!("The user has answered: the next artifact cites both {question} and {answer}."));
    }
    words.join(" ")
}

fn phase_words(view: &RunView) -> String {
    match view.run.phase {
        RunPhase::ContextGrounding => "Ground the run: select the sources it may lean on.".to_owned(),
        RunPhase::Frame => "Frame the request: what is wanted, what is known, what is not.".to_owned(),
        RunPhase::Compile => "Turn the frame into a contract, its scope and criteria unchanged.".to_owned(),
        RunPhase::PromptReview => "Judge the contract against the request and the frame.".to_owned(),
        RunPhase::Revise => {
            "Revise the contract in the fields that the review's blocking findings open, and in no other."
                .to_owned()
        }
        RunPhase::Plan => match control(view) {
            None => "Plan the work in nodes that stay within the contract.".to_owned(),
            Some(control) => {
                let order = view.reference(&control.artifact().id);
                format!("Plan the ordered work only: every node names {order} among its inputs.")
            }
        },
        RunPhase::Execute => execute_words(view),
        RunPhase::QualityReview => {
            let mut words = "Judge the work against every criterion and verification that is due.".to_owned();
            if unable_to_pass(view) {
                words.push_str(" Its plan could change nothing, so a fix cannot pass here.");
            }
            words
        }
        RunPhase::Audit => {
            "Audit the whole run: is the result what the user asked for, and proven?".to_owned()
        }
        RunPhase::Report => report_words(view),
    }
}

fn execute_words(view: &RunView) -> String {
    let mut words = match pending_node(view) {
        Some(node) => format!("Work node {} and hand in its result.", &*node.id),
        None => "No node of the plan is ready.".to_owned(),
    };
    // W-26
    words.push_str(" A result that is not completed ends the execution, even where other nodes are ready.");
    // W-23
    if unable_to_pass(view) {
        words.push_str(" This plan allows no change; no review of a fix can pass without one.");
    }
    words
}

/// W-23: a fix that is due cannot pass its review when no node may change anything.
fn unable_to_pass(view: &RunView) -> bool {
    !non_mutating_stage(view)
        && view.last::<WorkPlan>(Kind::WorkPlan).is_some_and(|(_, plan)| {
            let mut tools = plan.nodes.iter().flat_map(|node| node.allowed_tools.iter());
            !tools.any(|tool| potentially_mutating(*tool))
        })
}

/// W-25: what a report without an audit has to cite is named.
fn report_words(view: &RunView) -> String {
    let audited = view
        .all::<ReleaseAudit>(Kind::ReleaseAudit)
        .next_back()
        .is_some_and(|(_, audit)| audit.user_report_ref.is_some());
    if audited || view.run.outcome_hint != Some(OutcomeHint::Blocked) {
        return "Tell the user what was done, what proves it, and what is open.".to_owned();
    }
    let cited = view.latest(Kind::PromptReview).or_else(|| view.latest(Kind::ClarificationRequest));
    match cited {
        Some(cited) => {
            let cited = view.reference(&cited.id);
            format!("The run is blocked: report so, claim nothing, and name {cited} among the findings.")
        }
        None => "The run is blocked: report so and claim nothing.".to_owned(),
    }
}
