//! How a task moves (T-1 to T-4, T-6). Every move makes a new record; the old one is left as it was.

use super::approval::ApprovalDecision;
use super::error::{DomainCode, DomainError};
use super::policy::Reason;
use super::run::RunStatus;
use super::session::Source;
use super::task::{INSTRUCTION_LIMIT, Task, TaskStatus};
use super::time::Timestamp;
use crate::protocol::Commit;
use crate::text::{is_blank, units};

impl TaskStatus {
    /// Whether a task may move so (T-6).
    #[must_use]
    pub fn allowed(self, to: Self) -> bool {
        use TaskStatus::{
            Accepted, Archived, Cancelled, Completed, Draft, Failed, PolicyDenied, ReadyForRun, Running,
        };
        matches!(
            (self, to),
            (Draft, Accepted | Cancelled)
                | (Accepted, PolicyDenied | ReadyForRun | Cancelled)
                | (ReadyForRun, Running | Cancelled)
                | (Running, Completed | Failed | Cancelled | ReadyForRun)
                | (Completed | Failed | PolicyDenied | Cancelled, Archived)
                | (Completed | Failed, ReadyForRun)
        )
    }
}

/// What becomes of a task when its run comes to `status`; nothing while the run is on its way.
///
/// A cancelled run leaves its task failed, not cancelled, so that it can be run again; cancelling the task
/// itself is [`Task::cancel`].
#[must_use]
pub fn task_after_run(status: RunStatus) -> Option<TaskStatus> {
    match status {
        RunStatus::Completed => Some(TaskStatus::Completed),
        RunStatus::Failed | RunStatus::Expired | RunStatus::Cancelled => Some(TaskStatus::Failed),
        _ => None,
    }
}

/// What becomes of a task when a person decided about the run that waited for approval.
#[must_use]
pub fn task_after_approval(decision: ApprovalDecision) -> TaskStatus {
    match decision {
        ApprovalDecision::Approved => TaskStatus::Completed,
        ApprovalDecision::Rejected => TaskStatus::Failed,
        ApprovalDecision::ChangesRequested => TaskStatus::ReadyForRun,
    }
}

impl Task {
    /// Whether the instruction can be taken (T-1).
    ///
    /// # Errors
    /// `instruction_blank`, `instruction_too_long`.
    pub fn check_instruction(instruction: &str) -> Result<(), DomainError> {
        if is_blank(instruction) {
            let message = "the instruction is blank";
            return Err(DomainError::new(DomainCode::InstructionBlank, "T-1", message));
        }
        let length = units(instruction);
        if length > INSTRUCTION_LIMIT {
            let message =
                format!("the instruction has {length} units, at most {INSTRUCTION_LIMIT} are taken");
            return Err(DomainError::new(DomainCode::InstructionTooLong, "T-1", message));
        }
        Ok(())
    }

    fn moved(&self, to: TaskStatus, at: Timestamp) -> Result<Self, DomainError> {
        if !self.status.allowed(to) {
            return Err(DomainError::transition("T-6", &format!("task {}", self.id), self.status, to));
        }
        Ok(Self { status: to, updated_at: at, ..self.clone() })
    }

    /// Takes a draft.
    ///
    /// # Errors
    /// T-1, T-6.
    pub fn accept(&self, at: Timestamp) -> Result<Self, DomainError> {
        Self::check_instruction(&self.instruction)?;
        self.moved(TaskStatus::Accepted, at)
    }

    /// Denies an accepted task by policy (T-3).
    ///
    /// # Errors
    /// `reasons_missing` without a reason; T-6.
    pub fn deny(&self, reasons: Vec<Reason>, at: Timestamp) -> Result<Self, DomainError> {
        if reasons.is_empty() {
            let message = format!("task {} is denied without a reason", self.id);
            return Err(DomainError::new(DomainCode::ReasonsMissing, "T-3", message));
        }
        Ok(Self { denial_reasons: reasons, ..self.moved(TaskStatus::PolicyDenied, at)? })
    }

