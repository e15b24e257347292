//! Rules of a release audit (`controller.md` 7.10).

use super::work_order::{self, Ahead, Bounds};
use super::{
    Code, Context, Kind, Refusal, all_refs, contract, criteria, demand, envelope, latest_ref, latest_words,
    names_latest, sets, shown, stage_of,
};
use crate::controller::authority;
use crate::controller::predicates::{self, Order};
use crate::protocol::{
    AuditDecision, ClaimBasis, ClaimStatus, IntentMode, ModeCompliance, QualityDecision, QualityReview,
    ReleaseAudit, TaskContract, is_identifier,
};

pub(super) fn check(audit: &ReleaseAudit, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        audit.remaining_remediations.get() == i64::from(cx.view.run.remediations_remaining),
        BudgetMismatch,
        "C-RA-1",
        "body.remainingRemediations",
        "remainingRemediations is {}, the run has {} left",
        audit.remaining_remediations,
        cx.view.run.remediations_remaining
    );
    lineage(audit, cx)?;
    let contract = contract(cx, "C-RA-2")?;
    let request = &*audit.original_request_ref;
    let subjects: Vec<&str> =
        audit.user_fidelity.iter().filter_map(|check| check.subject_ref.as_deref()).collect();
    if let Some(why) = sets::mismatch(&subjects, &[request]) {
        let message = format!("userFidelity must judge the original request once and nothing else: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-RA-3", message).at("body.userFidelity"));
    }
    decision(audit, cx)?;
    matrix(audit, contract)?;
    if audit.decision == AuditDecision::Remediate {
        work_order::check(audit.remediation_defect.as_ref().map(Order::from), &bounds(contract, cx))?;
    }
    claims_cover(audit, contract, cx)
}

/// C-RA-2: everything the run produced is before the auditor.
fn lineage(audit: &ReleaseAudit, cx: &Context<'_>) -> Result<(), Refusal> {
    let request = &envelope(cx, "C-RA-2")?.original_request_ref;
    demand!(
        audit.original_request_ref == *request,
        LineageMismatch,
        "C-RA-2",
        "body.originalRequestRef",
        "the audit is of {}, the original request is {request}",
        shown(&audit.original_request_ref)
    );
    let single = [
        (Kind::TaskContract, "taskContractRef", &audit.task_contract_ref),
        (Kind::QualityReview, "qualityReviewRef", &audit.quality_review_ref),
    ];
    for (kind, field, named) in single {
        demand!(
            names_latest(cx, kind, named),
            LineageMismatch,
            "C-RA-2",
            format!("body.{field}"),
            "{field} is {}, the latest {kind} is {}",
            shown(named),
            latest_words(cx, kind)
        );
    }
    let lists = [
        (Kind::WorkPlan, "workPlanRefs", &audit.work_plan_refs),
        (Kind::WorkResult, "workResultRefs", &audit.work_result_refs),
    ];
    for (kind, field, named) in lists {
        if let Some(why) = sets::mismatch(&sets::texts(named), &all_refs(cx, kind)) {
            let message = format!("{field} must name every {kind} of the run once: it {why}");
            return Err(Refusal::new(Code::LineageMismatch, "C-RA-2", message).at(format!("body.{field}")));
        }
    }
    Ok(())
}

/// C-RA-4 to C-RA-6.
fn decision(audit: &ReleaseAudit, cx: &Context<'_>) -> Result<(), Refusal> {
    let decision = audit.decision;
    demand!(
        audit.mode_compliance == ModeCompliance::Pass
            || matches!(decision, AuditDecision::Partial | AuditDecision::Block),
        DecisionNotAllowed,
        "C-RA-4",
        "body.decision",
        "a run that broke its mode ends with partial or block, not {decision}"
    );
    let review = cx.view.last::<QualityReview>(Kind::QualityReview).map(|(_, review)| review.decision);
    demand!(
        review != Some(QualityDecision::Block) || decision == AuditDecision::Block,
        DecisionNotAllowed,
        "C-RA-5",
        "body.decision",
        "the latest review decided block, so the audit decides block, not {decision}"
    );
    demand!(
        decision != AuditDecision::Release || review == Some(QualityDecision::Pass),
        DecisionNotAllowed,
        "C-RA-6",
        "body.decision",
        "only a passed review is released; the latest decided {}",
        review.map_or("nothing", |review| review.as_str())
    );
    Ok(())
}

