//! The domain's records as the store keeps them: what each is found by, leases and events typed.
//!
//! The word in the `status` column of a record without a status is the one it is asked for by: a message's role, an
//! artifact's type, a decision.

use crate::domain::{
    Approval, Attempt, Event, JudgeReport, Lease, LeaseStatus, Message, Patch, Request, Run, RunArtifact,
    RunId, Session, Step, Task, Timestamp, ToolCall, Verdict, VerificationReport,
};

use super::change::{Change, Op};
use super::own::{Keys, LeaseRow, OwnOp, Record};
use super::own_tables::Kind;
use super::{Store, StoreError};

/// Implements [`Record`]: the kind, then what each key is read from.
macro_rules! records {
    ($($type:ty, $kind:ident, |$it:ident| { $($key:ident: $value:expr),* $(,)? };)*) => {
        $(impl Record for $type {
            const KIND: Kind = Kind::$kind;
            fn keys(&self) -> Keys<'_> {
                let $it = self;
                let mut keys = Keys { id: $it.id.as_str(), ..Keys::default() };
                $(keys.$key = $value;)*
                keys
            }
        })*
    };
}

records! {
    Session, SESSION, |it| { status: it.status.as_str() };
    Message, MESSAGE, |it| {
        run_id: it.run_id.as_ref().map(RunId::as_str),
        task_id: it.task_id.as_ref().map(AsRef::as_ref),
        parent_id: Some(it.session_id.as_str()),
        status: it.role.as_str(),
    };
    Task, TASK, |it| { parent_id: Some(it.session_id.as_str()), status: it.status.as_str() };
    Run, RUN, |it| { task_id: Some(it.task_id.as_str()), status: it.status.as_str() };
    Attempt, ATTEMPT, |it| { run_id: Some(it.run_id.as_str()), status: it.status.as_str() };
    Step, STEP, |it| {
        run_id: Some(it.run_id.as_str()),
        parent_id: Some(it.attempt_id.as_str()),
        status: it.status.as_str(),
    };
    ToolCall, TOOL_CALL, |it| {
        run_id: Some(it.run_id.as_str()),
        parent_id: Some(it.step_id.as_str()),
        status: it.decision.as_str(),
    };
    RunArtifact, RUN_ARTIFACT, |it| {
        run_id: Some(it.run_id.as_str()),
        parent_id: it.produced_by_step.as_ref().map(AsRef::as_ref),
        status: it.artifact_type.as_str(),
    };
    Patch, PATCH, |it| { run_id: Some(it.run_id.as_str()), status: it.apply_status.state.as_str() };
    VerificationReport, VERIFICATION, |it| { run_id: Some(it.run_id.as_str()), status: it.status.as_str() };
    JudgeReport, JUDGE, |it| { run_id: Some(it.run_id.as_str()), status: it.status.as_str() };
    Verdict, VERDICT, |it| { run_id: Some(it.run_id.as_str()), status: it.status.as_str() };
    Approval, APPROVAL, |it| {
        run_id: Some(it.run_id.as_str()),
        parent_id: Some(it.verdict_id.as_str()),
        status: it.decision.as_str(),
    };
    Request, REQUEST, |it| {
        run_id: Some(it.run_id.as_str()),
        parent_id: it.tool_call_id.as_ref().map(AsRef::as_ref),
        status: it.status.as_str(),
    };
}

fn lease_row(lease: &Lease) -> Result<LeaseRow, StoreError> {
    Ok(LeaseRow {
        run_id: lease.run_id.as_str().to_owned(),
        id: lease.id.as_str().to_owned(),
        worker_id: lease.worker_id.clone(),
        status: lease.status.as_str().to_owned(),
        expires_at: lease.expires_at.to_string(),
        body: serde_json::to_string(lease)
            .map_err(|error| StoreError::malformed("lease", error.to_string()))?,
    })
}

impl Change {
    /// Adds: take the lease of a run, which nobody may hold at `now`.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when the lease is not a held one. At commit: [`StoreError::LeaseHeld`] when another
    /// worker was faster, [`StoreError::RunNotFound`].
    pub fn take_lease(&mut self, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
        if lease.status != LeaseStatus::Held {
            return Err(StoreError::malformed("lease", "only a held lease can be taken"));
        }
        self.push(Op::Own(OwnOp::TakeLease { lease: lease_row(lease)?, now: now.to_string() }));
        Ok(())
    }

    /// Adds: renew, release or expire the lease with this id, which must be the one that is held.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when it cannot be written. At commit: [`StoreError::LeaseLost`].
    pub fn change_lease(&mut self, lease: &Lease) -> Result<(), StoreError> {
        self.push(Op::Own(OwnOp::ChangeLease(lease_row(lease)?)));
        Ok(())
    }

    /// Adds: the rest happens only if this lease is the one held on its run.
    ///
    /// At commit: [`StoreError::LeaseLost`] otherwise.
    pub fn require_lease(&mut self, lease: &Lease) {
        let (run_id, lease_id) = (lease.run_id.as_str().to_owned(), lease.id.as_str().to_owned());
        self.push(Op::Own(OwnOp::HoldsLease { run_id, lease_id }));
    }