    /// Binds an accepted task to a repository and a commit (T-2). Only a task that an MCP host made by starting
    /// a run may lack the commit: its folder may be without git, and then it has no patch.
    ///
    /// # Errors
    /// `repository_unresolved`; T-6.
    pub fn ready(
        &self,
        repository: &str,
        base_commit: Option<Commit>,
        at: Timestamp,
    ) -> Result<Self, DomainError> {
        if repository.is_empty() || (base_commit.is_none() && self.source != Source::Mcp) {
            let message = format!("task {} has no repository with a base commit", self.id);
            return Err(DomainError::new(DomainCode::RepositoryUnresolved, "T-2", message));
        }
        if self.status != TaskStatus::Accepted {
            let to = TaskStatus::ReadyForRun;
            return Err(DomainError::transition("T-6", &format!("task {}", self.id), self.status, to));
        }
        let repository = Some(repository.to_owned());
        Ok(Self { repository, base_commit, ..self.moved(TaskStatus::ReadyForRun, at)? })
    }

    /// A run of it begins.
    ///
    /// # Errors
    /// T-6.
    pub fn start_run(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(TaskStatus::Running, at)
    }

    /// Its run did what was asked.
    ///
    /// # Errors
    /// T-6.
    pub fn complete(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(TaskStatus::Completed, at)
    }

    /// Its run did not.
    ///
    /// # Errors
    /// T-6.
    pub fn fail(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(TaskStatus::Failed, at)
    }

    /// A re-run was asked for.
    ///
    /// # Errors
    /// T-6; an accepted task becomes ready by [`Task::ready`] only.
    pub fn run_again(&self, at: Timestamp) -> Result<Self, DomainError> {
        if self.status == TaskStatus::Accepted {
            let to = TaskStatus::ReadyForRun;
            return Err(DomainError::transition("T-2", &format!("task {}", self.id), self.status, to));
        }
        self.moved(TaskStatus::ReadyForRun, at)
    }

    /// A person cancelled it (T-4): no new run is scheduled, and the caller cancels the live one.
    ///
    /// # Errors
    /// T-6.
    pub fn cancel(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(TaskStatus::Cancelled, at)
    }

    /// Puts it away.
    ///
    /// # Errors
    /// T-6.
    pub fn archive(&self, at: Timestamp) -> Result<Self, DomainError> {
        self.moved(TaskStatus::Archived, at)
    }

    /// Moves it to what its run or its approval says; staying where it is already is no move.
    ///
    /// # Errors
    /// T-6.
    pub fn follow(&self, to: TaskStatus, at: Timestamp) -> Result<Self, DomainError> {
        if self.status == to { Ok(self.clone()) } else { self.moved(to, at) }
    }

    /// Whether a new run may be scheduled (T-4, R-2).
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.status == TaskStatus::ReadyForRun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples;

    fn at() -> Timestamp {
        samples::time(9)
    }

    fn task(status: TaskStatus) -> Task {
        Task { status, ..samples::task() }
    }

    #[test]
    fn t_6_every_pair_of_statuses_is_legal_or_not_as_listed() {
        let listed = "DRAFT->ACCEPTED|CANCELLED; ACCEPTED->POLICY_DENIED|READY_FOR_RUN|CANCELLED; \
            READY_FOR_RUN->RUNNING|CANCELLED; RUNNING->COMPLETED|FAILED|CANCELLED|READY_FOR_RUN; \
            COMPLETED->ARCHIVED|READY_FOR_RUN; FAILED->ARCHIVED|READY_FOR_RUN; POLICY_DENIED->ARCHIVED; \
            CANCELLED->ARCHIVED; ARCHIVED->";
        let mut legal = 0;
        for row in listed.split("; ") {
            let (from, to) = row.split_once("->").unwrap();
            let from: TaskStatus = from.parse().unwrap();
            for target in TaskStatus::ALL {
                let expected = to.split('|').any(|word| word == target.as_str());
                assert_eq!(from.allowed(*target), expected, "{from} -> {target}");
                legal += usize::from(expected);
            }
        }
        assert_eq!(legal, 17);
        assert_eq!(listed.split("; ").count(), TaskStatus::ALL.len());
    }

