//! Run views: loaded once, then refreshed by reading only what was added.
//!
//! A body is parsed and its digest checked when it is first read; what two views share, they share. A view
//! that somebody still holds is never changed under them.

use super::ServiceError;
use crate::controller::{EventKey, OutcomeHint, RunPhase, RunState, RunStatus, RunView, Stored};
use crate::protocol::{Body, IntentMode, Kind};
use crate::store::{ArtifactRecord, RunRecord, Store};
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// How many runs are kept; the one used longest ago goes first.
const KEPT: usize = 64;

/// The views of the runs of one store.
#[derive(Debug)]
pub struct Views {
    store: Store,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    clock: u64,
    views: HashMap<String, (u64, Arc<RunView>)>,
}

impl Views {
    /// No views yet.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, kept: Mutex::default() }
    }

    /// The store that the views are of.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The view of a run as the store has it now.
    ///
    /// # Errors
    /// The run is not there, or its row cannot be read. An artifact whose body cannot be read stays in the
    /// view without a body.
    pub fn view(&self, run_id: &str) -> Result<Arc<RunView>, ServiceError> {
        let known = self.take(run_id);
        let last = known.as_ref().and_then(|view| view.artifacts().last()).map(|stored| stored.id.clone());
        let sequence = known.as_ref().and_then(|view| view.events().last()).map_or(0, |event| event.sequence);
        let since = self.store.run_since(run_id, last.as_deref(), sequence)?;
        let run = run_state(&since.run)?;
        let mut view = known.unwrap_or_else(|| Arc::new(RunView::new(run.clone())));
        if view.run != run || !since.artifacts.is_empty() || !since.events.is_empty() {
            let changed = Arc::make_mut(&mut view);
            changed.run = run;
            for record in &since.artifacts {
                changed.push(Arc::new(self.stored(record)));
            }
            for event in since.events {
                changed.push_event(EventKey {
                    id: event.event_id,
                    sequence: event.sequence,
                    event_type: event.event_type,
                    has_output: !event.output_refs.is_empty(),
                });
            }
        }
        self.keep(run_id, &view);
        Ok(view)
    }

    fn stored(&self, record: &ArtifactRecord) -> Stored {
        let kind = Kind::from_str(&record.kind).ok();
        let body = kind.and_then(|kind| {
            let value = self.store.body(record).ok()?;
            Body::read(kind, &value).ok().map(Arc::new)
        });
        Stored {
            id: record.artifact_id.clone(),
            kind,
            producer: record.producer.clone(),
            source_refs: record.source_refs.clone(),
            sha256: record.sha256.clone(),
            redaction: record.redaction.clone(),
            created_at: record.created_at.clone(),
            body,
        }
    }

    fn take(&self, run_id: &str) -> Option<Arc<RunView>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.views.remove(run_id).map(|(_, view)| view)
    }

    fn keep(&self, run_id: &str, view: &Arc<RunView>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let now = kept.clock;
        kept.views.insert(run_id.to_owned(), (now, Arc::clone(view)));
        if kept.views.len() > KEPT
            && let Some(oldest) =
                kept.views.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone())
        {
            kept.views.remove(&oldest);
        }
    }
}

/// A run record with typed values.
///
/// # Errors
/// A status, phase or mode that this program does not know.
pub fn run_state(record: &RunRecord) -> Result<RunState, ServiceError> {
    let wrong = |what: &str, value: &str| {
        ServiceError::invalid("integrity_failure", format!("run {}: unknown {what} {value:?}", record.run_id))
    };
    let phase = |text: &str| RunPhase::from_str(text).map_err(|_| wrong("phase", text));
    Ok(RunState {
        run_id: record.run_id.clone(),
        repository_root: record.repository_root.clone(),
        mode: IntentMode::from_str(&record.requested_mode)
            .map_err(|_| wrong("mode", &record.requested_mode))?,
        // An unknown status reads as running, as the reference reads it (`store.md` 9).
        status: RunStatus::from_str(&record.status).unwrap_or(RunStatus::Running),
        phase: phase(&record.phase)?,
        resume_phase: record.resume_phase.as_deref().map(phase).transpose()?,
        version: record.version,
        prompt_revisions_remaining: record.prompt_revisions_remaining,
        remediations_remaining: record.remediations_remaining,
        outcome_hint: record.outcome_hint.as_deref().and_then(|text| OutcomeHint::from_str(text).ok()),
        created_at: record.created_at.clone(),
        updated_at: record.updated_at.clone(),
    })
}

/// A run record as the store keeps it.
#[must_use]
pub fn run_record(run: &RunState) -> RunRecord {
    RunRecord {
        run_id: run.run_id.clone(),
        schema_version: crate::store::SCHEMA_VERSION.to_owned(),
        repository_root: run.repository_root.clone(),
        requested_mode: run.mode.as_str().to_owned(),
        status: run.status.as_str().to_owned(),
        phase: run.phase.as_str().to_owned(),
        resume_phase: run.resume_phase.map(|phase| phase.as_str().to_owned()),
        version: run.version,
        prompt_revisions_remaining: run.prompt_revisions_remaining,
        remediations_remaining: run.remediations_remaining,
        outcome_hint: run.outcome_hint.map(|hint| hint.as_str().to_owned()),
        created_at: run.created_at.clone(),
        updated_at: run.updated_at.clone(),
    }
}
