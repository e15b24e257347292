//! The view model of one run: its facts, phases, budgets, permissions, timeline, questions and attempts.

use std::sync::Arc;

use serde::Serialize;

use super::{
    ApprovalView, BoundaryView, CellState, JudgeView, MessageView, PatchSummary, RunRow, Stamp,
    VerificationView,
};

/// Everything that the run view shows except bodies, diffs and logs, which are loaded on request.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDetail {
    /// The row this belongs to, as it was when this was taken.
    pub row: RunRow,
    /// The request, exact.
    pub request: String,
    /// The run's facts as name and value, in the order to show (base commit, branch, workspace, agent, …).
    pub facts: Vec<Fact>,
    /// The next action of the workflow, while it is open.
    pub next_action: Option<NextStep>,
    /// Every entry into a phase, in order; a phase that comes twice was revised or remediated.
    pub phases: Vec<PhaseVisit>,
    /// The budgets.
    pub budgets: Vec<Gauge>,
    /// What stops the run, from the contract and the current node.
    pub stop_conditions: Vec<String>,
    /// The intersection of permissions.
    pub permissions: PermissionTable,
    /// Decisions taken on capabilities, newest first.
    pub decisions: Vec<DecisionLine>,
    /// The timeline, oldest first.
    pub trace: Arc<Vec<TraceLine>>,
    /// Every artifact, in order of acceptance.
    pub artifacts: Vec<ArtifactLine>,
    /// The open question.
    pub clarification: Option<ClarificationView>,
    /// Tool calls that wait for a person, oldest first.
    pub tool_calls: Vec<ToolCallAsk>,
    /// The attempts, oldest first.
    pub attempts: Vec<AttemptView>,
    /// The verification report.
    pub verification: Option<VerificationView>,
    /// The boundary check.
    pub boundary: Option<BoundaryView>,
    /// The judge report.
    pub judge: Option<JudgeView>,
    /// The verdict with everything an approval binds.
    pub approval: Option<ApprovalView>,
    /// The conversation.
    pub messages: Vec<MessageView>,
    /// The patch.
    pub patch: Option<PatchSummary>,
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// Name, in words.
    pub name: String,
    /// Value, as stored.
    pub value: String,
}

/// The workflow's next action.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextStep {
    /// Phase that is open.
    pub phase: String,
    /// Logical role that has to act.
    pub role: String,
    /// Artifact type that is needed.
    pub artifact_type: String,
    /// Work node, in the executor phase.
    pub node: Option<String>,
    /// The action in words.
    pub words: String,
}

/// One entry into a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseVisit {
    /// Phase.
    pub phase: String,
    /// State of this entry.
    pub state: CellState,
    /// Artifacts accepted in it.
    pub artifacts: Vec<String>,
    /// Who submitted them (logical role).
    pub producer: String,
    /// When the last of them was accepted.
    pub at: Option<Stamp>,
    /// What came of it, such as `revise` or `2 of 3 nodes`.
    pub note: String,
}

/// A budget.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gauge {
    /// Name, in words.
    pub name: String,
    /// How much is used.
    pub used: u64,
    /// The limit; 0 means none was granted.
    pub limit: u64,
    /// Unit: empty for a count, `s` for seconds, `B` for bytes.
    pub unit: String,
}

/// How one party leaves a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRule {
    /// It says nothing about the capability (there is no contract yet, for instance).
    #[default]
    Silent,
    /// It allows it, within the cell's scopes.
    Allows,
    /// It closes it.
    Closes,
}

/// One party's word on one capability.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionCell {
    /// What it does to the capability.
    pub rule: CellRule,
    /// Globs, commands, services or hosts; empty for a capability without scopes.
    pub scopes: Vec<String>,
    /// Where the rule stands (`.telic/policy.toml:12`, an artifact id), when there is something to name.
    pub source: Option<String>,
}

/// The columns of [`PermissionTable`], in order.
pub const PERMISSION_COLUMNS: [&str; 7] =
    ["mode ceiling", "granted", "denied", "repository policy", "contract", "node", "effective"];

