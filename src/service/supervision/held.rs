//! A run that this worker holds the lease of, and everything it may record while it does.
//!
//! Each change is guarded by the lease: a worker that lost it can write nothing more.

use super::Supervision;
use crate::domain::{
    AgentProcess, ArtifactId, Attempt, AttemptId, AttemptStatus, EventType, ExecutionSpec, FailureCode,
    HEARTBEAT_MILLIS, JudgeReport, LEASE_MILLIS, Lease, LeaseId, LeaseStatus, Patch, RedactionStatus, Run,
    RunArtifact, RunArtifactType, Step, StepId, StepStatus, StepType, Task, TaskStatus, Timestamp, Verdict,
    VerificationReport, Visibility, WorkerPlace, task_after_run,
};
use crate::service::ServiceError;
use crate::service::clock::{fresh, now};
use crate::store::{Change, StoreError};
use serde_json::{Map, Value, json};
use std::io::Read;

/// A leased run.
#[derive(Debug)]
pub struct Held {
    supervision: Supervision,
    /// The run, as stored.
    pub run: Run,
    /// Its task, as stored.
    pub task: Task,
    /// The attempt that holds the lease.
    pub attempt: Attempt,
    /// What the run was frozen with.
    pub spec: ExecutionSpec,
    lease: Lease,
    steps: u32,
}

/// A step that was begun.
#[derive(Debug)]
pub struct Stepping(Step);

impl Stepping {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &StepId {
        &self.0.id
    }
}

impl Supervision {
    /// Takes the lease of a queued run; nothing when another worker was faster.
    ///
    /// # Errors
    /// The store cannot be written, or the run is not as it should be.
    pub fn take(&self, run: &Run, worker: &str) -> Result<Option<Held>, ServiceError> {
        let at = now();
        let spec = self.spec(run)?;
        let task: Task = self.store().record(run.task_id.as_str())?;
        let earlier: Vec<Attempt> = self.store().records_of_run(run.id.as_str())?;
        crate::domain::may_start_attempt(&earlier)?;
        let attempt_id = AttemptId::new(fresh());
        let lease = Lease {
            id: LeaseId::new(fresh()),
            run_id: run.id.clone(),
            attempt_id: attempt_id.clone(),
            worker_id: worker.to_owned(),
            status: LeaseStatus::Held,
            acquired_at: at,
            last_heartbeat_at: at,
            expires_at: at.plus_millis(LEASE_MILLIS),
        };
        let attempt = Attempt {
            id: attempt_id,
            run_id: run.id.clone(),
            attempt_number: u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1),
            worker_id: worker.to_owned(),
            lease_id: Some(lease.id.clone()),
            status: AttemptStatus::Starting,
            paused: false,
            started_at: at,
            last_heartbeat_at: at,
            lease_expires_at: Some(lease.expires_at),
            ended_at: None,
            failure_code: None,
            place: None,
            process: None,
            exit_code: None,
        };
        let leased = run.lease(at)?;
        let mut change = Change::new();
        change.take_lease(&lease, at)?;
        change.insert(&attempt)?;
        change.replace(run, &leased)?;
        let started = if task.status == TaskStatus::ReadyForRun { task.start_run(at)? } else { task.clone() };
        if started != task {
            change.replace(&task, &started)?;
        }
        change.event(&self.event(EventType::LeaseAcquired, Some(run), Some(&attempt), Map::new(), at))?;
        match self.store().commit(&change) {
            Ok(_) => {}
            Err(StoreError::LeaseHeld { .. } | StoreError::StatusConflict { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        Ok(Some(Held {
            supervision: self.clone(),
            run: leased,
            task: started,
            attempt,
            spec,
            lease,
            steps: 0,
        }))
    }
}

impl Held {
    /// The supervision that the run belongs to.
    #[must_use]
    pub fn supervision(&self) -> &Supervision {
        &self.supervision
    }

    fn commit(&self, mut change: Change) -> Result<(), ServiceError> {
        change.require_lease(&self.lease);
        self.supervision.store().commit(&change)?;
        Ok(())
    }

    fn event(
        &self,
        change: &mut Change,
        event_type: EventType,
        data: Value,
        at: Timestamp,
    ) -> Result<(), ServiceError> {
        let data = match data {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        change.event(&self.supervision.event(event_type, Some(&self.run), Some(&self.attempt), data, at))?;
        Ok(())
    }

    fn replace_run(&mut self, change: &mut Change, run: Run) -> Result<(), ServiceError> {
        change.replace(&self.run, &run)?;
        self.run = run;
        Ok(())
    }

    /// Renews the lease. After an error the worker must stop: the lease is lost.
    ///
    /// # Errors
    /// The lease is not held any more.
    pub fn heartbeat(&mut self) -> Result<(), ServiceError> {
        let at = now();
        let lease = self.lease.renew(at)?;
        let attempt = self.attempt.heartbeat(Some(&lease.id), at)?;
        let mut change = Change::new();
        change.change_lease(&lease)?;
        change.replace(&self.attempt, &attempt)?;
        self.supervision.store().commit(&change)?;
        self.lease = lease;
        self.attempt = attempt;
        Ok(())
    }

    /// Renews the lease when the last heartbeat is older than the interval.
    ///
    /// # Errors
    /// As [`Held::heartbeat`].
    pub fn heartbeat_when_due(&mut self) -> Result<(), ServiceError> {
        let since = now().millis_since(self.lease.last_heartbeat_at);
        if since >= HEARTBEAT_MILLIS.unsigned_abs() { self.heartbeat() } else { Ok(()) }
    }

    /// Remembers a fact beside the records.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn remember(&self, key: &str, value: &impl serde::Serialize) -> Result<(), ServiceError> {
        let text = serde_json::to_string(value)
            .map_err(|error| ServiceError::invalid("integrity_failure", format!("{key}: {error}")))?;
        let mut change = Change::new();
        change.put_fact(key, Some(&text));
        self.commit(change)
    }

    /// Ends the attempt of a run that a person cancelled meanwhile.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn abandon(mut self) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        if self.attempt.status.is_live() {
            let cancelled = self.attempt.cancel(at)?;
            self.end_attempt(&mut change, cancelled)?;
        }
        change.change_lease(&Lease { status: LeaseStatus::Released, ..self.lease.clone() })?;
        self.supervision.store().commit(&change)?;
        Ok(())
    }

