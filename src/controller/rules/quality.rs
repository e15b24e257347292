//! Rules of a quality review (`controller.md` 7.9).

use super::work_order::{self, Ahead, Bounds};
use super::{
    Code, Context, Kind, Refusal, all_refs, contract, criteria, demand, latest_ref, latest_words,
    names_latest, proving, sets, shown, verification,
};
use crate::controller::authority;
use crate::controller::predicates::{self, Order, current_results};
use crate::protocol::{
    ActionStatus, CheckStatus, IntentMode, QualityDecision, QualityReview, Stage, TaskContract,
    VerificationRequirement, VerificationStatus, WorkPlan, WorkResult, WorkStatus,
};

pub(super) fn check(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        review.remaining_remediations.get() == i64::from(cx.view.run.remediations_remaining),
        BudgetMismatch,
        "C-QR-1",
        "body.remainingRemediations",
        "remainingRemediations is {}, the run has {} left",
        review.remaining_remediations,
        cx.view.run.remediations_remaining
    );
    demand!(
        names_latest(cx, Kind::TaskContract, &review.task_contract_ref),
        LineageMismatch,
        "C-QR-2",
        "body.taskContractRef",
        "the review is under {}, the latest contract is {}",
        shown(&review.task_contract_ref),
        latest_words(cx, Kind::TaskContract)
    );
    let contract = contract(cx, "C-QR-2")?;
    lineage(review, cx)?;
    nodes_complete(review, cx)?;
    mutation(review, cx)?;
    acceptance(review, contract, cx)?;
    rules(review, contract)?;
    verifications(review, contract, cx)?;
    if let Some((order, bounds)) = ordered(review, contract, cx) {
        work_order::check(order, &bounds)?;
    }
    decision(review, cx)
}

/// C-QR-3, C-QR-4.
fn lineage(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    let plan = latest_ref(cx, Kind::WorkPlan);
    let named = plan.as_deref().is_some_and(|plan| review.work_plan_refs.iter().any(|it| **it == *plan));
    demand!(
        named,
        LineageMismatch,
        "C-QR-3",
        "body.workPlanRefs",
        "the latest plan {} is missing",
        latest_words(cx, Kind::WorkPlan)
    );
    let results: Vec<String> =
        current_results(cx.view).map(|(stored, _)| cx.view.reference(&stored.id)).collect();
    sets::mismatch(&sets::texts(&review.work_result_refs), &results).map_or(Ok(()), |why| {
        let message = format!("workResultRefs must be exactly the results of the latest plan: it {why}");
        Err(Refusal::new(Code::LineageMismatch, "C-QR-4", message).at("body.workResultRefs"))
    })
}

/// Whether the review lets the work go on or out.
fn approves(review: &QualityReview) -> bool {
    matches!(review.decision, QualityDecision::Pass | QualityDecision::ProceedToFix)
}

/// C-QR-5.
fn nodes_complete(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    if predicates::is_deliverable(cx.mode) || !approves(review) {
        return Ok(());
    }
    let completed = current_results(cx.view).filter(|(_, result)| result.status == WorkStatus::Completed);
    let completed: Vec<&str> = completed.map(|(_, result)| &*result.node_id).collect();
    let plan = cx.view.last::<WorkPlan>(Kind::WorkPlan).map(|(_, plan)| plan);
    let planned: Vec<&str> = plan.iter().flat_map(|plan| plan.nodes.iter()).map(|node| &*node.id).collect();
    sets::mismatch(&completed, &planned).map_or(Ok(()), |why| {
        let message =
            format!("{} needs a completed result for every planned node: the set {why}", review.decision);
        Err(Refusal::new(Code::NodesIncomplete, "C-QR-5", message).at("body.decision"))
    })
}

