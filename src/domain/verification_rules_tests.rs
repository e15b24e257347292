use super::runners::{TestSummary, junit};
use super::*;
use proptest::prelude::*;

fn planned() -> PlannedCheck {
    PlannedCheck {
        name: "unit".to_owned(),
        command: "cargo test".to_owned(),
        timeout_seconds: 60,
        junit: None,
        required: true,
        source: CheckSource::Task,
    }
}

fn read(facts: &CheckFacts<'_>) -> CheckReading {
    read_check(&planned(), facts, &["Could not transfer artifact".to_owned()])
}

fn exited(code: i32, output: &str) -> CheckFacts<'_> {
    CheckFacts { exit_code: Some(code), output, ..CheckFacts::default() }
}

fn check(status: CheckStatus, required: bool) -> Check {
    Check {
        name: "unit".to_owned(),
        command: "cargo test".to_owned(),
        status,
        exit_code: None,
        signal: None,
        duration_millis: 5,
        log_artifact: None,
        summarized_failure: None,
        required,
        failed_tests: Vec::new(),
        tests: None,
        baseline_status: None,
        baseline_tests: None,
        processes_left: 0,
        output_dropped: 0,
    }
}

const FAILED_RUN: &str = "test cart::rounds ... FAILED\nConnection refused\n\
    test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n";

#[test]
fn v_4_a_failure_names_the_command_and_the_tests() {
    let reading = read(&exited(101, FAILED_RUN));
    assert_eq!(reading.status, CheckStatus::Failed);
    assert_eq!(
        reading.summarized_failure.unwrap(),
        "`cargo test` (unit) failed with exit code 101; 1 of 4 tests failed: cart::rounds"
    );
    assert_eq!(reading.failed_tests, ["cart::rounds"]);
}

#[test]
fn v_5_infrastructure_is_told_from_code() {
    for (facts, status) in [
        (exited(1, "error: could not compile `cart`"), CheckStatus::Failed),
        (exited(1, "fatal: Could not resolve host: github.com"), CheckStatus::InfraFailure),
        (exited(1, "npm ERR! code ENOTFOUND"), CheckStatus::InfraFailure),
        (exited(127, "sh: mvn: not found"), CheckStatus::InfraFailure),
        (exited(137, ""), CheckStatus::InfraFailure),
        (exited(1, "write error: No space left on device"), CheckStatus::InfraFailure),
        (exited(1, "Could not transfer artifact org.x:y"), CheckStatus::InfraFailure),
        (exited(101, FAILED_RUN), CheckStatus::Failed),
        (CheckFacts { signal: Some(9), ..CheckFacts::default() }, CheckStatus::InfraFailure),
        (CheckFacts { signal: Some(11), ..CheckFacts::default() }, CheckStatus::Failed),
        (CheckFacts { signal: Some(9), timed_out: true, ..CheckFacts::default() }, CheckStatus::TimedOut),
        (CheckFacts { disk_full: true, ..exited(0, "") }, CheckStatus::InfraFailure),
        (exited(0, "Connection refused"), CheckStatus::Passed),
        (
            CheckFacts {
                not_started: Some(NotStarted::CommandMissing("mvn".to_owned())),
                ..CheckFacts::default()
            },
            CheckStatus::InfraFailure,
        ),
        (
            CheckFacts {
                not_started: Some(NotStarted::SkippedByPolicy("no consent".to_owned())),
                ..CheckFacts::default()
            },
            CheckStatus::Skipped,
        ),
        (
            CheckFacts {
                not_started: Some(NotStarted::NotReached("cancelled".to_owned())),
                ..CheckFacts::default()
            },
            CheckStatus::NotRun,
        ),
    ] {
        let reading = read(&facts);
        assert_eq!(reading.status, status, "{facts:?}");
        assert_eq!(reading.summarized_failure.is_none(), status == CheckStatus::Passed, "{facts:?}");
    }
}

