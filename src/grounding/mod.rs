//! Turns a repository and a request into a bounded list of files whose exact text is stored with a run, and a
//! `ContextManifest` that says what was chosen, what was left out and why (`grounding.md`).
//!
//! [`ground`] decides everything and stores nothing (10.1): the caller stores documents, manifest, run and events in
//! one transaction. It uses no model, and the same repository state, request and budget give the same ids and bodies.
//! It reads the repository only, executes nothing that the repository configures, and follows no link out of
//! it. [`secrets`] also guards `Evidence`.
//!
//! A manifest never names a path that was left out; [`Grounding::decisions`] does, for local eyes only.

mod budget;
mod error;
mod fingerprint;
mod git_source;
mod inventory;
mod manifest;
pub mod paths;
mod process;
pub mod ranking;
mod root;
pub mod secrets;
mod select;
mod watch;

#[cfg(test)]
mod tests;

pub use budget::{Budget, BudgetRequest};
pub use error::GroundingError;
pub use manifest::Document;
pub use watch::Watch;

use crate::protocol::{ExclusionReason, InventorySource};
use crate::store::Digest;
use crate::text::units;
use fingerprint::Fingerprint;
use inventory::Inventory;
use ranking::Query;
use root::Root;
use secrets::{Detector, Hit};
use select::{Counts, Selector, Tally};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The longest request, in bytes of UTF-8.
const REQUEST_LIMIT: usize = 32_768;

/// What grounding is asked for.
#[derive(Clone, Debug)]
pub struct GroundingInput {
    /// The run, a protocol identifier.
    pub run_id: String,
    /// The run's stored root, at most 4,096 long.
    pub repository_root: PathBuf,
    /// The content of the run's first `UserMessage`, at most 32,768 bytes.
    pub request: String,
    /// At most 256 paths, relative to the grounding root or absolute below it.
    pub active_paths: Vec<String>,
    /// At most 16 absolute directories that are never read: the state directory.
    pub excluded_roots: Vec<PathBuf>,
    /// How much may be looked at and taken.
    pub budget: Budget,
    /// The mode is `report_only`: nothing is read.
    pub mode_report_only: bool,
    /// `repository.read` is granted. Without it nothing is read (`controller.md` W-5).
    pub may_read: bool,
    /// The input references of the current action, which come first among the manifest's source references.
    pub input_refs: Vec<String>,
    /// What the user chose.
    pub options: Options,
    /// When to stop.
    pub watch: Watch,
}

impl GroundingInput {
    /// The usual input: reading allowed, default budget and options.
    #[must_use]
    pub fn new(run_id: impl Into<String>, root: impl Into<PathBuf>, request: impl Into<String>) -> Self {
        Self {
            run_id: run_id.into(),
            repository_root: root.into(),
            request: request.into(),
            active_paths: Vec::new(),
            excluded_roots: Vec::new(),
            budget: Budget::default(),
            mode_report_only: false,
            may_read: true,
            input_refs: Vec::new(),
            options: Options::default(),
            watch: Watch::default(),
        }
    }
}

/// What a user may choose per repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The rules for file contents; the extended ones also know more names (10.10, 10.11).
    pub detector: Detector,
    /// Exact repository paths that may be read although their name looks like a credential (10.11). Their
    /// content is scanned all the same.
    pub readable_names: BTreeSet<String>,
    /// Pins nested instruction files that stand above no active path, too (10.13).
    pub pin_all_instructions: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { detector: Detector::extended(), readable_names: BTreeSet::new(), pin_all_instructions: true }
    }
}

/// What became of one path. For local eyes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The repository path.
    pub path: String,
    /// Its score; nothing when it was left out before ranking.
    pub score: Option<u64>,
    /// Whether it was pinned.
    pub pinned: bool,
    /// Why it was left out; nothing when it was selected.
    pub excluded: Option<ExclusionReason>,
    /// The rule and the line of the credential that was found in it.
    pub credential: Option<Hit>,
}

/// Everything that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounding {
    /// The id of the manifest.
    pub manifest_id: String,
    /// The `ContextManifest` body.
    pub manifest: Value,
    /// The documents, in selection order; they are stored before the manifest.
    pub documents: Vec<Document>,
    /// References of the pinned sources.
    pub pinned_refs: Vec<String>,
    /// References of the documents.
    pub derived_refs: Vec<String>,
    /// Source references of the manifest's record, at most 256.
    pub source_refs: Vec<String>,
    /// The manifest's warnings.
    pub warnings: Vec<String>,
    /// What became of each path, in order of the decisions.
    pub decisions: Vec<Decision>,
}