/// C-QR-6: a fix that changed nothing is no fix.
fn mutation(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    let fixes = cx.mode == IntentMode::FixOnly || predicates::unlocked(cx.view);
    if review.decision != QualityDecision::Pass || !fixes {
        return Ok(());
    }
    let changed = cx.view.all::<WorkResult>(Kind::WorkResult).any(|(_, result)| {
        result.actions.iter().any(|action| action.status == ActionStatus::Completed && action.mutating)
    });
    demand!(
        changed,
        MutationMissing,
        "C-QR-6",
        "body.decision",
        "a fix passes only when some result holds a completed mutating action"
    );
    Ok(())
}

/// C-QR-7, C-QR-8.
fn acceptance(review: &QualityReview, contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    let stage = predicates::before_gate(cx.view).then_some(Stage::Diagnosis);
    let answered: Vec<&str> = review.acceptance_results.iter().map(|result| &*result.criterion_id).collect();
    if let Some(why) = sets::mismatch(&answered, &criteria(contract, stage)) {
        let which = if stage.is_some() { "diagnosis criterion" } else { "criterion" };
        let message = format!("the review must judge every {which} of the contract once: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-QR-7", message).at("body.acceptanceResults"));
    }
    if predicates::is_deliverable(cx.mode) {
        return Ok(());
    }
    for (n, result) in review.acceptance_results.iter().enumerate() {
        demand!(
            result.status != CheckStatus::Pass || verification::accepted(result, cx),
            AcceptanceUnproven,
            "C-QR-8",
            format!("body.acceptanceResults[{n}].evidenceRefs"),
            "{} passes, but no result of the latest plan covers it with exactly this evidence",
            result.criterion_id
        );
    }
    Ok(())
}

/// C-QR-9.
fn rules(review: &QualityReview, contract: &TaskContract) -> Result<(), Refusal> {
    let subjects = review.rule_compliance.iter().filter_map(|check| check.subject_ref.as_deref());
    let subjects: Vec<&str> = subjects.collect();
    sets::mismatch(&subjects, &sets::texts(&contract.rule_refs)).map_or(Ok(()), |why| {
        let message = format!("ruleCompliance must judge every rule of the contract once: it {why}");
        Err(Refusal::new(Code::CoverageMismatch, "C-QR-9", message).at("body.ruleCompliance"))
    })
}

/// C-QR-10 to C-QR-13.
fn verifications(review: &QualityReview, contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    let gate = predicates::before_gate(cx.view);
    let all = contract.verification_requirements.iter();
    let expected: Vec<&VerificationRequirement> =
        all.filter(|requirement| !gate || requirement.stage == Stage::Diagnosis).collect();
    let ids: Vec<&str> = expected.iter().map(|requirement| &*requirement.id).collect();
    let answered: Vec<&str> =
        review.verification_results.iter().map(|result| &*result.requirement_id).collect();
    if let Some(why) = sets::mismatch(&answered, &ids) {
        let message =
            format!("verificationResults must answer every verification of this stage once: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-QR-10", message).at("body.verificationResults"));
    }
    for requirement in expected {
        verification(review, requirement, contract, cx)?;
    }
    Ok(())
}

fn verification(
    review: &QualityReview,
    requirement: &VerificationRequirement,
    contract: &TaskContract,
    cx: &Context<'_>,
) -> Result<(), Refusal> {
    let (id, capability) = (&requirement.id, proving(requirement.capability));
    let found = review.verification_results.iter().enumerate().find(|(_, it)| it.requirement_id == *id);
    let Some((n, result)) = found.filter(|(_, it)| it.capability == capability) else {
        let message = format!("the result for {id} must name the contracted capability {capability}");
        return Err(
            Refusal::new(Code::VerificationMismatch, "C-QR-11", message).at("body.verificationResults")
        );
    };
    let passed = result.status == VerificationStatus::Pass;
    demand!(
        passed || !requirement.required || !approves(review),
        VerificationIncomplete,
        "C-QR-12",
        format!("body.verificationResults[{n}].status"),
        "{} needs {id} to pass; it is {}",
        review.decision,
        result.status
    );
    demand!(
        !passed
            || predicates::is_deliverable(cx.mode)
            || verification::proven(requirement, result, contract, cx),
        VerificationUnproven,
        "C-QR-13",
        format!("body.verificationResults[{n}].evidenceRefs"),
        "{id} passes, but no {capability} action of the latest plan shows it with this evidence: the action is \
         completed, not mutating, of a node that requires the capability for a {} criterion, and after the last change",
        requirement.stage
    );
    Ok(())
}

