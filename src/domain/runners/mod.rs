//! What the known test runners say in their closing lines: how many tests ran and which failed (V-4, V-7).
//!
//! Reads the output of a command as text; knows cargo (and nextest), pytest, go, jest and vitest, maven and
//! gradle. An output of several runs, as a workspace makes, is added up. JUnit XML is read by [`junit`].

pub mod junit;
mod jvm;
mod script;

use super::verification::TestCounts;
use std::collections::BTreeMap;

/// The most names of failed tests that are kept.
pub const FAILED_TESTS_LIMIT: usize = 200;
/// The longest name of a test that is kept, in characters.
const NAME_LIMIT: usize = 300;

/// What a runner said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSummary {
    /// How many tests ran; none where no runner's closing line was found.
    pub counts: Option<TestCounts>,
    /// The tests that failed, in order, each once.
    pub failed: Vec<String>,
}

impl TestSummary {
    fn count(&mut self, counts: TestCounts) {
        let sum = self.counts.get_or_insert_default();
        sum.passed = sum.passed.saturating_add(counts.passed);
        sum.failed = sum.failed.saturating_add(counts.failed);
        sum.skipped = sum.skipped.saturating_add(counts.skipped);
    }

    fn name(&mut self, name: &str) {
        let name: String = name.trim().chars().take(NAME_LIMIT).collect();
        if !name.is_empty() && self.failed.len() < FAILED_TESTS_LIMIT && !self.failed.contains(&name) {
            self.failed.push(name);
        }
    }

    /// Puts what another source said in place of this, where it knows more.
    #[must_use]
    pub fn or_better(self, other: Self) -> Self {
        Self {
            counts: other.counts.or(self.counts),
            failed: if other.failed.is_empty() { self.failed } else { other.failed },
        }
    }
}

/// Reads a whole output.
#[must_use]
pub fn summarize(output: &str) -> TestSummary {
    let mut summary = TestSummary::default();
    let lines: Vec<String> = output.lines().map(plain).collect();
    read_cargo(&lines, &mut summary);
    read_go(&lines, &mut summary);
    script::read_pytest(&lines, &mut summary);
    script::read_jest(&lines, &mut summary);
    jvm::read_maven(&lines, &mut summary);
    jvm::read_gradle(&lines, &mut summary);
    summary
}

/// A line without its colours, and without the carriage return of a progress line.
fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next() == Some('[') {
            // A colour ends at its first letter.
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        }
    }
    out
}

/// The number that stands directly before `word`, as in `3 passed`.
fn before(text: &str, word: &str) -> Option<u64> {
    let mut words =
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|')).filter(|w| !w.is_empty());
    let mut last = None;
    words.find_map(|current| {
        if current == word {
            return last;
        }
        last = current.parse::<u64>().ok();
        None
    })
}

fn read_cargo(lines: &[String], summary: &mut TestSummary) {
    for line in lines {
        if let Some(rest) = line.trim_start().strip_prefix("test result: ") {
            if let (Some(passed), Some(failed)) = (before(rest, "passed"), before(rest, "failed")) {
                summary.count(TestCounts { passed, failed, skipped: before(rest, "ignored").unwrap_or(0) });
            }
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            summary.name(name.strip_suffix(" - should panic").unwrap_or(name));
        } else if let Some(rest) = nextest_part(line, "Summary") {
            if rest.contains(" run:") {
                let failed = before(rest, "failed").unwrap_or(0) + before(rest, "timed").unwrap_or(0);
                let passed = before(rest, "passed").unwrap_or(0);
                summary.count(TestCounts { passed, failed, skipped: before(rest, "skipped").unwrap_or(0) });
            }
        } else if let Some(rest) = nextest_part(line, "FAIL") {
            summary.name(rest);
        }
    }
}

/// What follows `word [  0.01s]` in a line of nextest.
fn nextest_part<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(word)?.trim_start().strip_prefix('[')?;
    let (time, rest) = rest.split_once(']')?;
    time.trim().trim_start_matches('>').ends_with('s').then_some(rest.trim_start())
}

