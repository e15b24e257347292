//! What holds for a task once the repository's policy, the engineer's own and the task itself are put together.
//!
//! Every layer narrows. What comes from a repository can never grant what the engineer or the engineer's
//! policy did not: lists are intersected, refusals are added, limits are the least, and the engineer's own
//! money (budgets, autonomy, environment) never grows by a repository's word.

use super::ids::RunId;
use super::policy::{
    AutonomyLevel, Budget, CheckSource, ExecutionSpec, JudgePolicy, PatchBoundary, PatchLimits, PlannedCheck,
    PolicyDecision, PublishPolicy, Reason, ToolPolicy, VerificationPolicy, WorkspacePolicy,
};
use super::policy_file::{PolicyFile, check_boundary_pattern};
use super::task::Task;
use crate::protocol::{ActionCapability, IntentMode, Sha256};
use serde::Serialize;

/// Always forbidden, whatever a policy says.
pub const ALWAYS_FORBIDDEN: [&str; 2] = [".git/**", ".telic/**"];

/// What holds for a task: its canonical JSON is what the policy digest is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePolicy {
    /// What a patch may touch.
    pub boundary: PatchBoundary,
    /// What tools may do.
    pub tools: ToolPolicy,
    /// The checks.
    pub verification: VerificationPolicy,
    /// How the judge weighs.
    pub judge: JudgePolicy,
    /// How far a run may go by itself.
    pub autonomy_level: AutonomyLevel,
    /// What a run may spend.
    pub budget: Budget,
    /// How it is published.
    pub publish: PublishPolicy,
    /// What its workspace holds.
    pub workspace: WorkspacePolicy,
    /// What was narrowed, for a person to read.
    pub notes: Vec<Reason>,
    /// Why the task may not run; empty when it may.
    pub denials: Vec<Reason>,
}

impl EffectivePolicy {
    /// Puts the layers together. A layer that is absent says nothing.
    #[must_use]
    pub fn of(task: &Task, user: &PolicyFile, repository: &PolicyFile) -> Self {
        let mut notes = Vec::new();
        let tools = tool_policy(user, repository);
        let boundary = boundary(task, user, repository);
        let denials = denials(task, &tools, &boundary);
        Self {
            verification: VerificationPolicy {
                plan: plan(task, user, repository, &mut notes),
                infra_patterns: union(
                    &user.verification.infra_patterns,
                    &repository.verification.infra_patterns,
                ),
                verify_base: user.verification.verify_base.unwrap_or(false)
                    || repository.verification.verify_base.unwrap_or(false),
            },
            judge: judge(user, repository),
            autonomy_level: autonomy(task, user, repository, &mut notes),
            budget: budget(user, repository),
            publish: publish(user, repository),
            workspace: WorkspacePolicy {
                submodules: both(user.workspace.submodules, repository.workspace.submodules),
                lfs: both(user.workspace.lfs, repository.workspace.lfs),
            },
            boundary,
            tools,
            notes,
            denials,
        }
    }

    /// The decision, with the digest that the caller made of this policy's canonical JSON.
    #[must_use]
    pub fn decision(&self, policy_digest: Sha256) -> PolicyDecision {
        let reasons = self.denials.iter().chain(&self.notes).cloned().collect();
        PolicyDecision { allowed: self.denials.is_empty(), reasons, policy_digest }
    }

    /// What a run of the task is bound to.
    #[must_use]
    pub fn freeze(&self, run_id: RunId, task: &Task, policy_digest: Sha256) -> ExecutionSpec {
        ExecutionSpec {
            run_id,
            repository: task.repository.clone().unwrap_or_default(),
            base_ref: task.base_ref.clone(),
            base_commit: task.base_commit.clone(),
            mode: task.mode,
            patch_boundary: self.boundary.clone(),
            tool_policy: self.tools.clone(),
            verification_plan: self.verification.plan.clone(),
            infra_patterns: self.verification.infra_patterns.clone(),
            verify_base: self.verification.verify_base,
            judge: self.judge.clone(),
            budget: self.budget,
            autonomy_level: self.autonomy_level,
            publish: self.publish.clone(),
            workspace: self.workspace,
            policy_digest,
        }
    }
}

/// The decision about a task whose policy could not be read: denied, with the error's line (T-3).
#[must_use]
pub fn unreadable_policy(error: &super::policy_file::PolicyError) -> Vec<Reason> {
    vec![Reason::new(error.code(), error.to_string())]
}

impl ToolPolicy {
    /// Whether a capability is not denied.
    #[must_use]
    pub fn allows(&self, capability: ActionCapability) -> bool {
        !self.deny.contains(&capability)
    }

    /// Whether a command may be allowlisted at all.
    #[must_use]
    pub fn allows_command(&self, command: &str) -> bool {
        self.allows(ActionCapability::ShellExecute)
            && self.shell_execute.as_ref().is_none_or(|most| most.iter().any(|allowed| allowed == command))
    }

