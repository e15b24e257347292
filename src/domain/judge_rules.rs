//! The judge that telic derives itself (from the workflow and the patch), and how a program's word joins it.
//!
//! It only ever adds doubt: no part can make another part's answer better (J-1).

use super::judge::{Finding, JudgeStatus, Severity};
use super::patch::{Patch, RepoPath};
use super::verification::{Check, CheckStatus};
use super::verification_rules::test_drop;
use crate::protocol::{AuditDecision, QualityDecision};
use serde::{Deserialize, Serialize};

/// What the workflow's last review, audit and report say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkflowFacts {
    /// The last review's decision; none without a review.
    pub review: Option<QualityDecision>,
    /// The last audit's decision; none without an audit.
    pub audit: Option<AuditDecision>,
    /// The review's score, 0 to 100.
    pub score: Option<f64>,
    /// The confidence of each completion claim, 0 to 1.
    pub claim_confidences: Vec<f64>,
    /// How many acceptance criteria there are.
    pub criteria: usize,
    /// How many of them a supported claim with direct evidence covers.
    pub criteria_proven: usize,
    /// What gates, checks, claims and findings say, as findings already.
    pub findings: Vec<Finding>,
}

/// What the patch itself says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PatchJudgement<'a> {
    /// The patch; none when the run ended without one.
    pub patch: Option<&'a Patch>,
    /// Public interfaces and configuration outside the contract's scope.
    pub outside_scope: &'a [RepoPath],
    /// Files whose tests were removed or skipped.
    pub weakened_tests: &'a [RepoPath],
    /// What verification said.
    pub checks: &'a [Check],
}

/// What the judge comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeOutcome {
    /// Its answer.
    pub status: JudgeStatus,
    /// What it found, workflow first.
    pub findings: Vec<Finding>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// A patch of more changed lines than this is called large.
pub const LARGE_PATCH_LINES: u64 = 800;
/// A patch of more files than this is called large.
pub const LARGE_PATCH_FILES: u64 = 25;

impl Finding {
    /// A finding about the run as a whole.
    #[must_use]
    pub fn new(severity: Severity, category: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            category: category.to_owned(),
            message: message.into(),
            file_path: None,
            line_number: None,
            blocks_auto_pr: matches!(severity, Severity::Error | Severity::Blocker),
        }
    }

    /// The same finding about a file.
    #[must_use]
    pub fn at(mut self, path: &RepoPath) -> Self {
        self.file_path = Some(path.clone());
        self
    }

    /// The same finding, which lets no pull request go by itself.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.blocks_auto_pr = true;
        self
    }
}

/// Derives the judge's answer from the workflow and the patch.
#[must_use]
pub fn derive(workflow: &WorkflowFacts, patch: &PatchJudgement<'_>) -> JudgeOutcome {
    let mut findings = workflow.findings.clone();
    findings.extend(patch_findings(patch));
    let status = match (workflow.review, workflow.audit) {
        (Some(QualityDecision::Block), _) | (_, Some(AuditDecision::Block)) => JudgeStatus::Failed,
        (Some(QualityDecision::Partial), Some(_)) | (_, Some(AuditDecision::Partial)) => {
            JudgeStatus::NeedsHumanReview
        }
        (Some(QualityDecision::Pass), Some(AuditDecision::Release)) => {
            if findings.iter().any(|finding| finding.severity >= Severity::Warning) {
                JudgeStatus::PassedWithWarnings
            } else {
                JudgeStatus::Passed
            }
        }
        // No audit, or one that asked for more work that never came.
        _ => JudgeStatus::Inconclusive,
    };
    JudgeOutcome { status, findings, confidence: confidence(workflow) }
}

/// The least of the score, the claims' confidences and the share of proven criteria. What is not there adds
/// no confidence: without a score or a criterion it is 0; a report without claims takes nothing away.
fn confidence(workflow: &WorkflowFacts) -> f64 {
    let score = workflow.score.unwrap_or(0.0) / 100.0;
    #[expect(clippy::cast_precision_loss, reason = "a contract has at most some hundred criteria")]
    let proven = match workflow.criteria {
        0 => 0.0,
        all => workflow.criteria_proven as f64 / all as f64,
    };
    let least = workflow.claim_confidences.iter().copied().fold(score.min(proven), f64::min);
    if least.is_finite() { least.clamp(0.0, 1.0) } else { 0.0 }
}

