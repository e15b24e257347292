//! How steps, tool calls, artifacts and requests move (S-1 to S-5, TC-1 to TC-3, AR-1).

use super::artifact::RunArtifact;
use super::error::{DomainCode, DomainError};
use super::request::{Request, RequestStatus};
use super::step::{ATTRIBUTE_LIMIT, Step, StepStatus, StepType};
use super::time::Timestamp;
use super::tool_call::{CallDecision, CallResult, ToolCall};
use crate::protocol::Sha256;

impl StepStatus {
    /// Whether a step may move so: from `STARTED` to one other (S-2).
    #[must_use]
    pub fn allowed(self, to: Self) -> bool {
        self == Self::Started && to != Self::Started
    }
}

/// The number of the next step of an attempt whose last step has `last` (S-1).
#[must_use]
pub fn next_sequence(last: Option<u32>) -> u32 {
    last.unwrap_or(0).saturating_add(1)
}

impl Step {
    /// Whether a step may be stored after `last`, the attempt's last number so far.
    ///
    /// # Errors
    /// S-1 for a gap, S-3, S-4 and S-5 for what the record lacks or holds too much of.
    pub fn check(&self, last: Option<u32>) -> Result<(), DomainError> {
        let wanted = next_sequence(last);
        if self.sequence_number != wanted {
            let message =
                format!("step {} has number {}, the next one is {wanted}", self.id, self.sequence_number);
            return Err(DomainError::new(DomainCode::SequenceGap, "S-1", message));
        }
        if self.step_type == StepType::ToolCall && self.tool_call_id.is_none() {
            let message = format!("step {} is a tool call and names none", self.id);
            return Err(DomainError::new(DomainCode::ToolCallMissing, "S-4", message));
        }
        self.check_contents()
    }

    fn check_contents(&self) -> Result<(), DomainError> {
        if self.status == StepStatus::Failed && self.failure_code.is_none() && self.artifacts.is_empty() {
            let message = format!("step {} failed without a code or an artifact", self.id);
            return Err(DomainError::new(DomainCode::FailureUnexplained, "S-3", message));
        }
        for (key, value) in &self.attributes {
            let size = value.as_str().map_or_else(|| value.to_string().len(), str::len);
            if size > ATTRIBUTE_LIMIT {
                let message = format!(
                    "attribute {key} of step {} has {size} bytes, over {ATTRIBUTE_LIMIT} it is an artifact",
                    self.id
                );
                return Err(DomainError::new(DomainCode::AttributeTooLarge, "S-5", message));
            }
        }
        Ok(())
    }

    /// Ends a step.
    ///
    /// # Errors
    /// S-2, S-3, S-5.
    pub fn end(
        &self,
        to: StepStatus,
        failure_code: Option<&str>,
        at: Timestamp,
    ) -> Result<Self, DomainError> {
        if !self.status.allowed(to) {
            return Err(DomainError::transition("S-2", &format!("step {}", self.id), self.status, to));
        }
        let failure_code = failure_code.map(str::to_owned);
        let ended = Self { status: to, failure_code, ended_at: Some(at), ..self.clone() };
        ended.check_contents()?;
        Ok(ended)
    }
}

impl ToolCall {
    /// Whether the call may be carried out now (TC-2, TC-3).
    ///
    /// # Errors
    /// `call_denied`, `call_undecided` while a person is asked, `call_closed` once it ended.
    pub fn check_runnable(&self) -> Result<(), DomainError> {
        if self.completed_at.is_some() {
            let message = format!("tool call {} has ended", self.id);
            return Err(DomainError::new(DomainCode::CallClosed, "TC-2", message));
        }
        match self.decision {
            CallDecision::Allowed => Ok(()),
            CallDecision::RequiresApproval => {
                let message = format!("tool call {} waits for a person", self.id);
                Err(DomainError::new(DomainCode::CallUndecided, "TC-2", message))
            }
            denied => {
                let message = format!("tool call {} is {denied}", self.id);
                Err(DomainError::new(DomainCode::CallDenied, "TC-3", message))
            }
        }
    }

    /// A person answered the request that the call waits for.
    ///
    /// # Errors
    /// `call_closed` when it does not wait.
    pub fn answered(&self, allowed: bool, reason: &str, at: Timestamp) -> Result<Self, DomainError> {
        if self.decision != CallDecision::RequiresApproval || self.completed_at.is_some() {
            let message = format!("tool call {} does not wait for a person", self.id);
            return Err(DomainError::new(DomainCode::CallClosed, "TC-2", message));
        }
        let mut call = self.clone();
        if allowed {
            call.decision = CallDecision::Allowed;
        } else {
            call.decision = CallDecision::DeniedByPolicy;
            call.denial_reason = Some(reason.to_owned());
            call.completed_at = Some(at);
        }
        Ok(call)
    }

