//! Rules of what is judged and told: evidence, quality review, release audit, user report, trace.

use super::repeats;
use crate::protocol::enums::{
    AuditDecision, CheckStatus, ClaimStatus, DiagnosisStatus, EvidenceStatus, FindingSeverity,
    ModeCompliance, QualityDecision, TerminalStatus, TraceEventType, VerificationStatus,
};
use crate::protocol::evidence::Evidence;
use crate::protocol::release::{
    ClaimEvidenceEntry, DiagnosisGate, QualityReview, ReleaseAudit, UserReport, VerificationResult,
};
use crate::protocol::shared::{Finding, ReviewCheck};
use crate::protocol::trace::TraceEvent;
use crate::protocol::wire::Reader;

/// The largest body, in bytes of canonical JSON (`protocol.md` 1.7).
const BODY_LIMIT: usize = 2_097_152;

fn blocks(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == FindingSeverity::Blocking)
}

fn all_pass(checks: &[ReviewCheck]) -> bool {
    checks.iter().all(|check| check.status == CheckStatus::Pass)
}

pub(in crate::protocol) fn evidence_rules(it: &Evidence, reader: &mut Reader) {
    if it.content.len() > BODY_LIMIT {
        reader.rule(
            "EV-1",
            "content",
            format!("has {} bytes, at most {BODY_LIMIT} are allowed", it.content.len()),
        );
    }
}

pub(in crate::protocol) fn trace_event_rules(it: &TraceEvent, reader: &mut Reader) {
    if it.event_type == TraceEventType::PermissionChecked && it.permission_decision.is_none() {
        reader.rule("TE-1", "permissionDecision", "permission_checked needs a decision");
    }
    let of_tool = matches!(it.event_type, TraceEventType::ToolStarted | TraceEventType::ToolFinished);
    if of_tool && it.tool.is_none() {
        reader.rule("TE-2", "tool", format!("{} needs a tool", it.event_type));
    }
}

pub(in crate::protocol) fn verification_result_rules(it: &VerificationResult, reader: &mut Reader) {
    if matches!(it.status, VerificationStatus::Pass | VerificationStatus::Fail) && it.evidence_refs.is_empty()
    {
        reader.rule(
            "VR-1",
            "evidenceRefs",
            format!("a verification with status {} needs evidence", it.status),
        );
    }
}

pub(in crate::protocol) fn diagnosis_gate_rules(it: &DiagnosisGate, reader: &mut Reader) {
    let supported = it.status == DiagnosisStatus::Supported;
    if supported && it.direct_evidence_refs.is_empty() {
        reader.rule("DG-1", "directEvidenceRefs", "a supported diagnosis needs direct evidence");
    }
    if supported && it.correction_work_order.is_none() {
        reader.rule("DG-2", "correctionWorkOrder", "a supported diagnosis needs a correction work order");
    }
    if !supported && it.correction_work_order.is_some() {
        reader.rule(
            "DG-3",
            "correctionWorkOrder",
            format!("a diagnosis that is {} orders no correction", it.status),
        );
    }
    if let Some(order) = &it.correction_work_order {
        let lacks =
            it.direct_evidence_refs.iter().find(|proof| order.source_refs.iter().all(|r| **r != ***proof));
        if let Some(proof) = lacks {
            reader.rule(
                "DG-4",
                "correctionWorkOrder.sourceRefs",
                format!("lacks the direct evidence {proof}"),
            );
        }
    }
}

pub(in crate::protocol) fn quality_review_rules(it: &QualityReview, reader: &mut Reader) {
    let decision = it.decision;
    let (pass, fix) = (decision == QualityDecision::Pass, decision == QualityDecision::ProceedToFix);
    let remediate = decision == QualityDecision::Remediate;
    if it.work_plan_refs.is_empty() && it.work_result_refs.is_empty() {
        reader.rule("QR-1", "workResultRefs", "a review names a plan or a result");
    }
    if (pass || fix) && it.score.get() < 80.0 {
        reader.rule("QR-2", "score", format!("{decision} needs a score of 80 or more"));
    }
    let sound = it.hard_gates.iter().all(|gate| gate.passed)
        && !blocks(&it.findings)
        && all_pass(&it.rule_compliance)
        && all_pass(&it.regression_checks);
    let accepted = it.acceptance_results.iter().all(|result| result.status == CheckStatus::Pass);
    if pass && !(sound && accepted) {
        let message =
            "pass needs every gate, criterion, rule and regression check to pass, and no blocking finding";
        reader.rule("QR-3", "decision", message);
    }
    if remediate && it.remaining_remediations.get() != 1 {
        reader.rule("QR-4", "remainingRemediations", "remediate needs a remediation that is left");
    }
    if remediate && it.remediation_work_order.is_none() {
        reader.rule("QR-5", "remediationWorkOrder", "remediate needs a work order");
    }
    if !remediate && it.remediation_work_order.is_some() {
        reader.rule("QR-6", "remediationWorkOrder", format!("{decision} carries no remediation work order"));
    }
    if fix && !sound {
        let message =
            "proceed_to_fix needs every gate, rule and regression check to pass, and no blocking finding";
        reader.rule("QR-7", "decision", message);
    }
    match &it.diagnosis_gate {
        None if fix => reader.rule("QR-8", "diagnosisGate", "proceed_to_fix needs a diagnosis gate"),
        Some(gate) if fix => {
            let complete = gate.status == DiagnosisStatus::Supported
                && !gate.direct_evidence_refs.is_empty()
                && gate.correction_work_order.is_some()
                && gate.within_approved_scope
                && gate.permissions_sufficient;
            if !complete {
                let message = "proceed_to_fix needs a supported diagnosis with direct evidence and a work order, \
                               within scope and permissions";
                reader.rule("QR-9", "diagnosisGate", message);
            }
        }
        Some(_) => reader.rule("QR-10", "diagnosisGate", format!("{decision} carries no diagnosis gate")),
        None => {}
    }
}