fn patch_findings(judged: &PatchJudgement<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(patch) = judged.patch {
        for hit in &patch.secrets {
            let message = format!("an added line holds what looks like a secret: {}", hit.description);
            let mut finding = Finding::new(Severity::Blocker, "secret", message).at(&hit.path);
            finding.line_number = hit.line;
            findings.push(finding);
        }
        for path in &patch.undeclared_changes {
            let message = "changed, although no work result says so";
            findings.push(Finding::new(Severity::Error, "undeclared_change", message).at(path));
        }
        for path in &patch.missing_changes {
            let message = "said to be changed, but is as it was";
            findings.push(Finding::new(Severity::Error, "missing_change", message).at(path));
        }
        for path in patch.touches_verification.iter().filter(|path| !judged.weakened_tests.contains(path)) {
            let message = "decides what verification runs, and was changed";
            findings.push(Finding::new(Severity::Warning, "touches_verification", message).at(path));
        }
        let lines = patch.stats.additions.saturating_add(patch.stats.deletions);
        if lines > LARGE_PATCH_LINES || patch.stats.files > LARGE_PATCH_FILES {
            let message = format!("the patch is large: {} files, {lines} lines", patch.stats.files);
            findings.push(Finding::new(Severity::Info, "large_patch", message));
        }
    }
    for path in judged.outside_scope {
        let message = "a public interface or configuration outside the contract's scope";
        findings.push(Finding::new(Severity::Warning, "outside_scope", message).at(path));
    }
    for path in judged.weakened_tests {
        let message = "tests were removed or are skipped now";
        findings.push(Finding::new(Severity::Warning, "tests_weakened", message).at(path).blocking());
    }
    findings.extend(judged.checks.iter().flat_map(check_findings));
    findings
}

fn check_findings(check: &Check) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(drop) = test_drop(check) {
        let message = format!("{} ran {drop} tests fewer than on the base commit", check.name);
        findings.push(Finding::new(Severity::Warning, "fewer_tests", message).blocking());
    }
    if !check.required && check.status != CheckStatus::Passed {
        let message = format!("the optional check {} is {}", check.name, check.status);
        findings.push(Finding::new(Severity::Warning, "optional_check", message));
    }
    if check.status == CheckStatus::Failed && check.baseline_status == Some(CheckStatus::Failed) {
        let message = format!("{} failed on the base commit already", check.name);
        findings.push(Finding::new(Severity::Info, "failed_before", message));
    }
    if check.processes_left > 0 {
        let message = format!("{} left {} processes behind", check.name, check.processes_left);
        findings.push(Finding::new(Severity::Info, "processes_left", message));
    }
    findings
}

/// The answer of a judge program, as it prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramAnswer {
    /// Its answer; `NOT_RUN` is none.
    pub status: JudgeStatus,
    /// What it found.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// The most findings that a program may report.
pub const PROGRAM_FINDINGS_LIMIT: usize = 500;

impl ProgramAnswer {
    /// Reads what a program printed.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it; the caller then joins [`program_failed`].
    pub fn parse(output: &str) -> Result<Self, String> {
        let answer: Self = serde_json::from_str(output)
            .map_err(|error| format!("its output is no judge report: {error}"))?;
        if answer.status == JudgeStatus::NotRun {
            return Err("it answers NOT_RUN".to_owned());
        }
        if !(0.0..=1.0).contains(&answer.confidence) {
            return Err(format!("its confidence {} is not from 0 to 1", answer.confidence));
        }
        if answer.findings.len() > PROGRAM_FINDINGS_LIMIT {
            return Err(format!("it reports {} findings", answer.findings.len()));
        }
        Ok(answer)
    }
}

/// What stands for a program that crashed, hung or printed something else.
#[must_use]
pub fn program_failed(why: &str) -> ProgramAnswer {
    let message = format!("the judge program gave no answer: {why}");
    ProgramAnswer {
        status: JudgeStatus::Inconclusive,
        findings: vec![Finding::new(Severity::Warning, "judge_program", message)],
        confidence: 0.0,
    }
}

/// Joins a program's answer: the worse answer, all findings, the lesser confidence.
#[must_use]
pub fn join(mut own: JudgeOutcome, program: ProgramAnswer) -> JudgeOutcome {
    own.findings.extend(program.findings);
    if doubt(program.status) > doubt(own.status) {
        own.status = program.status;
    }
    if own.status == JudgeStatus::Passed && own.findings.iter().any(|f| f.severity >= Severity::Warning) {
        own.status = JudgeStatus::PassedWithWarnings;
    }
    own.confidence = own.confidence.min(program.confidence);
    own
}

/// How much doubt an answer means.
fn doubt(status: JudgeStatus) -> u8 {
    match status {
        JudgeStatus::Passed => 0,
        JudgeStatus::PassedWithWarnings => 1,
        JudgeStatus::NotRun => 2,
        JudgeStatus::Inconclusive => 3,
        JudgeStatus::NeedsHumanReview => 4,
        JudgeStatus::Failed => 5,
    }
}
