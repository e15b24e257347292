//! The use cases around the workflow: tasks, runs, attempts, verdicts, approvals.
//!
//! Every change is one transaction that holds the records, the guard and the events that tell of it. What is
//! legal is the domain's to say; what is done with processes is the engine's.

mod approval;
mod held;
mod submit;

pub use approval::Decision;
pub use held::{Held, Stepping};
pub use submit::{POLICY_PATH, Submitted, TaskDraft, canonical_text};

use super::ServiceError;
use super::clock::{fresh, now};
use super::views::Views;
use crate::domain::{
    Attempt, DomainError, Event, EventId, EventType, ExecutionSpec, Lease, Message, MessageId, MessageRole,
    Run, RunArtifact, RunStatus, Sha256, Step, Task, Timestamp, Verdict,
};
use crate::git::GitError;
use crate::store::{Change, Digest, Store};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The supervision records of one store, in the name of one actor.
#[derive(Clone, Debug)]
pub struct Supervision {
    views: Arc<Views>,
    actor: String,
}

impl From<GitError> for ServiceError {
    fn from(error: GitError) -> Self {
        Self::invalid(error.code(), &error)
    }
}

impl From<DomainError> for ServiceError {
    fn from(error: DomainError) -> Self {
        Self::invalid(error.code.as_str(), &error)
    }
}

impl Supervision {
    /// The records of the store of `views`; `actor` is who decides (AP-5).
    #[must_use]
    pub fn new(views: Arc<Views>, actor: String) -> Self {
        Self { views, actor }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.views.store()
    }

    /// The run views of the store.
    #[must_use]
    pub fn views(&self) -> &Arc<Views> {
        &self.views
    }

    /// In whose name decisions are recorded.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The run as the supervision knows it.
    ///
    /// # Errors
    /// The supervision does not know the run.
    pub fn run(&self, run_id: &str) -> Result<Run, ServiceError> {
        Ok(self.store().record(run_id)?)
    }

