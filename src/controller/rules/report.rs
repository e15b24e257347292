//! Rules of the user report (`controller.md` 7.11).

use super::{Code, Context, Kind, Refusal, contract, demand, latest_ref, latest_words, sets, shown};
use crate::controller::{OutcomeHint, RunPhase};
use crate::protocol::{
    AuditDecision, ClaimBasis, ClaimEvidenceEntry, ClaimStatus, EvidenceClaim, EvidenceStatus,
    ModeCompliance, QualityReview, ReleaseAudit, TaskContract, TerminalStatus, UserReport,
    VerificationResult, VerificationStatus, WorkResult,
};

/// How far a report was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A run that stopped before an audit: no other rule applies.
    Early,
    /// To its end.
    Whole,
}

pub(super) fn check(report: &UserReport, cx: &Context<'_>) -> Result<Read, Refusal> {
    let trace = format!("trace://{}", cx.view.run.run_id);
    demand!(
        *report.trace_ref == *trace,
        LineageMismatch,
        "C-UR-1",
        "body.traceRef",
        "traceRef is {}, the run's trace is {trace}",
        shown(&report.trace_ref)
    );
    let changes = sets::distinct(
        cx.view
            .all::<WorkResult>(Kind::WorkResult)
            .flat_map(|(_, result)| result.files_changed.iter())
            .map(|change| &*change.diff_ref),
    );
    if let Some(why) = sets::mismatch(&sets::texts(&report.change_refs), &changes) {
        let message = format!("changeRefs must name every diff of the run once: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-UR-2", message).at("body.changeRefs"));
    }
    let audit = cx.view.last::<ReleaseAudit>(Kind::ReleaseAudit).map(|(_, audit)| audit);
    // W-15: an audit that sent the work back announced no report, so it cannot bind one.
    let Some((audit, announced)) =
        audit.and_then(|audit| audit.user_report_ref.as_deref().map(|it| (audit, it)))
    else {
        early_block(report, cx)?;
        return Ok(Read::Early);
    };
    let own = cx.view.reference(&report.id);
    demand!(
        *announced == *own,
        ReportRefMismatch,
        "C-UR-4",
        "body.id",
        "the audit announced {}, this report would be {own}",
        shown(announced)
    );
    demand!(
        report.permissions_honored == (audit.mode_compliance == ModeCompliance::Pass),
        ReportMismatch,
        "C-UR-5",
        "body.permissionsHonored",
        "permissionsHonored is {}, the audit's modeCompliance is {}",
        report.permissions_honored,
        audit.mode_compliance
    );
    outcome(report, cx)?;
    fits_audit(report, audit)?;
    claims(report, audit)?;
    Ok(Read::Whole)
}

/// C-UR-3: the report of a run that was stopped before any audit.
fn early_block(report: &UserReport, cx: &Context<'_>) -> Result<(), Refusal> {
    let run = &cx.view.run;
    let facts = [
        (run.phase == RunPhase::Report, "", "the run is not at its report yet"),
        (run.outcome_hint == Some(OutcomeHint::Blocked), "", "the run was not blocked"),
        (
            report.terminal_status == TerminalStatus::Blocked,
            ".terminalStatus",
            "the run ended without an audit, so terminalStatus is blocked",
        ),
        (
            report.permissions_honored,
            ".permissionsHonored",
            "nothing was found against the permissions, so permissionsHonored is true",
        ),
        (
            report.completion_claims.is_empty(),
            ".completionClaims",
            "without an audit nothing can be claimed as done",
        ),
    ];
    for (holds, field, message) in facts {
        demand!(holds, BlockedReportInvalid, "C-UR-3", format!("body{field}"), "{message}");
    }
    let controlling = controlling(cx);
    let cited = report.finding_refs.iter().any(|cited| controlling.iter().any(|one| **one == **cited));
    demand!(
        cited,
        BlockedReportInvalid,
        "C-UR-3",
        "body.findingRefs",
        "findingRefs must name what stopped the run: {}",
        controlling.join(" or ")
    );
    Ok(())
}

/// What stopped the run, as a blocked report may cite it: the prompt review; when clarifications were exhausted the
/// last request too (W-25); an audit that sent the work back (W-15).
fn controlling(cx: &Context<'_>) -> Vec<String> {
    let review = latest_ref(cx, Kind::PromptReview);
    let exhausted = cx.view.of_kind(Kind::ClarificationRequest).count() > 1;
    let request = latest_ref(cx, Kind::ClarificationRequest).filter(|_| exhausted || review.is_none());
    [review, request, latest_ref(cx, Kind::ReleaseAudit)].into_iter().flatten().collect()
}