/// The work order that the decision calls for, with its bounds (C-QR-14, C-QR-15).
fn ordered<'a>(
    review: &'a QualityReview,
    contract: &'a TaskContract,
    cx: &Context<'_>,
) -> Option<(Option<Order<'a>>, Bounds<'a>)> {
    match review.decision {
        QualityDecision::ProceedToFix => {
            let gate = review.diagnosis_gate.as_ref();
            let order = gate.and_then(|gate| gate.correction_work_order.as_ref()).map(Order::from);
            let bounds = Bounds {
                place: "body.diagnosisGate.correctionWorkOrder",
                criteria_field: "targetCriterionIds",
                allowed: criteria(contract, Some(Stage::Completion)),
                all: true,
                contract,
                authority: authority::run_authorization(cx.view, cx.env.policy),
                needs_capability: true,
                sources: gate
                    .iter()
                    .flat_map(|gate| gate.direct_evidence_refs.iter())
                    .map(ToString::to_string)
                    .collect(),
            };
            Some((order, bounds))
        }
        QualityDecision::Remediate => {
            let gate = predicates::before_gate(cx.view);
            let (view, policy) = (cx.view, cx.env.policy);
            let mut sources: Vec<String> = latest_ref(cx, Kind::WorkPlan).into_iter().collect();
            sources.extend(current_results(view).map(|(stored, _)| view.reference(&stored.id)));
            sources.extend(all_refs(cx, Kind::Evidence));
            let bounds = Bounds {
                place: "body.remediationWorkOrder",
                criteria_field: "failedCriterionIds",
                allowed: criteria(contract, gate.then_some(Stage::Diagnosis)),
                all: false,
                contract,
                authority: if gate {
                    authority::analysis_ceiling(view, policy)
                } else {
                    authority::run_authorization(view, policy)
                },
                needs_capability: !predicates::is_deliverable(cx.mode),
                sources,
            };
            Some((review.remediation_work_order.as_ref().map(Order::from), bounds))
        }
        _ => None,
    }
}

/// C-QR-16, C-QR-17.
fn decision(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    let gate = predicates::before_gate(cx.view);
    demand!(
        review.decision != QualityDecision::ProceedToFix || gate,
        DecisionNotAllowed,
        "C-QR-16",
        "body.decision",
        "proceed_to_fix is for the diagnosis of an analyze_and_fix run, before its fix is unlocked"
    );
    demand!(
        review.decision != QualityDecision::Pass || !gate,
        DecisionNotAllowed,
        "C-QR-17",
        "body.decision",
        "before the fix is unlocked a diagnosis goes on with proceed_to_fix, it does not pass"
    );
    Ok(())
}

/// W-18, W-21.
pub(super) fn dead_ends(review: &QualityReview, cx: &Context<'_>) -> Result<(), Refusal> {
    for (n, result) in review.acceptance_results.iter().enumerate() {
        if let Some(twice) = sets::repeat(&sets::texts(&result.evidence_refs)) {
            let message = format!("{} cites {} more than once", result.criterion_id, shown(twice));
            let path = format!("body.acceptanceResults[{n}].evidenceRefs");
            return Err(Refusal::new(Code::DuplicateEntry, "W-18", message).at(path));
        }
    }
    let contract = contract(cx, "W-21")?;
    if let Some((Some(order), bounds)) = ordered(review, contract, cx) {
        let ahead = Ahead::of(cx, review.decision == QualityDecision::ProceedToFix);
        work_order::plan_fits(&order, &bounds, ahead, cx)?;
    }
    Ok(())
}