#[test]
fn v_7_no_test_is_no_pass() {
    let none =
        "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.0s\n";
    assert_eq!(read(&exited(0, none)).status, CheckStatus::NotRun);
    let some =
        "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n";
    assert_eq!(read(&exited(0, &format!("{none}{some}"))).status, CheckStatus::Passed);
    let report = |text: &str| Some(junit::read(text).map_err(|error| error.to_string()));
    let empty = CheckFacts { junit: report("<testsuite/>"), ..exited(0, "") };
    assert_eq!(read(&empty).status, CheckStatus::NotRun);
    let missing = CheckFacts { junit: Some(Err("no file matches".to_owned())), ..exited(0, some) };
    assert_eq!(read(&missing).status, CheckStatus::NotRun);
    let failing = "<testsuite><testcase name=\"a\"><failure/></testcase></testsuite>";
    let masked = CheckFacts { junit: report(failing), ..exited(0, "") };
    assert_eq!(read(&masked).status, CheckStatus::Failed, "an exit code of 0 hides nothing");
    assert_eq!(read(&exited(0, "done\n")).status, CheckStatus::Passed, "no runner spoke");
}

#[test]
fn v_7_fewer_tests_than_on_the_base_are_noticed() {
    let counts = |passed| Some(TestCounts { passed, failed: 0, skipped: 0 });
    let dropped = Check { tests: counts(7), baseline_tests: counts(9), ..check(CheckStatus::Passed, true) };
    assert_eq!(test_drop(&dropped), Some(2));
    assert_eq!(test_drop(&Check { tests: counts(9), ..dropped.clone() }), None);
    assert_eq!(test_drop(&Check { baseline_tests: None, ..dropped }), None);
}

#[test]
fn the_first_of_failed_timed_out_infrastructure_and_missing_decides() {
    use CheckStatus::{Failed, InfraFailure, NotRun, Passed, Skipped, TimedOut};
    for (required, optional, expected) in [
        (vec![Passed, Failed, TimedOut, InfraFailure, NotRun], vec![], VerificationStatus::Failed),
        (vec![Passed, TimedOut, InfraFailure, NotRun], vec![], VerificationStatus::TimedOut),
        (vec![InfraFailure, Skipped], vec![], VerificationStatus::InfraFailure),
        (vec![Passed, NotRun], vec![], VerificationStatus::Partial),
        (vec![Passed, Skipped], vec![], VerificationStatus::Partial),
        (vec![Passed], vec![Failed, TimedOut, InfraFailure, Skipped, NotRun], VerificationStatus::Passed),
        (vec![], vec![], VerificationStatus::NotRun),
    ] {
        let mut checks: Vec<Check> = required.iter().map(|status| check(*status, true)).collect();
        checks.extend(optional.iter().map(|status| check(*status, false)));
        assert_eq!(overall(&checks, false), expected);
        assert_eq!(overall(&checks, true), VerificationStatus::SkippedByPolicy);
    }
}

proptest! {
    #[test]
    fn v_6_nothing_passes_while_a_required_check_does_not(
        statuses in proptest::collection::vec((0..CheckStatus::ALL.len(), any::<bool>()), 0..8),
    ) {
        let checks: Vec<Check> = statuses.iter().map(|(n, required)| check(CheckStatus::ALL[*n], *required)).collect();
        let mut reversed = checks.clone();
        reversed.reverse();
        prop_assert_eq!(overall(&checks, false), overall(&reversed, false));
        if overall(&checks, false) == VerificationStatus::Passed {
            prop_assert!(checks.iter().all(|check| !check.required || check.status == CheckStatus::Passed));
        }
    }

    #[test]
    fn no_output_makes_a_failed_exit_pass(output in "[ -~\\n]{0,200}", code in 1_i32..256) {
        let status = read(&exited(code, &output)).status;
        prop_assert!(status == CheckStatus::Failed || status == CheckStatus::InfraFailure);
        let _: TestSummary = runners::summarize(&output);
    }
}
