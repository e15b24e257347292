//! The sentences of a verdict, row by row. Each names what it rests on.

use super::boundary::mutates;
use super::judge::{Finding, JudgeStatus, Severity};
use super::patch::{PathViolation, RepoPath};
use super::policy::{AutonomyLevel, Reason};
use super::verdict_rules::{VerdictInput, WorkflowEnd};
use super::verification::{CheckStatus, VerificationStatus};

/// How many files, checks or findings one sentence names.
const NAMED: usize = 5;

/// A reason with references to the evidence of some kinds.
fn reason(input: &VerdictInput, code: &str, text: impl Into<String>, kinds: &[&str]) -> Reason {
    let refs = input.evidence.iter().filter(|evidence| kinds.contains(&evidence.kind.as_str()));
    Reason {
        code: code.to_owned(),
        text: text.into(),
        refs: refs.map(|evidence| evidence.id.clone()).collect(),
    }
}

/// The first few, and how many more there are.
fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let mut text = items.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > NAMED {
        text.push_str(&format!(" and {} more", items.len() - NAMED));
    }
    text
}

pub(super) fn cancelled(input: &VerdictInput) -> Vec<Reason> {
    vec![reason(input, "cancelled", "a person cancelled the run", &[])]
}

pub(super) fn boundary(input: &VerdictInput) -> Vec<Reason> {
    let Some(check) = &input.boundary else {
        return vec![reason(
            input,
            "boundary_unchecked",
            "the patch was not checked against its bounds",
            &["diff"],
        )];
    };
    let mut reasons = Vec::new();
    let mut add = |code: &str, what: &str, items: Vec<String>| {
        if !items.is_empty() {
            let text = format!("{what}: {}", listed(items.into_iter()));
            reasons.push(reason(input, code, text, &["diff", "boundary"]));
        }
    };
    let violations = |list: &[PathViolation]| {
        list.iter().map(|v| format!("{} ({}: {})", v.path, v.rule, v.detail)).collect::<Vec<_>>()
    };
    let paths = |list: &[RepoPath]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    add("forbidden_path", "forbidden changes", violations(&check.forbidden_path_violations));
    add("path_not_allowed", "changes outside the allowed paths", violations(&check.allowed_path_violations));
    add("generated_file", "generated files changed", paths(&check.unexpected_generated_files));
    add("lockfile", "lock files changed", paths(&check.unexpected_lockfile_changes));
    let limits = check.limit_violations.iter();
    add(
        "limit",
        "limits passed",
        limits.map(|v| format!("{} {} of {}", v.limit, v.actual, v.allowed)).collect(),
    );
    reasons
}

pub(super) fn infrastructure(input: &VerdictInput) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(code) = input.infrastructure_failure {
        let text = format!("the last attempt ended by {code}, and none is left");
        reasons.push(reason(input, "attempts_ended_by_infrastructure", text, &["failure_report"]));
    }
    if input.verification == VerificationStatus::InfraFailure {
        let named = checks_with(input, CheckStatus::InfraFailure, "verification_infrastructure");
        reasons.push(named.unwrap_or_else(|| {
            let text = "verification met infrastructure trouble";
            reason(input, "verification_infrastructure", text, &["verifier_report"])
        }));
    }
    reasons
}

/// One reason for the required checks of a status; one without names where the report names none.
fn checks_with(input: &VerdictInput, status: CheckStatus, code: &str) -> Option<Reason> {
    let named: Vec<String> = input
        .checks
        .iter()
        .filter(|check| check.required && check.status == status)
        .map(|check| check.summarized_failure.clone().unwrap_or_else(|| check.name.clone()))
        .collect();
    (!named.is_empty()).then(|| {
        let text = format!("required checks are {status}: {}", listed(named.into_iter()));
        reason(input, code, text, &["verifier_report"])
    })
}

pub(super) fn could_not_complete(input: &VerdictInput) -> Vec<Reason> {
    let mut reasons = Vec::new();
    match input.workflow {
        WorkflowEnd::Blocked => {
            reasons.push(reason(
                input,
                "workflow_blocked",
                "the workflow ended blocked",
                &["workflow_report"],
            ));
        }
        WorkflowEnd::Unfinished => {
            let text = "the agent could not bring its workflow to an end";
            reasons.push(reason(input, "workflow_unfinished", text, &["workflow_report"]));
        }
        _ => {}
    }
    if let Some(kind) = input.budget_exhausted {
        let text = format!("the budget {kind} is spent and was not extended");
        reasons.push(reason(input, "budget_exhausted", text, &[]));
    }
    if mutates(input.mode) && input.patch_sha256.is_none() {
        let text = format!("{} ended without a patch", input.mode);
        reasons.push(reason(input, "no_patch", text, &["workflow_report"]));
    }
    reasons
}