    /// It was carried out.
    ///
    /// # Errors
    /// As [`ToolCall::check_runnable`].
    pub fn complete(&self, result: CallResult, at: Timestamp) -> Result<Self, DomainError> {
        self.check_runnable()?;
        Ok(Self { result: Some(result), completed_at: Some(at), ..self.clone() })
    }
}

impl RunArtifact {
    /// Whether the bytes that are there are those that the record names (AR-1).
    ///
    /// # Errors
    /// `digest_mismatch`.
    pub fn check_bytes(&self, sha256: &Sha256, size: u64) -> Result<(), DomainError> {
        if self.sha256 == *sha256 && self.size_bytes == size {
            return Ok(());
        }
        let message = format!("artifact {} is {} but its bytes are {sha256}", self.id, self.sha256);
        Err(DomainError::new(DomainCode::DigestMismatch, "AR-1", message))
    }
}

impl Request {
    /// Takes a person's answer. An answer to a closed or superseded request is refused, and so is a choice
    /// that was not offered; free text is taken where no choices are offered.
    ///
    /// # Errors
    /// `request_closed`, `choice_unknown`, `actor_missing`.
    pub fn answer(&self, choice: &str, actor: &str, at: Timestamp) -> Result<Self, DomainError> {
        let rule = "silence is never consent";
        if actor.trim().is_empty() {
            let message = format!("request {} is answered by nobody", self.id);
            return Err(DomainError::new(DomainCode::ActorMissing, rule, message));
        }
        let closed = self.close(RequestStatus::Answered, actor, at)?;
        if !self.choices.is_empty() && self.choices.iter().all(|offered| offered.id != choice) {
            let message = format!("request {} offers no choice {choice:?}", self.id);
            return Err(DomainError::new(DomainCode::ChoiceUnknown, rule, message));
        }
        Ok(Self { answer: Some(choice.to_owned()), ..closed })
    }