/// C-UR-6 to C-UR-9.
fn outcome(report: &UserReport, cx: &Context<'_>) -> Result<(), Refusal> {
    let completed = report.terminal_status == TerminalStatus::Completed;
    demand!(
        !completed || !report.completion_claims.is_empty(),
        CoverageMismatch,
        "C-UR-6",
        "body.completionClaims",
        "a completed report makes at least one claim"
    );
    let judged = [Kind::QualityReview, Kind::ReleaseAudit];
    let cited = judged
        .into_iter()
        .filter_map(|kind| latest_ref(cx, kind))
        .any(|reference| report.finding_refs.iter().any(|cited| **cited == *reference));
    demand!(
        completed || cited,
        LineageMismatch,
        "C-UR-7",
        "body.findingRefs",
        "a {} report cites the latest review {} or audit {}",
        report.terminal_status,
        latest_words(cx, Kind::QualityReview),
        latest_words(cx, Kind::ReleaseAudit)
    );
    let contract = contract(cx, "C-UR-8")?;
    let open = open_verification(contract, cx);
    if completed {
        if let Some(open) = open {
            let message = format!("{open} is required and did not pass in the latest review");
            return Err(
                Refusal::new(Code::VerificationIncomplete, "C-UR-8", message).at("body.terminalStatus")
            );
        }
        let results = required_results(contract, cx);
        let proof =
            sets::distinct(results.flat_map(|result| result.evidence_refs.iter()).map(|proof| &**proof));
        if let Some(why) = sets::mismatch(&sets::texts(&report.verification_refs), &proof) {
            let message =
                format!("verificationRefs must name the proof of every required verification: it {why}");
            return Err(
                Refusal::new(Code::VerificationIncomplete, "C-UR-8", message).at("body.verificationRefs")
            );
        }
    }
    demand!(
        report.terminal_status != TerminalStatus::FailedVerification || open.is_some(),
        ReportMismatch,
        "C-UR-9",
        "body.terminalStatus",
        "failed_verification needs a required verification that did not pass; every one passed"
    );
    Ok(())
}

fn review<'a>(cx: &Context<'a>) -> Option<&'a QualityReview> {
    cx.view.last::<QualityReview>(Kind::QualityReview).map(|(_, review)| review)
}

/// The results of the contract's required verifications in the latest review.
fn required_results<'a>(
    contract: &'a TaskContract,
    cx: &Context<'a>,
) -> impl Iterator<Item = &'a VerificationResult> {
    let required = contract.verification_requirements.iter().filter(|requirement| requirement.required);
    let review = review(cx);
    required.filter_map(move |requirement| {
        review?.verification_results.iter().find(|result| result.requirement_id == requirement.id)
    })
}

/// The first required verification that did not pass; one without a result did not.
fn open_verification<'a>(contract: &'a TaskContract, cx: &Context<'_>) -> Option<&'a str> {
    let required = contract.verification_requirements.iter().filter(|requirement| requirement.required);
    let passed = |id: &str| {
        review(cx).is_some_and(|review| {
            let mut results = review.verification_results.iter();
            results.any(|result| *result.requirement_id == *id && result.status == VerificationStatus::Pass)
        })
    };
    required.map(|requirement| &*requirement.id).find(|id| !passed(id))
}

/// C-UR-10.
fn fits_audit(report: &UserReport, audit: &ReleaseAudit) -> Result<(), Refusal> {
    use TerminalStatus as S;
    let fitting: &[TerminalStatus] = match audit.decision {
        AuditDecision::Release => &[S::Completed],
        AuditDecision::Partial => &[S::Partial, S::FailedVerification],
        AuditDecision::Block => &[S::Blocked],
        AuditDecision::Remediate => S::ALL,
    };
    let words: Vec<&str> = fitting.iter().map(|status| status.as_str()).collect();
    demand!(
        fitting.contains(&report.terminal_status),
        OutcomeNotAllowed,
        "C-UR-10",
        "body.terminalStatus",
        "the audit decided {}, so the report is {}, not {}",
        audit.decision,
        words.join(" or "),
        report.terminal_status
    );
    Ok(())
}

/// C-UR-11, C-UR-12.
fn claims(report: &UserReport, audit: &ReleaseAudit) -> Result<(), Refusal> {
    for (n, claim) in report.completion_claims.iter().enumerate() {
        demand!(
            audit.claim_evidence_matrix.iter().any(|entry| audited(claim, entry)),
            ClaimNotAudited,
            "C-UR-11",
            format!("body.completionClaims[{n}]"),
            "the audit supports no claim {} with this text, basis and evidence; repeat an audited claim word for word",
            claim.id
        );
    }
    if audit.decision != AuditDecision::Release {
        return Ok(());
    }
    let matrix = audit.claim_evidence_matrix.iter();
    let supported: Vec<&str> =
        matrix.filter(|entry| entry.status == ClaimStatus::Supported).map(|entry| &*entry.claim_id).collect();
    let made: Vec<&str> = report.completion_claims.iter().map(|claim| &*claim.id).collect();
    sets::mismatch(&made, &supported).map_or(Ok(()), |why| {
        let message = format!("a released report makes every supported claim once: it {why}");
        Err(Refusal::new(Code::CoverageMismatch, "C-UR-12", message).at("body.completionClaims"))
    })
}

fn audited(claim: &EvidenceClaim, entry: &ClaimEvidenceEntry) -> bool {
    let told = claim.status == EvidenceStatus::UserReported;
    entry.status == ClaimStatus::Supported
        && entry.claim_id == claim.id
        && entry.claim == claim.text
        && (entry.basis == ClaimBasis::UserReported) == told
        && sets::mismatch(&sets::texts(&claim.evidence_refs), &sets::texts(&entry.evidence_refs)).is_none()
}
