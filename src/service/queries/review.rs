//! What a run is judged by, as the approval page shows it.

use super::{Queries, Supervised, sentence};
use crate::domain::{
    ApplyState, BoundaryCheck, CheckStatus, ExecutionSpec, FileChange, Finding, JudgeReport, JudgeStatus,
    Patch, PrEligibility, RunArtifact, Severity, Verdict, VerificationReport, VerificationStatus,
};
use crate::service::ServiceError;
use crate::service::publication;
use crate::service::snapshot::{
    ApprovalView, BoundaryView, CheckView, ChecklistItem, FindingView, ItemState, JudgeView, JumpTarget,
    PatchFile, PatchSummary, ReasonView, VerificationView,
};

pub(super) fn verification(report: &VerificationReport) -> VerificationView {
    VerificationView {
        status: report.status.as_str().to_owned(),
        checks: report
            .checks
            .iter()
            .map(|check| CheckView {
                name: check.name.clone(),
                command: check.command.clone(),
                status: check.status.as_str().to_owned(),
                exit_code: check.exit_code,
                duration_ms: Some(check.duration_millis),
                log: check.log_artifact.as_ref().map(ToString::to_string),
                summary: check.summarized_failure.clone(),
                required: check.required,
                failed_tests: check.failed_tests.clone(),
                baseline: check.baseline_status.map(|status| status.as_str().to_owned()),
            })
            .collect(),
        started_at: Some(report.started_at.to_string()),
        ended_at: Some(report.ended_at.to_string()),
    }
}

/// The violations of a boundary check, in words.
fn violations(check: &BoundaryCheck) -> Vec<String> {
    let paths = check.forbidden_path_violations.iter().chain(&check.allowed_path_violations);
    let mut lines: Vec<String> = paths
        .map(|violation| format!("{}: {} ({})", violation.path, violation.detail, violation.rule.as_str()))
        .collect();
    lines.extend(check.unexpected_generated_files.iter().map(|path| format!("{path}: a generated file")));
    lines.extend(check.unexpected_lockfile_changes.iter().map(|path| format!("{path}: a lock file")));
    lines.extend(check.limit_violations.iter().map(|violation| {
        format!("{}: {} of {} allowed", violation.limit, violation.actual, violation.allowed)
    }));
    lines
}

pub(super) fn boundary(patch: &Patch) -> BoundaryView {
    let apply = &patch.apply_status;
    let tip = apply.tip.as_ref().map_or_else(|| "no tip".to_owned(), |tip| tip.chars().take(9).collect());
    BoundaryView {
        passed: patch.boundary_check.passed,
        violations: violations(&patch.boundary_check),
        apply_status: apply.state.as_str().to_owned(),
        apply_note: match apply.base_moved_by {
            0 => format!("tried on {tip}, the base itself"),
            1 => format!("tried on {tip}, one commit past the base"),
            moved => format!("tried on {tip}, {moved} commits past the base"),
        },
    }
}

pub(super) fn judge(report: &JudgeReport) -> JudgeView {
    let finding = |finding: &Finding| FindingView {
        severity: finding.severity.as_str().to_owned(),
        category: finding.category.clone(),
        message: finding.message.clone(),
        path: finding.file_path.as_ref().map(ToString::to_string),
        line: finding.line_number.and_then(|line| u32::try_from(line).ok()),
        blocks_auto_pr: finding.blocks_auto_pr,
    };
    JudgeView {
        status: report.status.as_str().to_owned(),
        confidence: report.confidence,
        findings: report.findings.iter().map(finding).collect(),
    }
}

fn flags(change: &FileChange, undeclared: bool) -> Vec<String> {
    let moded = change.old_mode.is_some() && change.new_mode.is_some() && change.old_mode != change.new_mode;
    [
        ("forbidden", change.forbidden_by_policy),
        ("undeclared", undeclared),
        ("binary", change.binary),
        ("lockfile", change.lockfile),
        ("generated", change.generated),
        ("test", change.test_file),
        ("symlink", change.symlink),
        ("submodule", change.submodule),
        ("mode", moded),
    ]
    .into_iter()
    .filter(|(_, holds)| *holds)
    .map(|(word, _)| word.to_owned())
    .collect()
}

pub(super) fn patch(queries: &Queries, around: &Supervised) -> Result<Option<PatchSummary>, ServiceError> {
    let Some(patch) = &around.patch else { return Ok(None) };
    let artifact: RunArtifact = queries.store().record(patch.unified_diff_artifact.as_str())?;
    let file = |change: &FileChange| PatchFile {
        path: change.path.to_string(),
        old_path: change.old_path.as_ref().map(ToString::to_string),
        change: change.change_type.as_str().to_owned(),
        additions: change.additions,
        deletions: change.deletions,
        flags: flags(change, patch.undeclared_changes.contains(&change.path)),
        // A viewed mark is bound to the whole patch until a part of it has a digest of its own.
        digest: format!("{}:{}", artifact.sha256, change.path),
    };
    Ok(Some(PatchSummary {
        digest: artifact.sha256.to_string(),
        base_commit: patch.base_commit.to_string(),
        files: patch.file_changes.iter().map(file).collect(),
        additions: patch.stats.additions,
        deletions: patch.stats.deletions,
    }))
}

