//! The judge's report and the verdict: facts are gathered here, the domain decides.

use super::EngineError;
use super::shop::Shop;
use crate::controller::{RunStatus as WorkflowStatus, RunView};
use crate::domain::classify::test_edits;
use crate::domain::judge_rules::{PatchJudgement, WorkflowFacts, derive};
use crate::domain::verdict_rules::{CheckInput, VerdictInput, WorkflowEnd};
use crate::domain::{
    Boundary, BudgetKind, EvidenceRef, ExecutionSpec, FailureCode, JudgeId, JudgeReport, JudgeStatus, Patch,
    RepoPath, Run, RunArtifact, RunArtifactType, Sha256, StepStatus, StepType, Verdict, VerdictId,
    VerificationReport, VerificationStatus, Visibility,
};
use crate::git::{Diff, LineKind};
use crate::protocol::{Kind, QualityReview, ReleaseAudit, TaskContract, UserReport};
use crate::service::ServiceError;
use crate::service::clock::{fresh, now};
use crate::service::supervision::{Held, canonical_text};
use std::collections::BTreeMap;

/// Derives, stores and records the judge's report (J-1 to J-3).
pub(super) fn report(
    held: &mut Held,
    view: &RunView,
    patch: Option<&Patch>,
    diff: Option<&Diff>,
    verification: &VerificationReport,
) -> Result<JudgeReport, EngineError> {
    let step = held.begin(StepType::JudgeDiff, "judge the result")?;
    let facts = WorkflowFacts::of(
        view.last::<QualityReview>(Kind::QualityReview).map(|(_, review)| review),
        view.last::<ReleaseAudit>(Kind::ReleaseAudit).map(|(_, audit)| audit),
        view.last::<UserReport>(Kind::UserReport).map(|(_, report)| report),
    );
    let outside_scope = patch.map(|patch| outside_scope(view, patch)).unwrap_or_default();
    let weakened_tests = diff.map(weakened_tests).unwrap_or_default();
    let judged = derive(
        &facts,
        &PatchJudgement {
            patch,
            outside_scope: &outside_scope,
            weakened_tests: &weakened_tests,
            checks: &verification.checks,
        },
    );
    let mut report = JudgeReport {
        id: JudgeId::new(fresh()),
        run_id: held.run.id.clone(),
        status: judged.status,
        findings: judged.findings,
        confidence: judged.confidence,
        report_artifact: None,
        created_at: now(),
    };
    let text = canonical_text(&report)?;
    let artifact = held.artifact(
        RunArtifactType::JudgeReport,
        "application/json",
        Visibility::VisibleToRequester,
        Some(&step),
        &mut text.as_bytes(),
    )?;
    report.report_artifact = Some(artifact.id.clone());
    held.end(step, StepStatus::Succeeded, None, &[artifact.id])?;
    held.judged(&report)?;
    Ok(report)
}

/// Changed paths that the contract's scope does not include.
fn outside_scope(view: &RunView, patch: &Patch) -> Vec<RepoPath> {
    let Some((_, contract)) = view.last::<TaskContract>(Kind::TaskContract) else { return Vec::new() };
    let globs: Vec<crate::domain::glob::Glob> = contract
        .scope
        .include
        .iter()
        .filter_map(|pattern| crate::domain::glob::Glob::new(pattern).ok())
        .collect();
    // Scopes may also be names of areas, which say nothing about paths.
    if globs.is_empty() {
        return Vec::new();
    }
    let inside = |path: &RepoPath| globs.iter().any(|glob| glob.matches(&path.to_text()));
    patch.file_changes.iter().map(|change| &change.path).filter(|path| !inside(path)).cloned().collect()
}

/// Files in which tests were removed or made to be skipped (P-12).
pub(super) fn edits_of(diff: &Diff) -> Vec<(RepoPath, crate::domain::classify::TestEdits)> {
    let mut lines: BTreeMap<RepoPath, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for file in diff.files() {
        let Some(path) = file.path() else { continue };
        let (added, removed) = lines.entry(path.clone()).or_default();
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let text = || String::from_utf8_lossy(diff.text(line)).into_owned();
            match line.kind {
                LineKind::Added => added.push(text()),
                LineKind::Removed => removed.push(text()),
                LineKind::Context => {}
            }
        }
    }
    let edits = |(path, (added, removed)): (RepoPath, (Vec<String>, Vec<String>))| {
        (path, test_edits(added.iter().map(String::as_str), removed.iter().map(String::as_str)))
    };
    lines.into_iter().map(edits).collect()
}

fn weakened_tests(diff: &Diff) -> Vec<RepoPath> {
    let weakened = edits_of(diff).into_iter().filter(|(_, edits)| edits.removed > 0 || edits.skipped > 0);
    weakened.map(|(path, _)| path).collect()
}

/// What a verdict is decided on.
pub(super) struct Basis<'a> {
    pub view: Option<&'a RunView>,
    pub patch: Option<&'a Patch>,
    pub verification: Option<&'a VerificationReport>,
    pub judge: Option<&'a JudgeReport>,
    pub infrastructure: Option<FailureCode>,
    pub budget: Option<BudgetKind>,
    pub cancelled: bool,
}

