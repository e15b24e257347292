//! The run view: a run record and an index of its artifacts, bodies parsed once and shared.
//!
//! The view is a value: the service fills it from the store and adds what was added since. It holds every
//! artifact in ledger order. A body that cannot be read (a damaged blob, an unknown type) leaves its artifact
//! in place without a body, so that the rest of the run stays usable.

use super::references::recognised;
use super::run::RunState;
use crate::protocol::{Body, Kind};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// One stored artifact.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its id, unique within the run.
    pub id: String,
    /// Its type as stored; a type this program does not know has none.
    pub kind: Option<Kind>,
    /// The role that wrote it, as stored.
    pub producer: String,
    /// What it rests on, in order.
    pub source_refs: Vec<String>,
    /// `sha256:` and 64 hex digits of the canonical body.
    pub sha256: String,
    /// `none`, `partial` or `full`.
    pub redaction: String,
    /// UTC with milliseconds.
    pub created_at: String,
    /// The body, when it could be read and its digest holds.
    pub body: Option<Arc<Body>>,
}

/// One stored trace event, as far as rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventKey {
    /// Its id.
    pub id: String,
    /// Its position, from 1.
    pub sequence: i64,
    /// Its type as stored.
    pub event_type: String,
    /// Whether something came out of it; a recorded denial of a refused submission has no output.
    pub has_output: bool,
}

/// A run with everything that was stored for it.
#[derive(Clone, Debug)]
pub struct RunView {
    /// The run record.
    pub run: RunState,
    artifacts: Vec<Arc<Stored>>,
    // Found once per artifact and shared by the copies of the view.
    references: Vec<Arc<OnceLock<Vec<String>>>>,
    by_id: HashMap<String, usize>,
    by_kind: HashMap<Kind, Vec<usize>>,
    events: Vec<EventKey>,
}

impl RunView {
    /// A view without artifacts.
    #[must_use]
    pub fn new(run: RunState) -> Self {
        Self {
            run,
            artifacts: Vec::new(),
            references: Vec::new(),
            by_id: HashMap::new(),
            by_kind: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Adds the next artifact in ledger order.
    pub fn push(&mut self, stored: Arc<Stored>) {
        let at = self.artifacts.len();
        self.by_id.insert(stored.id.clone(), at);
        if let Some(kind) = stored.kind {
            self.by_kind.entry(kind).or_default().push(at);
        }
        self.artifacts.push(stored);
        self.references.push(Arc::default());
    }

    /// Adds the next trace event.
    pub fn push_event(&mut self, event: EventKey) {
        self.events.push(event);
    }

    /// Every artifact, in ledger order.
    #[must_use]
    pub fn artifacts(&self) -> &[Arc<Stored>] {
        &self.artifacts
    }

    /// The artifact with an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Stored>> {
        self.by_id.get(id).map(|&at| &self.artifacts[at])
    }

    /// The position of an artifact in ledger order.
    #[must_use]
    pub fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The references in the body of the artifact at a position, in schema order; none when there is no such
    /// artifact or its body cannot be read.
    #[must_use]
    pub fn references_at(&self, at: usize) -> &[String] {
        let (Some(stored), Some(found)) = (self.artifacts.get(at), self.references.get(at)) else {
            return &[];
        };
        found.get_or_init(|| {
            let found = stored.body.as_deref().map(recognised).unwrap_or_default();
            found.into_iter().map(|found| found.reference).collect()
        })
    }

    /// Every artifact of a type, in ledger order.
    pub fn of_kind(&self, kind: Kind) -> impl DoubleEndedIterator<Item = &Arc<Stored>> {
        self.by_kind.get(&kind).into_iter().flatten().map(|&at| &self.artifacts[at])
    }

    /// The latest artifact of a type.
    #[must_use]
    pub fn latest(&self, kind: Kind) -> Option<&Arc<Stored>> {
        self.of_kind(kind).next_back()
    }

    /// Every readable artifact of a Rust type with its body: `view.all::<WorkPlan>(Kind::WorkPlan)`.
    pub fn all<'a, T: 'a>(&'a self, kind: Kind) -> impl DoubleEndedIterator<Item = (&'a Stored, &'a T)>
    where
        &'a T: TryFrom<&'a Body>,
    {
        self.of_kind(kind).filter_map(|stored| stored.read::<T>().map(|body| (&**stored, body)))
    }

    /// The latest readable artifact of a Rust type with its body.
    #[must_use]
    pub fn last<'a, T: 'a>(&'a self, kind: Kind) -> Option<(&'a Stored, &'a T)>
    where
        &'a T: TryFrom<&'a Body>,
    {
        self.latest(kind).and_then(|stored| stored.read::<T>().map(|body| (&**stored, body)))
    }

    /// Trace events, in order.
    #[must_use]
    pub fn events(&self) -> &[EventKey] {
        &self.events
    }

    /// `artifact://<this run>/<id>`.
    #[must_use]
    pub fn reference(&self, id: &str) -> String {
        format!("artifact://{}/{id}", self.run.run_id)
    }

    /// The artifact of this run that a reference names, if it is of the exact form and exists.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Option<&Arc<Stored>> {
        let rest = reference.strip_prefix("artifact://")?.strip_prefix(self.run.run_id.as_str())?;
        self.get(rest.strip_prefix('/')?)
    }
}

impl Stored {
    /// The body as a Rust type.
    #[must_use]
    pub fn read<'a, T: 'a>(&'a self) -> Option<&'a T>
    where
        &'a T: TryFrom<&'a Body>,
    {
        self.body.as_deref().and_then(|body| <&T>::try_from(body).ok())
    }
}
