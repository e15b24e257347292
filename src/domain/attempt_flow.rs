//! How an attempt and its lease move.

use super::attempt::{Attempt, AttemptStatus, FailureCode, LEASE_MILLIS, Lease, LeaseStatus};
use super::error::{DomainCode, DomainError};
use super::ids::{AttemptId, LeaseId};
use super::time::Timestamp;

impl AttemptStatus {
    /// Whether an attempt may move so.
    #[must_use]
    pub fn allowed(self, to: Self) -> bool {
        use AttemptStatus::{Active, Cancelled, Completed, Failed, LeaseExpired, Starting};
        matches!(
            (self, to),
            (Starting, Active | Failed | LeaseExpired | Cancelled)
                | (Active, Completed | Failed | LeaseExpired | Cancelled)
        )
    }
}

impl FailureCode {
    /// Whether the surroundings failed, not the agent's work.
    #[must_use]
    pub fn is_infrastructure(self) -> bool {
        match self {
            Self::WorkerLost
            | Self::WorkspaceFailed
            | Self::AgentNotFound
            | Self::AgentStartFailed
            | Self::AgentCrashed
            | Self::ToolUnavailable
            | Self::DiskFull
            | Self::StoreUnavailable => true,
            Self::AgentExitedEarly | Self::AgentTimeout | Self::AgentOutputLimit | Self::Cancelled => false,
        }
    }

    /// Whether a new attempt may be made by itself. A program that is not there will not come by
    /// waiting; an agent that left its phase open may do better the next time.
    #[must_use]
    pub fn may_retry(self) -> bool {
        (self.is_infrastructure() && self != Self::AgentNotFound) || self == Self::AgentExitedEarly
    }
}

/// The longest pause between attempts, in milliseconds.
const LONGEST_BACKOFF_MILLIS: u64 = 10 * 60 * 1_000;

/// How long to wait before the next attempt: 2 s x 2^n for the n-th retry (from 0), of which `jitter`
/// (0 to 1, drawn by the caller) takes away up to a half, so that many runs do not come back at once.
#[must_use]
pub fn backoff_millis(retry: u32, jitter: f64) -> u64 {
    let full = 2_000_u64.saturating_mul(1_u64.checked_shl(retry.min(32)).unwrap_or(u64::MAX));
    let full = full.min(LONGEST_BACKOFF_MILLIS);
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "at most 600000, never negative"
    )]
    let less = (full as f64 / 2.0 * jitter) as u64;
    full - less
}

/// Whether a new attempt may start beside the run's other attempts.
///
/// # Errors
/// `attempt_live`.
pub fn may_start_attempt(others: &[Attempt]) -> Result<(), DomainError> {
    match others.iter().find(|attempt| attempt.status.is_live()) {
        Some(live) => {
            let message = format!("attempt {} of run {} is still {}", live.id, live.run_id, live.status);
            Err(DomainError::new(DomainCode::AttemptLive, "A-1", message))
        }
        None => Ok(()),
    }
}

impl Lease {
    /// Whether the lease holds at `now`.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        self.status == LeaseStatus::Held && now < self.expires_at
    }

    /// The worker was heard: the lease holds for another 30 s.
    ///
    /// # Errors
    /// `lease_stale` when it no longer holds.
    pub fn renew(&self, now: Timestamp) -> Result<Self, DomainError> {
        if !self.holds(now) {
            return Err(stale(&self.attempt_id, Some(&self.id)));
        }
        // A clock that was set back must not shorten a lease that somebody counts on.
        let expires_at = now.plus_millis(LEASE_MILLIS).max(self.expires_at);
        Ok(Self { last_heartbeat_at: now, expires_at, ..self.clone() })
    }
}

fn stale(attempt: &AttemptId, lease: Option<&LeaseId>) -> DomainError {
    let lease = lease.map_or("none", LeaseId::as_str);
    let message = format!("attempt {attempt} does not hold lease {lease} any more");
    DomainError::new(DomainCode::LeaseStale, "A-2", message)
}

