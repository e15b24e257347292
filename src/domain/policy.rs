//! What a policy says and what is frozen from it for a run. Reading the file and intersecting are elsewhere.

use super::ids::RunId;
use super::words::words;
use crate::protocol::{ActionCapability, Commit, IntentMode, Sha256};
use serde::{Deserialize, Serialize};

words! {
    /// How far a run may go without a person; the order is from least to most.
    pub enum AutonomyLevel {
        SuggestOnly = "suggest_only",
        SupervisedPr = "supervised_pr",
        AutoPr = "auto_pr",
    }
}

words! {
    /// Who asked for a check. Only what came from a repository needs the engineer's consent first.
    pub enum CheckSource {
        Task = "task",
        UserPolicy = "user_policy",
        RepositoryPolicy = "repository_policy",
    }
}

/// A coded sentence: why something was decided, with references to what shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reason {
    /// A stable snake_case code.
    pub code: String,
    /// One sentence for a person.
    pub text: String,
    /// Ids of the records that show it.
    #[serde(default)]
    pub refs: Vec<String>,
}

impl Reason {
    /// A reason without references.
    #[must_use]
    pub fn new(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into(), refs: Vec::new() }
    }

    /// The same reason with one more reference.
    #[must_use]
    pub fn with_ref(mut self, reference: impl Into<String>) -> Self {
        self.refs.push(reference.into());
        self
    }
}

/// One command of a verification plan (V-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedCheck {
    /// A short name, unique within the plan.
    pub name: String,
    /// The command, split without a shell.
    pub command: String,
    /// Time limit in seconds.
    pub timeout_seconds: u64,
    /// Glob of JUnit XML files it leaves, if any.
    pub junit: Option<String>,
    /// Whether a failure blocks (V-6).
    pub required: bool,
    /// Who asked for it.
    pub source: CheckSource,
}

/// Time limit of a check that names none, in seconds.
pub const DEFAULT_CHECK_TIMEOUT_SECONDS: u64 = 20 * 60;

/// How large a patch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchLimits {
    /// Most files changed.
    pub max_files: u64,
    /// Most lines added and deleted together.
    pub max_changed_lines: u64,
}

impl Default for PatchLimits {
    fn default() -> Self {
        Self { max_files: 200, max_changed_lines: 5_000 }
    }
}

/// What a patch may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchBoundary {
    /// Every group must allow a path: each layer (policy, user policy, task) that names patterns is one group.
    /// No group means everything that is not forbidden.
    pub allowed: Vec<Vec<String>>,
    /// No pattern may match a path; `.git/**` and `.telic/**` are always among them.
    pub forbidden: Vec<String>,
    /// Patterns of generated files.
    pub generated: Vec<String>,
    /// Patterns of lock files beside the built-in ones.
    pub lockfiles: Vec<String>,
    /// Whether generated files may change.
    pub allow_generated: bool,
    /// Whether lock files may change.
    pub allow_lockfiles: bool,
    /// How large it may be.
    pub limits: PatchLimits,
}

/// The repository-policy term of the permission intersection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicy {
    /// The modes that are allowed; none means all.
    pub modes: Option<Vec<IntentMode>>,
    /// Capabilities that no run has.
    pub deny: Vec<ActionCapability>,
    /// The most that may be allowlisted for execution; none means no limit of its own.
    pub shell_execute: Option<Vec<String>>,
    /// The most hosts that may be read; none means no limit of its own.
    pub read_domains: Option<Vec<String>>,
    /// Capabilities that need a person each time.
    pub ask: Vec<ActionCapability>,
    /// Exact commands that need a person each time.
    pub ask_commands: Vec<String>,
    /// Names of environment variables that commands see beside `PATH`, `HOME`, `LANG` and `TERM`.
    pub environment: Vec<String>,
}

/// How the judge weighs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgePolicy {
    /// Whether warnings ask for a person.
    pub strict: bool,
    /// The least confidence that lets a pull request go by itself (J-3), 0 to 1.
    pub minimum_confidence: f64,
    /// A program that joins the judge; empty means none.
    pub command: Vec<String>,
    /// Where the program comes from; one from a repository needs consent.
    pub command_source: CheckSource,
}

/// What one run may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Seconds of wall clock; time that waits for a person does not count.
    pub wall_clock_seconds: u64,
    /// Most attempts.
    pub attempts: u32,
    /// Most mediated tool calls.
    pub tool_calls: u64,
    /// Most bytes of captured output.
    pub output_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { wall_clock_seconds: 3_600, attempts: 3, tool_calls: 400, output_bytes: 64 * 1024 * 1024 }
    }
}

/// How a pull request is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishPolicy {
    /// The git remote to push to.
    pub remote: String,
    /// What the branch name starts with.
    pub branch_prefix: String,
    /// Whether every pull request is a draft.
    pub draft: bool,
    /// Labels for it.
    pub labels: Vec<String>,
}

/// What the workspace holds beside the files of the base commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspacePolicy {
    /// Whether submodules are checked out.
    pub submodules: bool,
    /// Whether LFS files are fetched.
    pub lfs: bool,
}

/// The checks of a run and how their outcome is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationPolicy {
    /// The commands, in order (V-1).
    pub plan: Vec<PlannedCheck>,
    /// Output patterns that mean infrastructure, beside the built-in ones (V-5).
    pub infra_patterns: Vec<String>,
    /// Whether the checks also run on the base commit.
    pub verify_base: bool,
}

/// Whether a task may run, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyDecision {
    /// Whether it may.
    pub allowed: bool,
    /// Why not, or what was narrowed.
    pub reasons: Vec<Reason>,
    /// Digest of the effective policy.
    pub policy_digest: Sha256,
}

/// What a run is bound to from the moment it is queued; it never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionSpec {
    /// The run.
    pub run_id: RunId,
    /// The repository root.
    pub repository: String,
    /// The branch or revision that was named.
    pub base_ref: Option<String>,
    /// The commit everything is measured against; none in a folder without git.
    pub base_commit: Option<Commit>,
    /// The workflow's intent mode.
    pub mode: IntentMode,
    /// What the patch may touch.
    pub patch_boundary: PatchBoundary,
    /// What tools may do.
    pub tool_policy: ToolPolicy,
    /// The checks, in order (V-1).
    pub verification_plan: Vec<PlannedCheck>,
    /// Output patterns that mean infrastructure, beside the built-in ones (V-5).
    pub infra_patterns: Vec<String>,
    /// Whether the checks also run on the base commit.
    pub verify_base: bool,
    /// How the judge weighs.
    pub judge: JudgePolicy,
    /// What it may spend.
    pub budget: Budget,
    /// How far it may go by itself.
    pub autonomy_level: AutonomyLevel,
    /// How it would be published.
    pub publish: PublishPolicy,
    /// What its workspace holds.
    pub workspace: WorkspacePolicy,
    /// Digest of the effective policy it was frozen from.
    pub policy_digest: Sha256,
}
