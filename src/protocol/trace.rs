//! One step of the history of a run.

use super::enums::{LogicalRole, PermissionVerdict, Phase, RedactionCategory, TraceEventType};
use super::literals::SchemaVersion;
use super::rules::trace_event_rules;
use super::scalars::{ArtifactUri, Identifier, Int, List, Reference, Str, Summary, Timestamp};
use crate::wire_object;

wire_object! {
    /// One step of a run's history.
    pub struct TraceEvent {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// Position in the run.
        sequence: "sequence" => Int<0, 9_007_199_254_740_991>;
        /// `timestamp`.
        timestamp: "timestamp" => Timestamp;
        /// `actor`.
        actor: "actor" => LogicalRole;
        /// `phase`.
        phase: "phase" => Phase;
        /// `eventType`.
        event_type: "eventType" => TraceEventType;
        /// `inputRefs`.
        input_refs: "inputRefs" => List<Reference>;
        /// `outputRefs`.
        output_refs: "outputRefs" => List<Reference>;
        /// For tool events.
        tool: "tool" => Option<ToolTrace>;
        /// For permission events.
        permission_decision: "permissionDecision" => Option<PermissionDecision>;
        /// Budgets after the event.
        budget_snapshot: "budgetSnapshot" => TraceBudgets;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
        /// `redactions`.
        redactions: "redactions" => List<RedactionRecord>;
    } rules trace_event_rules;
}

wire_object! {
    /// ToolTrace.
    pub struct ToolTrace {
        /// `name`.
        name: "name" => Str<255>;
        /// The arguments.
        arguments_ref: "argumentsRef" => Option<ArtifactUri>;
        /// The result.
        result_ref: "resultRef" => Option<ArtifactUri>;
        /// `exitStatus`.
        exit_status: "exitStatus" => Option<Int<0, 255>>;
    }
}

wire_object! {
    /// PermissionDecision.
    pub struct PermissionDecision {
        /// `decision`.
        decision: "decision" => PermissionVerdict;
        /// `capability`.
        capability: "capability" => Str<255>;
        /// `scope`.
        scope: "scope" => Str<2048>;
        /// `policyRefs`.
        policy_refs: "policyRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    }
}

wire_object! {
    /// TraceBudgets.
    pub struct TraceBudgets {
        /// `promptRevisions`.
        prompt_revisions: "promptRevisions" => Int<0, 1>;
        /// `postExecutionRemediations`.
        post_execution_remediations: "postExecutionRemediations" => Int<0, 1>;
        /// `transportRetries`.
        transport_retries: "transportRetries" => Int<0, 10>;
    }
}

wire_object! {
    /// RedactionRecord.
    pub struct RedactionRecord {
        /// Its identifier.
        id: "id" => Identifier;
        /// What was redacted.
        target_ref: "targetRef" => Reference;
        /// `category`.
        category: "category" => RedactionCategory;
    }
}