impl Attempt {
    /// Whether an event that names this attempt and `lease` may be taken at `now`: one with a stale
    /// lease is refused (and recorded by the caller), even if its process still lives.
    ///
    /// # Errors
    /// `lease_stale`.
    pub fn check_worker(&self, lease: Option<&LeaseId>, now: Timestamp) -> Result<(), DomainError> {
        let in_time = self.lease_expires_at.is_none_or(|end| now < end);
        if self.status.is_live() && self.lease_id.as_ref() == lease && in_time {
            Ok(())
        } else {
            Err(stale(&self.id, lease))
        }
    }

    fn moved(&self, to: AttemptStatus, at: Timestamp) -> Result<Self, DomainError> {
        if !self.status.allowed(to) {
            let what = format!("attempt {}", self.id);
            return Err(DomainError::transition("attempt transitions", &what, self.status, to));
        }
        let ended_at = (!to.is_live()).then_some(at);
        Ok(Self { status: to, ended_at, ..self.clone() })
    }

    /// Its agent runs.
    ///
    /// # Errors
    /// `lease_stale`; no such transition.
    pub fn activate(&self, lease: Option<&LeaseId>, at: Timestamp) -> Result<Self, DomainError> {
        self.check_worker(lease, at)?;
        self.moved(AttemptStatus::Active, at)
    }

    /// Its worker was heard.
    ///
    /// # Errors
    /// `lease_stale`.
    pub fn heartbeat(&self, lease: Option<&LeaseId>, at: Timestamp) -> Result<Self, DomainError> {
        self.check_worker(lease, at)?;
        let lease_expires_at = self.lease_expires_at.map(|end| end.max(at.plus_millis(LEASE_MILLIS)));
        Ok(Self { last_heartbeat_at: at, lease_expires_at, ..self.clone() })
    }

    /// Its agent is done, or exited while the workflow waits for an answer (`paused`).
    ///
    /// # Errors
    /// `lease_stale`; no such transition.
    pub fn complete(
        &self,
        lease: Option<&LeaseId>,
        paused: bool,
        at: Timestamp,
    ) -> Result<Self, DomainError> {
        if self.status.allowed(AttemptStatus::Completed) {
            self.check_worker(lease, at)?;
        }
        Ok(Self { paused, ..self.moved(AttemptStatus::Completed, at)? })
    }

    /// It failed.
    ///
    /// # Errors
    /// No such transition.
    pub fn fail(&self, code: FailureCode, at: Timestamp) -> Result<Self, DomainError> {
        Ok(Self { failure_code: Some(code), ..self.moved(AttemptStatus::Failed, at)? })
    }

    /// Its lease ran out: the worker is lost.
    ///
    /// # Errors
    /// No such transition.
    pub fn expire(&self, at: Timestamp) -> Result<Self, DomainError> {
        let failure_code = Some(FailureCode::WorkerLost);
        Ok(Self { failure_code, ..self.moved(AttemptStatus::LeaseExpired, at)? })
    }