pub(super) fn approval(
    around: &Supervised,
    spec: Option<&ExecutionSpec>,
    patch: Option<&PatchSummary>,
) -> Option<ApprovalView> {
    let verdict = around.verdict.as_ref()?;
    let run = around.run.as_ref()?;
    let title = around.task.as_ref().map_or_else(|| run.id.to_string(), |task| task.title.clone());
    let plan = spec.map(|spec| publication::plan(&title, run, spec));
    let taken = around.approval.as_ref();
    Some(ApprovalView {
        verdict_id: verdict.id.to_string(),
        status: verdict.status.as_str().to_owned(),
        eligibility: verdict.pr_eligibility.as_str().to_owned(),
        decided_at: verdict.decided_at.to_string(),
        reasons: reasons(verdict),
        checklist: checklist(around),
        patch_digest: patch.map_or_else(String::new, |patch| patch.digest.clone()),
        base_commit: run.base_commit.as_ref().map_or_else(String::new, ToString::to_string),
        branch: plan.as_ref().map_or_else(String::new, |plan| plan.branch.clone()),
        remote: plan.as_ref().map_or_else(String::new, |plan| plan.remote.clone()),
        commit_subject: plan.map_or_else(String::new, |plan| plan.subject),
        stale: None,
        decision: taken.map(|approval| approval.decision.as_str().to_owned()),
        decision_note: taken.map(|approval| {
            let comment =
                approval.comment.as_deref().map_or_else(String::new, |comment| format!(": {comment}"));
            format!("by {} at {}{comment}", approval.actor, approval.decided_at)
        }),
        publication: run.publication.as_ref().map(publication::words),
    })
}

/// The reasons of a verdict; what is more than a plain yes has to be acknowledged.
fn reasons(verdict: &Verdict) -> Vec<ReasonView> {
    verdict
        .reasons
        .iter()
        .map(|reason| ReasonView {
            code: reason.code.clone(),
            text: reason.text.clone(),
            acknowledge: sentence::needs_acknowledgement(verdict, &reason.code),
        })
        .collect()
}

fn item(name: &str, state: ItemState, detail: impl Into<String>, jump: JumpTarget) -> ChecklistItem {
    ChecklistItem { name: name.to_owned(), state, detail: detail.into(), jump }
}

fn checklist(around: &Supervised) -> Vec<ChecklistItem> {
    let mut items = Vec::new();
    if let Some(patch) = &around.patch {
        let broken = violations(&patch.boundary_check);
        items.push(match broken.first() {
            None => {
                item("boundary", ItemState::Pass, "every change lies inside the boundary", JumpTarget::Diff)
            }
            Some(first) => item("boundary", ItemState::Fail, first.clone(), JumpTarget::Diff),
        });
        items.push(match patch.apply_status.state {
            ApplyState::Clean => {
                item("applies", ItemState::Pass, boundary(patch).apply_note, JumpTarget::Diff)
            }
            ApplyState::Conflict => {
                item("applies", ItemState::Fail, "conflicts with the tip of the base", JumpTarget::Diff)
            }
            ApplyState::NotChecked => item("applies", ItemState::Warn, "not checked", JumpTarget::Diff),
        });
        if !patch.secrets.is_empty() {
            items.push(item(
                "secrets",
                ItemState::Fail,
                "added lines look like a credential",
                JumpTarget::Diff,
            ));
        }
    }
    if let Some(report) = &around.verification {
        if report.checks.is_empty() {
            let why = report.skip_reason.clone().unwrap_or_else(|| "no check is configured".into());
            let state =
                if report.status == VerificationStatus::Passed { ItemState::Pass } else { ItemState::Warn };
            items.push(item("checks", state, why, JumpTarget::Checks));
        }
        for check in &report.checks {
            let state = match check.status {
                CheckStatus::Passed => ItemState::Pass,
                _ if check.required => ItemState::Fail,
                _ => ItemState::Warn,
            };
            let detail = check.summarized_failure.clone().unwrap_or_else(|| check.command.clone());
            items.push(item(&format!("check {}", check.name), state, detail, JumpTarget::Checks));
        }
    }
    if let Some(judge) = &around.judge {
        let state = match judge.status {
            JudgeStatus::Passed => ItemState::Pass,
            JudgeStatus::Failed => ItemState::Fail,
            _ => ItemState::Warn,
        };
        let warnings = judge.findings.iter().filter(|finding| finding.severity >= Severity::Warning).count();
        let detail =
            format!("{}, confidence {:.2}, {warnings} warnings", judge.status.as_str(), judge.confidence);
        items.push(item("judge", state, detail, JumpTarget::Checks));
    }
    if let Some(verdict) = &around.verdict {
        let state = match verdict.pr_eligibility {
            PrEligibility::NotEligible => ItemState::Fail,
            PrEligibility::DraftOnly => ItemState::Warn,
            _ => ItemState::Pass,
        };
        items.push(item("verdict", state, verdict.pr_eligibility.as_str(), JumpTarget::Overview));
    }
    items
}
