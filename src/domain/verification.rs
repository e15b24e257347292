//! What the checks of a run said, and how well that can be trusted.

use super::ids::{ArtifactId, RunId, VerificationId};
use super::time::Timestamp;
use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What all checks together say.
    pub enum VerificationStatus {
        NotRun = "NOT_RUN",
        Passed = "PASSED",
        Failed = "FAILED",
        Partial = "PARTIAL",
        TimedOut = "TIMED_OUT",
        InfraFailure = "INFRA_FAILURE",
        SkippedByPolicy = "SKIPPED_BY_POLICY",
    }
}

words! {
    /// What one check says.
    pub enum CheckStatus {
        Passed = "PASSED",
        Failed = "FAILED",
        TimedOut = "TIMED_OUT",
        InfraFailure = "INFRA_FAILURE",
        Skipped = "SKIPPED",
        NotRun = "NOT_RUN",
    }
}

/// How many tests ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCounts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed or broke.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
}

impl TestCounts {
    /// Tests that really ran.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

/// What one command said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Its name in the plan.
    pub name: String,
    /// The command (V-1).
    pub command: String,
    /// What it says.
    pub status: CheckStatus,
    /// The exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_millis: u64,
    /// All of its output (V-3).
    pub log_artifact: Option<ArtifactId>,
    /// What failed, in a sentence that names the command (V-4).
    pub summarized_failure: Option<String>,
    /// Whether a failure blocks (V-6).
    pub required: bool,
    /// The tests that failed (V-4).
    pub failed_tests: Vec<String>,
    /// How many tests ran, where that is known (V-7).
    pub tests: Option<TestCounts>,
    /// What the same check said on the base commit.
    pub baseline_status: Option<CheckStatus>,
    /// How many tests ran on the base commit.
    pub baseline_tests: Option<TestCounts>,
    /// Processes it left behind that were killed (V-8).
    pub processes_left: u32,
    /// Bytes of output that were dropped between head and tail (V-9).
    pub output_dropped: u64,
}

/// What all checks said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationReport {
    /// Its id.
    pub id: VerificationId,
    /// The run.
    pub run_id: RunId,
    /// All together.
    pub status: VerificationStatus,
    /// One by one, in the plan's order.
    pub checks: Vec<Check>,
    /// The report as an artifact.
    pub full_report_artifact: Option<ArtifactId>,
    /// Why it was skipped, when it was.
    pub skip_reason: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}
