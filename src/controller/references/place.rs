//! What the place of a reference demands of its target (`controller.md` 6.3).

use super::walk::Found;
use crate::protocol::{Body, ClaimBasis, EvidenceStatus, Kind};

/// Fields that may name a part of the protocol itself.
const SYSTEM_FIELDS: [&str; 5] =
    ["applicableRuleRefs", "instructionRef", "policyRefs", "promptReadinessRubricRef", "ruleRefs"];

const ROLES: [&str; 6] =
    ["controller", "executor", "scenario_author", "task_compiler", "quality_controller", "release_auditor"];

/// What a reference's place demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// It may name a known part of the protocol (C-RF-3).
    pub system: bool,
    /// Its target must be proof (C-RF-18).
    pub direct: bool,
    /// Its target must be the user's word (C-RF-17).
    pub user_reported: bool,
    /// It names an artifact that is still to come (C-RF-14).
    pub forward: bool,
    /// The type its target must have (C-RF-16).
    pub expected: Option<Kind>,
}

impl Place {
    /// The place of a reference of a body.
    #[must_use]
    pub fn of(body: &Body, found: &Found) -> Self {
        let kind = body.kind();
        // W-17: a rule that is part of the protocol is answered under its own name.
        let answers_rule = kind == Kind::QualityReview && found.shape == "ruleCompliance[].subjectRef";
        Self {
            system: SYSTEM_FIELDS.contains(&found.field()) || answers_rule,
            direct: is_direct_evidence(kind, &found.shape),
            user_reported: is_user_reported(body, found),
            forward: kind == Kind::ReleaseAudit && found.shape == "userReportRef",
            expected: expected(&found.shape),
        }
    }
}

/// Whether a reference names a part of the protocol that exists.
#[must_use]
pub fn is_known_system(reference: &str) -> bool {
    if reference == "artifact://system/rubrics/contract-readiness-v1" {
        return true;
    }
    let role = reference.strip_prefix("artifact://system/roles/").and_then(|rest| rest.strip_suffix("-v1"));
    role.is_some_and(|role| ROLES.iter().any(|known| *known == role || known.replace('_', "-") == role))
}

fn expected(shape: &str) -> Option<Kind> {
    match shape.rsplit('.').next()? {
        "originalRequestRef" => Some(Kind::UserMessage),
        "problemFrameRef" => Some(Kind::ProblemFrame),
        "targetRef" | "taskContractRef" => Some(Kind::TaskContract),
        "workPlanRef" | "workPlanRefs[]" => Some(Kind::WorkPlan),
        "workResultRefs[]" => Some(Kind::WorkResult),
        "qualityReviewRef" => Some(Kind::QualityReview),
        "contextManifestRef" => Some(Kind::ContextManifest),
        "clarificationRequestRef" => Some(Kind::ClarificationRequest),
        _ => None,
    }
}

/// Whether the references at a place must be proof.
#[must_use]
pub fn is_direct_evidence(kind: Kind, shape: &str) -> bool {
    let places: &[&str] = match kind {
        Kind::WorkResult => &[
            "evidenceRefs[]",
            "actions[].evidenceRefs[]",
            "observations[].evidenceRefs[]",
            "inferences[].evidenceRefs[]",
            "toolEventRefs[]",
            "acceptanceCoverage[].evidenceRefs[]",
            "filesChanged[].diffRef",
            "testResults[].commandRef",
            "testResults[].outputRef",
        ],
        Kind::QualityReview => &[
            "acceptanceResults[].evidenceRefs[]",
            "verificationResults[].evidenceRefs[]",
            "ruleCompliance[].evidenceRefs[]",
            "regressionChecks[].evidenceRefs[]",
            "hardGates[].evidenceRefs[]",
            "diagnosisGate.directEvidenceRefs[]",
        ],
        Kind::ReleaseAudit => &["userFidelity[].evidenceRefs[]", "claimEvidenceMatrix[].evidenceRefs[]"],
        Kind::UserReport => &["completionClaims[].evidenceRefs[]", "verificationRefs[]"],
        _ => &[],
    };
    places.contains(&shape)
}

/// Whether a reference supports something that only the user can know.
#[must_use]
pub fn is_user_reported(body: &Body, found: &Found) -> bool {
    let Some(entry) = found.entry else { return false };
    match body {
        Body::ReleaseAudit(audit) if found.shape == "claimEvidenceMatrix[].evidenceRefs[]" => audit
            .claim_evidence_matrix
            .get(entry)
            .is_some_and(|claim| claim.basis == ClaimBasis::UserReported),
        Body::UserReport(report) if found.shape == "completionClaims[].evidenceRefs[]" => report
            .completion_claims
            .get(entry)
            .is_some_and(|claim| claim.status == EvidenceStatus::UserReported),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parts_of_the_protocol_are_roles_in_both_spellings_and_one_rubric() {
        for known in [
            "artifact://system/roles/scenario_author-v1",
            "artifact://system/roles/scenario-author-v1",
            "artifact://system/rubrics/contract-readiness-v1",
        ] {
            assert!(is_known_system(known), "{known}");
        }
        for unknown in [
            "artifact://system/roles/user-v1",
            "artifact://system/roles/executor-v2",
            "artifact://system/rubrics/execution-quality-v1",
            "artifact://system/roles/executor",
        ] {
            assert!(!is_known_system(unknown), "{unknown}");
        }
    }
}
