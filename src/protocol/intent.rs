//! What is asked: problem frame, scenario, contract, prompt review.

use super::enums::{
    CoverageStatus, IntentMode, PromptDecision, Provenance, Stage, TaskContractField, UnknownClass,
    VerificationCapability,
};
use super::literals::{IsRequired, NotRequired, ReadinessRubric, SchemaVersion};
use super::permissions::PermissionSet;
use super::rules::{problem_frame_rules, prompt_review_rules, task_contract_rules};
use super::scalars::{ArtifactUri, Identifier, Int, List, Number, Reference, Str, Summary, Text};
use super::shared::{AcceptanceCriterion, Finding, HardGate, Scope};
use crate::{wire_choice, wire_object};

wire_object! {
    /// What is asked, what is known, what is not.
    pub struct ProblemFrame {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// The first UserMessage.
        original_request_ref: "originalRequestRef" => ArtifactUri;
        /// `intentMode`.
        intent_mode: "intentMode" => IntentMode;
        /// What is wanted.
        goal: "goal" => Text;
        /// Facts with a source.
        known_facts: "knownFacts" => List<GroundedFact>;
        /// Conclusions with sources.
        inferences: "inferences" => List<GroundedInference>;
        /// Open questions, classified.
        unknowns: "unknowns" => List<Unknown>;
        /// `scope`.
        scope: "scope" => Scope;
        /// `constraints`.
        constraints: "constraints" => List<Text>;
        /// `nonGoals`.
        non_goals: "nonGoals" => List<Text>;
        /// Rule files that apply.
        applicable_rule_refs: "applicableRuleRefs" => List<Reference>;
        /// `draftAcceptanceCriteria`.
        draft_acceptance_criteria: "draftAcceptanceCriteria" => List<AcceptanceCriterion>;
        /// Is the user needed.
        clarification: "clarification" => Clarification;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules problem_frame_rules;
}

wire_choice! {
    /// Whether the user is needed, told apart by the boolean `required`.
    pub enum Clarification by "required" {
        /// The user is not needed.
        No(NoClarification) = false,
        /// The user must be asked.
        Yes(RequiredClarification) = true,
    }
}

wire_object! {
    /// GroundedFact.
    pub struct GroundedFact {
        /// Its identifier.
        id: "id" => Identifier;
        /// `claim`.
        claim: "claim" => Text;
        /// Kind of source.
        provenance: "provenance" => Provenance;
        /// `sourceRef`.
        source_ref: "sourceRef" => Reference;
    }
}

wire_object! {
    /// GroundedInference.
    pub struct GroundedInference {
        /// Its identifier.
        id: "id" => Identifier;
        /// `claim`.
        claim: "claim" => Text;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference, 1>;
        /// How sure.
        confidence: "confidence" => Number<0, 1>;
    }
}

wire_object! {
    /// Unknown.
    pub struct Unknown {
        /// Its identifier.
        id: "id" => Identifier;
        /// `question`.
        question: "question" => Text;
        /// `classification`.
        classification: "classification" => UnknownClass;
        /// Why it matters.
        impact: "impact" => Summary;
        /// What was read to answer it.
        evidence_inspected: "evidenceInspected" => List<Reference>;
    }
}

wire_object! {
    /// NoClarification.
    pub struct NoClarification {
        /// `required`.
        required: "required" => NotRequired;
        /// May explain.
        reason: "reason" => Option<Summary>;
    }
}

wire_object! {
    /// RequiredClarification.
    pub struct RequiredClarification {
        /// `required`.
        required: "required" => IsRequired;
        /// `reason`.
        reason: "reason" => Summary;
        /// The ClarificationRequest.
        request_ref: "requestRef" => ArtifactUri;
    }
}

wire_object! {
    /// A readable story made from the frame. It adds no authority.
    pub struct ScenarioSpec {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// The frame it retells.
        problem_frame_ref: "problemFrameRef" => ArtifactUri;
        /// `title`.
        title: "title" => Str<255>;
        /// `narrative`.
        narrative: "narrative" => Text;
        /// `actor`.
        actor: "actor" => Str<512>;
        /// `observableSymptoms`.
        observable_symptoms: "observableSymptoms" => List<Text>;
        /// `desiredOutcome`.
        desired_outcome: "desiredOutcome" => Text;
        /// Which source each part came from.
        source_map: "sourceMap" => List<SourceMapEntry>;
        /// `artifact://system/rubrics/contract-readiness-v1`.
        prompt_readiness_rubric_ref: "promptReadinessRubricRef" => ArtifactUri;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// SourceMapEntry.
    pub struct SourceMapEntry {
        /// Name of a part of this scenario.
        field: "field" => Str<255>;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference, 1>;
    }
}

wire_object! {
    /// The source of truth for the work.
    pub struct TaskContract {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// 1, or 2 after a revision.
        version: "version" => Int<1, 2>;
        /// `originalRequestRef`.
        original_request_ref: "originalRequestRef" => ArtifactUri;
        /// `problemFrameRef`.
        problem_frame_ref: "problemFrameRef" => ArtifactUri;
        /// `intentMode`.
        intent_mode: "intentMode" => IntentMode;
        /// `objective`.
        objective: "objective" => Text;
        /// `scope`.
        scope: "scope" => Scope;
        /// `constraints`.
        constraints: "constraints" => List<Text>;
        /// `nonGoals`.
        non_goals: "nonGoals" => List<Text>;
        /// Sources the work relies on.
        context_refs: "contextRefs" => List<Reference>;
        /// Rules the work must keep.
        rule_refs: "ruleRefs" => List<Reference>;
        /// Ceiling for every plan node.
        permissions: "permissions" => PermissionSet;
        /// `acceptanceCriteria`.
        acceptance_criteria: "acceptanceCriteria" => List<AcceptanceCriterion, 1>;
        /// Prose.
        required_outputs: "requiredOutputs" => List<Text>;
        /// How the result is proven.
        verification_requirements: "verificationRequirements" => List<VerificationRequirement>;
        /// `stopConditions`.
        stop_conditions: "stopConditions" => List<Text>;
        /// `assumptions`.
        assumptions: "assumptions" => List<Assumption>;
        /// `unresolvedQuestions`.
        unresolved_questions: "unresolvedQuestions" => List<Text>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules task_contract_rules;
}

wire_object! {
    /// VerificationRequirement.
    pub struct VerificationRequirement {
        /// Its identifier.
        id: "id" => Identifier;
        /// `stage`.
        stage: "stage" => Stage;
        /// `description`.
        description: "description" => Text;
        /// `required`.
        required: "required" => bool;
        /// Capability that proves it.
        capability: "capability" => VerificationCapability;
        /// What to do if it is not available.
        fallback: "fallback" => Option<Text>;
    }
}

wire_object! {
    /// Assumption.
    pub struct Assumption {
        /// Its identifier.
        id: "id" => Identifier;
        /// `text`.
        text: "text" => Text;
        /// `sourceRefs`.
        source_refs: "sourceRefs" => List<Reference>;
        /// Can it be undone cheaply.
        reversible: "reversible" => bool;
    }
}

wire_object! {
    /// The frame's author judges the contract.
    pub struct PromptReview {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// The TaskContract under review.
        target_ref: "targetRef" => ArtifactUri;
        /// `rubricId`.
        rubric_id: "rubricId" => ReadinessRubric;
        /// 0 first, 1 after the revision.
        revision_number: "revisionNumber" => Int<0, 1>;
        /// Which source is covered by which fields.
        coverage: "coverage" => List<ContractCoverage>;
        /// `dimensionScores`.
        dimension_scores: "dimensionScores" => ReadinessScores;
        /// See PR-1.
        overall_score: "overallScore" => Number<0, 100>;
        /// `hardGates`.
        hard_gates: "hardGates" => List<HardGate, 1>;
        /// `findings`.
        findings: "findings" => List<Finding>;
        /// `decision`.
        decision: "decision" => PromptDecision;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules prompt_review_rules;
}

wire_object! {
    /// ContractCoverage.
    pub struct ContractCoverage {
        /// `sourceRef`.
        source_ref: "sourceRef" => Reference;
        /// May repeat.
        contract_fields: "contractFields" => List<TaskContractField, 1>;
        /// `status`.
        status: "status" => CoverageStatus;
    }
}

wire_object! {
    /// ReadinessScores.
    pub struct ReadinessScores {
        /// `intentFidelity`.
        intent_fidelity: "intentFidelity" => Number<0, 100>;
        /// `repositoryGrounding`.
        repository_grounding: "repositoryGrounding" => Number<0, 100>;
        /// `constraintsAndPermissions`.
        constraints_and_permissions: "constraintsAndPermissions" => Number<0, 100>;
        /// `testableAcceptance`.
        testable_acceptance: "testableAcceptance" => Number<0, 100>;
        /// `executionFeasibility`.
        execution_feasibility: "executionFeasibility" => Number<0, 100>;
        /// `contextEfficiency`.
        context_efficiency: "contextEfficiency" => Number<0, 100>;
    }
}
