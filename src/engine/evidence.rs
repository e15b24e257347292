//! The patch of a run: computed from git, held against the boundary, tried on the tip of the base.

use super::EngineError;
use super::judge::edits_of;
use crate::controller::RunView;
use crate::domain::classify::{claimed_and_real, touches_verification};
use crate::domain::{
    ApplyStatus, Boundary, BoundaryFacts, ExecutionSpec, FileChange, Patch, PatchId, PathRule, PathViolation,
    RepoPath, RunArtifact, SecretHit, Timestamp,
};
use crate::git::{Capture, Diff, Repository, check_apply};
use crate::grounding::secrets::Detector;
use crate::protocol::{Kind, WorkResult};
use std::path::Path;

/// Everything that a patch record is made of.
pub(super) struct Findings<'a> {
    pub id: PatchId,
    pub spec: &'a ExecutionSpec,
    pub repository: &'a Repository,
    pub capture: &'a Capture,
    pub diff: &'a Diff,
    pub artifact: &'a RunArtifact,
    pub view: &'a RunView,
    /// Paths that the run changed in the user's own checkout (P-9).
    pub outside: Vec<RepoPath>,
    pub scratch: &'a Path,
    pub at: Timestamp,
}

impl Findings<'_> {
    /// The patch record (P-1 to P-13).
    ///
    /// # Errors
    /// git fails; there is never an empty or another patch instead (P-10).
    pub(super) fn patch(self) -> Result<Patch, EngineError> {
        let run = &self.spec.run_id;
        let base = self.spec.base_commit.clone().ok_or_else(|| EngineError::missing(run, "base commit"))?;
        let boundary = Boundary::new(&self.spec.patch_boundary)?;
        let changes: Vec<FileChange> =
            self.capture.changes.iter().map(|change| boundary.classify(&FileChange::from(change))).collect();
        let links =
            self.capture.changes.iter().filter_map(|change| {
                change.link.as_ref().map(|link| (change.path.clone(), link.target.clone()))
            });
        let facts = BoundaryFacts { link_targets: links.collect(), outside_changes: self.outside.clone() };
        let mut boundary_check = boundary.check(&changes, &facts, self.spec.mode);
        for path in &self.capture.unsafe_names {
            boundary_check.passed = false;
            boundary_check.forbidden_path_violations.push(PathViolation {
                path: path.clone(),
                rule: PathRule::UnsafeName,
                detail: "git refuses a file of this name".to_owned(),
            });
        }
        let (undeclared_changes, missing_changes) = claimed_and_real(&self.claimed(), &changes);
        let commands: Vec<&str> =
            self.spec.verification_plan.iter().map(|check| check.command.as_str()).collect();
        Ok(Patch {
            id: self.id.clone(),
            run_id: run.clone(),
            base_commit: base.clone(),
            unified_diff_artifact: self.artifact.id.clone(),
            stats: self.capture.stats(),
            boundary_check,
            apply_status: self.apply_status(&base)?,
            touches_verification: touches_verification(&changes, &commands, &edits_of(self.diff)),
            undeclared_changes,
            missing_changes,
            secrets: self.secrets(),
            file_changes: changes,
            created_at: self.at,
        })
    }

    /// What the workflow's results claim to have changed (P-13).
    fn claimed(&self) -> Vec<RepoPath> {
        let results = self.view.all::<WorkResult>(Kind::WorkResult);
        let changes = results.flat_map(|(_, result)| &result.files_changed);
        changes.map(|change| RepoPath::from(&*change.path)).collect()
    }

    /// Whether the patch applies to the tip of the base ref as it is now (P-7, P-10).
    fn apply_status(&self, base: &crate::domain::Commit) -> Result<ApplyStatus, EngineError> {
        let tip = match &self.spec.base_ref {
            Some(name) => self.repository.resolve(name)?,
            None => base.clone(),
        };
        let check = check_apply(self.repository, base, &self.capture.diff, &tip, self.scratch)?;
        let base_moved_by = self.repository.commits_between(base, &tip)?;
        Ok(ApplyStatus { state: check.state, tip: Some(tip), base_moved_by })
    }

    /// Added lines that look like a credential (P-11); the value is never repeated.
    fn secrets(&self) -> Vec<SecretHit> {
        let detector = Detector::extended();
        let hits = self.diff.added_lines().filter_map(|line| {
            let text = String::from_utf8_lossy(line.text);
            detector.find(&text).map(|hit| SecretHit {
                path: line.path.clone(),
                line: Some(line.line),
                description: format!("looks like a credential ({})", hit.rule),
            })
        });
        hits.collect()
    }
}
