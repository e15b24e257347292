//! How a verification and a criterion are proven by what was done (`controller.md` 7.9, C-QR-8, C-QR-13).

use super::{Context, Kind, proving, sets, stage_of};
use crate::controller::predicates::{self, exact_set};
use crate::protocol::{
    AcceptanceCoverage, ActionCapability, ActionStatus, CheckStatus, QualityDecision, QualityReview, Stage,
    TaskContract, VerificationRequirement, VerificationResult, VerificationStatus, WorkAction, WorkNode,
    WorkPlan, WorkResult,
};

/// Whether a node can prove a requirement: it requires the capability and answers a criterion of the stage.
pub(super) fn can_prove(
    node: &WorkNode,
    capability: ActionCapability,
    stage: Stage,
    contract: &TaskContract,
) -> bool {
    node.required_capabilities.contains(&capability)
        && node.acceptance_criteria.iter().any(|id| stage_of(contract, id) == Some(stage))
}

/// The position of the last completed mutating action.
pub(super) fn last_change(actions: &[WorkAction]) -> Option<usize> {
    actions.iter().rposition(|action| action.status == ActionStatus::Completed && action.mutating)
}

/// Whether an action after the last change is completed, not mutating and of a capability.
pub(super) fn reads_after(
    actions: &[WorkAction],
    capability: ActionCapability,
    fits: impl Fn(&WorkAction) -> bool,
) -> bool {
    let from = last_change(actions).map_or(0, |last| last + 1);
    actions[from..].iter().any(|action| looks(action, capability) && fits(action))
}

fn looks(action: &WorkAction, capability: ActionCapability) -> bool {
    action.status == ActionStatus::Completed && !action.mutating && action.capability == capability
}

/// Whether a passed criterion of a review rests on what a result covered, or on what an earlier review kept (C-QR-8).
pub(super) fn accepted(result: &AcceptanceCoverage, cx: &Context<'_>) -> bool {
    let same = |other: &AcceptanceCoverage| {
        other.criterion_id == result.criterion_id
            && other.status == CheckStatus::Pass
            && exact_set(&sets::texts(&other.evidence_refs), &sets::texts(&result.evidence_refs))
    };
    let mut results = predicates::current_results(cx.view);
    if results.any(|(_, work)| work.acceptance_coverage.iter().any(same)) {
        return true;
    }
    let assigned = cx.view.last::<WorkPlan>(Kind::WorkPlan).is_some_and(|(_, plan)| {
        plan.nodes.iter().any(|node| node.acceptance_criteria.contains(&result.criterion_id))
    });
    let mut reviews = cx.view.all::<QualityReview>(Kind::QualityReview);
    !assigned && reviews.any(|(_, review)| review.acceptance_results.iter().any(same))
}

/// Whether a passed verification of a review is proven (C-QR-13).
pub(super) fn proven(
    requirement: &VerificationRequirement,
    result: &VerificationResult,
    contract: &TaskContract,
    cx: &Context<'_>,
) -> bool {
    kept(requirement, result, cx) || shown_by_work(requirement, result, contract, cx)
}

/// (a): a diagnosis proof that the gate rested on, kept as it was.
fn kept(requirement: &VerificationRequirement, result: &VerificationResult, cx: &Context<'_>) -> bool {
    if requirement.stage != Stage::Diagnosis || !predicates::unlocked(cx.view) {
        return false;
    }
    let mut reviews = cx
        .view
        .all::<QualityReview>(Kind::QualityReview)
        .filter(|(_, review)| review.decision == QualityDecision::ProceedToFix);
    reviews.any(|(_, review)| {
        review.verification_results.iter().any(|other| {
            other.requirement_id == result.requirement_id
                && other.capability == result.capability
                && other.status == VerificationStatus::Pass
                && exact_set(&sets::texts(&other.evidence_refs), &sets::texts(&result.evidence_refs))
        })
    })
}

/// (b): an action of the latest plan that looked, with the same evidence, after the last change.
fn shown_by_work(
    requirement: &VerificationRequirement,
    result: &VerificationResult,
    contract: &TaskContract,
    cx: &Context<'_>,
) -> bool {
    let Some((_, plan)) = cx.view.last::<WorkPlan>(Kind::WorkPlan) else { return false };
    let capability = proving(requirement.capability);
    let shares =
        |action: &WorkAction| action.evidence_refs.iter().any(|cited| result.evidence_refs.contains(cited));
    predicates::current_results(cx.view).any(|(_, work): (_, &WorkResult)| {
        let node = plan.nodes.iter().find(|node| node.id == work.node_id);
        let node = node.filter(|node| can_prove(node, capability, requirement.stage, contract));
        node.is_some()
            && if requirement.stage == Stage::Completion {
                reads_after(&work.actions, capability, shares)
            } else {
                work.actions.iter().any(|action| looks(action, capability) && shares(action))
            }
    })
}
