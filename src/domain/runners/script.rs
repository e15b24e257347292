//! pytest, jest and vitest.

use super::super::verification::TestCounts;
use super::{TestSummary, before};

/// The closing line: `=== 1 failed, 3 passed in 0.12s ===`, or without the bars with `-q`.
pub(super) fn read_pytest(lines: &[String], summary: &mut TestSummary) {
    let Some(counts) = lines.iter().rev().find_map(|line| pytest_counts(line)) else { return };
    summary.count(counts);
    for line in lines {
        for mark in ["FAILED ", "ERROR "] {
            if let Some(rest) = line.strip_prefix(mark) {
                let name = rest.split(" - ").next().unwrap_or(rest);
                // Only a path of a test; log lines begin with the same words.
                if name.contains(".py") {
                    summary.name(name);
                }
            }
        }
    }
}

fn pytest_counts(line: &str) -> Option<TestCounts> {
    let line = line.trim().trim_matches('=').trim();
    let (said, time) = line.rsplit_once(" in ")?;
    let time = time.split(' ').next()?;
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    if said == "no tests ran" {
        return Some(TestCounts::default());
    }
    let known = [
        "passed",
        "failed",
        "skipped",
        "error",
        "errors",
        "xfailed",
        "xpassed",
        "deselected",
        "warning",
        "warnings",
        "rerun",
    ];
    let every_part_counts = said.split(", ").all(|part| {
        part.split_once(' ')
            .is_some_and(|(number, word)| number.parse::<u64>().is_ok() && known.contains(&word))
    });
    let of = |word: &str| before(said, word).unwrap_or(0);
    every_part_counts.then(|| TestCounts {
        passed: of("passed") + of("xpassed"),
        failed: of("failed") + of("error") + of("errors"),
        skipped: of("skipped") + of("xfailed"),
    })
}

/// `Tests:       1 failed, 5 passed, 6 total` (jest), `Tests  1 failed | 5 passed (6)` (vitest).
pub(super) fn read_jest(lines: &[String], summary: &mut TestSummary) {
    let mut found = false;
    for line in lines {
        let line = line.trim();
        let counted = if let Some(rest) = line.strip_prefix("Tests:") {
            before(rest, "total").map(|_| rest)
        } else {
            line.strip_prefix("Tests ").filter(|rest| is_vitest_total(rest))
        };
        if let Some(rest) = counted {
            let of = |word: &str| before(rest, word).unwrap_or(0);
            let skipped = of("skipped") + of("todo") + of("pending");
            summary.count(TestCounts { passed: of("passed"), failed: of("failed"), skipped });
            found = true;
        } else if line.starts_with("No tests found") || line.starts_with("No test files found") {
            summary.count(TestCounts::default());
        }
    }
    if !found {
        return;
    }
    for line in lines {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("● ").filter(|name| name.contains(" › ")) {
            summary.name(name);
        } else if let Some(name) = line.strip_prefix("FAIL ").filter(|name| name.contains(" > ")) {
            summary.name(name);
        }
    }
}

/// Whether the rest of a line ends in the number of all tests, as `1 failed | 5 passed (6)`.
fn is_vitest_total(rest: &str) -> bool {
    let total = rest.rsplit_once('(').and_then(|(_, total)| total.strip_suffix(')'));
    total.is_some_and(|total| total.parse::<u64>().is_ok())
        && ["passed", "failed", "skipped", "todo"].iter().any(|word| before(rest, word).is_some())
}
