//! maven (surefire and failsafe) and gradle.

use super::super::verification::TestCounts;
use super::{TestSummary, before};

/// The total of each module: `Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`, without a time.
pub(super) fn read_maven(lines: &[String], summary: &mut TestSummary) {
    let mut listing = false;
    for line in lines {
        let line = line.trim();
        let said = ["[INFO]", "[ERROR]", "[WARNING]"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .unwrap_or(line);
        let said_trimmed = said.trim();
        if said_trimmed.starts_with("Tests run:") {
            listing = false;
            if said_trimmed.contains("Time elapsed") {
                continue;
            }
            if let Some((run, failed, skipped)) = maven_total(said_trimmed) {
                let passed = run.saturating_sub(failed).saturating_sub(skipped);
                summary.count(TestCounts { passed, failed, skipped });
            }
        } else if said_trimmed == "No tests to run." {
            summary.count(TestCounts::default());
        } else if matches!(said_trimmed, "Failures:" | "Errors:") {
            listing = true;
        } else if listing && said.starts_with("   ") {
            let name = said_trimmed.split([' ', '»']).next().unwrap_or_default();
            if name.contains('.') {
                summary.name(name);
            }
        }
    }
}

/// Tests run, failures and errors together, skipped.
fn maven_total(line: &str) -> Option<(u64, u64, u64)> {
    let of = |key: &str| {
        let rest = line.split_once(key)?.1.trim_start();
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    Some((of("Tests run:")?, of("Failures:")?.saturating_add(of("Errors:")?), of("Skipped:")?))
}

/// `4 tests completed, 1 failed, 1 skipped`, which gradle says only where a test failed.
pub(super) fn read_gradle(lines: &[String], summary: &mut TestSummary) {
    let mut found = false;
    for line in lines {
        let line = line.trim();
        let total =
            before(line, "tests").or_else(|| before(line, "test")).filter(|_| line.contains(" completed,"));
        if let Some(total) = total {
            let (failed, skipped) =
                (before(line, "failed").unwrap_or(0), before(line, "skipped").unwrap_or(0));
            let passed = total.saturating_sub(failed).saturating_sub(skipped);
            summary.count(TestCounts { passed, failed, skipped });
            found = true;
        }
    }
    if found {
        for name in lines.iter().filter_map(|line| line.trim().strip_suffix(" FAILED")) {
            if name.contains(" > ") && !name.starts_with("> Task") {
                summary.name(name);
            }
        }
    }
}
