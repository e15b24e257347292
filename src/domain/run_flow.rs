//! How a run moves. Every move makes a new record; who may make it, and with which facts, is in
//! its signature, so that no caller can set a status by hand.

use super::error::{DomainCode, DomainError};
use super::ids::{RunId, VerdictId};
use super::policy::PolicyDecision;
use super::run::{BudgetUse, PublicationStatus, Run, RunStatus, WorkspaceState};
use super::task::Task;
use super::time::Timestamp;
use super::verdict::{PrEligibility, Verdict, VerdictStatus};
use crate::protocol::Sha256;

impl RunStatus {
    /// Whether a run may move so. Staying in `RUNNING_AGENT` is a move: its attempt ends, paused.
    #[must_use]
    pub fn allowed(self, to: Self) -> bool {
        use RunStatus::{
            Cancelled, Completed, Created, Expired, Failed, Judging, Leased, NeedsApproval,
            PreparingWorkspace, Queued, RunningAgent, Verifying,
        };
        match (self, to) {
            (Created | Leased | PreparingWorkspace | RunningAgent | Verifying | Judging, Queued)
            | (Queued, Leased)
            | (Leased, PreparingWorkspace)
            | (PreparingWorkspace, RunningAgent | Failed)
            | (RunningAgent, RunningAgent | Verifying | Failed | Expired)
            | (Verifying, Judging | Failed)
            | (Judging, NeedsApproval | Completed | Failed)
            | (NeedsApproval, Completed | Verifying)
            | (Completed, Verifying) => true,
            (from, Cancelled) => !from.is_terminal(),
            _ => false,
        }
    }
}

/// Where a run can lose its worker; what was verified or judged until then is done again.
const WORKED_ON: [RunStatus; 4] =
    [RunStatus::PreparingWorkspace, RunStatus::RunningAgent, RunStatus::Verifying, RunStatus::Judging];

/// Where the verdict sends a run that is being judged.
#[must_use]
pub fn run_after_verdict(status: VerdictStatus, eligibility: PrEligibility) -> RunStatus {
    match (status, eligibility) {
        (VerdictStatus::Cancelled, _) => RunStatus::Cancelled,
        // Nothing is known to be good about an inconclusive run, so it does not count as done.
        (VerdictStatus::Inconclusive, _) => RunStatus::Failed,
        (status, _) if status.is_failure() => RunStatus::Failed,
        (_, PrEligibility::EligibleAfterHumanApproval) => RunStatus::NeedsApproval,
        _ => RunStatus::Completed,
    }
}

impl Run {
    /// Makes a run of a task for the engine to carry out.
    ///
    /// # Errors
    /// R-2 for a task that is denied or not ready.
    pub fn create(
        id: RunId,
        task: &Task,
        decision: PolicyDecision,
        agent: Option<String>,
        at: Timestamp,
    ) -> Result<Self, DomainError> {
        if !decision.allowed {
            let message = format!("task {} is denied by policy", task.id);
            return Err(DomainError::new(DomainCode::TaskDenied, "R-2", message));
        }
        if !task.may_run() {
            let message = format!("task {} is {}, not READY_FOR_RUN", task.id, task.status);
            return Err(DomainError::new(DomainCode::TaskNotReady, "R-2", message));
        }
        Ok(Self {
            id,
            task_id: task.id.clone(),
            previous_run_id: None,
            repository: task.repository.clone().unwrap_or_default(),
            base_ref: task.base_ref.clone(),
            base_commit: task.base_commit.clone(),
            mode: task.mode,
            agent,
            host_driven: false,
            status: RunStatus::Created,
            paused: false,
            policy_decision: Some(decision),
            execution_spec_sha256: None,
            attempts_used: 0,
            budget_use: BudgetUse::default(),
            budget_extensions: Vec::new(),
            workspace_state: WorkspaceState::None,
            patch_id: None,
            verdict_id: None,
            publication: None,
            failure_code: None,
            created_at: at,
            updated_at: at,
            ended_at: None,
        })
    }

    /// Makes a run that a host drives in the repository itself: it starts in `RUNNING_AGENT` with one attempt.
    ///
    /// # Errors
    /// R-2, as [`Run::create`].
    pub fn create_host_driven(
        id: RunId,
        task: &Task,
        decision: PolicyDecision,
        execution_spec: Sha256,
        at: Timestamp,
    ) -> Result<Self, DomainError> {
        Ok(Self {
            host_driven: true,
            status: RunStatus::RunningAgent,
            execution_spec_sha256: Some(execution_spec),
            attempts_used: 1,
            ..Self::create(id, task, decision, None, at)?
        })
    }