    /// Whether a host may be read at all.
    #[must_use]
    pub fn allows_host(&self, host: &str) -> bool {
        self.allows(ActionCapability::NetworkRead)
            && self
                .read_domains
                .as_ref()
                .is_none_or(|most| most.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)))
    }

    /// Whether a person is asked each time: for the capability, or for this very command.
    #[must_use]
    pub fn asks(&self, capability: ActionCapability, command: Option<&str>) -> bool {
        self.ask.contains(&capability)
            || command.is_some_and(|command| self.ask_commands.iter().any(|asked| asked == command))
    }

    /// What remains of a person's grants: the capabilities that are not denied, in their order.
    #[must_use]
    pub fn narrow_grants(&self, granted: &[ActionCapability]) -> Vec<ActionCapability> {
        granted.iter().copied().filter(|capability| self.allows(*capability)).collect()
    }
}

fn union<T: Clone + PartialEq>(first: &[T], second: &[T]) -> Vec<T> {
    let mut all: Vec<T> = Vec::with_capacity(first.len() + second.len());
    for item in first.iter().chain(second) {
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
    all
}

/// The most that both allow; a layer that says nothing does not limit.
fn intersection<T: Clone + PartialEq>(first: Option<&Vec<T>>, second: Option<&Vec<T>>) -> Option<Vec<T>> {
    match (first, second) {
        (Some(first), Some(second)) => {
            Some(first.iter().filter(|item| second.contains(item)).cloned().collect())
        }
        (one, other) => one.or(other).cloned(),
    }
}

/// On only where the engineer's policy says so and the repository's does not say no.
fn both(user: Option<bool>, repository: Option<bool>) -> bool {
    user.unwrap_or(false) && repository.unwrap_or(true)
}

fn boundary(task: &Task, user: &PolicyFile, repository: &PolicyFile) -> PatchBoundary {
    let layers = [&user.boundary, &repository.boundary];
    let groups = layers.iter().map(|layer| &layer.allowed).chain([&task.allowed_paths]);
    let mut forbidden: Vec<String> = ALWAYS_FORBIDDEN.iter().map(|pattern| (*pattern).to_owned()).collect();
    for patterns in [&user.boundary.forbidden, &repository.boundary.forbidden, &task.forbidden_paths] {
        forbidden = union(&forbidden, patterns);
    }
    let least = |pick: fn(&super::policy_file::BoundarySection) -> Option<u64>, default: u64| {
        layers.iter().filter_map(|layer| pick(layer)).min().unwrap_or(default)
    };
    let limits = PatchLimits::default();
    PatchBoundary {
        allowed: groups.filter(|group| !group.is_empty()).cloned().collect(),
        forbidden,
        generated: union(&user.boundary.generated, &repository.boundary.generated),
        lockfiles: union(&user.boundary.lockfiles, &repository.boundary.lockfiles),
        // A layer lifts its own patterns only: whoever names generated files has to allow them too.
        allow_generated: layers
            .iter()
            .all(|layer| layer.allow_generated.unwrap_or(layer.generated.is_empty())),
        allow_lockfiles: layers.iter().all(|layer| layer.allow_lockfiles != Some(false)),
        limits: PatchLimits {
            max_files: least(|layer| layer.max_files, limits.max_files),
            max_changed_lines: least(|layer| layer.max_changed_lines, limits.max_changed_lines),
        },
    }
}

fn tool_policy(user: &PolicyFile, repository: &PolicyFile) -> ToolPolicy {
    let (user, repository) = (&user.workflow, &repository.workflow);
    let environment = user.environment.clone().unwrap_or_default();
    ToolPolicy {
        modes: intersection(user.modes.as_ref(), repository.modes.as_ref()),
        deny: union(&user.deny, &repository.deny),
        shell_execute: intersection(user.shell_execute.as_ref(), repository.shell_execute.as_ref()),
        read_domains: intersection(user.read_domains.as_ref(), repository.read_domains.as_ref()),
        ask: union(&user.ask, &repository.ask),
        ask_commands: union(&user.ask_commands, &repository.ask_commands),
        // Only the engineer's policy opens the environment; a repository can only take names away.
        environment: intersection(Some(&environment), repository.environment.as_ref()).unwrap_or_default(),
    }
}

fn denials(task: &Task, tools: &ToolPolicy, boundary: &PatchBoundary) -> Vec<Reason> {
    let mut denials = Vec::new();
    if tools.modes.as_ref().is_some_and(|modes| !modes.contains(&task.mode)) {
        denials
            .push(Reason::new("mode_not_allowed", format!("policy does not allow the mode {}", task.mode)));
    }
    let fixes = matches!(task.mode, IntentMode::FixOnly | IntentMode::AnalyzeAndFix);
    if fixes && !tools.allows(ActionCapability::RepositoryWrite) {
        let text =
            format!("policy denies repository.write, without which {} cannot change anything", task.mode);
        denials.push(Reason::new("capability_denied", text));
    }
    if task.mode != IntentMode::ReportOnly && !tools.allows(ActionCapability::RepositoryRead) {
        let text = format!("policy denies repository.read, without which {} sees nothing", task.mode);
        denials.push(Reason::new("capability_denied", text));
    }
    for pattern in boundary.allowed.iter().flatten().chain(&boundary.forbidden) {
        if let Err(error) = check_boundary_pattern(pattern) {
            denials.push(Reason::new(error.code(), error.message));
        }
    }
    denials
}

/// All checks, the task's own first. A command that stands twice runs once, and is required if one says so.
fn plan(
    task: &Task,
    user: &PolicyFile,
    repository: &PolicyFile,
    notes: &mut Vec<Reason>,
) -> Vec<PlannedCheck> {
    let layers = [&task.verification, &user.verification.checks, &repository.verification.checks];
    let mut plan: Vec<PlannedCheck> = Vec::new();
    for check in layers.into_iter().flatten() {
        if let Some(same) = plan.iter_mut().find(|other| other.command == check.command) {
            same.required |= check.required;
            same.timeout_seconds = same.timeout_seconds.min(check.timeout_seconds);
            same.junit = same.junit.take().or_else(|| check.junit.clone());
            continue;
        }
        let mut check = check.clone();
        if plan.iter().any(|other| other.name == check.name) {
            let origin = if check.source == CheckSource::RepositoryPolicy { "repository" } else { "user" };
            check.name = format!("{origin}:{}", check.name);
        }
        plan.push(check);
    }
    if plan.is_empty() {
        let text = "no verification is planned, so the verdict can be DRAFT_ONLY at best";
        notes.push(Reason::new("no_verification", text));
    }
    plan
}

fn judge(user: &PolicyFile, repository: &PolicyFile) -> JudgePolicy {
    let command = |file: &PolicyFile| file.judge.command.clone().filter(|command| !command.is_empty());
    let (command, command_source) = match (command(user), command(repository)) {
        (Some(command), _) => (command, CheckSource::UserPolicy),
        (None, Some(command)) => (command, CheckSource::RepositoryPolicy),
        (None, None) => (Vec::new(), CheckSource::UserPolicy),
    };
    JudgePolicy {
        strict: user.judge.strict.unwrap_or(true) || repository.judge.strict.unwrap_or(false),
        minimum_confidence: user
            .judge
            .minimum_confidence
            .unwrap_or(0.7)
            .max(repository.judge.minimum_confidence.unwrap_or(0.0)),
        command,
        command_source,
    }
}

fn autonomy(
    task: &Task,
    user: &PolicyFile,
    repository: &PolicyFile,
    notes: &mut Vec<Reason>,
) -> AutonomyLevel {
    let most = [user.maximum_autonomy, repository.maximum_autonomy].into_iter().flatten().min();
    let level = most.map_or(task.autonomy_level, |most| most.min(task.autonomy_level));
    if level != task.autonomy_level {
        let text = format!("policy lowers the autonomy from {} to {level}", task.autonomy_level);
        notes.push(Reason::new("autonomy_lowered", text));
    }
    level
}

fn budget(user: &PolicyFile, repository: &PolicyFile) -> Budget {
    let default = Budget::default();
    let (user, repository) = (&user.budget, &repository.budget);
    fn least<T: Ord + Copy>(user: Option<T>, default: T, repository: Option<T>) -> T {
        let own = user.unwrap_or(default);
        repository.map_or(own, |most| most.min(own))
    }
    Budget {
        wall_clock_seconds: least(
            user.wall_clock_seconds,
            default.wall_clock_seconds,
            repository.wall_clock_seconds,
        ),
        attempts: least(user.attempts, default.attempts, repository.attempts),
        tool_calls: least(user.tool_calls, default.tool_calls, repository.tool_calls),
        output_bytes: least(user.output_bytes, default.output_bytes, repository.output_bytes),
    }
}

fn publish(user: &PolicyFile, repository: &PolicyFile) -> PublishPolicy {
    let (user, repository) = (&user.pr, &repository.pr);
    let pick = |user: &Option<String>, repository: &Option<String>, default: &str| {
        user.clone().or_else(|| repository.clone()).unwrap_or_else(|| default.to_owned())
    };
    PublishPolicy {
        remote: pick(&user.remote, &repository.remote, "origin"),
        branch_prefix: pick(&user.branch_prefix, &repository.branch_prefix, "telic/"),
        draft: user.draft.unwrap_or(false) || repository.draft.unwrap_or(false),
        labels: union(&user.labels, &repository.labels),
    }
}
