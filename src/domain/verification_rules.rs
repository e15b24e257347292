//! What a check's outcome means (V-4 to V-7), and what all checks together say.

use super::policy::PlannedCheck;
use super::runners::{self, TestSummary};
use super::verification::{Check, CheckStatus, TestCounts, VerificationStatus};

/// Why a command did not even start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The program is not there, or may not be executed.
    CommandMissing(String),
    /// Policy or missing consent says that it may not run.
    SkippedByPolicy(String),
    /// The run was cancelled, or an earlier step failed, before its turn came.
    NotReached(String),
    /// The machine could not start it.
    Infrastructure(String),
}

/// What is known after a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFacts<'a> {
    /// Why it did not start.
    pub not_started: Option<NotStarted>,
    /// The exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether the disk ran full meanwhile.
    pub disk_full: bool,
    /// The output that was kept: head and tail.
    pub output: &'a str,
    /// What the JUnit files say, where the plan names some; an error where they could not be read or are not there.
    pub junit: Option<Result<TestSummary, String>>,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReading {
    /// Passed, failed, or why neither.
    pub status: CheckStatus,
    /// What failed, in a sentence that names the command (V-4).
    pub summarized_failure: Option<String>,
    /// The tests that failed.
    pub failed_tests: Vec<String>,
    /// How many tests ran.
    pub tests: Option<TestCounts>,
}

/// Outputs that mean a machine or a network and not the code (V-5). Compared without letter case.
const MACHINE_PATTERNS: &[&str] = &[
    "no space left on device",
    "disk quota exceeded",
    "cannot allocate memory",
    "enospc",
    "read-only file system",
    "too many open files",
];
const NETWORK_PATTERNS: &[&str] = &[
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "enotfound",
    "eai_again",
    "no such host",
    "connection refused",
    "econnrefused",
    "connection reset by peer",
    "econnreset",
    "connection timed out",
    "etimedout",
    "network is unreachable",
    "tls handshake timeout",
    "spurious network error",
    "could not transfer artifact",
    "failed to download",
    "502 bad gateway",
    "503 service unavailable",
    "429 too many requests",
    "proxy authentication required",
];

/// SIGKILL: without a time limit of ours it is the kernel's, for memory.
const KILLED: i32 = 9;

/// Reads what a command did.
///
/// Tests that are named as failed are code, even where the network is mentioned beside them; only the policy's
/// own patterns and a full machine outweigh them.
#[must_use]
pub fn read_check(planned: &PlannedCheck, facts: &CheckFacts<'_>, infra_patterns: &[String]) -> CheckReading {
    if let Some(reason) = &facts.not_started {
        return not_started(planned, reason);
    }
    let said = runners::summarize(facts.output);
    let (tests, junit_missing) = match &facts.junit {
        Some(Ok(report)) => (said.or_better(report.clone()), None),
        Some(Err(missing)) => (said, Some(missing)),
        None => (said, None),
    };
    let failing = !tests.failed.is_empty() || tests.counts.is_some_and(|counts| counts.failed > 0);
    let failed_exit = facts.exit_code != Some(0);
    let (status, what) = if facts.timed_out {
        let limit = planned.timeout_seconds;
        (CheckStatus::TimedOut, Some(format!("did not end within {limit} s")))
    } else if facts.disk_full {
        (CheckStatus::InfraFailure, Some("ran out of disk space".to_owned()))
    } else if failed_exit {
        match infrastructure(facts, failing, infra_patterns) {
            Some(cause) => (CheckStatus::InfraFailure, Some(cause)),
            None => (CheckStatus::Failed, Some(how_it_ended(facts))),
        }
    } else if failing && facts.junit.is_some() {
        (CheckStatus::Failed, Some("exited with 0 although its report names failed tests".to_owned()))
    } else if let Some(missing) = junit_missing {
        (CheckStatus::NotRun, Some(format!("passed, but its JUnit report cannot be read: {missing}")))
    } else if tests.counts.is_some_and(|counts| counts.ran() == 0) {
        // V-7: nothing was tested, so nothing passed.
        (CheckStatus::NotRun, Some("ran no test at all".to_owned()))
    } else {
        (CheckStatus::Passed, None)
    };
    CheckReading {
        status,
        summarized_failure: what.map(|what| sentence(planned, &what, &tests)),
        failed_tests: tests.failed,
        tests: tests.counts,
    }
}