    /// Adds: append this event. Its sequence is given by the store; the one it carries is not looked at.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when it cannot be written as JSON.
    pub fn event(&mut self, event: &Event) -> Result<(), StoreError> {
        let body = serde_json::to_string(event)
            .map_err(|error| StoreError::malformed("event", error.to_string()))?;
        self.push(Op::Own(OwnOp::AppendEvent {
            id: event.id.as_str().to_owned(),
            run_id: event.run_id.as_ref().map(|id| id.as_str().to_owned()),
            task_id: event.task_id.as_ref().map(|id| id.as_str().to_owned()),
            body,
        }));
        Ok(())
    }

    /// Adds: store a small fact under a key, or remove it.
    pub fn put_fact(&mut self, key: &str, value: Option<&str>) {
        self.push(Op::Own(OwnOp::PutFact { key: key.to_owned(), value: value.map(str::to_owned) }));
    }
}

fn event((sequence, body): (i64, String)) -> Result<Event, StoreError> {
    let mut event: Event = serde_json::from_str(&body)
        .map_err(|error| StoreError::malformed(format!("event {sequence}"), error.to_string()))?;
    event.sequence = u64::try_from(sequence).unwrap_or(0);
    Ok(event)
}

fn lease(body: &str) -> Result<Lease, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::malformed("lease", error.to_string()))
}

impl Store {
    /// The supervision's events after a sequence (0 for all), ascending, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when one cannot be read.
    pub fn supervision_events(&self, after: u64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.event_bodies(after, limit, None)?.into_iter().map(event).collect()
    }

    /// The same, of one run only.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when one cannot be read.
    pub fn supervision_events_of(
        &self,
        run_id: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.event_bodies(after, limit, Some(run_id))?.into_iter().map(event).collect()
    }

    /// The run's current or last lease.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when it cannot be read.
    pub fn lease(&self, run_id: &str) -> Result<Option<Lease>, StoreError> {
        self.lease_bodies("run_id = ?1", run_id)?.first().map(|body| lease(body)).transpose()
    }

    /// The leases that are still held although they ran out by `now`, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when one cannot be read.
    pub fn expired_leases(&self, now: Timestamp) -> Result<Vec<Lease>, StoreError> {
        let filter = "status = 'HELD' AND expires_at <= ?1 ORDER BY expires_at";
        self.lease_bodies(filter, &now.to_string())?.iter().map(|body| lease(body)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::samples::{run, run_id, task, time, ulid};
    use crate::domain::{AttemptId, EventId, EventType, LeaseId};

    use super::*;

    fn open() -> (tempfile::TempDir, Store) {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&temp.path().join("state")).unwrap();
        (temp, store)
    }

    fn held(number: u64, from: i64) -> Lease {
        Lease {
            id: LeaseId::new(ulid(number)),
            run_id: run_id(),
            attempt_id: AttemptId::new(ulid(number)),
            worker_id: "worker".to_owned(),
            status: LeaseStatus::Held,
            acquired_at: time(from),
            last_heartbeat_at: time(from),
            expires_at: time(from + 30),
        }
    }

    fn happened(number: u64) -> Event {
        Event {
            id: EventId::new(ulid(number)),
            sequence: 0,
            event_type: EventType::RunCreated,
            task_id: None,
            run_id: Some(run_id()),
            attempt_id: None,
            step_id: None,
            actor: "engine".to_owned(),
            at: time(3),
            data: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_task_its_run_and_their_event_are_stored_together_and_read_back() {
        let (_temp, store) = open();
        let mut change = Change::new();
        change.insert(&task()).unwrap();
        change.insert(&run()).unwrap();
        change.event(&happened(20)).unwrap();
        change.event(&happened(21)).unwrap();
        store.commit(&change).unwrap();
        assert_eq!(store.record::<Task>(task().id.as_str()).unwrap(), task());
        assert_eq!(store.records_of_task::<Run>(task().id.as_str()).unwrap(), [run()]);
        assert_eq!(store.records_under::<Task>(task().session_id.as_str()).unwrap(), [task()]);
        let events = store.supervision_events(1, 10).unwrap();
        assert_eq!(events, [Event { sequence: 2, ..happened(21) }]);
        assert_eq!(store.supervision_events_of("run_other", 0, 10).unwrap(), []);
        assert_eq!(store.supervision_events_of(run_id().as_str(), 0, 10).unwrap().len(), 2);
    }

    #[test]
    fn a_lease_that_ran_out_is_found_and_may_be_taken_over() {
        let (_temp, store) = open();
        let mut change = Change::new();
        change.insert(&run()).unwrap();
        change.take_lease(&held(1, 0), time(0)).unwrap();
        store.commit(&change).unwrap();
        assert_eq!(store.lease(run_id().as_str()).unwrap(), Some(held(1, 0)));
        assert_eq!(store.expired_leases(time(29)).unwrap(), []);
        assert_eq!(store.expired_leases(time(30)).unwrap(), [held(1, 0)]);

        let take = |at: i64| {
            let mut change = Change::new();
            change.take_lease(&held(2, at), time(at)).unwrap();
            store.commit(&change)
        };
        assert_eq!(take(29).unwrap_err().code(), "lease_held");
        take(30).unwrap();
        let mut late = Change::new();
        late.require_lease(&held(1, 0));
        late.event(&happened(22)).unwrap();
        assert_eq!(store.commit(&late).unwrap_err().code(), "lease_lost");
        assert_eq!(store.supervision_events(0, 10).unwrap(), []);
    }

    #[test]
    fn only_a_held_lease_can_be_taken() {
        let over = Lease { status: LeaseStatus::Released, ..held(1, 0) };
        assert_eq!(Change::new().take_lease(&over, time(0)).unwrap_err().code(), "integrity_failure");
    }
}
