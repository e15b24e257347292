//! What opens, steers and pauses a run: envelope, next action, clarification request.

use super::enums::{
    ArtifactType, AuthorityEffect, ClarificationReason, IntentMode, NativeSubagents, PhaseRole, RunEffect,
    RunStatus, TerminalPhase, TerminalStatus, WorkPhase,
};
use super::literals::{AwaitingClarification, ClarificationKind, PhaseKind, SchemaVersion, TerminalKind};
use super::open::{OpenObject, SchemaMap};
use super::permissions::PermissionSet;
use super::rules::clarification_request_rules;
use super::scalars::{
    AbsolutePath, ArtifactUri, Identifier, Int, List, Reference, RelativePath, Str, Summary, Text, Timestamp,
};
use crate::{wire_choice, wire_object};

wire_object! {
    /// Opens a run and never changes. It is the only type without an `id`.
    pub struct RunEnvelope {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// When the run was opened.
        created_at: "createdAt" => Timestamp;
        /// The first UserMessage.
        original_request_ref: "originalRequestRef" => ArtifactUri;
        /// Always empty in this version.
        followup_request_refs: "followupRequestRefs" => List<ArtifactUri>;
        /// The mode the user chose.
        requested_mode: "requestedMode" => Option<IntentMode>;
        /// Always `active` when written.
        status: "status" => RunStatus;
        /// Where the work happens.
        working_context: "workingContext" => WorkingContext;
        /// The program that drives the run.
        host: "host" => HostDescriptor;
        /// What the user granted and denied.
        authorization: "authorization" => Authorization;
        /// Loop limits of the run.
        budgets: "budgets" => RevisionBudgets;
        /// Extra policy sources.
        policy_refs: "policyRefs" => List<Reference>;
    }
}

wire_object! {
    /// WorkingContext.
    pub struct WorkingContext {
        /// Canonical path of the repository.
        repository_root: "repositoryRoot" => AbsolutePath;
        /// Files open at the host.
        active_files: "activeFiles" => List<RelativePath>;
        /// Rule files known at start.
        applicable_rule_refs: "applicableRuleRefs" => List<Reference>;
    }
}

wire_object! {
    /// HostDescriptor.
    pub struct HostDescriptor {
        /// Name of the host program.
        name: "name" => Str<128>;
        /// Its version, if known.
        version: "version" => Option<Str<128>>;
        /// Can the host run children.
        native_subagents: "nativeSubagents" => NativeSubagents;
        /// Capability names (free strings here).
        capabilities: "capabilities" => List<Str<255>>;
    }
}

wire_object! {
    /// Authorization.
    pub struct Authorization {
        /// `granted`.
        granted: "granted" => PermissionSet;
        /// `denied`.
        denied: "denied" => PermissionSet;
    }
}

wire_object! {
    /// RevisionBudgets.
    pub struct RevisionBudgets {
        /// Contract revisions the run starts with.
        prompt_revisions: "promptRevisions" => Int<0, 1>;
        /// Remediations the run starts with.
        post_execution_remediations: "postExecutionRemediations" => Int<0, 1>;
        /// Host ceiling.
        maximum_parallel_workers: "maximumParallelWorkers" => Int<1, 16>;
        /// Host ceiling.
        maximum_subagent_depth: "maximumSubagentDepth" => Int<0, 4>;
    }
}

wire_choice! {
    /// What a run wants next.
    #[expect(clippy::large_enum_variant, reason = "the largest variant is the usual one, and a run holds one action")]
    pub enum NextAction by "kind" {
        /// A role must submit an artifact.
        Phase(PhaseAction) = "phase",
        /// The user must answer.
        Clarification(ClarificationAction) = "clarification",
        /// The run has ended.
        Terminal(TerminalAction) = "terminal",
    }
}