    fn moved(&self, to: RunStatus, at: Timestamp) -> Result<Self, DomainError> {
        if !self.status.allowed(to) {
            return Err(self.no_way(to));
        }
        let ended_at = to.is_terminal().then_some(at);
        Ok(Self { status: to, updated_at: at, ended_at, paused: false, ..self.clone() })
    }

    fn no_way(&self, to: RunStatus) -> DomainError {
        DomainError::transition("run transitions", &format!("run {}", self.id), self.status, to)
    }

    /// Refuses a move that is legal from another status too, but not as this step.
    fn expect(&self, from: &[RunStatus], to: RunStatus) -> Result<(), DomainError> {
        if from.contains(&self.status) { Ok(()) } else { Err(self.no_way(to)) }
    }

    /// Puts it into the queue: the base commit is bound, the spec frozen.
    ///
    /// # Errors
    /// `base_commit_missing`, `spec_frozen`, or no such transition.
    pub fn queue(&self, execution_spec: Sha256, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::Created], RunStatus::Queued)?;
        if self.base_commit.is_none() {
            let message = format!("run {} has no base commit", self.id);
            return Err(DomainError::new(DomainCode::BaseCommitMissing, "R-4", message));
        }
        if self.execution_spec_sha256.as_ref().is_some_and(|frozen| *frozen != execution_spec) {
            let message = format!("run {} already has another execution spec", self.id);
            return Err(DomainError::new(DomainCode::SpecFrozen, "R-3", message));
        }
        Ok(Self { execution_spec_sha256: Some(execution_spec), ..self.moved(RunStatus::Queued, at)? })
    }

    /// A worker took the lease; that is one more attempt.
    ///
    /// # Errors
    /// No such transition.
    pub fn lease(&self, at: Timestamp) -> Result<Self, DomainError> {
        let attempts_used = self.attempts_used.saturating_add(1);
        Ok(Self { attempts_used, ..self.moved(RunStatus::Leased, at)? })
    }

    /// The lease ran out before the worktree was begun.
    ///
    /// # Errors
    /// No such transition.
    pub fn lease_ran_out(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::Leased], RunStatus::Queued)?;
        self.moved(RunStatus::Queued, at)
    }

    /// The worktree is begun.
    ///
    /// # Errors
    /// No such transition.
    pub fn prepare(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(RunStatus::PreparingWorkspace, at)
    }

    /// The workspace is ready and the agent starts.
    ///
    /// # Errors
    /// No such transition.
    pub fn start_agent(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::PreparingWorkspace], RunStatus::RunningAgent)?;
        Ok(Self { workspace_state: WorkspaceState::Ready, ..self.moved(RunStatus::RunningAgent, at)? })
    }

    /// Infrastructure failed, or the worker was lost: back to the queue with attempts left.
    ///
    /// # Errors
    /// `attempts_spent` when none is left; no such transition.
    pub fn requeue(&self, attempts_allowed: u32, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&WORKED_ON, RunStatus::Queued)?;
        if self.attempts_used >= attempts_allowed {
            let message = format!("run {} used all of its {attempts_allowed} attempts", self.id);
            return Err(DomainError::new(DomainCode::AttemptsSpent, "A-4", message));
        }
        self.moved(RunStatus::Queued, at)
    }

    /// Infrastructure failed and no attempt is left; the verdict says so.
    ///
    /// # Errors
    /// `verdict_mismatch`; no such transition.
    pub fn fail(&self, failure_code: &str, verdict: &Verdict, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&WORKED_ON, RunStatus::Failed)?;
        let failure_code = Some(failure_code.to_owned());
        Ok(Self { failure_code, ..self.ended(RunStatus::Failed, verdict, at)? })
    }

    /// A budget is spent and the person ended the run instead of extending it.
    ///
    /// # Errors
    /// `verdict_mismatch`; no such transition.
    pub fn expire(&self, verdict: &Verdict, at: Timestamp) -> Result<Self, DomainError> {
        let failure_code = Some("budget_exhausted".to_owned());
        Ok(Self { failure_code, ..self.ended(RunStatus::Expired, verdict, at)? })
    }

    /// The agent exited while the workflow waits for a person: no attempt is active, no lease is held.
    ///
    /// # Errors
    /// No such transition.
    pub fn pause(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::RunningAgent], RunStatus::RunningAgent)?;
        Ok(Self { paused: true, ..self.moved(RunStatus::RunningAgent, at)? })
    }

    /// The answer came and the workflow resumed. The next attempt goes on from it and is not a retry.
    ///
    /// # Errors
    /// `not_paused`; no such transition.
    pub fn resume(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::RunningAgent], RunStatus::Queued)?;
        if !self.paused {
            let message = format!("run {} does not wait for an answer", self.id);
            return Err(DomainError::new(DomainCode::NotPaused, "run transitions", message));
        }
        // Waiting for a person is no failure: the attempt that ended so is given back.
        let attempts_used = self.attempts_used.saturating_sub(1);
        Ok(Self { attempts_used, ..self.moved(RunStatus::Queued, at)? })
    }

    /// The workflow is terminal, or the agent gave up its open phase with no attempt left.
    ///
    /// # Errors
    /// No such transition.
    pub fn verify(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::RunningAgent], RunStatus::Verifying)?;
        self.moved(RunStatus::Verifying, at)
    }

    /// The verification report is stored, or there was nothing to verify.
    ///
    /// # Errors
    /// No such transition.
    pub fn judge(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(RunStatus::Judging, at)
    }

    /// The verdict is decided: the run waits for approval, is done, or failed.
    ///
    /// # Errors
    /// `verdict_mismatch`; no such transition.
    pub fn decide(&self, verdict: &Verdict, at: Timestamp) -> Result<Self, DomainError> {
        let to = run_after_verdict(verdict.status, verdict.pr_eligibility);
        if to != RunStatus::Cancelled {
            self.expect(&[RunStatus::Judging], to)?;
        }
        let failure_code = (to == RunStatus::Failed).then(|| verdict.status.as_str().to_ascii_lowercase());
        Ok(Self { failure_code, ..self.ended(to, verdict, at)? })
    }

    /// A person decided about it: approved, rejected or changes requested all complete the run.
    ///
    /// # Errors
    /// No such transition.
    pub fn decided_by_person(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::NeedsApproval], RunStatus::Completed)?;
        self.moved(RunStatus::Completed, at)
    }

    /// A re-check was asked for since something the approval binds has changed. The old verdict stays named
    /// until a new one supersedes it (VD-4).
    ///
    /// # Errors
    /// `already_published`; no such transition.
    pub fn recheck(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.expect(&[RunStatus::NeedsApproval, RunStatus::Completed], RunStatus::Verifying)?;
        let published = self.publication.as_ref().map(|publication| publication.status);
        if published.is_some_and(PublicationStatus::is_out) {
            let message = format!("run {} is published already", self.id);
            return Err(DomainError::new(DomainCode::AlreadyPublished, "run transitions", message));
        }
        self.moved(RunStatus::Verifying, at)
    }

    /// A person cancelled it; the verdict says so.
    ///
    /// # Errors
    /// `verdict_mismatch`; no such transition for a run that has ended.
    pub fn cancel(&self, verdict: &Verdict, at: Timestamp) -> Result<Self, DomainError> {
        let failure_code = Some("cancelled".to_owned());
        Ok(Self { failure_code, ..self.ended(RunStatus::Cancelled, verdict, at)? })
    }

    fn ended(&self, to: RunStatus, verdict: &Verdict, at: Timestamp) -> Result<Self, DomainError> {
        if verdict.run_id != self.id || run_after_verdict(verdict.status, verdict.pr_eligibility) != to {
            // An expired run's verdict is a failed one; the difference is the run's, not the verdict's.
            let expires = to == RunStatus::Expired && verdict.status.is_failure();
            if verdict.run_id != self.id || !expires {
                let message = format!(
                    "verdict {} ({}) of run {} cannot bring run {} to {to}",
                    verdict.id, verdict.status, verdict.run_id, self.id
                );
                return Err(DomainError::new(DomainCode::VerdictMismatch, "R-5", message));
            }
        }
        let verdict_id = Some(verdict.id.clone());
        Ok(Self { verdict_id, ..self.moved(to, at)? })
    }

    /// Whether the record keeps the rules that hold at any moment; for reading what some other program wrote.
    ///
    /// # Errors
    ///
    pub fn check(&self) -> Result<(), DomainError> {
        if self.status.is_terminal() && self.verdict_id.is_none() {
            let message = format!("run {} is {} without a verdict", self.id, self.status);
            return Err(DomainError::new(DomainCode::VerdictMissing, "R-5", message));
        }
        let bound = self.base_commit.is_some() || self.host_driven || self.status == RunStatus::Created;
        if !bound {
            let message = format!("run {} is {} without a base commit", self.id, self.status);
            return Err(DomainError::new(DomainCode::BaseCommitMissing, "R-4", message));
        }
        Ok(())
    }

    /// The verdict that a new one has to name as superseded.
    #[must_use]
    pub fn superseded_by_next(&self) -> Option<&VerdictId> {
        self.verdict_id.as_ref()
    }
}

impl PublicationStatus {
    /// Whether something has left the machine.
    #[must_use]
    pub fn is_out(self) -> bool {
        matches!(self, Self::Pushed | Self::Created)
    }
}
