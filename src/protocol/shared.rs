//! Structures that several artifacts share (`protocol.md` 4).

use super::enums::{CheckStatus, CorrectionField, EvidenceStatus, FindingSeverity, Stage, TaskContractField};
use super::rules::{acceptance_coverage_rules, evidence_claim_rules, finding_rules, review_check_rules};
use super::scalars::{Identifier, List, Number, Reference, Str, Summary, Text};
use crate::wire_object;

wire_object! {
    /// EvidenceClaim.
    pub struct EvidenceClaim {
        /// Its identifier.
        id: "id" => Identifier;
        /// `text`.
        text: "text" => Text;
        /// `status`.
        status: "status" => EvidenceStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// How sure.
        confidence: "confidence" => Number<0, 1>;
    } rules evidence_claim_rules;
}

wire_object! {
    /// Finding.
    pub struct Finding {
        /// Its identifier.
        id: "id" => Identifier;
        /// `severity`.
        severity: "severity" => FindingSeverity;
        /// `claim`.
        claim: "claim" => Text;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference>;
        /// Rubric line it belongs to.
        rubric_dimension: "rubricDimension" => Option<Str<128>>;
        /// What must change.
        required_correction: "requiredCorrection" => Option<Text>;
        /// Contract fields that must stay.
        preserve_fields: "preserveFields" => List<TaskContractField, 0, 64>;
        /// Contract fields that may change.
        correction_fields: "correctionFields" => List<CorrectionField, 0, 64>, default [];
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules finding_rules;
}

wire_object! {
    /// HardGate.
    pub struct HardGate {
        /// Its identifier.
        id: "id" => Identifier;
        /// False blocks progress.
        passed: "passed" => bool;
        /// `description`.
        description: "description" => Text;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference, 1>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// Scope.
    pub struct Scope {
        /// Path globs or area names.
        include: "include" => List<Str<1024>>;
        /// Path globs or area names.
        exclude: "exclude" => List<Str<1024>>;
    }
}

wire_object! {
    /// AcceptanceCriterion.
    pub struct AcceptanceCriterion {
        /// Its identifier.
        id: "id" => Identifier;
        /// `stage`.
        stage: "stage" => Stage;
        /// `requirement`.
        requirement: "requirement" => Text;
        /// Kinds of proof, free words.
        evidence_required: "evidenceRequired" => List<Str<255>, 1>;
    }
}

wire_object! {
    /// AcceptanceCoverage.
    pub struct AcceptanceCoverage {
        /// The criterion.
        criterion_id: "criterionId" => Identifier;
        /// `status`.
        status: "status" => CheckStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules acceptance_coverage_rules;
}

wire_object! {
    /// ReviewCheck.
    pub struct ReviewCheck {
        /// Its identifier.
        id: "id" => Identifier;
        /// The rule or request that is checked.
        subject_ref: "subjectRef" => Option<Reference>, default null;
        /// `description`.
        description: "description" => Text;
        /// `status`.
        status: "status" => CheckStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules review_check_rules;
}