    /// Closes it without an answer: withdrawn, expired, cancelled or superseded.
    ///
    /// # Errors
    /// `request_closed`.
    pub fn close(&self, to: RequestStatus, actor: &str, at: Timestamp) -> Result<Self, DomainError> {
        if self.status != RequestStatus::Open || to == RequestStatus::Open {
            let message = format!("request {} is {} already", self.id, self.status);
            return Err(DomainError::new(DomainCode::RequestClosed, "silence is never consent", message));
        }
        Ok(Self { status: to, actor: Some(actor.to_owned()), closed_at: Some(at), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples::{run_id, sha, time, ulid};
    use crate::domain::{
        ArtifactId, AttemptId, CallId, RedactionStatus, RequestChoice, RequestId, RequestKind,
        RunArtifactType, StepId, Visibility,
    };
    use serde_json::Map;

    fn step(status: StepStatus) -> Step {
        Step {
            id: StepId::new(ulid(10)),
            run_id: run_id(),
            attempt_id: AttemptId::new(ulid(4)),
            sequence_number: 1,
            step_type: StepType::RunVerifier,
            status,
            title: "mvn-test".to_owned(),
            started_at: time(5),
            ended_at: None,
            failure_code: None,
            tool_call_id: None,
            attributes: Map::new(),
            artifacts: Vec::new(),
        }
    }

    fn call(decision: CallDecision) -> ToolCall {
        ToolCall {
            id: CallId::new(ulid(11)),
            run_id: run_id(),
            step_id: StepId::new(ulid(10)),
            tool_name: "telic_run_command".to_owned(),
            arguments_json: "{}".to_owned(),
            decision,
            denial_reason: None,
            result: None,
            requested_at: time(5),
            completed_at: None,
        }
    }

    fn request(choices: &[&str]) -> Request {
        Request {
            id: RequestId::new(ulid(12)),
            run_id: run_id(),
            kind: RequestKind::ToolCall,
            status: RequestStatus::Open,
            question: "Run it?".to_owned(),
            subject: "cargo test".to_owned(),
            choices: choices
                .iter()
                .map(|id| RequestChoice {
                    id: (*id).to_owned(),
                    label: String::new(),
                    consequence: String::new(),
                })
                .collect(),
            tool_call_id: None,
            answer: None,
            actor: None,
            created_at: time(5),
            closed_at: None,
        }
    }

    #[test]
    fn s_1_steps_are_numbered_from_one_without_gaps() {
        let numbered = |n| Step { sequence_number: n, ..step(StepStatus::Started) };
        assert!(numbered(1).check(None).is_ok());
        assert!(numbered(8).check(Some(7)).is_ok());
        for (number, last) in [(2, None), (0, None), (7, Some(7)), (9, Some(7))] {
            assert_eq!(numbered(number).check(last).unwrap_err().rule, "S-1", "{number} after {last:?}");
        }
    }

    #[test]
    fn s_2_a_step_moves_only_from_started_and_only_once() {
        for from in StepStatus::ALL {
            for to in StepStatus::ALL {
                let expected = *from == StepStatus::Started && *to != StepStatus::Started;
                assert_eq!(from.allowed(*to), expected);
                let ended = step(*from).end(*to, Some("x"), time(6));
                assert_eq!(ended.is_ok(), expected, "{from} -> {to}");
                assert_eq!(ended.err().map_or("S-2", |error| error.rule), "S-2");
            }
        }
    }

    #[test]
    fn s_3_a_failed_step_says_why() {
        let started = step(StepStatus::Started);
        assert_eq!(started.end(StepStatus::Failed, None, time(6)).unwrap_err().rule, "S-3");
        let logged = Step { artifacts: vec![ArtifactId::new(ulid(13))], ..started };
        assert!(logged.end(StepStatus::Failed, None, time(6)).is_ok());
    }

    #[test]
    fn s_4_a_tool_call_step_names_its_call() {
        let mut tool = Step { step_type: StepType::ToolCall, ..step(StepStatus::Started) };
        assert_eq!(tool.check(None).unwrap_err().rule, "S-4");
        tool.tool_call_id = Some(CallId::new(ulid(11)));
        assert!(tool.check(None).is_ok());
    }

    #[test]
    fn s_5_output_over_4_kib_is_no_attribute() {
        let mut noisy = step(StepStatus::Started);
        noisy.attributes.insert("tail".to_owned(), "x".repeat(4_096).into());
        assert!(noisy.check(None).is_ok());
        noisy.attributes.insert("tail".to_owned(), "x".repeat(4_097).into());
        assert_eq!(noisy.check(None).unwrap_err().rule, "S-5");
    }

    #[test]
    fn tc_2_tc_3_only_an_allowed_call_is_carried_out_and_only_once() {
        let result = CallResult { exit_code: Some(0), artifacts: Vec::new(), summary: String::new() };
        for decision in CallDecision::ALL {
            let done = call(*decision).complete(result.clone(), time(6));
            match decision {
                CallDecision::Allowed => {
                    let done = done.unwrap();
                    assert_eq!(done.complete(result.clone(), time(7)).unwrap_err().code(), "call_closed");
                }
                CallDecision::RequiresApproval => assert_eq!(done.unwrap_err().code(), "call_undecided"),
                _ => assert_eq!(done.unwrap_err().code(), "call_denied"),
            }
        }
    }

    #[test]
    fn a_call_that_waits_runs_after_a_yes_and_never_after_a_no() {
        let waiting = call(CallDecision::RequiresApproval);
        assert!(waiting.answered(true, "", time(6)).unwrap().check_runnable().is_ok());
        let refused = waiting.answered(false, "not now", time(6)).unwrap();
        assert_eq!(refused.denial_reason.as_deref(), Some("not now"));
        assert!(refused.check_runnable().is_err());
        assert!(refused.answered(true, "", time(7)).is_err());
        assert!(call(CallDecision::DeniedByPathGuard).answered(true, "", time(7)).is_err());
    }

    #[test]
    fn ar_1_bytes_that_do_not_match_are_rejected() {
        let artifact = RunArtifact {
            id: ArtifactId::new(ulid(13)),
            run_id: run_id(),
            attempt_id: None,
            produced_by_step: None,
            artifact_type: RunArtifactType::CommandLog,
            uri: "telic://log".to_owned(),
            sha256: sha(1),
            size_bytes: 3,
            redaction_status: RedactionStatus::None,
            visibility: Visibility::InternalOnly,
            media_type: "text/plain".to_owned(),
            created_at: time(6),
            metadata: Map::new(),
        };
        assert!(artifact.check_bytes(&sha(1), 3).is_ok());
        assert_eq!(artifact.check_bytes(&sha(2), 3).unwrap_err().rule, "AR-1");
        assert_eq!(artifact.check_bytes(&sha(1), 4).unwrap_err().code(), "digest_mismatch");
        let open: Vec<_> = Visibility::ALL.iter().filter(|v| v.may_leave()).map(|v| v.as_str()).collect();
        assert_eq!(open, ["SAFE_FOR_PR", "SAFE_FOR_PUBLIC_LOG"], "AR-3");
    }

    #[test]
    fn a_request_is_closed_once_and_its_four_ends_differ() {
        let open = request(&["once", "always", "no"]);
        let answered = open.answer("once", "dev", time(6)).unwrap();
        assert_eq!((answered.status, answered.answer.as_deref()), (RequestStatus::Answered, Some("once")));
        for end in RequestStatus::ALL.iter().filter(|end| **end != RequestStatus::Open) {
            let closed = open.close(*end, "engine", time(6)).unwrap();
            assert_eq!(closed.answer, None, "{end} picked an answer");
            assert_eq!(closed.answer("once", "dev", time(7)).unwrap_err().code(), "request_closed");
        }
        assert_eq!(open.answer("maybe", "dev", time(6)).unwrap_err().code(), "choice_unknown");
        assert_eq!(open.answer("once", " ", time(6)).unwrap_err().code(), "actor_missing");
    }
}