/// C-RA-7 to C-RA-9.
fn matrix(audit: &ReleaseAudit, contract: &TaskContract) -> Result<(), Refusal> {
    let matrix = &audit.claim_evidence_matrix;
    demand!(
        audit.decision != AuditDecision::Release || !matrix.is_empty(),
        CoverageMismatch,
        "C-RA-7",
        "body.claimEvidenceMatrix",
        "a release needs at least one claim"
    );
    let ids: Vec<&str> = matrix.iter().map(|entry| &*entry.claim_id).collect();
    if let Some(twice) = sets::repeat(&ids) {
        let message = format!("the claim {twice} has more than one entry");
        return Err(Refusal::new(Code::DuplicateEntry, "C-RA-8", message).at("body.claimEvidenceMatrix"));
    }
    for (n, entry) in matrix.iter().enumerate() {
        if let Some(unknown) = entry.criterion_ids.iter().find(|id| stage_of(contract, id).is_none()) {
            let message =
                format!("the claim {} names {unknown}, which the contract does not have", entry.claim_id);
            let path = format!("body.claimEvidenceMatrix[{n}].criterionIds");
            return Err(Refusal::new(Code::CriterionUnknown, "C-RA-9", message).at(path));
        }
    }
    Ok(())
}

/// What a defect is measured against (C-RA-10).
fn bounds<'a>(contract: &'a TaskContract, cx: &Context<'_>) -> Bounds<'a> {
    let mut sources: Vec<String> = latest_ref(cx, Kind::QualityReview).into_iter().collect();
    sources.extend(all_refs(cx, Kind::WorkResult));
    sources.extend(all_refs(cx, Kind::Evidence));
    Bounds {
        place: "body.remediationDefect",
        criteria_field: "failedCriterionIds",
        allowed: criteria(contract, None),
        all: false,
        contract,
        authority: authority::run_authorization(cx.view, cx.env.policy),
        needs_capability: !predicates::is_deliverable(cx.mode),
        sources,
    }
}

/// C-RA-11: nothing is released that no claim stands for.
fn claims_cover(audit: &ReleaseAudit, contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    if audit.decision != AuditDecision::Release {
        return Ok(());
    }
    let any_basis = cx.mode == IntentMode::ReportOnly;
    for criterion in criteria(contract, None) {
        let claimed = audit.claim_evidence_matrix.iter().any(|entry| {
            entry.status == ClaimStatus::Supported
                && (any_basis || entry.basis == ClaimBasis::Direct)
                && entry.criterion_ids.iter().any(|id| **id == *criterion)
        });
        demand!(
            claimed,
            CoverageMismatch,
            "C-RA-11",
            "body.claimEvidenceMatrix",
            "no supported claim with {} stands for the criterion {criterion}",
            if any_basis { "any basis" } else { "direct proof" }
        );
    }
    Ok(())
}

/// W-16, W-18, W-21.
pub(super) fn dead_ends(audit: &ReleaseAudit, cx: &Context<'_>) -> Result<(), Refusal> {
    if let Some(report) = audit.user_report_ref.as_deref() {
        let id = report.rsplit('/').next().unwrap_or_default();
        demand!(
            is_identifier(id),
            InvalidReference,
            "W-16",
            "body.userReportRef",
            "{:?} is no identifier, so no report could have that id",
            shown(id)
        );
        demand!(
            *id != *audit.id,
            ReportRefTaken,
            "W-16",
            "body.userReportRef",
            "{id} is the id of this audit; the report needs another"
        );
    }
    for (n, entry) in audit.claim_evidence_matrix.iter().enumerate() {
        if let Some(twice) = sets::repeat(&sets::texts(&entry.evidence_refs)) {
            let message = format!("the claim {} cites {} more than once", entry.claim_id, shown(twice));
            let path = format!("body.claimEvidenceMatrix[{n}].evidenceRefs");
            return Err(Refusal::new(Code::DuplicateEntry, "W-18", message).at(path));
        }
    }
    if let Some(defect) =
        audit.remediation_defect.as_ref().filter(|_| audit.decision == AuditDecision::Remediate)
    {
        let contract = contract(cx, "W-21")?;
        work_order::plan_fits(&Order::from(defect), &bounds(contract, cx), Ahead::of(cx, false), cx)?;
    }
    Ok(())
}
