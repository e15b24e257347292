//! What the dashboard and the command line show, read from one store.
//!
//! Rows are cheap: one run record, the list of its artifacts, its supervision record. The detail of a run
//! reads bodies through the run views. Nothing here changes anything.

mod detail;
mod permissions;
mod phases;
mod review;
mod row;
mod sentence;

pub use sentence::needs_acknowledgement;

use super::ServiceError;
use super::snapshot::{RunDetail, RunKey, RunRow, StoreInfo};
use super::views::Views;
use crate::domain::{Approval, JudgeReport, Patch, Run, Task, Verdict, VerificationReport};
use crate::store::Store;
use std::path::Path;
use std::sync::Arc;

/// Reads one store.
#[derive(Clone, Debug)]
pub struct Queries {
    id: String,
    views: Arc<Views>,
}

/// The records of the supervision around a run, each the latest of its kind.
#[derive(Clone, Debug, Default)]
struct Supervised {
    run: Option<Run>,
    task: Option<Task>,
    patch: Option<Patch>,
    verification: Option<VerificationReport>,
    judge: Option<JudgeReport>,
    verdict: Option<Verdict>,
    approval: Option<Approval>,
}

impl Queries {
    /// Reads through `views`; `id` names the store among the watched ones.
    #[must_use]
    pub fn new(id: String, views: Arc<Views>) -> Self {
        Self { id, views }
    }

    /// The name of the store.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The views that are read through.
    #[must_use]
    pub fn views(&self) -> &Arc<Views> {
        &self.views
    }

    fn store(&self) -> &Store {
        self.views.store()
    }

    /// What the store is about.
    #[must_use]
    pub fn info(&self, error: Option<String>) -> StoreInfo {
        let root = self.store().runs(1).ok().and_then(|runs| runs.items.into_iter().next());
        StoreInfo {
            id: self.id.clone(),
            repository_root: root.map(|run| run.repository_root),
            state_dir: self.store().state_dir().display().to_string(),
            error,
        }
    }

    /// The row of a run.
    ///
    /// # Errors
    /// The run is not there or cannot be read.
    pub fn row(&self, run_id: &str) -> Result<RunRow, ServiceError> {
        row::row(self, run_id)
    }

    /// The rows of all runs, newest change first; runs that cannot be read are named with the reason.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn rows(&self) -> Result<(Vec<RunRow>, Vec<String>), ServiceError> {
        let listing = self.store().all_runs()?;
        let mut faults: Vec<String> =
            listing.refused.iter().map(|(id, error)| format!("run {id}: {error}")).collect();
        let mut rows = Vec::with_capacity(listing.items.len());
        // A run that has no workflow yet (queued, or refused before it began) is known to the supervision only.
        let mut ids: Vec<String> = listing.items.into_iter().map(|run| run.run_id).collect();
        for run in self.store().latest_records::<Run>(0, u32::MAX)? {
            if !ids.iter().any(|id| *id == run.id.as_str()) {
                ids.push(run.id.to_string());
            }
        }
        for id in ids {
            match self.row(&id) {
                Ok(row) => rows.push(row),
                Err(error) => faults.push(format!("run {id}: {error}")),
            }
        }
        rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.key.run.cmp(&b.key.run)));
        Ok((rows, faults))
    }

    /// Everything that is shown of a run, except bodies, diffs and logs.
    ///
    /// # Errors
    /// The run is not there or cannot be read.
    pub fn detail(&self, run_id: &str) -> Result<RunDetail, ServiceError> {
        detail::detail(self, run_id)
    }

    fn key(&self, run_id: &str) -> RunKey {
        RunKey { store: self.id.clone(), run: run_id.to_owned() }
    }

    fn supervised(&self, run_id: &str) -> Result<Supervised, ServiceError> {
        let store = self.store();
        let Some(run) = store.find_record::<Run>(run_id)? else { return Ok(Supervised::default()) };
        Ok(Supervised {
            task: store.find_record(run.task_id.as_str())?,
            patch: store.latest_of_run(run_id)?,
            verification: store.latest_of_run(run_id)?,
            judge: store.latest_of_run(run_id)?,
            verdict: store.latest_of_run(run_id)?,
            approval: store.latest_of_run(run_id)?,
            run: Some(run),
        })
    }
}

/// The name of a repository: the last part of its root.
fn repository_name(root: &str) -> String {
    Path::new(root).file_name().map_or_else(|| root.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The first line of a text that is not blank.
fn first_line(text: &str) -> String {
    text.lines().map(crate::text::script_trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