    /// The frozen execution spec of a run.
    ///
    /// # Errors
    /// The run has none yet, or its bytes are gone or damaged.
    pub fn spec(&self, run: &Run) -> Result<ExecutionSpec, ServiceError> {
        let missing =
            || ServiceError::invalid("spec_missing", format!("run {} has no execution spec yet", run.id));
        let sha256 = run.execution_spec_sha256.as_ref().ok_or_else(missing)?;
        let bytes = self.bytes(sha256)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            ServiceError::invalid("integrity_failure", format!("execution spec {sha256}: {error}"))
        })
    }

    /// All bytes of a stored blob, its digest checked.
    ///
    /// # Errors
    /// The blob is missing or damaged.
    pub fn bytes(&self, sha256: &str) -> Result<Vec<u8>, ServiceError> {
        let mut blob = self.store().open_blob(&Digest::parse(sha256)?)?;
        let size = usize::try_from(blob.size()).unwrap_or(usize::MAX);
        Ok(blob.range(0, size)?)
    }

    /// The runs that wait for a worker, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn queued(&self) -> Result<Vec<Run>, ServiceError> {
        Ok(self.store().records_with_status(&[RunStatus::Queued.as_str()])?)
    }

    /// The runs whose agent is not running although their workflow wants one: they were paused for an answer.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn paused(&self) -> Result<Vec<Run>, ServiceError> {
        let runs: Vec<Run> = self.store().records_with_status(&[RunStatus::RunningAgent.as_str()])?;
        Ok(runs.into_iter().filter(|run| run.paused).collect())
    }

    /// Puts a run whose question was answered back into the queue.
    ///
    /// # Errors
    /// The run moved on meanwhile.
    pub fn resume(&self, run: &Run) -> Result<Run, ServiceError> {
        let at = now();
        let queued = run.resume(at)?;
        let mut change = Change::new();
        change.replace(run, &queued)?;
        change.event(&self.event(EventType::RunQueued, Some(run), None, Map::new(), at))?;
        self.store().commit(&change)?;
        Ok(queued)
    }

    /// Records that a person answered the question of a run; its words are in the workflow already.
    ///
    /// # Errors
    /// The store cannot be written. A run that only has a workflow has nothing to record.
    pub fn answered(&self, run_id: &str, choice: &str) -> Result<(), ServiceError> {
        let Some(run) = self.store().find_record::<Run>(run_id)? else { return Ok(()) };
        let task: Task = self.store().record(run.task_id.as_str())?;
        let at = now();
        let mut change = Change::new();
        self.message(&mut change, &run, &task, MessageRole::User, choice, at)?;
        change.event(&self.event(EventType::ClarificationAnswered, Some(&run), None, Map::new(), at))?;
        self.store().commit(&change)?;
        Ok(())
    }

    /// Ends a run that a person cancelled, with its verdict; a live attempt ends with it.
    ///
    /// # Errors
    /// The run moved on meanwhile.
    pub fn cancelled(&self, run: &Run, verdict: &Verdict) -> Result<Run, ServiceError> {
        let at = now();
        let ended = run.cancel(verdict, at)?;
        self.end(run, ended, verdict, EventType::RunCancelled, at)
    }

    /// Ends a run that lost its worker with no attempt left, with its verdict.
    ///
    /// # Errors
    /// The run moved on meanwhile.
    pub fn lost(&self, run: &Run, verdict: &Verdict) -> Result<Run, ServiceError> {
        let at = now();
        let ended = run.fail("worker_lost", verdict, at)?;
        self.end(run, ended, verdict, EventType::RunCompleted, at)
    }

    fn end(
        &self,
        run: &Run,
        ended: Run,
        verdict: &Verdict,
        event: EventType,
        at: Timestamp,
    ) -> Result<Run, ServiceError> {
        let mut change = Change::new();
        change.insert(verdict)?;
        change.replace(run, &ended)?;
        for attempt in self.store().records_of_run::<Attempt>(run.id.as_str())? {
            if attempt.status.is_live() {
                change.replace(&attempt, &attempt.cancel(at)?)?;
            }
        }
        let task: Task = self.store().record(run.task_id.as_str())?;
        if let Some(status) = crate::domain::task_after_run(ended.status)
            && task.status.allowed(status)
        {
            change.replace(&task, &task.follow(status, at)?)?;
        }
        change.event(&self.event(event, Some(run), None, Map::new(), at))?;
        self.store().commit(&change)?;
        Ok(ended)
    }

    /// Remembers that a person consented to something, under its key.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn consent(&self, key: &str) -> Result<(), ServiceError> {
        let mut change = Change::new();
        change.put_fact(key, Some(&format!("{} {}", self.actor, now())));
        self.store().commit(&change)?;
        Ok(())
    }

    /// Expires every lease that ran out, and gives its run back to the queue while attempts are left.
    /// Returns the attempts that were lost, so that what is left of their processes can be ended.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn expire_leases(&self) -> Result<Vec<(Run, Attempt)>, ServiceError> {
        let at = now();
        let mut lost = Vec::new();
        for lease in self.store().expired_leases(at)? {
            let attempt: Attempt = self.store().record(lease.attempt_id.as_str())?;
            let run: Run = self.store().record(lease.run_id.as_str())?;
            let mut change = Change::new();
            change.change_lease(&Lease { status: crate::domain::LeaseStatus::Expired, ..lease.clone() })?;
            if attempt.status.is_live() {
                change.replace(&attempt, &attempt.expire(at)?)?;
            }
            for step in self.store().records_under::<Step>(attempt.id.as_str())? {
                if step.status == crate::domain::StepStatus::Started {
                    let ended = step.end(crate::domain::StepStatus::Failed, Some("worker_lost"), at)?;
                    change.replace(&step, &ended)?;
                }
            }
            let allowed = self.spec(&run).map_or(1, |spec| spec.budget.attempts);
            let back = match run.status {
                RunStatus::Leased => Some(run.lease_ran_out(at)?),
                RunStatus::PreparingWorkspace
                | RunStatus::RunningAgent
                | RunStatus::Verifying
                | RunStatus::Judging => run.requeue(allowed, at).ok(),
                _ => None,
            };
            if let Some(back) = &back {
                change.replace(&run, back)?;
            }
            change.event(&self.event(EventType::LeaseExpired, Some(&run), Some(&attempt), Map::new(), at))?;
            self.store().commit(&change)?;
            lost.push((back.unwrap_or(run), attempt));
        }
        Ok(lost)
    }

    /// A message of the conversation a run belongs to.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    fn message(
        &self,
        change: &mut Change,
        run: &Run,
        task: &Task,
        role: MessageRole,
        content: &str,
        at: Timestamp,
    ) -> Result<(), ServiceError> {
        change.insert(&Message {
            id: MessageId::new(fresh()),
            session_id: task.session_id.clone(),
            task_id: Some(task.id.clone()),
            run_id: Some(run.id.clone()),
            role,
            content: content.to_owned(),
            created_at: at,
            metadata: Map::new(),
        })?;
        Ok(())
    }

    fn event(
        &self,
        event_type: EventType,
        run: Option<&Run>,
        attempt: Option<&Attempt>,
        data: Map<String, Value>,
        at: Timestamp,
    ) -> Event {
        Event {
            id: EventId::new(fresh()),
            sequence: 0,
            event_type,
            task_id: run.map(|run| run.task_id.clone()),
            run_id: run.map(|run| run.id.clone()),
            attempt_id: attempt.map(|attempt| attempt.id.clone()),
            step_id: None,
            actor: self.actor.clone(),
            at,
            data,
        }
    }

    /// Stores bytes as an artifact's content.
    ///
    /// # Errors
    /// The disk is full or the store read-only.
    fn put(&self, bytes: &mut dyn std::io::Read) -> Result<(Sha256, u64), ServiceError> {
        let (digest, size) = self.store().put_blob(bytes)?;
        Ok((Sha256::from(digest.to_string()), size))
    }

    /// The artifacts of a run that telic made itself.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn artifacts(&self, run_id: &str) -> Result<Vec<RunArtifact>, ServiceError> {
        Ok(self.store().records_of_run(run_id)?)
    }
}
