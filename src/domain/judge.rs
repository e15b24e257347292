//! What the judge found. telic calls no model: its judge is a derivation that a program may join.

use super::ids::{ArtifactId, JudgeId, RunId};
use super::patch::RepoPath;
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What the judge says.
    pub enum JudgeStatus {
        NotRun = "NOT_RUN",
        Passed = "PASSED",
        PassedWithWarnings = "PASSED_WITH_WARNINGS",
        Failed = "FAILED",
        NeedsHumanReview = "NEEDS_HUMAN_REVIEW",
        Inconclusive = "INCONCLUSIVE",
    }
}

words! {
    /// How much a finding weighs, from least to most.
    pub enum Severity {
        Info = "INFO",
        Warning = "WARNING",
        Error = "ERROR",
        Blocker = "BLOCKER",
    }
}

/// One thing the judge found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable snake_case word.
    pub category: String,
    /// One sentence.
    pub message: String,
    /// The file, if it is about one.
    #[serde(default)]
    pub file_path: Option<RepoPath>,
    /// The line, if it is about one.
    #[serde(default)]
    pub line_number: Option<u64>,
    /// Whether a pull request may not go by itself.
    #[serde(default)]
    pub blocks_auto_pr: bool,
}

/// What the judge says about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgeReport {
    /// Its id.
    pub id: JudgeId,
    /// The run.
    pub run_id: RunId,
    /// What it says.
    pub status: JudgeStatus,
    /// What it found.
    pub findings: Vec<Finding>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// The report as an artifact (J-2).
    pub report_artifact: Option<ArtifactId>,
    /// When it was made.
    pub created_at: Timestamp,
}
