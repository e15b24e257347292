//! Why a record may not move: a stable code and the rule that says so.

use super::words::words;

words! {
    /// What is wrong. The words are never reused for something else.
    pub enum DomainCode {
        TransitionNotAllowed = "transition_not_allowed",
        InstructionBlank = "instruction_blank",
        InstructionTooLong = "instruction_too_long",
        RepositoryUnresolved = "repository_unresolved",
        ReasonsMissing = "reasons_missing",
        TaskNotReady = "task_not_ready",
        TaskDenied = "task_denied",
        TaskMismatch = "task_mismatch",
        RunMismatch = "run_mismatch",
        BaseCommitMissing = "base_commit_missing",
        SpecFrozen = "spec_frozen",
        SpecMismatch = "spec_mismatch",
        VerdictMissing = "verdict_missing",
        VerdictMismatch = "verdict_mismatch",
        NotPaused = "not_paused",
        AlreadyPublished = "already_published",
        AttemptLive = "attempt_live",
        AttemptsSpent = "attempts_spent",
        LeaseStale = "lease_stale",
        SequenceGap = "sequence_gap",
        FailureUnexplained = "failure_unexplained",
        ToolCallMissing = "tool_call_missing",
        AttributeTooLarge = "attribute_too_large",
        CallDenied = "call_denied",
        CallUndecided = "call_undecided",
        CallClosed = "call_closed",
        DigestMismatch = "digest_mismatch",
        NotApprovable = "not_approvable",
        CommentMissing = "comment_missing",
        ActorMissing = "actor_missing",
        RequestClosed = "request_closed",
        ChoiceUnknown = "choice_unknown",
        PolicyInvalid = "policy_invalid",
        PatternInvalid = "pattern_invalid",
    }
}

/// A refusal: what is wrong, by which rule, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({rule})")]
pub struct DomainError {
    /// What is wrong.
    pub code: DomainCode,
    /// The rule, as `T-6`.
    pub rule: &'static str,
    /// One sentence that names what and where.
    pub message: String,
}

impl DomainError {
    /// A refusal.
    #[must_use]
    pub fn new(code: DomainCode, rule: &'static str, message: impl Into<String>) -> Self {
        Self { code, rule, message: message.into() }
    }

    /// The refusal of a move between two statuses.
    pub(crate) fn transition(
        rule: &'static str,
        what: &str,
        from: impl std::fmt::Display,
        to: impl std::fmt::Display,
    ) -> Self {
        let message = format!("{what} cannot move from {from} to {to}");
        Self::new(DomainCode::TransitionNotAllowed, rule, message)
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code.as_str()
    }
}