wire_object! {
    /// PhaseAction.
    pub struct PhaseAction {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `createdAt`.
        created_at: "createdAt" => Timestamp;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
        /// `kind`.
        kind: "kind" => PhaseKind;
        /// `phase`.
        phase: "phase" => WorkPhase;
        /// `logicalRole`.
        logical_role: "logicalRole" => PhaseRole;
        /// Role text, `artifact://system/roles/<role>-v1`.
        instruction_ref: "instructionRef" => ArtifactUri;
        /// What the role may read.
        input_refs: "inputRefs" => List<Reference>;
        /// `contextManifestRef`.
        context_manifest_ref: "contextManifestRef" => Option<ArtifactUri>;
        /// What must be submitted.
        required_output_type: "requiredOutputType" => ArtifactType;
        /// JSON Schema of that type.
        required_output_schema: "requiredOutputSchema" => OpenObject;
        /// Type name to JSON Schema, for what else may be submitted.
        additional_output_schemas: "additionalOutputSchemas" => SchemaMap;
        /// The plan node to execute.
        work_node_id: "workNodeId" => Option<Identifier>;
        /// The ceiling for this phase.
        effective_permissions: "effectivePermissions" => PermissionSet;
        /// `remainingBudgets`.
        remaining_budgets: "remainingBudgets" => RemainingBudgets;
        /// When to stop.
        stop_conditions: "stopConditions" => List<Text, 0, 64>;
    }
}

wire_object! {
    /// RemainingBudgets.
    pub struct RemainingBudgets {
        /// `promptRevisions`.
        prompt_revisions: "promptRevisions" => Int<0, 1>;
        /// `postExecutionRemediations`.
        post_execution_remediations: "postExecutionRemediations" => Int<0, 1>;
        /// What is left of the run's 4,000 reserved calls.
        remaining_plan_tool_calls: "remainingPlanToolCalls" => Int<0, 4000>;
        /// `maximumParallelWorkers`.
        maximum_parallel_workers: "maximumParallelWorkers" => Int<1, 16>;
        /// `maximumSubagentDepth`.
        maximum_subagent_depth: "maximumSubagentDepth" => Int<0, 4>;
    }
}

wire_object! {
    /// ClarificationAction.
    pub struct ClarificationAction {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `createdAt`.
        created_at: "createdAt" => Timestamp;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
        /// `kind`.
        kind: "kind" => ClarificationKind;
        /// `phase`.
        phase: "phase" => AwaitingClarification;
        /// `clarificationRequestRef`.
        clarification_request_ref: "clarificationRequestRef" => ArtifactUri;
        /// `effectivePermissions`.
        effective_permissions: "effectivePermissions" => PermissionSet;
        /// `remainingBudgets`.
        remaining_budgets: "remainingBudgets" => RemainingBudgets;
    }
}

wire_object! {
    /// TerminalAction.
    pub struct TerminalAction {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `createdAt`.
        created_at: "createdAt" => Timestamp;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
        /// `kind`.
        kind: "kind" => TerminalKind;
        /// `phase`.
        phase: "phase" => TerminalPhase;
        /// Outcome; may be `failed_verification` while phase is `partial`.
        status: "status" => TerminalStatus;
        /// The UserReport, when there is one.
        report_ref: "reportRef" => Option<ArtifactUri>;
    }
}

wire_object! {
    /// One question to the user, with two to eight answers.
    pub struct ClarificationRequest {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// What the user must decide.
        question: "question" => Text;
        /// `reason`.
        reason: "reason" => ClarificationReason;
        /// How the answers lead apart.
        divergence: "divergence" => Text;
        /// What was looked at before asking.
        evidence_inspected: "evidenceInspected" => List<Reference, 1>;
        /// The boundary that stops the run.
        blocked_boundary: "blockedBoundary" => Str<255>;
        /// The form of the answer.
        response_constraints: "responseConstraints" => Summary;
        /// `responseChoices`.
        response_choices: "responseChoices" => List<ResponseChoice, 2, 8>;
        /// See CR-1.
        permission_expansion_required: "permissionExpansionRequired" => bool;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules clarification_request_rules;
}

wire_object! {
    /// ResponseChoice.
    pub struct ResponseChoice {
        /// The answer the user gives.
        id: "id" => Identifier;
        /// Short text for a picker.
        label: "label" => Str<255>;
        /// What choosing it means.
        consequence: "consequence" => Text;
        /// Inside or beyond current rights.
        authority_effect: "authorityEffect" => AuthorityEffect;
        /// What happens to the run.
        run_effect: "runEffect" => RunEffect;
    }
}