fn not_started(planned: &PlannedCheck, reason: &NotStarted) -> CheckReading {
    let (status, what) = match reason {
        NotStarted::CommandMissing(why) => {
            (CheckStatus::InfraFailure, format!("could not be started: {why}"))
        }
        NotStarted::Infrastructure(why) => {
            (CheckStatus::InfraFailure, format!("could not be started: {why}"))
        }
        NotStarted::SkippedByPolicy(why) => (CheckStatus::Skipped, format!("was not run: {why}")),
        NotStarted::NotReached(why) => (CheckStatus::NotRun, format!("was not run: {why}")),
    };
    let none = TestSummary::default();
    let summarized_failure = Some(sentence(planned, &what, &none));
    CheckReading { status, summarized_failure, failed_tests: Vec::new(), tests: None }
}

/// The infrastructure that failed, if it was that (V-5).
fn infrastructure(facts: &CheckFacts<'_>, tests_failed: bool, infra_patterns: &[String]) -> Option<String> {
    let lower = facts.output.to_lowercase();
    let found = |pattern: &str| lower.contains(&pattern.to_lowercase());
    if let Some(pattern) = infra_patterns.iter().find(|pattern| !pattern.is_empty() && found(pattern)) {
        return Some(format!("met infrastructure trouble that the policy names: {pattern}"));
    }
    if let Some(pattern) = MACHINE_PATTERNS.iter().find(|pattern| found(pattern)) {
        return Some(format!("met trouble of the machine: {pattern}"));
    }
    if facts.signal == Some(KILLED) || facts.exit_code == Some(128 + KILLED) {
        return Some("was killed, probably for memory".to_owned());
    }
    if tests_failed {
        return None;
    }
    if matches!(facts.exit_code, Some(126 | 127)) {
        return Some(format!(
            "names a program that is not there (exit code {})",
            facts.exit_code.unwrap_or(127)
        ));
    }
    let network = NETWORK_PATTERNS.iter().find(|pattern| found(pattern))?;
    Some(format!("met trouble of the network: {network}"))
}

fn how_it_ended(facts: &CheckFacts<'_>) -> String {
    match (facts.exit_code, facts.signal) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended without an exit code".to_owned(),
    }
}

/// How many failed tests a sentence names.
const NAMED_TESTS: usize = 5;

/// The sentence of V-4: the command, how it ended, the tests.
fn sentence(planned: &PlannedCheck, what: &str, tests: &TestSummary) -> String {
    let mut text = format!("`{}` ({}) {what}", planned.command, planned.name);
    if let Some(counts) = tests.counts.filter(|counts| counts.failed > 0) {
        text.push_str(&format!("; {} of {} tests failed", counts.failed, counts.ran()));
    }
    if !tests.failed.is_empty() {
        let named: Vec<&str> = tests.failed.iter().take(NAMED_TESTS).map(String::as_str).collect();
        text.push_str(&format!(": {}", named.join(", ")));
        if tests.failed.len() > NAMED_TESTS {
            text.push_str(&format!(" and {} more", tests.failed.len() - NAMED_TESTS));
        }
    }
    text
}

/// What all checks together say. `policy_off`: policy or missing consent let none of them run.
#[must_use]
pub fn overall(checks: &[Check], policy_off: bool) -> VerificationStatus {
    if policy_off {
        return VerificationStatus::SkippedByPolicy;
    }
    if checks.is_empty() {
        return VerificationStatus::NotRun;
    }
    let any = |status: CheckStatus| checks.iter().any(|check| check.required && check.status == status);
    if any(CheckStatus::Failed) {
        VerificationStatus::Failed
    } else if any(CheckStatus::TimedOut) {
        VerificationStatus::TimedOut
    } else if any(CheckStatus::InfraFailure) {
        VerificationStatus::InfraFailure
    } else if any(CheckStatus::NotRun) || any(CheckStatus::Skipped) {
        VerificationStatus::Partial
    } else {
        VerificationStatus::Passed
    }
}

/// By how many tests fewer ran than on the base commit (V-7, with `verify_base`).
#[must_use]
pub fn test_drop(check: &Check) -> Option<u64> {
    let (now, base) = (check.tests?, check.baseline_tests?);
    base.ran().checked_sub(now.ran()).filter(|drop| *drop > 0)
}
