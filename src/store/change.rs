//! What one transaction does: a [`Change`] is a list of operations, all of them or none.

use super::own::OwnOp;
use super::records::{ArtifactRecord, NewArtifact, NewEvent, RunRecord};

/// One step of a change.
#[expect(clippy::large_enum_variant, reason = "changes are short lists, built once and never moved about")]
#[derive(Debug, Clone)]
pub enum Op {
    /// Inserts a run at the version it carries (1 for a new one).
    InsertRun(RunRecord),
    /// Inserts an artifact whose id must be free in its run, the limit of `store.md` 6 checked.
    InsertArtifact(NewArtifact),
    /// Inserts one of a new run's two initial artifacts, which are not counted (`store.md` 6).
    InsertInitialArtifact(NewArtifact),
    /// Replaces status, phase, resume phase, budgets, outcome hint and time of a run, and sets its version to
    /// `expected_version` + 1, where the stored version is `expected_version`; fails otherwise.
    UpdateRun {
        /// The version the caller decided on.
        expected_version: i64,
        /// The new values; identity, root, mode and creation time are not changed by them, nor its `version` used.
        run: RunRecord,
    },
    /// Appends an event.
    AppendEvent(NewEvent),
    /// Appends an event unless an equal one is there (`store.md` 7).
    AppendEventOnce(NewEvent),
    /// Stores an artifact that does not move the run, with its event; a replay succeeds without effect
    /// (`store.md` 7).
    Supporting {
        /// The artifact.
        artifact: NewArtifact,
        /// How many of its type there may be.
        quota: Option<Quota>,
        /// Appended only when the artifact is new.
        event: NewEvent,
    },
    /// An operation on telic's own records.
    Own(OwnOp),
}

/// How many artifacts of a type a run may hold; the new one is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quota {
    /// At most `limit` of the type after the latest artifact of type `after`; without one of those it is an error.
    AfterLatest {
        /// The type that starts the count again.
        after: String,
        /// The limit.
        limit: u64,
    },
    /// At most `limit` of the type whose body's top-level `field` is the string `value`.
    WithField {
        /// Name of the field.
        field: String,
        /// Its value.
        value: String,
        /// The limit.
        limit: u64,
    },
}

/// What an operation came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A run was inserted or updated; this is its version now.
    Run {
        /// The version.
        version: i64,
    },
    /// An artifact was stored.
    Stored(ArtifactRecord),
    /// The same supporting artifact was there already; this is what is stored.
    Replayed(ArtifactRecord),
    /// An event was appended with this sequence.
    Appended {
        /// Its place in the run's trace, or in the global order.
        sequence: i64,
    },
    /// An equal event was there already.
    AlreadyThere,
    /// A record of telic's own was written.
    Recorded,
    /// What had to hold does.
    Holds,
}

/// The outcomes of a change, one per operation, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// One per operation.
    pub outcomes: Vec<Outcome>,
}

impl Committed {
    /// The artifacts that were stored or replayed, in order.
    pub fn artifacts(&self) -> impl Iterator<Item = &ArtifactRecord> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Stored(artifact) | Outcome::Replayed(artifact) => Some(artifact),
            _ => None,
        })
    }
}

/// A list of operations that are committed together.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub(super) ops: Vec<Op>,
}

impl Change {
    /// A change that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation.
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Adds an operation.
    #[must_use]
    pub fn and(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