/// go says which packages passed, and counts tests only with `-v`.
fn read_go(lines: &[String], summary: &mut TestSummary) {
    let mut tests: BTreeMap<String, bool> = BTreeMap::new();
    let (mut skipped, mut tested_packages, mut empty_packages) = (0, 0_u64, 0_u64);
    for line in lines {
        let trimmed = line.trim_start();
        if let Some(name) = go_test(trimmed, "--- FAIL: ") {
            tests.insert(name.to_owned(), false);
        } else if let Some(name) = go_test(trimmed, "--- PASS: ") {
            tests.entry(name.to_owned()).or_insert(true);
        } else if go_test(trimmed, "--- SKIP: ").is_some() {
            skipped += 1;
        } else if line.starts_with("ok  \t") || (line.starts_with("ok ") && line.contains('\t')) {
            if line.contains("[no tests to run]") { empty_packages += 1 } else { tested_packages += 1 }
        } else if line.starts_with("?   \t") && line.contains("[no test files]") {
            empty_packages += 1;
        } else if line.starts_with("FAIL\t") {
            tested_packages += 1;
        }
    }
    // A test with subtests fails with them; the subtests say more.
    let failed: Vec<&String> = tests.iter().filter(|(_, passed)| !**passed).map(|(name, _)| name).collect();
    let leaf = |name: &str| !failed.iter().any(|other| other.starts_with(&format!("{name}/")));
    for name in failed.iter().filter(|name| leaf(name)) {
        summary.name(name);
    }
    let passed = tests.values().filter(|passed| **passed).count();
    if passed > 0 || (!failed.is_empty() && tested_packages > 0) {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        summary.count(TestCounts { passed: number(passed), failed: number(failed.len()), skipped });
    } else if tested_packages == 0 && empty_packages > 0 {
        summary.count(TestCounts::default());
    }
}

