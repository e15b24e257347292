//! Submitting a task: the words of a person become a task, a decision, and a run that waits for a worker.

use super::Supervision;
use crate::domain::{
    AutonomyLevel, CheckSource, DEFAULT_CHECK_TIMEOUT_SECONDS, EffectivePolicy, EventType, ExecutionSpec,
    IntentMode, Message, MessageId, MessageRole, PlannedCheck, PolicyFile, Reason, RepoPath, Run, RunId,
    Session, SessionId, SessionStatus, Sha256, Source, Task, TaskId, TaskStatus, TaskType, unreadable_policy,
};
use crate::git::Repository;
use crate::service::ServiceError;
use crate::service::clock::{fresh, now};
use crate::store::Change;
use crate::store::canonical_json::canonical;
use crate::text::{cut_units, script_trim};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where a repository keeps its policy.
pub const POLICY_PATH: &str = ".telic/policy.toml";
/// The longest title made from an instruction, in UTF-16 units.
const TITLE: usize = 72;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct TaskDraft {
    /// Any folder of the repository.
    pub repository: PathBuf,
    /// What the run starts from; without one the current branch, else the head.
    pub base_ref: Option<String>,
    /// What kind of task it is.
    pub task_type: TaskType,
    /// The workflow's mode; without one the default of the type.
    pub mode: Option<IntentMode>,
    /// A short title; without one the first line of the instruction.
    pub title: Option<String>,
    /// What is asked, in full (T-1).
    pub instruction: String,
    /// The person's own narrowing.
    pub allowed_paths: Vec<String>,
    /// The person's own narrowing.
    pub forbidden_paths: Vec<String>,
    /// Commands that must pass.
    pub verification: Vec<String>,
    /// How far the run may go by itself.
    pub autonomy_level: AutonomyLevel,
    /// Which agent works on it.
    pub agent: Option<String>,
    /// Where it was asked.
    pub source: Source,
}

/// What became of a submitted task.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "returned once")]
pub enum Submitted {
    /// A run waits for a worker.
    Queued {
        /// The task.
        task: Task,
        /// The run.
        run: Run,
    },
    /// Policy denies the task; its reasons are with it (T-3).
    Denied(Task),
}

impl Supervision {
    /// Submits a task (T-1 to T-3, R-2 to R-4).
    ///
    /// # Errors
    /// The instruction is blank or too long, the folder has no git repository, the base ref does not resolve.
    /// Nothing is stored then.
    pub fn submit(&self, draft: TaskDraft, user_policy: &PolicyFile) -> Result<Submitted, ServiceError> {
        Task::check_instruction(&draft.instruction)?;
        let repository = Repository::discover(&draft.repository)?;
        let base_ref = match draft.base_ref.clone() {
            Some(name) => Some(name),
            None => repository.current_branch()?,
        };
        let base_commit = repository.resolve(base_ref.as_deref().unwrap_or("HEAD"))?;
        let text = repository.file_at(&base_commit, &RepoPath::from(POLICY_PATH))?;

        let at = now();
        let mut task = self.draft(draft, at);
        task.base_ref = base_ref;
        task.repository = Some(repository.root().display().to_string());
        task.base_commit = Some(base_commit.clone());
        let session = Session {
            id: task.session_id.clone(),
            owner: self.actor().to_owned(),
            source: task.source,
            related_tasks: vec![task.id.clone()],
            created_at: at,
            last_activity_at: at,
            status: SessionStatus::Open,
        };
        let message = Message {
            id: MessageId::new(fresh()),
            session_id: session.id.clone(),
            task_id: Some(task.id.clone()),
            run_id: None,
            role: MessageRole::User,
            content: task.instruction.clone(),
            created_at: at,
            metadata: Map::new(),
        };
        let mut change = Change::new();
        change.insert(&session)?;
        change.insert(&message)?;
        let accepted = task.accept(at)?;
        let policy = match read_policy(text.as_deref()) {
            Ok(of_repository) => EffectivePolicy::of(&accepted, user_policy, &of_repository),
            Err(reasons) => return self.deny(change, &accepted, reasons),
        };
        let decision = policy.decision(policy_digest(&policy)?);
        if !decision.allowed {
            return self.deny(change, &accepted, decision.reasons);
        }
        let ready = accepted.ready(&repository.root().display().to_string(), Some(base_commit), at)?;
        let digest = decision.policy_digest.clone();
        let agent = ready.labels.get("agent").cloned();
        let created = Run::create(RunId::new(fresh()), &ready, decision, agent, at)?;
        let spec: ExecutionSpec = policy.freeze(created.id.clone(), &ready, digest);
        let queued = created.queue(self.freeze(&spec)?, at)?;
        change.insert(&ready)?;
        change.insert(&queued)?;
        for event_type in
            [EventType::TaskSubmitted, EventType::TaskAccepted, EventType::RunCreated, EventType::RunQueued]
        {
            change.event(&self.event(event_type, Some(&queued), None, Map::new(), at))?;
        }
        self.store().commit(&change)?;
        Ok(Submitted::Queued { task: ready, run: queued })
    }