pub(in crate::protocol) fn claim_evidence_entry_rules(it: &ClaimEvidenceEntry, reader: &mut Reader) {
    if it.status == ClaimStatus::Supported && it.evidence_refs.is_empty() {
        reader.rule("CE-1", "evidenceRefs", "a supported claim needs evidence");
    }
}

pub(in crate::protocol) fn release_audit_rules(it: &ReleaseAudit, reader: &mut Reader) {
    let decision = it.decision;
    let remediate = decision == AuditDecision::Remediate;
    if repeats(it.claim_evidence_matrix.iter().map(|entry| &*entry.claim_id)) {
        reader.rule("RA-1", "claimEvidenceMatrix", "two entries share a claimId");
    }
    if it.work_plan_refs.is_empty() && it.work_result_refs.is_empty() {
        reader.rule("RA-2", "workResultRefs", "an audit names a plan or a result");
    }
    let good = it.mode_compliance == ModeCompliance::Pass
        && all_pass(&it.user_fidelity)
        && it.claim_evidence_matrix.iter().all(|entry| entry.status == ClaimStatus::Supported);
    if decision == AuditDecision::Release && (!good || blocks(&it.findings)) {
        let message = "release needs mode, fidelity and claims to hold, and no blocking finding";
        reader.rule("RA-3", "decision", message);
    }
    if remediate && it.remaining_remediations.get() != 1 {
        reader.rule("RA-4", "remainingRemediations", "remediate needs a remediation that is left");
    }
    if remediate && it.remediation_defect.is_none() {
        reader.rule("RA-5", "remediationDefect", "remediate needs a defect");
    }
    if remediate && it.user_report_ref.is_some() {
        reader.rule("RA-6", "userReportRef", "remediate names no report");
    }
    if !remediate && it.remediation_defect.is_some() {
        reader.rule("RA-7", "remediationDefect", format!("{decision} carries no defect"));
    }
    if !remediate && it.user_report_ref.is_none() {
        reader.rule("RA-8", "userReportRef", format!("{decision} names the report that follows"));
    }
    let stops = matches!(decision, AuditDecision::Partial | AuditDecision::Block);
    if stops && good && it.findings.is_empty() && it.unresolved_risks.is_empty() {
        reader.rule("RA-9", "decision", format!("{decision} needs something that is not good"));
    }
}

pub(in crate::protocol) fn user_report_rules(it: &UserReport, reader: &mut Reader) {
    let status = it.terminal_status;
    if status == TerminalStatus::Completed {
        if it.completion_claims.is_empty() {
            reader.rule("UR-1", "completionClaims", "a completed report makes a claim");
        }
        if !it.permissions_honored {
            reader.rule("UR-2", "permissionsHonored", "a completed report kept its permissions");
        }
        for (n, claim) in it.completion_claims.iter().enumerate() {
            if claim.status == EvidenceStatus::Unverified || claim.evidence_refs.is_empty() {
                let message = format!("the claim {} must be verified and have evidence", claim.id);
                reader.rule("UR-3", &format!("completionClaims.{n}"), message);
            }
        }
    }
    let open = matches!(
        status,
        TerminalStatus::Partial | TerminalStatus::Blocked | TerminalStatus::FailedVerification
    );
    if open && it.finding_refs.is_empty() && it.unresolved_risks.is_empty() && it.next_actions.is_empty() {
        reader.rule(
            "UR-4",
            "unresolvedRisks",
            format!("a {status} report names a finding, a risk or a next action"),
        );
    }
}