    /// A person cancelled the run.
    ///
    /// # Errors
    /// No such transition.
    pub fn cancel(&self, at: Timestamp) -> Result<Self, DomainError> {
        let failure_code = Some(FailureCode::Cancelled);
        Ok(Self { failure_code, ..self.moved(AttemptStatus::Cancelled, at)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples::{attempt, run_id, time, ulid};
    use proptest::prelude::*;

    fn lease_id() -> LeaseId {
        LeaseId::new(ulid(5))
    }

    fn lease() -> Lease {
        Lease {
            id: lease_id(),
            run_id: run_id(),
            attempt_id: AttemptId::new(ulid(4)),
            worker_id: "worker-1".to_owned(),
            status: LeaseStatus::Held,
            acquired_at: time(4),
            last_heartbeat_at: time(4),
            expires_at: time(34),
        }
    }

    #[test]
    fn every_pair_of_attempt_statuses_is_legal_or_not_as_listed() {
        for from in AttemptStatus::ALL {
            for to in AttemptStatus::ALL {
                let listed = match from.as_str() {
                    "STARTING" => "ACTIVE FAILED LEASE_EXPIRED CANCELLED",
                    "ACTIVE" => "COMPLETED FAILED LEASE_EXPIRED CANCELLED",
                    _ => "",
                };
                let expected = listed.split(' ').any(|word| word == to.as_str());
                assert_eq!(from.allowed(*to), expected, "{from} -> {to}");
            }
            let old = attempt(*from);
            let lease = lease_id();
            assert_eq!(old.activate(Some(&lease), time(5)).is_ok(), from.allowed(AttemptStatus::Active));
            let done = old.complete(Some(&lease), false, time(5));
            assert_eq!(done.is_ok(), from.allowed(AttemptStatus::Completed), "{from}");
            let lost = old.fail(FailureCode::AgentCrashed, time(5));
            assert_eq!(lost.is_ok(), from.allowed(AttemptStatus::Failed), "{from}");
            assert_eq!(old.expire(time(5)).is_ok(), from.allowed(AttemptStatus::LeaseExpired), "{from}");
            assert_eq!(old.cancel(time(5)).is_ok(), from.allowed(AttemptStatus::Cancelled), "{from}");
        }
    }

    #[test]
    fn a_1_no_attempt_starts_beside_a_live_one() {
        for status in AttemptStatus::ALL {
            let result = may_start_attempt(&[attempt(AttemptStatus::Failed), attempt(*status)]);
            assert_eq!(result.is_err(), status.is_live(), "{status}");
        }
        assert_eq!(may_start_attempt(&[attempt(AttemptStatus::Active)]).unwrap_err().rule, "A-1");
    }

    #[test]
    fn a_2_an_event_with_another_or_no_lease_is_refused() {
        let active = attempt(AttemptStatus::Active);
        let other = LeaseId::new(ulid(6));
        for lease in [Some(&other), None] {
            let error = active.heartbeat(lease, time(5)).unwrap_err();
            assert_eq!((error.code(), error.rule), ("lease_stale", "A-2"));
        }
        let beaten = active.heartbeat(Some(&lease_id()), time(9)).unwrap();
        assert_eq!((beaten.last_heartbeat_at, beaten.lease_expires_at), (time(9), Some(time(39))));
    }

    #[test]
    fn a_3_an_expired_attempt_cannot_complete() {
        let active = attempt(AttemptStatus::Active);
        assert!(active.complete(Some(&lease_id()), false, time(33)).is_ok());
        assert_eq!(active.complete(Some(&lease_id()), false, time(34)).unwrap_err().code(), "lease_stale");
        let expired = active.expire(time(34)).unwrap();
        assert_eq!(expired.failure_code, Some(FailureCode::WorkerLost));
        assert!(expired.complete(Some(&lease_id()), false, time(35)).is_err());
    }

    #[test]
    fn a_lease_is_renewed_while_it_holds_and_never_shortened() {
        assert_eq!(lease().renew(time(9)).unwrap().expires_at, time(39));
        assert_eq!(lease().renew(time(1)).unwrap().expires_at, time(34), "the clock was set back");
        assert!(lease().renew(time(34)).is_err());
        assert!(Lease { status: LeaseStatus::Released, ..lease() }.renew(time(9)).is_err());
    }

    #[test]
    fn a_4_the_pause_doubles_from_two_seconds_and_is_bounded() {
        let pauses: Vec<u64> = (0..4).map(|n| backoff_millis(n, 0.0)).collect();
        assert_eq!(pauses, [2_000, 4_000, 8_000, 16_000]);
        assert_eq!(backoff_millis(0, 1.0), 1_000);
        assert_eq!(backoff_millis(u32::MAX, 0.0), LONGEST_BACKOFF_MILLIS);
    }

    #[test]
    fn a_5_what_the_agent_did_is_not_retried_by_itself() {
        let retried: Vec<&str> =
            FailureCode::ALL.iter().filter(|code| code.may_retry()).map(|code| code.as_str()).collect();
        assert_eq!(
            retried,
            [
                "worker_lost",
                "workspace_failed",
                "agent_start_failed",
                "agent_crashed",
                "agent_exited_early",
                "tool_unavailable",
                "disk_full",
                "store_unavailable",
            ]
        );
    }

    proptest! {
        #[test]
        fn a_pause_stays_between_half_and_the_whole(retry in 0_u32..40, jitter in 0.0_f64..=1.0) {
            let whole = backoff_millis(retry, 0.0);
            let pause = backoff_millis(retry, jitter);
            prop_assert!(pause <= whole && pause >= whole / 2);
        }
    }
}