fn go_test<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.strip_prefix(mark)?.split_once(" (").map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Option<TestCounts> {
        Some(TestCounts { passed, failed, skipped })
    }

    #[test]
    fn cargo_is_added_up_over_its_binaries() {
        let output = "running 3 tests\ntest a::one ... ok\ntest a::two ... FAILED\ntest a::three ... ignored\n\n\
            failures:\n\n---- a::two stdout ----\nassertion failed\n\nfailures:\n    a::two\n\n\
            test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
            \u{1b}[1mtest result: ok\u{1b}[0m. 4 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.1s\n";
        let summary = summarize(output);
        assert_eq!(summary.counts, counts(5, 1, 1));
        assert_eq!(summary.failed, ["a::two"]);
    }

    #[test]
    fn nextest_is_read() {
        let output = "        PASS [   0.005s] cart totals::adds\n        FAIL [   0.007s] cart totals::rounds\n\
            ------------\n     Summary [   0.012s] 3 tests run: 2 passed, 1 failed, 4 skipped\n        FAIL [   0.007s] cart totals::rounds\n";
        let summary = summarize(output);
        assert_eq!(
            (summary.counts, summary.failed),
            (counts(2, 1, 4), vec!["cart totals::rounds".to_owned()])
        );
    }

    #[test]
    fn go_counts_with_v_and_knows_packages_without_tests() {
        let output = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n\
            \x20   --- FAIL: TestB/rounds (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample.org/cart\t0.003s\n";
        let summary = summarize(output);
        assert_eq!(summary.counts, counts(1, 2, 1));
        assert_eq!(summary.failed, ["TestB/rounds"]);
        let empty = "?   \texample.org/a\t[no test files]\nok  \texample.org/b\t0.001s [no tests to run]\n";
        assert_eq!(summarize(empty).counts, counts(0, 0, 0));
        let quiet = "ok  \texample.org/b\t0.001s\n?   \texample.org/a\t[no test files]\n";
        assert_eq!(summarize(quiet), TestSummary::default(), "passed, but it is not known how many");
    }

    #[test]
    fn pytest_is_read_in_both_its_forms() {
        for (output, expected, failed) in [
            ("==== 1 failed, 3 passed, 2 skipped, 1 warning in 0.12s ====\n", counts(3, 1, 2), 0),
            (
                "FAILED tests/test_a.py::test_b - assert 1 == 2\nERROR tests/test_c.py\n2 failed, 1 error in 1.2s\n",
                counts(0, 3, 0),
                2,
            ),
            ("\u{1b}[32m\u{1b}[1m4 passed\u{1b}[0m\u{1b}[32m in 0.02s\u{1b}[0m\n", counts(4, 0, 0), 0),
            ("=== 2 passed, 1 xfailed, 1 xpassed, 3 deselected in 75.01s (0:01:15) ===", counts(3, 0, 1), 0),
            ("==== no tests ran in 0.01s ====\n", counts(0, 0, 0), 0),
        ] {
            let summary = summarize(output);
            assert_eq!((summary.counts, summary.failed.len()), (expected, failed), "{output}");
        }
        assert_eq!(
            summarize("FAILED tests/test_a.py::test_b[x y] - assert 1 == 2\n1 failed in 0.1s").failed,
            ["tests/test_a.py::test_b[x y]"]
        );
    }

    #[test]
    fn jest_and_vitest_are_read() {
        let jest = "  ● cart › rounds once\n\n    expect(received)\n\n  ● cart › rounds once\n\nTest Suites: 1 failed, 1 passed, 2 total\n\
            Tests:       1 failed, 2 skipped, 1 todo, 5 passed, 9 total\nSnapshots:   0 total\n";
        let summary = summarize(jest);
        assert_eq!(
            (summary.counts, summary.failed),
            (counts(5, 1, 3), vec!["cart › rounds once".to_owned()])
        );
        let vitest = " FAIL  src/cart.test.ts > cart > rounds once\n Test Files  1 failed (1)\n      Tests  1 failed | 5 passed | 1 skipped (7)\n";
        let summary = summarize(vitest);
        assert_eq!(summary.counts, counts(5, 1, 1));
        assert_eq!(summary.failed, ["src/cart.test.ts > cart > rounds once"]);
        assert_eq!(summarize("No tests found, exiting with code 0\n").counts, counts(0, 0, 0));
    }

    #[test]
    fn maven_and_gradle_are_read() {
        let maven = "[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in CartTest\n\
            [ERROR] Failures: \n[ERROR]   CartTest.rounds:12 expected: <1> but was: <2>\n[ERROR] Errors: \n[ERROR]   CartTest.adds » NullPointer\n\
            [INFO] \n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n[INFO] \n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n";
        let summary = summarize(maven);
        assert_eq!(summary.counts, counts(4, 2, 1));
        assert_eq!(summary.failed, ["CartTest.rounds:12", "CartTest.adds"]);
        let gradle = "> Task :test FAILED\n\nCartTest > rounds once FAILED\n    org.opentest4j.AssertionFailedError at CartTest.java:12\n\n\
            4 tests completed, 1 failed, 1 skipped\n";
        let summary = summarize(gradle);
        assert_eq!(
            (summary.counts, summary.failed),
            (counts(2, 1, 1), vec!["CartTest > rounds once".to_owned()])
        );
    }

    #[test]
    fn other_output_says_nothing() {
        for output in
            ["", "building\ndone\n", "3 passed the bridge\n", "Tests are good\n", "ok\n", "FAILED to sleep\n"]
        {
            assert_eq!(summarize(output).counts, None, "{output:?}");
        }
    }

    #[test]
    fn names_are_bounded() {
        let many: String = (0..500).map(|n| format!("test t{n} ... FAILED\n")).collect();
        assert_eq!(summarize(&many).failed.len(), FAILED_TESTS_LIMIT);
        let long = format!("test {} ... FAILED\n", "é".repeat(5_000));
        assert_eq!(summarize(&long).failed[0].chars().count(), NAME_LIMIT);
    }
}
