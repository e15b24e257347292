//! The view model of what a run is judged by: verification, boundary, judge, verdict, approval and patch.

use serde::Serialize;

use super::Stamp;

/// The verification report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationView {
    /// Overall status.
    pub status: String,
    /// The checks.
    pub checks: Vec<CheckView>,
    /// When it began.
    pub started_at: Option<Stamp>,
    /// When it ended.
    pub ended_at: Option<Stamp>,
}

/// One verification check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// Name.
    pub name: String,
    /// Command.
    pub command: String,
    /// Status; `RUNNING` while it runs.
    pub status: String,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// Milliseconds it took.
    pub duration_ms: Option<u64>,
    /// Artifact id of its log.
    pub log: Option<String>,
    /// What failed, in words.
    pub summary: Option<String>,
    /// Whether a failure blocks.
    pub required: bool,
    /// Names of failing tests.
    pub failed_tests: Vec<String>,
    /// Status on the base commit.
    pub baseline: Option<String>,
}

/// The boundary check of the patch and how it applies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundaryView {
    /// Whether it passed.
    pub passed: bool,
    /// Violations as kind and path or limit, in words.
    pub violations: Vec<String>,
    /// `CLEAN`, `CONFLICT` or `NOT_CHECKED`.
    pub apply_status: String,
    /// What the patch was tried on, such as `main at 1a2b3c4, 2 commits ahead of the base`.
    pub apply_note: String,
}

/// The judge report.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeView {
    /// Status.
    pub status: String,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// Findings.
    pub findings: Vec<FindingView>,
}

/// One finding of the judge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// `INFO`, `WARNING`, `ERROR` or `BLOCKER`.
    pub severity: String,
    /// Category.
    pub category: String,
    /// Message.
    pub message: String,
    /// Where.
    pub path: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Whether it blocks an automatic pull request.
    pub blocks_auto_pr: bool,
}

/// How an item of the approval checklist stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// Good.
    #[default]
    Pass,
    /// Has to be acknowledged.
    Warn,
    /// Cannot be approved.
    Fail,
    /// Says something, decides nothing.
    Info,
}

/// Where an item of the checklist leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JumpTarget {
    /// Nowhere.
    #[default]
    None,
    /// The overview.
    Overview,
    /// The permissions.
    Permissions,
    /// The diff.
    Diff,
    /// The checks.
    Checks,
    /// The timeline.
    Trace,
}

/// One item of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChecklistItem {
    /// What was looked at.
    pub name: String,
    /// How it stands.
    pub state: ItemState,
    /// The finding, in words.
    pub detail: String,
    /// Where to look.
    pub jump: JumpTarget,
}

/// A reason of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonView {
    /// Code.
    pub code: String,
    /// Text.
    pub text: String,
    /// Whether it has to be acknowledged before an approval.
    pub acknowledge: bool,
}

/// The verdict and everything an approval binds (AP-2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// Verdict that is decided on.
    pub verdict_id: String,
    /// Verdict status.
    pub status: String,
    /// `prEligibility`.
    pub eligibility: String,
    /// When it was decided.
    pub decided_at: Stamp,
    /// Every reason.
    pub reasons: Vec<ReasonView>,
    /// The checklist; the files viewed are the dashboard's to add.
    pub checklist: Vec<ChecklistItem>,
    /// Digest of the patch the approval is bound to; empty without a patch.
    pub patch_digest: String,
    /// Base commit.
    pub base_commit: String,
    /// Branch that will be made.
    pub branch: String,
    /// Remote it will be pushed to.
    pub remote: String,
    /// Subject of the commit that will be made.
    pub commit_subject: String,
    /// Why an earlier approval no longer holds.
    pub stale: Option<String>,
    /// The decision taken last, such as `APPROVED`.
    pub decision: Option<String>,
    /// Who took it, when, with what comment.
    pub decision_note: Option<String>,
    /// State of the publication, in words.
    pub publication: Option<String>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// `USER`, `SYSTEM`, `AGENT` or `REVIEWER`.
    pub role: String,
    /// When.
    pub at: Stamp,
    /// Text.
    pub text: String,
}

/// The patch: its numbers and its files. The lines are loaded with [`crate::service::link::Command::LoadDiff`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchSummary {
    /// Digest of the unified diff.
    pub digest: String,
    /// Commit it is against.
    pub base_commit: String,
    /// Changed files.
    pub files: Vec<PatchFile>,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchFile {
    /// Path (escaped when its bytes are not UTF-8).
    pub path: String,
    /// Path before a rename or copy.
    pub old_path: Option<String>,
    /// `ADDED`, `MODIFIED`, `DELETED`, `RENAMED` or `COPIED`.
    pub change: String,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Words to show beside it: `binary`, `lockfile`, `generated`, `test`, `symlink`, `submodule`, `mode`,
    /// `forbidden`, `undeclared`.
    pub flags: Vec<String>,
    /// Digest of the file's part of the diff: a viewed mark belongs to it.
    pub digest: String,
}