pub(super) fn failed_checks(input: &VerdictInput) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = [
        checks_with(input, CheckStatus::Failed, "verification_failed"),
        checks_with(input, CheckStatus::TimedOut, "verification_timed_out"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if reasons.is_empty() {
        let text = format!("verification is {}", input.verification);
        reasons.push(reason(input, "verification_failed", text, &["verifier_report"]));
    }
    reasons
}

pub(super) fn conflict(input: &VerdictInput) -> Vec<Reason> {
    let moved = input.apply.as_ref().map_or(0, |apply| apply.base_moved_by);
    let text = format!("the patch does not apply to the base, which moved by {moved} commits");
    vec![reason(input, "conflict", text, &["diff"])]
}

pub(super) fn nothing_to_publish(input: &VerdictInput) -> Vec<Reason> {
    let text = format!("{} is complete; there is nothing to publish", input.mode);
    vec![reason(input, "nothing_to_publish", text, &["workflow_report"])]
}

pub(super) fn unproven(input: &VerdictInput) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if input.workflow == WorkflowEnd::Partial {
        reasons.push(reason(input, "workflow_partial", "the workflow ended partial", &["workflow_report"]));
    }
    let (code, text) = match input.verification {
        VerificationStatus::Partial => {
            let open = input.checks.iter().filter(|check| {
                check.required && matches!(check.status, CheckStatus::NotRun | CheckStatus::Skipped)
            });
            let named = listed(open.map(|check| check.name.clone()));
            ("verification_partial", format!("required checks did not run: {named}"))
        }
        VerificationStatus::NotRun => ("verification_not_run", "nothing verified the patch".to_owned()),
        VerificationStatus::SkippedByPolicy => {
            ("verification_skipped", "policy or missing consent let no check run".to_owned())
        }
        _ => return reasons,
    };
    reasons.push(reason(input, code, text, &["verifier_report"]));
    reasons
}

pub(super) fn is_blocker(finding: &Finding) -> bool {
    finding.severity == Severity::Blocker
}

fn told(finding: &Finding) -> String {
    match (&finding.file_path, finding.line_number) {
        (Some(path), Some(line)) => format!("{path}:{line}: {}", finding.message),
        (Some(path), None) => format!("{path}: {}", finding.message),
        (None, _) => finding.message.clone(),
    }
}

pub(super) fn judged_bad(input: &VerdictInput) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if input.judge == JudgeStatus::Failed {
        reasons.push(reason(input, "judge_failed", "the judge says FAILED", &["judge_report"]));
    }
    let blockers = listed(input.findings.iter().filter(|finding| is_blocker(finding)).map(told));
    if !blockers.is_empty() {
        reasons.push(reason(input, "blocker", format!("blocking findings: {blockers}"), &["judge_report"]));
    }
    reasons
}

/// Row 10: whatever asks for a person. Empty when nothing does.
pub(super) fn doubts(input: &VerdictInput) -> Vec<Reason> {
    let judge = &["judge_report"];
    let mut reasons = Vec::new();
    let (code, text) = match input.judge {
        JudgeStatus::NeedsHumanReview => ("judge_needs_human_review", "the judge asks for a person"),
        JudgeStatus::Inconclusive => ("judge_inconclusive", "the judge could come to no answer"),
        JudgeStatus::NotRun => ("judge_not_run", "no judge looked at the run"),
        _ => ("", ""),
    };
    if !code.is_empty() {
        reasons.push(reason(input, code, text, judge));
    }
    // A confidence that is no number is no confidence.
    let confident = input.confidence >= input.minimum_confidence;
    if !confident {
        let text = format!(
            "confidence {:.2} is under the minimum {:.2}",
            input.confidence, input.minimum_confidence
        );
        reasons.push(reason(input, "low_confidence", text, judge));
    }
    let blocking = input.findings.iter().filter(|finding| finding.blocks_auto_pr && !is_blocker(finding));
    let blocking = listed(blocking.map(told));
    if !blocking.is_empty() {
        let text = format!("findings that need a person: {blocking}");
        reasons.push(reason(input, "finding_blocks_auto_pr", text, judge));
    } else if input.findings.iter().any(|finding| finding.blocks_auto_pr) {
        reasons.push(reason(input, "finding_blocks_auto_pr", "a blocking finding needs a person", judge));
    }
    let warnings = listed(input.findings.iter().filter(|f| f.severity == Severity::Warning).map(told));
    let warned = input.judge == JudgeStatus::PassedWithWarnings || !warnings.is_empty();
    if input.strict && warned {
        let text = if warnings.is_empty() {
            "the judge passed it with warnings, and the judge is strict".to_owned()
        } else {
            format!("warnings under a strict judge: {warnings}")
        };
        reasons.push(reason(input, "warnings", text, judge));
    }
    reasons
}

pub(super) fn autonomy(input: &VerdictInput) -> Vec<Reason> {
    let text = match input.autonomy_level {
        AutonomyLevel::SuggestOnly => "the run may suggest only",
        AutonomyLevel::SupervisedPr => "a pull request needs a person's approval",
        AutonomyLevel::AutoPr => "a pull request may follow by itself",
    };
    vec![reason(input, input.autonomy_level.as_str(), text, &[])]
}