/// One capability across all parties.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRow {
    /// One of the twelve capabilities.
    pub capability: String,
    /// One cell per entry of [`PERMISSION_COLUMNS`]; the last is what holds.
    pub cells: [PermissionCell; 7],
    /// Index of the first column that closes the row.
    pub closed_by: Option<usize>,
}

/// The permission intersection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionTable {
    /// Twelve rows, in the order of the capability enum.
    pub rows: Vec<PermissionRow>,
    /// The work node that the node column speaks of.
    pub node: Option<String>,
}

/// One decision on a capability.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionLine {
    /// When.
    pub at: Stamp,
    /// Whether it was allowed.
    pub allowed: bool,
    /// Capability.
    pub capability: String,
    /// Path, command, host or service.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// One event of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceLine {
    /// Sequence within the run.
    pub sequence: u64,
    /// When.
    pub at: Stamp,
    /// Actor (logical role, `worker`, `user`).
    pub actor: String,
    /// Phase.
    pub phase: String,
    /// Event type as stored.
    pub event: String,
    /// What happened.
    pub summary: String,
    /// References that went in.
    pub inputs: Vec<String>,
    /// References that came out.
    pub outputs: Vec<String>,
    /// The permission decision that came with it.
    pub allowed: Option<bool>,
}

/// One artifact in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactLine {
    /// Id.
    pub id: String,
    /// Type.
    pub kind: String,
    /// Producer (logical role or step).
    pub producer: String,
    /// Phase it was accepted in.
    pub phase: String,
    /// When.
    pub at: Stamp,
    /// Digest.
    pub digest: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What is wrong with the stored bytes, such as 'digest does not match'.
    pub fault: Option<String>,
}

/// The open question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClarificationView {
    /// Artifact id of the request.
    pub request_id: String,
    /// The question.
    pub question: String,
    /// `user_owned_materially_divergent` or `permission_expanding`.
    pub reason: String,
    /// How the answers lead apart.
    pub divergence: String,
    /// The boundary that stops the run.
    pub blocked_boundary: String,
    /// What was inspected before asking: references.
    pub inspected: Vec<String>,
    /// The choices.
    pub choices: Vec<ChoiceView>,
    /// Phase the run resumes in.
    pub resume_phase: Option<String>,
    /// When it was asked.
    pub asked_at: Stamp,
    /// Version of the run that the answer is for.
    pub version: u64,
}

/// One choice of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceView {
    /// The answer that is sent.
    pub id: String,
    /// Short text.
    pub label: String,
    /// What choosing it means.
    pub consequence: String,
    /// `within_current_authority` or `requires_new_run`.
    pub authority_effect: String,
    /// `resume`, `cancel` or `new_run`.
    pub run_effect: String,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallAsk {
    /// Id of the call.
    pub id: String,
    /// Tool.
    pub tool: String,
    /// Exact command or path.
    pub exact: String,
    /// Who asks: node and role.
    pub asker: String,
    /// Why policy asks.
    pub why: String,
    /// What the effective permission says.
    pub effective: String,
    /// Since when it waits.
    pub since: Stamp,
}

/// One try of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Id.
    pub id: String,
    /// Number, from 1.
    pub number: u32,
    /// Status.
    pub status: String,
    /// Worker.
    pub worker: String,
    /// When it began.
    pub started_at: Stamp,
    /// When it ended.
    pub ended_at: Option<Stamp>,
    /// Last heartbeat.
    pub heartbeat_at: Option<Stamp>,
    /// When its lease runs out.
    pub lease_expires_at: Option<Stamp>,
    /// Failure code.
    pub failure_code: Option<String>,
    /// Steps in order.
    pub steps: Vec<StepView>,
}

/// One step of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Sequence within the attempt.
    pub sequence: u32,
    /// Type, such as `RUN_VERIFIER`.
    pub kind: String,
    /// Status.
    pub status: String,
    /// Title.
    pub title: String,
    /// When it began.
    pub started_at: Stamp,
    /// When it ended.
    pub ended_at: Option<Stamp>,
    /// The decision and target of its tool call.
    pub call: Option<String>,
}
