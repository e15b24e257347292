//! What is done: work plan and work result.

use super::enums::{ActionCapability, ActionStatus, ChangeType, PlanValidation, TestStatus, WorkStatus};
use super::literals::{OneWorker, SchemaVersion, Serial, WorkResultType};
use super::permissions::PermissionSet;
use super::rules::{
    file_change_rules, test_result_rules, work_action_rules, work_plan_rules, work_result_rules,
};
use super::scalars::{
    ArtifactUri, Identifier, Int, List, Reference, RelativePath, Sha256, Str, Summary, Text,
};
use super::shared::{AcceptanceCoverage, EvidenceClaim};
use crate::wire_object;

wire_object! {
    /// A serial plan of work orders.
    pub struct WorkPlan {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `taskContractRef`.
        task_contract_ref: "taskContractRef" => ArtifactUri;
        /// `executionMode`.
        execution_mode: "executionMode" => Serial;
        /// The work orders.
        nodes: "nodes" => List<WorkNode, 1, 64>;
        /// Prose.
        join_rules: "joinRules" => List<Text, 0, 64>;
        /// Plan-wide limits.
        global_budgets: "globalBudgets" => PlanBudgets;
        /// `planValidation`.
        plan_validation: "planValidation" => PlanValidation;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules work_plan_rules;
}

wire_object! {
    /// WorkNode.
    pub struct WorkNode {
        /// Its identifier.
        id: "id" => Identifier;
        /// Free label.
        logical_role: "logicalRole" => Str<255>;
        /// `objective`.
        objective: "objective" => Text;
        /// Ids of nodes that come first.
        depends_on: "dependsOn" => List<Identifier, 0, 64>;
        /// `inputRefs`.
        input_refs: "inputRefs" => List<Reference>;
        /// `contextRefs`.
        context_refs: "contextRefs" => List<Reference>;
        /// What the node may use.
        allowed_tools: "allowedTools" => List<ActionCapability>;
        /// What the node must use.
        required_capabilities: "requiredCapabilities" => List<ActionCapability>;
        /// `permissions`.
        permissions: "permissions" => PermissionSet;
        /// `outputType`.
        output_type: "outputType" => WorkResultType;
        /// Criterion ids it answers.
        acceptance_criteria: "acceptanceCriteria" => List<Identifier>;
        /// `stopConditions`.
        stop_conditions: "stopConditions" => List<Text, 0, 64>;
        /// Limits of the node.
        budgets: "budgets" => NodeBudgets;
    }
}

wire_object! {
    /// NodeBudgets.
    pub struct NodeBudgets {
        /// `maximumToolCalls`.
        maximum_tool_calls: "maximumToolCalls" => Int<0, 1000>;
        /// `maximumChildren`.
        maximum_children: "maximumChildren" => Int<0, 16>;
    }
}

wire_object! {
    /// PlanBudgets.
    pub struct PlanBudgets {
        /// `maximumToolCalls`.
        maximum_tool_calls: "maximumToolCalls" => Int<0, 4000>;
        /// `maximumParallelWorkers`.
        maximum_parallel_workers: "maximumParallelWorkers" => OneWorker;
        /// `maximumSubagentDepth`.
        maximum_subagent_depth: "maximumSubagentDepth" => Int<0, 4>;
    }
}

wire_object! {
    /// What one node did.
    pub struct WorkResult {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `workPlanRef`.
        work_plan_ref: "workPlanRef" => ArtifactUri;
        /// The node that was worked.
        node_id: "nodeId" => Identifier;
        /// `status`.
        status: "status" => WorkStatus;
        /// `observations`.
        observations: "observations" => List<EvidenceClaim>;
        /// `inferences`.
        inferences: "inferences" => List<EvidenceClaim>;
        /// `actions`.
        actions: "actions" => List<WorkAction>;
        /// `filesChanged`.
        files_changed: "filesChanged" => List<FileChange>;
        /// Trace of tool use.
        tool_event_refs: "toolEventRefs" => List<Reference>;
        /// Evidence of the whole result.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// `testResults`.
        test_results: "testResults" => List<TestResult>;
        /// `acceptanceCoverage`.
        acceptance_coverage: "acceptanceCoverage" => List<AcceptanceCoverage>;
        /// `unresolvedIssues`.
        unresolved_issues: "unresolvedIssues" => List<Text>;
        /// Where the work left the plan.
        deviations: "deviations" => List<Text>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules work_result_rules;
}

wire_object! {
    /// WorkAction.
    pub struct WorkAction {
        /// Its identifier.
        id: "id" => Identifier;
        /// `capability`.
        capability: "capability" => ActionCapability;
        /// File, command, URL, service.
        target: "target" => Str<2048>;
        /// Did it change anything.
        mutating: "mutating" => bool;
        /// `status`.
        status: "status" => ActionStatus;
        /// `evidenceRefs`.
        evidence_refs: "evidenceRefs" => List<Reference>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules work_action_rules;
}

wire_object! {
    /// FileChange.
    pub struct FileChange {
        /// `path`.
        path: "path" => RelativePath;
        /// `changeType`.
        change_type: "changeType" => ChangeType;
        /// `beforeHash`.
        before_hash: "beforeHash" => Option<Sha256>;
        /// `afterHash`.
        after_hash: "afterHash" => Option<Sha256>;
        /// The Evidence that holds the diff.
        diff_ref: "diffRef" => ArtifactUri;
    } rules file_change_rules;
}

wire_object! {
    /// TestResult.
    pub struct TestResult {
        /// Its identifier.
        id: "id" => Identifier;
        /// `name`.
        name: "name" => Str<512>;
        /// `status`.
        status: "status" => TestStatus;
        /// The command.
        command_ref: "commandRef" => Option<ArtifactUri>;
        /// Captured output.
        output_ref: "outputRef" => Option<ArtifactUri>;
        /// `exitCode`.
        exit_code: "exitCode" => Option<Int<0, 255>>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules test_result_rules;
}