    #[test]
    fn t_6_every_named_move_obeys_the_table() {
        type Move = fn(&Task) -> Result<Task, DomainError>;
        let moves: [(TaskStatus, Move); 8] = [
            (TaskStatus::Accepted, |t| t.accept(at())),
            (TaskStatus::PolicyDenied, |t| t.deny(vec![Reason::new("x", "y")], at())),
            (TaskStatus::Running, |t| t.start_run(at())),
            (TaskStatus::Completed, |t| t.complete(at())),
            (TaskStatus::Failed, |t| t.fail(at())),
            (TaskStatus::Cancelled, |t| t.cancel(at())),
            (TaskStatus::Archived, |t| t.archive(at())),
            (TaskStatus::Archived, |t| t.follow(TaskStatus::Archived, at())),
        ];
        for (index, (to, step)) in moves.iter().enumerate() {
            for from in TaskStatus::ALL {
                let stays = index == 7 && from == to;
                match step(&task(*from)) {
                    Ok(moved) => {
                        assert!(stays || from.allowed(*to), "{from} -> {to} was let through");
                        assert_eq!(moved.status, *to);
                    }
                    Err(error) => {
                        assert!(!from.allowed(*to), "{from} -> {to} was refused: {error}");
                        assert_eq!((error.code(), error.rule), ("transition_not_allowed", "T-6"));
                    }
                }
            }
        }
    }

    #[test]
    fn t_1_a_blank_or_endless_instruction_is_refused() {
        for (text, code) in [
            ("", "instruction_blank"),
            (" \u{feff}\n", "instruction_blank"),
            (&*"a".repeat(32_769), "instruction_too_long"),
            (&*"𝒳".repeat(16_385), "instruction_too_long"),
        ] {
            let draft = Task { instruction: text.to_owned(), ..task(TaskStatus::Draft) };
            let error = draft.accept(at()).unwrap_err();
            assert_eq!((error.code(), error.rule), (code, "T-1"));
        }
        let longest = Task { instruction: "𝒳".repeat(16_384), ..task(TaskStatus::Draft) };
        assert_eq!(longest.accept(at()).unwrap().status, TaskStatus::Accepted);
    }

    #[test]
    fn t_2_a_task_is_not_ready_without_repository_and_base_commit() {
        let accepted = task(TaskStatus::Accepted);
        for (repository, commit) in [("/r", None), ("", Some(samples::commit(1))), ("", None)] {
            let error = accepted.ready(repository, commit, at()).unwrap_err();
            assert_eq!((error.code(), error.rule), ("repository_unresolved", "T-2"));
        }
        let ready = accepted.ready("/r", Some(samples::commit(1)), at()).unwrap();
        assert_eq!((ready.repository.as_deref(), ready.may_run()), (Some("/r"), true));
        assert!(accepted.run_again(at()).is_err(), "an accepted task becomes ready only when it is bound");
    }

    #[test]
    fn t_2_a_host_in_a_folder_without_git_has_no_base_commit() {
        let hosted = Task { source: Source::Mcp, ..task(TaskStatus::Accepted) };
        assert_eq!(hosted.ready("/r", None, at()).unwrap().base_commit, None);
    }

    #[test]
    fn t_3_a_denied_task_carries_reasons() {
        let accepted = task(TaskStatus::Accepted);
        assert_eq!(accepted.deny(Vec::new(), at()).unwrap_err().rule, "T-3");
        let denied = accepted.deny(vec![Reason::new("mode_denied", "no")], at()).unwrap();
        assert_eq!(denied.denial_reasons[0].code, "mode_denied");
    }

    #[test]
    fn t_4_no_run_is_scheduled_for_a_cancelled_task() {
        let cancelled = task(TaskStatus::Running).cancel(at()).unwrap();
        assert!(!cancelled.may_run());
        assert!(cancelled.run_again(at()).is_err());
    }

    #[test]
    fn a_run_that_ended_and_a_decision_say_where_the_task_goes() {
        for status in RunStatus::ALL {
            let after = task_after_run(*status);
            assert_eq!(after.is_some(), status.is_terminal(), "{status}");
            assert!(after.is_none_or(|to| TaskStatus::Running.allowed(to)));
        }
        for decision in ApprovalDecision::ALL {
            assert!(TaskStatus::Running.allowed(task_after_approval(*decision)), "{decision}");
        }
        assert_eq!(task_after_approval(ApprovalDecision::ChangesRequested), TaskStatus::ReadyForRun);
    }
}
