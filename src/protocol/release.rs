//! What is judged and told: quality review, release audit, user report.

use super::enums::{
    ActionCapability, AuditDecision, ClaimBasis, ClaimStatus, DiagnosisStatus, ModeCompliance,
    QualityDecision, TerminalStatus, VerificationStatus,
};
use super::literals::{QualityRubric, SchemaVersion, ToQualityController};
use super::permissions::PermissionSet;
use super::rules::{
    claim_evidence_entry_rules, diagnosis_gate_rules, quality_review_rules, release_audit_rules,
    user_report_rules, verification_result_rules,
};
use super::scalars::{ArtifactUri, Identifier, Int, List, Number, Reference, Summary, Text, TraceUri};
use super::shared::{AcceptanceCoverage, EvidenceClaim, Finding, HardGate, ReviewCheck};
use crate::wire_object;

wire_object! {
    /// The planner judges the work (or, in planning modes, the plan).
    pub struct QualityReview {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `taskContractRef`.
        task_contract_ref: "taskContractRef" => ArtifactUri;
        /// Plans reviewed.
        work_plan_refs: "workPlanRefs" => List<ArtifactUri>, default [];
        /// Results reviewed.
        work_result_refs: "workResultRefs" => List<ArtifactUri>;
        /// `rubricId`.
        rubric_id: "rubricId" => QualityRubric;
        /// `acceptanceResults`.
        acceptance_results: "acceptanceResults" => List<AcceptanceCoverage, 1>;
        /// `ruleCompliance`.
        rule_compliance: "ruleCompliance" => List<ReviewCheck>;
        /// `regressionChecks`.
        regression_checks: "regressionChecks" => List<ReviewCheck>;
        /// `verificationResults`.
        verification_results: "verificationResults" => List<VerificationResult>;
        /// `findings`.
        findings: "findings" => List<Finding>;
        /// `hardGates`.
        hard_gates: "hardGates" => List<HardGate, 1>;
        /// 0 to 100, not derived.
        score: "score" => Number<0, 100>;
        /// Budget left, as seen by the reviewer.
        remaining_remediations: "remainingRemediations" => Int<0, 1>;
        /// `decision`.
        decision: "decision" => QualityDecision;
        /// The gate between diagnosis and change.
        diagnosis_gate: "diagnosisGate" => Option<DiagnosisGate>, default null;
        /// The correction asked for.
        remediation_work_order: "remediationWorkOrder" => Option<RemediationWorkOrder>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules quality_review_rules;
}

wire_object! {
    /// VerificationResult.
    pub struct VerificationResult {
        /// `requirementId`.
        requirement_id: "requirementId" => Identifier;
        /// `capability`.
        capability: "capability" => ActionCapability;
        /// `status`.
        status: "status" => VerificationStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules verification_result_rules;
}

wire_object! {
    /// DiagnosisGate.
    pub struct DiagnosisGate {
        /// Its identifier.
        id: "id" => Identifier;
        /// `status`.
        status: "status" => DiagnosisStatus;
        /// The cause that was found.
        root_cause: "rootCause" => Text;
        /// Artifacts only.
        direct_evidence_refs: "directEvidenceRefs" => List<ArtifactUri>;
        /// The bounded correction.
        correction_work_order: "correctionWorkOrder" => Option<CorrectionWorkOrder>;
        /// See QR-9.
        within_approved_scope: "withinApprovedScope" => bool;
        /// See QR-9.
        permissions_sufficient: "permissionsSufficient" => bool;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules diagnosis_gate_rules;
}

wire_object! {
    /// CorrectionWorkOrder.
    pub struct CorrectionWorkOrder {
        /// Its identifier.
        id: "id" => Identifier;
        /// Criteria to reach.
        target_criterion_ids: "targetCriterionIds" => List<Identifier, 1>;
        /// `objective`.
        objective: "objective" => Text;
        /// `allowedCapabilities`.
        allowed_capabilities: "allowedCapabilities" => List<ActionCapability, 1>;
        /// `permissions`.
        permissions: "permissions" => PermissionSet;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference, 1>;
        /// `maximumToolCalls`.
        maximum_tool_calls: "maximumToolCalls" => Int<1, 1000>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// RemediationWorkOrder.
    pub struct RemediationWorkOrder {
        /// Its identifier.
        id: "id" => Identifier;
        /// Criteria that failed.
        failed_criterion_ids: "failedCriterionIds" => List<Identifier, 1>;
        /// `objective`.
        objective: "objective" => Text;
        /// `allowedCapabilities`.
        allowed_capabilities: "allowedCapabilities" => List<ActionCapability>;
        /// `permissions`.
        permissions: "permissions" => PermissionSet;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference, 1>;
        /// `maximumToolCalls`.
        maximum_tool_calls: "maximumToolCalls" => Int<1, 1000>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// An independent check that the result may be reported.
    pub struct ReleaseAudit {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `originalRequestRef`.
        original_request_ref: "originalRequestRef" => ArtifactUri;
        /// `taskContractRef`.
        task_contract_ref: "taskContractRef" => ArtifactUri;
        /// `workPlanRefs`.
        work_plan_refs: "workPlanRefs" => List<ArtifactUri>, default [];
        /// `workResultRefs`.
        work_result_refs: "workResultRefs" => List<ArtifactUri>;
        /// `qualityReviewRef`.
        quality_review_ref: "qualityReviewRef" => ArtifactUri;
        /// Does the result answer the user.
        user_fidelity: "userFidelity" => List<ReviewCheck, 1>;
        /// Was the mode kept.
        mode_compliance: "modeCompliance" => ModeCompliance;
        /// Claims and their proof.
        claim_evidence_matrix: "claimEvidenceMatrix" => List<ClaimEvidenceEntry>;
        /// `unresolvedRisks`.
        unresolved_risks: "unresolvedRisks" => List<Text>;
        /// `findings`.
        findings: "findings" => List<Finding>;
        /// `remainingRemediations`.
        remaining_remediations: "remainingRemediations" => Int<0, 1>;
        /// `decision`.
        decision: "decision" => AuditDecision;
        /// What must be corrected.
        remediation_defect: "remediationDefect" => Option<ReleaseDefect>;
        /// The report that will follow.
        user_report_ref: "userReportRef" => Option<ArtifactUri>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules release_audit_rules;
}

wire_object! {
    /// ClaimEvidenceEntry.
    pub struct ClaimEvidenceEntry {
        /// `claimId`.
        claim_id: "claimId" => Identifier;
        /// `claim`.
        claim: "claim" => Text;
        /// `criterionIds`.
        criterion_ids: "criterionIds" => List<Identifier, 1>;
        /// Direct proof or the user's word.
        basis: "basis" => ClaimBasis;
        /// `status`.
        status: "status" => ClaimStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules claim_evidence_entry_rules;
}

wire_object! {
    /// ReleaseDefect.
    pub struct ReleaseDefect {
        /// Its identifier.
        id: "id" => Identifier;
        /// `failedCriterionIds`.
        failed_criterion_ids: "failedCriterionIds" => List<Identifier, 1>;
        /// `description`.
        description: "description" => Text;
        /// `allowedCapabilities`.
        allowed_capabilities: "allowedCapabilities" => List<ActionCapability>;
        /// `permissions`.
        permissions: "permissions" => PermissionSet;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference, 1>;
        /// `maximumToolCalls`.
        maximum_tool_calls: "maximumToolCalls" => Int<1, 1000>;
        /// Who plans the correction.
        return_to_role: "returnToRole" => ToQualityController;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// What the user is told.
    pub struct UserReport {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `terminalStatus`.
        terminal_status: "terminalStatus" => TerminalStatus;
        /// `summary`.
        summary: "summary" => Text;
        /// What is claimed to be done.
        completion_claims: "completionClaims" => List<EvidenceClaim>;
        /// `findingRefs`.
        finding_refs: "findingRefs" => List<Reference>;
        /// Diffs.
        change_refs: "changeRefs" => List<Reference>;
        /// `verificationRefs`.
        verification_refs: "verificationRefs" => List<Reference>;
        /// `unresolvedRisks`.
        unresolved_risks: "unresolvedRisks" => List<Text>;
        /// Were the bounds kept.
        permissions_honored: "permissionsHonored" => bool;
        /// `nextActions`.
        next_actions: "nextActions" => List<NextUserAction>;
        /// `trace://<runId>`.
        trace_ref: "traceRef" => TraceUri;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules user_report_rules;
}

wire_object! {
    /// NextUserAction.
    pub struct NextUserAction {
        /// Its identifier.
        id: "id" => Identifier;
        /// `description`.
        description: "description" => Text;
        /// Needs rights this run did not have.
        requires_authorization: "requiresAuthorization" => bool;
    }
}