    /// Queues another run of a task that has ended, with the same policy rules read anew.
    ///
    /// # Errors
    /// The task may not run again, or its base is gone.
    pub fn run_again(&self, task_id: &str, user_policy: &PolicyFile) -> Result<Run, ServiceError> {
        let task: Task = self.store().record(task_id)?;
        let at = now();
        let ready = if task.may_run() { task.clone() } else { task.run_again(at)? };
        let earlier: Vec<Run> = self.store().records_of_task(task_id)?;
        let root = ready.repository.clone().unwrap_or_default();
        let repository = Repository::discover(std::path::Path::new(&root))?;
        let missing =
            || ServiceError::invalid("base_commit_missing", format!("task {task_id} has no base commit"));
        let base = ready.base_commit.clone().ok_or_else(missing)?;
        let text = repository.file_at(&base, &RepoPath::from(POLICY_PATH))?;
        let of_repository = read_policy(text.as_deref()).map_err(|reasons| denied(&reasons))?;
        let policy = EffectivePolicy::of(&ready, user_policy, &of_repository);
        let decision = policy.decision(policy_digest(&policy)?);
        if !decision.allowed {
            return Err(denied(&decision.reasons));
        }
        let digest = decision.policy_digest.clone();
        let agent = ready.labels.get("agent").cloned();
        let mut created = Run::create(RunId::new(fresh()), &ready, decision, agent, at)?;
        created.previous_run_id = earlier.last().map(|run| run.id.clone());
        let spec = policy.freeze(created.id.clone(), &ready, digest);
        let queued = created.queue(self.freeze(&spec)?, at)?;
        let mut change = Change::new();
        if ready != task {
            change.replace(&task, &ready)?;
        }
        change.insert(&queued)?;
        for event_type in [EventType::RunCreated, EventType::RunQueued] {
            change.event(&self.event(event_type, Some(&queued), None, Map::new(), at))?;
        }
        self.store().commit(&change)?;
        Ok(queued)
    }

    /// The policy that the repository's head commit holds.
    ///
    /// # Errors
    /// There is no repository, or the policy cannot be read; its line is named.
    pub fn policy_at_head(&self, folder: &std::path::Path) -> Result<PolicyFile, ServiceError> {
        let repository = Repository::discover(folder)?;
        let head = repository.resolve("HEAD")?;
        let text = repository.file_at(&head, &RepoPath::from(POLICY_PATH))?;
        read_policy(text.as_deref()).map_err(|reasons| denied(&reasons))
    }

    fn draft(&self, draft: TaskDraft, at: crate::domain::Timestamp) -> Task {
        let first = script_trim(&draft.instruction).lines().next().unwrap_or_default();
        let title =
            draft.title.as_deref().map(script_trim).filter(|title| !title.is_empty()).unwrap_or(first);
        let check = |command: &String| PlannedCheck {
            name: command.clone(),
            command: command.clone(),
            timeout_seconds: DEFAULT_CHECK_TIMEOUT_SECONDS,
            junit: None,
            required: true,
            source: CheckSource::Task,
        };
        Task {
            id: TaskId::new(fresh()),
            session_id: SessionId::new(fresh()),
            source: draft.source,
            created_by: self.actor().to_owned(),
            task_type: draft.task_type,
            title: cut_units(title, TITLE).to_owned(),
            mode: draft.mode.unwrap_or_else(|| draft.task_type.default_mode()),
            instruction: draft.instruction.clone(),
            repository: None,
            base_ref: None,
            base_commit: None,
            autonomy_level: draft.autonomy_level,
            allowed_paths: draft.allowed_paths,
            forbidden_paths: draft.forbidden_paths,
            verification: draft.verification.iter().map(check).collect(),
            labels: draft
                .agent
                .into_iter()
                .map(|agent| ("agent".to_owned(), agent))
                .collect::<BTreeMap<_, _>>(),
            status: TaskStatus::Draft,
            denial_reasons: Vec::new(),
            created_at: at,
            updated_at: at,
        }
    }

    fn deny(&self, mut change: Change, task: &Task, reasons: Vec<Reason>) -> Result<Submitted, ServiceError> {
        let at = now();
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
        let data = Map::from_iter([("reasons".to_owned(), json!(codes))]);
        let denied = task.deny(reasons, at)?;
        change.insert(&denied)?;
        for (event_type, data) in [(EventType::TaskSubmitted, Map::new()), (EventType::TaskDenied, data)] {
            let mut event = self.event(event_type, None, None, data, at);
            event.task_id = Some(denied.id.clone());
            change.event(&event)?;
        }
        self.store().commit(&change)?;
        Ok(Submitted::Denied(denied))
    }

    /// Stores an execution spec; its digest is what the run is bound to.
    fn freeze(&self, spec: &ExecutionSpec) -> Result<Sha256, ServiceError> {
        let text = canonical_text(spec)?;
        Ok(self.put(&mut text.as_bytes())?.0)
    }
}

/// The policy that a repository's base commit holds; no file is the empty policy.
fn read_policy(bytes: Option<&[u8]>) -> Result<PolicyFile, Vec<Reason>> {
    let text = match bytes.map(std::str::from_utf8) {
        None => return Ok(PolicyFile::default()),
        Some(Ok(text)) => text,
        Some(Err(_)) => {
            return Err(vec![Reason::new("policy_invalid", format!("{POLICY_PATH} is not UTF-8"))]);
        }
    };
    PolicyFile::parse(text, POLICY_PATH, CheckSource::RepositoryPolicy)
        .map_err(|error| unreadable_policy(&error))
}

fn denied(reasons: &[Reason]) -> ServiceError {
    let why = reasons.first().map_or("policy denies it", |reason| reason.text.as_str());
    ServiceError::invalid("policy_denied", why)
}

fn policy_digest(policy: &EffectivePolicy) -> Result<Sha256, ServiceError> {
    let text = canonical_text(policy)?;
    Ok(Sha256::from(crate::store::canonical_json::digest(text.as_bytes()).to_string()))
}

/// The canonical JSON of a value of ours.
///
/// # Errors
/// It cannot be written as JSON.
pub fn canonical_text(value: &impl serde::Serialize) -> Result<String, ServiceError> {
    let wrong = |error: &dyn std::fmt::Display| ServiceError::invalid("integrity_failure", error);
    let value = serde_json::to_value(value).map_err(|error| wrong(&error))?;
    canonical(&value).map_err(|error| wrong(&error))
}
