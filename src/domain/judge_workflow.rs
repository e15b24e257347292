//! What the judge takes from the workflow's artifacts: gates, checks, claims and findings become its findings.

use super::judge::{Finding, Severity};
use super::judge_rules::WorkflowFacts;
use crate::protocol::{
    CheckStatus, ClaimBasis, ClaimStatus, Finding as WorkflowFinding, FindingSeverity, Identifier,
    ModeCompliance, QualityReview, ReleaseAudit, ReviewCheck, UserReport, VerificationStatus,
};
use std::collections::BTreeSet;

impl WorkflowFacts {
    /// Reads the last review, audit and report of a run.
    #[must_use]
    pub fn of(
        review: Option<&QualityReview>,
        audit: Option<&ReleaseAudit>,
        report: Option<&UserReport>,
    ) -> Self {
        let mut facts = Self::default();
        let mut criteria: BTreeSet<&str> = BTreeSet::new();
        if let Some(review) = review {
            facts.review = Some(review.decision);
            facts.score = Some(review.score.get());
            criteria.extend(review.acceptance_results.iter().map(|result| result.criterion_id.as_str()));
            read_review(review, &mut facts.findings);
        }
        if let Some(audit) = audit {
            facts.audit = Some(audit.decision);
            read_audit(audit, &mut facts.findings);
            let claims = audit.claim_evidence_matrix.iter();
            criteria.extend(claims.flat_map(|entry| entry.criterion_ids.iter().map(Identifier::as_str)));
            let proven: BTreeSet<&str> = audit
                .claim_evidence_matrix
                .iter()
                .filter(|entry| {
                    entry.status == ClaimStatus::Supported
                        && entry.basis == ClaimBasis::Direct
                        && !entry.evidence_refs.is_empty()
                })
                .flat_map(|entry| entry.criterion_ids.iter().map(Identifier::as_str))
                .collect();
            facts.criteria_proven = proven.len();
        }
        facts.criteria = criteria.len();
        if let Some(report) = report {
            facts.claim_confidences =
                report.completion_claims.iter().map(|claim| claim.confidence.get()).collect();
            if !report.permissions_honored {
                let message = "the report says that the permissions were not kept";
                facts.findings.push(Finding::new(Severity::Error, "permissions", message));
            }
        }
        facts
    }
}

fn read_review(review: &QualityReview, findings: &mut Vec<Finding>) {
    for gate in review.hard_gates.iter().filter(|gate| !gate.passed) {
        findings.push(Finding::new(Severity::Error, "failed_gate", &*gate.description));
    }
    for result in &review.acceptance_results {
        let message = format!("criterion {} is {}", result.criterion_id, result.status);
        findings.extend(of_check(result.status, "acceptance", message));
    }
    read_checks(&review.rule_compliance, "rule", findings);
    read_checks(&review.regression_checks, "regression", findings);
    for result in &review.verification_results {
        let severity = match result.status {
            VerificationStatus::Pass => continue,
            VerificationStatus::Fail => Severity::Error,
            _ => Severity::Warning,
        };
        let message = format!("verification {} is {}", result.requirement_id, result.status);
        findings.push(Finding::new(severity, "workflow_verification", message));
    }
    read_findings(&review.findings, "review", findings);
}

fn read_audit(audit: &ReleaseAudit, findings: &mut Vec<Finding>) {
    read_checks(&audit.user_fidelity, "user_fidelity", findings);
    if audit.mode_compliance == ModeCompliance::Fail {
        findings.push(Finding::new(
            Severity::Error,
            "mode_compliance",
            "the audit says that the mode was not kept",
        ));
    }
    for entry in &audit.claim_evidence_matrix {
        let severity = match entry.status {
            ClaimStatus::Supported => continue,
            ClaimStatus::Unsupported | ClaimStatus::Contradicted => Severity::Error,
            ClaimStatus::Unverified => Severity::Warning,
        };
        let message = format!("the claim {:?} is {}", &*entry.claim, entry.status);
        findings.push(Finding::new(severity, "claim", message));
    }
    for risk in &audit.unresolved_risks {
        findings.push(Finding::new(Severity::Info, "unresolved_risk", &**risk));
    }
    read_findings(&audit.findings, "audit", findings);
}

fn read_checks<'a>(
    checks: impl IntoIterator<Item = &'a ReviewCheck>,
    category: &str,
    findings: &mut Vec<Finding>,
) {
    for check in checks {
        let message = format!("{} is {}", &*check.description, check.status);
        findings.extend(of_check(check.status, category, message));
    }
}

fn of_check(status: CheckStatus, category: &str, message: String) -> Option<Finding> {
    match status {
        CheckStatus::Pass | CheckStatus::NotApplicable => None,
        CheckStatus::Fail => Some(Finding::new(Severity::Error, category, message)),
        CheckStatus::Unverified => Some(Finding::new(Severity::Warning, category, message)),
    }
}

fn read_findings<'a>(
    found: impl IntoIterator<Item = &'a WorkflowFinding>,
    category: &str,
    findings: &mut Vec<Finding>,
) {
    for finding in found {
        let severity = match finding.severity {
            FindingSeverity::Info => Severity::Info,
            FindingSeverity::Warning => Severity::Warning,
            FindingSeverity::Blocking => Severity::Blocker,
        };
        findings.push(Finding::new(severity, category, &*finding.claim));
    }
}
