//! What an accepted operation changes: everything the store needs for one transaction (`store.md` 7).

use super::run::{RunPhase, RunState};
use super::trace::EventType;
use super::view::{RunView, Stored};
use crate::protocol::{Body, Kind, PermissionDecision, Redaction};
use std::sync::Arc;

/// An artifact to be stored. Its schema version is `1.0`.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    /// Its id, free in the run.
    pub id: String,
    /// Its type.
    pub kind: Kind,
    /// Who wrote it: a role, or `user`.
    pub producer: String,
    /// What it rests on, in order.
    pub source_refs: Vec<String>,
    /// How much of it was redacted.
    pub redaction: Redaction,
    /// The body, with defaults filled in. What is stored is its canonical text, at most 2 MiB.
    pub body: Arc<Body>,
    /// UTC with milliseconds.
    pub created_at: String,
}

/// A trace event to be appended; its sequence is found inside the transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Its id.
    pub id: String,
    /// UTC with milliseconds.
    pub timestamp: String,
    /// Who acted.
    pub actor: String,
    /// The phase in which it happened, before any transition.
    pub phase: RunPhase,
    /// What happened.
    pub event_type: EventType,
    /// What went in.
    pub input_refs: Vec<String>,
    /// What came out.
    pub output_refs: Vec<String>,
    /// The decision on a capability, for `permission_checked`.
    pub decision: Option<PermissionDecision>,
    /// 1 to 800 units.
    pub summary: String,
    /// Prompt revisions left after the operation.
    pub prompt_revisions_remaining: u8,
    /// Remediations left after the operation.
    pub remediations_remaining: u8,
}

/// How many artifacts of a supporting type there may be; checked again inside the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotQuota {
    /// At most `limit` of the type after the latest artifact of another type.
    AfterLatest(Kind, u64),
    /// At most one of the type whose body has this field with this value.
    OnePer(&'static str, String),
}

/// What the transaction does with the run record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Inserts the run and its two initial artifacts.
    Start,
    /// Inserts the artifacts and replaces the run where its version is `expected_version`.
    Move,
    /// Stores one supporting artifact; the run stays as it is. A replay found inside the transaction succeeds.
    Support(SlotQuota),
    /// Nothing is written: the artifact of this id is already stored (`controller.md` 8.1).
    Replay(String),
    /// Nothing is written: the run had ended already (C-TR-34).
    Nothing,
}

/// An operation that the controller accepts.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// What the transaction does.
    pub effect: Effect,
    /// The version that the caller decided on, compared inside the transaction (W-7); 0 for a new run.
    pub expected_version: i64,
    /// The run afterwards.
    pub run: RunState,
    /// Artifacts to insert, in ledger order. Context documents come before their manifest; those whose id is
    /// stored already, as replays, are left out.
    pub artifacts: Vec<NewArtifact>,
    /// Events to append, in order.
    pub events: Vec<NewEvent>,
    /// Notes for the caller that are no reason to refuse (W-6).
    pub warnings: Vec<String>,
}

impl Accepted {
    /// Whether anything is written.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self.effect, Effect::Replay(_) | Effect::Nothing)
    }

    /// The view as it will be, from which the next action is computed before the commit (W-13). Digests of the new
    /// artifacts are empty and their events are not in it: the store knows both.
    #[must_use]
    pub fn preview(&self, before: Option<&RunView>) -> RunView {
        let mut view = before.cloned().unwrap_or_else(|| RunView::new(self.run.clone()));
        view.run = self.run.clone();
        for artifact in &self.artifacts {
            view.push(Arc::new(Stored {
                id: artifact.id.clone(),
                kind: Some(artifact.kind),
                producer: artifact.producer.clone(),
                source_refs: artifact.source_refs.clone(),
                sha256: String::new(),
                redaction: artifact.redaction.as_str().to_owned(),
                created_at: artifact.created_at.clone(),
                body: Some(Arc::clone(&artifact.body)),
            }));
        }
        view
    }
}