/// Selects sources for a run.
///
/// # Errors
/// [`GroundingError`] when an input is not valid, or the work was cancelled or took too long. Nothing has been
/// stored then.
pub fn ground(input: &GroundingInput) -> Result<Grounding, GroundingError> {
    if input.mode_report_only {
        return Ok(empty(input, "The mode is report_only: repository discovery was skipped on purpose."));
    }
    if !input.may_read {
        return Ok(empty(
            input,
            "repository.read is not granted: repository discovery was skipped, no file was read.",
        ));
    }
    check(input)?;
    let budget = input.budget.checked()?;
    let watch = &input.watch;
    watch.check()?;
    let root = Root::find(&input.repository_root, &input.excluded_roots, watch)?;
    let mut active: Vec<String> = Vec::new();
    for path in &input.active_paths {
        let path = root.active_path(path)?;
        if !active.contains(&path) {
            active.push(path);
        }
    }
    let inventory = inventory::take(&root, &active, watch)?;

    let mut tally = Tally::default();
    tally.count(ExclusionReason::InvalidPath, inventory.invalid);
    tally.count(ExclusionReason::ExcludedDirectory, inventory.excluded);
    tally.count(ExclusionReason::UnreadableFile, inventory.unreadable);
    let mut query = Query::new(&input.request, &active);
    if !input.options.pin_all_instructions {
        query = query.pinning_only_near_instructions();
    }
    let candidates = select::candidates(&inventory, &query, &input.options, &budget, &mut tally);
    let selector = Selector { root: &root, run_id: &input.run_id, options: &input.options, budget: &budget };
    let selection = selector.select(&candidates, &mut tally, watch)?;
    let fingerprint = fingerprint::take(&root, &candidates, &selection, !inventory.timed_out, watch)?;

    let id = manifest::manifest_id(&input.run_id, &fingerprint, &selection.sources, &budget);
    let documents = manifest::documents(&input.run_id, &id, &selection.sources);
    let derived_refs = manifest::derived(&input.run_id, &documents);
    let (source_refs, cut) = manifest::source_refs(&input.input_refs, &derived_refs);
    let mut warnings =
        warnings(&inventory, candidates.truncated, selection.sample_is_full, fingerprint.from_git);
    if cut {
        warnings.push("The manifest cites only the first 256 of its sources.".to_owned());
    }
    let facts = manifest::Facts {
        run_id: &input.run_id,
        fingerprint,
        inventory: inventory.source,
        warnings: &warnings,
        counts: &tally.counts,
        budget,
        candidates: candidates.total,
    };
    Ok(Grounding {
        manifest: manifest::manifest(&facts, &id, &selection.sources, &documents),
        pinned_refs: manifest::pinned(&selection.sources),
        manifest_id: id,
        documents,
        derived_refs,
        source_refs,
        warnings,
        decisions: tally.decisions,
    })
}

/// The limits of section 1 that no later step looks at.
fn check(input: &GroundingInput) -> Result<(), GroundingError> {
    let invalid =
        |what, problem: &str| Err(GroundingError::InvalidInput { what, problem: problem.to_owned() });
    if input.run_id.is_empty() || units(&input.run_id) > 128 {
        return invalid("run id", "must be 1 to 128 long");
    }
    if input.request.len() > REQUEST_LIMIT {
        return invalid("request", "is longer than 32,768 bytes; shorten it");
    }
    if input.active_paths.len() > 256 {
        return invalid("active paths", "are more than 256; name a directory instead of its files");
    }
    if input.excluded_roots.len() > 16 {
        return invalid("excluded roots", "are more than 16");
    }
    Ok(())
}

/// The warnings of section 6 in their order, then those of our own.
fn warnings(inventory: &Inventory, truncated: bool, sample_is_full: bool, git_status: bool) -> Vec<String> {
    let slow = if inventory.timed_out { " in time" } else { "" };
    let source = match inventory.source {
        InventorySource::Git => None,
        InventorySource::Ripgrep => {
            Some(format!("Git did not list the files{slow}; ripgrep did. Tracked files may be missing."))
        }
        InventorySource::Filesystem => Some(format!(
            "Neither Git nor ripgrep listed the files{slow}; the directories were walked. Tracked files may be missing."
        )),
    };
    let fixed = [
        (truncated, "There are more files than max_inventory_files; the lowest ranked were left out."),
        (sample_is_full, "Only 8 files without any relation to the request were kept."),
        (!git_status, "Git metadata was not available; the fingerprint covers file contents only."),
    ];
    let unreadable = (inventory.unreadable > 0)
        .then(|| format!("{} directories could not be read and were passed over.", inventory.unreadable));
    source
        .into_iter()
        .chain(fixed.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned()))
        .chain(unreadable)
        .collect()
}

/// A manifest of nothing (9).
fn empty(input: &GroundingInput, warning: &str) -> Grounding {
    let id = manifest::empty_id(&input.run_id);
    let warnings = vec![warning.to_owned()];
    let facts = manifest::Facts {
        run_id: &input.run_id,
        fingerprint: Fingerprint { head: None, worktree: Digest::of(b""), from_git: false },
        inventory: InventorySource::Filesystem,
        warnings: &warnings,
        counts: &Counts::new(),
        budget: Budget { max_files: 1, max_file_bytes: 1, max_total_bytes: 1, max_inventory_files: 1 },
        candidates: 0,
    };
    Grounding {
        manifest: manifest::manifest(&facts, &id, &[], &[]),
        manifest_id: id,
        documents: Vec::new(),
        pinned_refs: Vec::new(),
        derived_refs: Vec::new(),
        source_refs: manifest::source_refs(&input.input_refs, &[]).0,
        warnings,
        decisions: Vec::new(),
    }
}