    /// Reads the run again: a person may have cancelled it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn cancelled(&self) -> Result<bool, ServiceError> {
        Ok(self.supervision.run(self.run.id.as_str())?.status == crate::domain::RunStatus::Cancelled)
    }

    /// The workspace is being prepared.
    ///
    /// # Errors
    /// The lease is lost, or the run is not there yet.
    pub fn preparing(&mut self) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        let run = self.run.prepare(at)?;
        self.replace_run(&mut change, run)?;
        self.commit(change)
    }

    /// The workspace is ready and the agent is about to start.
    ///
    /// # Errors
    /// The lease is lost, or the run is not there yet.
    pub fn running(&mut self, place: WorkerPlace) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        let run = self.run.start_agent(at)?;
        self.replace_run(&mut change, run)?;
        let attempt =
            Attempt { place: Some(place), ..self.attempt.activate(self.attempt.lease_id.as_ref(), at)? };
        change.replace(&self.attempt, &attempt)?;
        self.attempt = attempt;
        self.event(&mut change, EventType::WorkspacePrepared, json!({}), at)?;
        self.commit(change)
    }

    /// The process of the agent.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn agent_started(&mut self, process: AgentProcess) -> Result<(), ServiceError> {
        let attempt = Attempt { process: Some(process), ..self.attempt.clone() };
        let mut change = Change::new();
        change.replace(&self.attempt, &attempt)?;
        self.attempt = attempt;
        self.commit(change)
    }

    /// The agent exited while the workflow waits for an answer: the attempt is over, the run waits.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn pause(mut self, exit_code: Option<i32>) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        let run = self.spend(self.run.pause(at)?, at);
        self.replace_run(&mut change, run)?;
        let done = self.attempt.complete(self.attempt.lease_id.as_ref(), true, at)?;
        self.end_attempt(&mut change, Attempt { exit_code, ..done })?;
        self.event(&mut change, EventType::ClarificationRequested, json!({}), at)?;
        self.let_go(change)
    }

    /// Commits the last change of an attempt and lets its lease go.
    fn let_go(&self, mut change: Change) -> Result<(), ServiceError> {
        change.require_lease(&self.lease);
        change.change_lease(&Lease { status: LeaseStatus::Released, ..self.lease.clone() })?;
        self.supervision.store().commit(&change)?;
        Ok(())
    }

    /// The attempt failed; the run goes back into the queue while attempts are left. Returns whether it did.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn fail_attempt(&mut self, code: FailureCode, exit_code: Option<i32>) -> Result<bool, ServiceError> {
        let at = now();
        let back = if code.may_retry() { self.run.requeue(self.spec.budget.attempts, at).ok() } else { None };
        let Some(back) = back else { return Ok(false) };
        let mut change = Change::new();
        let run = self.spend(back, at);
        self.replace_run(&mut change, run)?;
        let failed = self.attempt.fail(code, at)?;
        self.end_attempt(&mut change, Attempt { exit_code, ..failed })?;
        self.event(&mut change, EventType::RunQueued, json!({ "after": code.as_str() }), at)?;
        self.let_go(change)?;
        Ok(true)
    }

    /// What is left of the wall-clock budget, the time of this attempt taken off.
    #[must_use]
    pub fn time_left(&self) -> std::time::Duration {
        let used = self.spend(self.run.clone(), now());
        std::time::Duration::from_millis(crate::domain::budget::wall_clock_left(&self.spec.budget, &used))
    }

    /// Adds the time of this attempt to what the run has used.
    fn spend(&self, mut run: Run, at: Timestamp) -> Run {
        run.budget_use.active_millis =
            run.budget_use.active_millis.saturating_add(at.millis_since(self.attempt.started_at));
        run
    }

    fn end_attempt(&mut self, change: &mut Change, attempt: Attempt) -> Result<(), ServiceError> {
        change.replace(&self.attempt, &attempt)?;
        self.attempt = attempt;
        // The guard is checked before the lease is let go, since operations are carried out in order.
        change.require_lease(&self.lease);
        Ok(())
    }

    /// The agent is done; verification begins.
    ///
    /// # Errors
    /// The lease is lost, or the run is not there yet.
    pub fn verifying(&mut self) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        let run = self.run.verify(at)?;
        self.replace_run(&mut change, run)?;
        self.event(&mut change, EventType::VerifierStarted, json!({}), at)?;
        self.commit(change)
    }

    /// Records the patch.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn patch(&mut self, patch: &Patch) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        change.insert(patch)?;
        let run = Run { patch_id: Some(patch.id.clone()), updated_at: at, ..self.run.clone() };
        self.replace_run(&mut change, run)?;
        let stats = json!({ "files": patch.stats.files, "additions": patch.stats.additions,
            "deletions": patch.stats.deletions, "boundaryPassed": patch.boundary_check.passed });
        self.event(&mut change, EventType::PatchProduced, stats, at)?;
        self.commit(change)
    }

    /// Records the verification report; judging begins.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn verified(&mut self, report: &VerificationReport) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        change.insert(report)?;
        let run = self.run.judge(at)?;
        self.replace_run(&mut change, run)?;
        self.event(
            &mut change,
            EventType::VerifierCompleted,
            json!({ "status": report.status.as_str() }),
            at,
        )?;
        self.commit(change)
    }

    /// Records the judge's report.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn judged(&mut self, report: &JudgeReport) -> Result<(), ServiceError> {
        let at = now();
        let mut change = Change::new();
        change.insert(report)?;
        self.event(&mut change, EventType::JudgeCompleted, json!({ "status": report.status.as_str() }), at)?;
        self.commit(change)
    }

    /// Records the verdict and ends the attempt; run and task follow it.
    ///
    /// # Errors
    /// The lease is lost, or the verdict does not fit the run.
    pub fn decide(mut self, verdict: &Verdict, exit_code: Option<i32>) -> Result<Run, ServiceError> {
        let at = now();
        let mut change = Change::new();
        change.insert(verdict)?;
        let run = match self.run.status {
            crate::domain::RunStatus::Judging => self.run.decide(verdict, at)?,
            _ => self.run.fail(verdict.status.as_str(), verdict, at)?,
        };
        let run = self.spend(run, at);
        self.replace_run(&mut change, run)?;
        let done = if self.attempt.status == AttemptStatus::Active {
            self.attempt.complete(self.attempt.lease_id.as_ref(), false, at)?
        } else {
            self.attempt.fail(FailureCode::WorkspaceFailed, at)?
        };
        self.end_attempt(&mut change, Attempt { exit_code, ..done })?;
        if let Some(status) = task_after_run(self.run.status)
            && self.task.status.allowed(status)
        {
            change.replace(&self.task, &self.task.follow(status, at)?)?;
        }
        let data =
            json!({ "status": verdict.status.as_str(), "prEligibility": verdict.pr_eligibility.as_str() });
        self.event(&mut change, EventType::VerdictDecided, data, at)?;
        if self.run.status.is_terminal() {
            self.event(
                &mut change,
                EventType::RunCompleted,
                json!({ "status": self.run.status.as_str() }),
                at,
            )?;
        }
        change.change_lease(&Lease { status: LeaseStatus::Released, ..self.lease.clone() })?;
        self.supervision.store().commit(&change)?;
        Ok(self.run)
    }

    /// Begins a step.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn begin(&mut self, step_type: StepType, title: &str) -> Result<Stepping, ServiceError> {
        let at = now();
        let step = Step {
            id: StepId::new(fresh()),
            run_id: self.run.id.clone(),
            attempt_id: self.attempt.id.clone(),
            sequence_number: self.steps + 1,
            step_type,
            status: StepStatus::Started,
            title: title.to_owned(),
            started_at: at,
            ended_at: None,
            failure_code: None,
            tool_call_id: None,
            attributes: Map::new(),
            artifacts: Vec::new(),
        };
        let mut change = Change::new();
        change.insert(&step)?;
        self.step_event(&mut change, EventType::StepStarted, &step, at)?;
        self.commit(change)?;
        self.steps += 1;
        Ok(Stepping(step))
    }

    /// Ends a step.
    ///
    /// # Errors
    /// The lease is lost, or S-3: a failed step carries a code or an artifact.
    pub fn end(
        &mut self,
        step: Stepping,
        status: StepStatus,
        failure: Option<&str>,
        artifacts: &[ArtifactId],
    ) -> Result<(), ServiceError> {
        let at = now();
        let Stepping(begun) = step;
        let ended = Step { artifacts: artifacts.to_vec(), ..begun.clone() }.end(status, failure, at)?;
        let mut change = Change::new();
        change.replace(&begun, &ended)?;
        self.step_event(&mut change, EventType::StepEnded, &ended, at)?;
        self.commit(change)
    }

    /// Records a step that is over already, as the phases of the workflow are.
    ///
    /// # Errors
    /// The lease is lost.
    pub fn past_step(
        &mut self,
        step_type: StepType,
        title: &str,
        phase: &str,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Result<(), ServiceError> {
        let step = Step {
            id: StepId::new(fresh()),
            run_id: self.run.id.clone(),
            attempt_id: self.attempt.id.clone(),
            sequence_number: self.steps + 1,
            step_type,
            status: StepStatus::Succeeded,
            title: title.to_owned(),
            started_at,
            ended_at: Some(ended_at),
            failure_code: None,
            tool_call_id: None,
            attributes: Map::from_iter([("phase".to_owned(), json!(phase))]),
            artifacts: Vec::new(),
        };
        let mut change = Change::new();
        change.insert(&step)?;
        self.commit(change)?;
        self.steps += 1;
        Ok(())
    }

    fn step_event(
        &self,
        change: &mut Change,
        event_type: EventType,
        step: &Step,
        at: Timestamp,
    ) -> Result<(), ServiceError> {
        let data = Map::from_iter([
            ("type".to_owned(), json!(step.step_type.as_str())),
            ("status".to_owned(), json!(step.status.as_str())),
        ]);
        let mut event = self.supervision.event(event_type, Some(&self.run), Some(&self.attempt), data, at);
        event.step_id = Some(step.id.clone());
        change.event(&event)?;
        Ok(())
    }

    /// Stores an artifact that telic made (AR-1, AR-2): bytes first, then the record.
    ///
    /// # Errors
    /// The lease is lost, or the bytes cannot be stored.
    pub fn artifact(
        &mut self,
        artifact_type: RunArtifactType,
        media_type: &str,
        visibility: Visibility,
        step: Option<&Stepping>,
        bytes: &mut dyn Read,
    ) -> Result<RunArtifact, ServiceError> {
        let (sha256, size_bytes) = self.supervision.put(bytes)?;
        let id = ArtifactId::new(fresh());
        let artifact = RunArtifact {
            uri: format!("artifact://{}/{id}", self.run.id),
            id,
            run_id: self.run.id.clone(),
            attempt_id: Some(self.attempt.id.clone()),
            produced_by_step: step.map(|step| step.0.id.clone()),
            artifact_type,
            sha256,
            size_bytes,
            redaction_status: RedactionStatus::None,
            visibility,
            media_type: media_type.to_owned(),
            created_at: now(),
            metadata: Map::new(),
        };
        let mut change = Change::new();
        change.insert(&artifact)?;
        self.commit(change)?;
        Ok(artifact)
    }
}