/// Decides the verdict (VD-1 to VD-4). The inputs are stored, so that they can be looked at and recomputed.
pub(super) fn verdict(
    shop: &Shop,
    run: &Run,
    spec: &ExecutionSpec,
    basis: &Basis<'_>,
) -> Result<Verdict, EngineError> {
    let input = input(shop, run, spec, basis)?;
    let text = canonical_text(&input)?;
    let (digest, _) = shop.store().put_blob(&mut text.as_bytes()).map_err(ServiceError::from)?;
    let supersedes = run.verdict_id.clone();
    Ok(Verdict::of(&input, VerdictId::new(fresh()), Sha256::from(digest.to_string()), supersedes, now()))
}

fn input(
    shop: &Shop,
    run: &Run,
    spec: &ExecutionSpec,
    basis: &Basis<'_>,
) -> Result<VerdictInput, EngineError> {
    let diff = match basis.patch {
        Some(patch) => {
            let artifact: RunArtifact =
                shop.store().record(patch.unified_diff_artifact.as_str()).map_err(ServiceError::from)?;
            Some(artifact.sha256)
        }
        None => None,
    };
    let boundary = match basis.patch {
        Some(patch) => Some(patch.boundary_check.clone()),
        None if basis.infrastructure.is_none() => {
            Some(Boundary::new(&spec.patch_boundary)?.check(&[], &Default::default(), spec.mode))
        }
        None => None,
    };
    let checks = basis.verification.iter().flat_map(|report| &report.checks).map(|check| CheckInput {
        name: check.name.clone(),
        status: check.status,
        required: check.required,
        summarized_failure: check.summarized_failure.clone(),
    });
    Ok(VerdictInput {
        run_id: run.id.clone(),
        cancelled: basis.cancelled,
        infrastructure_failure: basis.infrastructure,
        budget_exhausted: basis.budget,
        workflow: basis.view.map_or(WorkflowEnd::Unfinished, |view| workflow_end(view.run.status)),
        mode: spec.mode,
        evidence: evidence(shop, run, basis, diff.as_ref())?,
        patch_sha256: diff.filter(|_| basis.patch.is_some_and(|patch| patch.stats.files > 0)),
        boundary,
        apply: basis.patch.map(|patch| patch.apply_status.clone()),
        verification: basis.verification.map_or(VerificationStatus::NotRun, |report| report.status),
        checks: checks.collect(),
        judge: basis.judge.map_or(JudgeStatus::NotRun, |report| report.status),
        findings: basis.judge.map(|report| report.findings.clone()).unwrap_or_default(),
        confidence: basis.judge.map_or(0.0, |report| report.confidence),
        minimum_confidence: spec.judge.minimum_confidence,
        strict: spec.judge.strict,
        autonomy_level: spec.autonomy_level,
    })
}

fn workflow_end(status: WorkflowStatus) -> WorkflowEnd {
    match status {
        WorkflowStatus::Completed => WorkflowEnd::Completed,
        WorkflowStatus::Partial => WorkflowEnd::Partial,
        WorkflowStatus::Blocked => WorkflowEnd::Blocked,
        WorkflowStatus::Cancelled => WorkflowEnd::Cancelled,
        WorkflowStatus::Running | WorkflowStatus::AwaitingClarification => WorkflowEnd::Unfinished,
    }
}

/// What the verdict stands on (VD-2): diff, verifier logs, judge report, workflow report.
fn evidence(
    shop: &Shop,
    run: &Run,
    basis: &Basis<'_>,
    diff: Option<&Sha256>,
) -> Result<Vec<EvidenceRef>, EngineError> {
    let mut evidence = Vec::new();
    let mut add = |kind: &str, id: String, sha256: Sha256| {
        evidence.push(EvidenceRef { kind: kind.to_owned(), id, sha256 });
    };
    if let (Some(patch), Some(sha256)) = (basis.patch, diff) {
        add("diff", patch.unified_diff_artifact.to_string(), sha256.clone());
    }
    let wanted: Vec<String> = basis
        .verification
        .iter()
        .flat_map(|report| &report.checks)
        .filter_map(|check| check.log_artifact.as_ref())
        .chain(basis.judge.iter().filter_map(|report| report.report_artifact.as_ref()))
        .map(ToString::to_string)
        .collect();
    for artifact in shop.supervision.artifacts(run.id.as_str())? {
        if wanted.contains(&artifact.id.to_string()) {
            let kind =
                if artifact.artifact_type == RunArtifactType::JudgeReport { "judge" } else { "verification" };
            add(kind, artifact.id.to_string(), artifact.sha256);
        }
    }
    if let Some(report) = basis.view.and_then(|view| view.latest(Kind::UserReport)) {
        let digest = if report.sha256.starts_with("sha256:") {
            report.sha256.clone()
        } else {
            format!("sha256:{}", report.sha256)
        };
        add("report", report.id.clone(), Sha256::from(digest));
    }
    Ok(evidence)
}
