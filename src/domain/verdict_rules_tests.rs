use super::samples::{run_id, sha, time, ulid};
use super::verdict_rules::{CheckInput, VerdictInput, WorkflowEnd, decide};
use super::*;
use proptest::prelude::*;

fn evidence(kind: &str) -> EvidenceRef {
    EvidenceRef { kind: kind.to_owned(), id: format!("artifact_{kind}"), sha256: sha(1) }
}

fn boundary_check(passed: bool) -> BoundaryCheck {
    let violation =
        PathViolation { path: "infra/x".into(), rule: PathRule::Forbidden, detail: "infra/**".to_owned() };
    BoundaryCheck {
        passed,
        allowed_path_violations: Vec::new(),
        forbidden_path_violations: if passed { Vec::new() } else { vec![violation] },
        unexpected_generated_files: Vec::new(),
        unexpected_lockfile_changes: Vec::new(),
        limit_violations: Vec::new(),
    }
}

fn apply(state: ApplyState) -> Option<ApplyStatus> {
    Some(ApplyStatus { state, tip: None, base_moved_by: 3 })
}

/// A run where nothing is amiss.
fn clean() -> VerdictInput {
    VerdictInput {
        run_id: run_id(),
        cancelled: false,
        infrastructure_failure: None,
        budget_exhausted: None,
        workflow: WorkflowEnd::Completed,
        mode: IntentMode::AnalyzeAndFix,
        patch_sha256: Some(sha(2)),
        boundary: Some(boundary_check(true)),
        apply: apply(ApplyState::Clean),
        verification: VerificationStatus::Passed,
        checks: vec![CheckInput {
            name: "unit".to_owned(),
            status: CheckStatus::Passed,
            required: true,
            summarized_failure: None,
        }],
        judge: JudgeStatus::Passed,
        findings: Vec::new(),
        confidence: 0.9,
        minimum_confidence: 0.7,
        strict: true,
        autonomy_level: AutonomyLevel::AutoPr,
        evidence: ["diff", "verifier_report", "judge_report", "workflow_report"].map(evidence).to_vec(),
    }
}

fn with(change: impl FnOnce(&mut VerdictInput)) -> VerdictInput {
    let mut input = clean();
    change(&mut input);
    input
}

fn finding(severity: Severity) -> Finding {
    Finding::new(severity, "x", "something")
}

type Case = (u8, &'static str, VerdictInput);

/// Each way to make one row hold, with the code of its reason.
fn cases() -> Vec<Case> {
    vec![
        (1, "cancelled", with(|i| i.cancelled = true)),
        (2, "forbidden_path", with(|i| i.boundary = Some(boundary_check(false)))),
        (
            3,
            "attempts_ended_by_infrastructure",
            with(|i| i.infrastructure_failure = Some(FailureCode::WorkerLost)),
        ),
        (
            3,
            "verification_infrastructure",
            with(|i| {
                i.verification = VerificationStatus::InfraFailure;
                i.checks[0].status = CheckStatus::InfraFailure;
            }),
        ),
        (4, "workflow_blocked", with(|i| i.workflow = WorkflowEnd::Blocked)),
        (4, "workflow_unfinished", with(|i| i.workflow = WorkflowEnd::Unfinished)),
        (4, "budget_exhausted", with(|i| i.budget_exhausted = Some(BudgetKind::WallClock))),
        (4, "no_patch", with(|i| (i.patch_sha256, i.boundary, i.apply) = (None, None, None))),
        (
            5,
            "verification_failed",
            with(|i| {
                i.verification = VerificationStatus::Failed;
                i.checks[0].status = CheckStatus::Failed;
            }),
        ),
        (
            5,
            "verification_timed_out",
            with(|i| {
                i.verification = VerificationStatus::TimedOut;
                i.checks[0].status = CheckStatus::TimedOut;
            }),
        ),
        (6, "conflict", with(|i| i.apply = apply(ApplyState::Conflict))),
        (
            7,
            "nothing_to_publish",
            with(|i| {
                (i.mode, i.patch_sha256, i.apply) = (IntentMode::AnalyzeOnly, None, None);
                i.verification = VerificationStatus::NotRun;
            }),
        ),
        (8, "workflow_partial", with(|i| i.workflow = WorkflowEnd::Partial)),
        (8, "verification_partial", with(|i| i.verification = VerificationStatus::Partial)),
        (8, "verification_not_run", with(|i| i.verification = VerificationStatus::NotRun)),
        (8, "verification_skipped", with(|i| i.verification = VerificationStatus::SkippedByPolicy)),
        (9, "judge_failed", with(|i| i.judge = JudgeStatus::Failed)),
        (9, "blocker", with(|i| i.findings.push(finding(Severity::Blocker)))),
        (10, "judge_needs_human_review", with(|i| i.judge = JudgeStatus::NeedsHumanReview)),
        (10, "judge_inconclusive", with(|i| i.judge = JudgeStatus::Inconclusive)),
        (10, "judge_not_run", with(|i| i.judge = JudgeStatus::NotRun)),
        (10, "low_confidence", with(|i| i.confidence = 0.69)),
        (10, "low_confidence", with(|i| i.confidence = f64::NAN)),
        (10, "finding_blocks_auto_pr", with(|i| i.findings.push(finding(Severity::Error)))),
        (10, "warnings", with(|i| i.findings.push(finding(Severity::Warning)))),
        (10, "warnings", with(|i| i.judge = JudgeStatus::PassedWithWarnings)),
        (11, "suggest_only", with(|i| i.autonomy_level = AutonomyLevel::SuggestOnly)),
        (12, "supervised_pr", with(|i| i.autonomy_level = AutonomyLevel::SupervisedPr)),
        (13, "auto_pr", clean()),
    ]
}

/// The table's columns behind the condition, as the spec prints them.
fn printed(row: u8) -> (&'static str, &'static str, &'static str) {
    match row {
        1 => ("CANCELLED", "NOT_ELIGIBLE", "none"),
        2 => ("FAILED_POLICY", "NOT_ELIGIBLE", "none"),
        3 => ("FAILED_INFRASTRUCTURE", "NOT_ELIGIBLE", "allowed_with_backoff"),
        4 => ("FAILED_AGENT_COULD_NOT_COMPLETE", "NOT_ELIGIBLE", "none"),
        5 => ("FAILED_VERIFICATION", "NOT_ELIGIBLE", "none"),
        6 => ("SUCCESS_NEEDS_REVIEW", "NOT_ELIGIBLE", "after_rebase"),
        7 => ("SUCCESS", "NOT_ELIGIBLE", "none"),
        8 | 9 => ("SUCCESS_NEEDS_REVIEW", "DRAFT_ONLY", "none"),
        10 => ("SUCCESS_NEEDS_REVIEW", "ELIGIBLE_AFTER_HUMAN_APPROVAL", "none"),
        11 => ("SUCCESS", "DRAFT_ONLY", "none"),
        12 => ("SUCCESS", "ELIGIBLE_AFTER_HUMAN_APPROVAL", "none"),
        _ => ("SUCCESS", "ELIGIBLE_FOR_AUTO_PR", "none"),
    }
}

#[test]
fn every_condition_of_the_table_decides_as_printed() {
    for (row, code, input) in cases() {
        let decision = decide(&input);
        assert_eq!(decision.row, row, "{code}: {:?}", decision.reasons);
        let said = (decision.status.as_str(), decision.eligibility.as_str(), decision.retry.as_str());
        assert_eq!(said, printed(row), "{code}");
        assert_eq!(decision.reasons[0].code, code);
    }
    let rows: Vec<u8> = cases().iter().map(|(row, _, _)| *row).collect();
    assert!((1..=13).all(|row| rows.contains(&row)));
}

/// Puts what makes one case special into another case's input.
fn overlay(onto: &mut VerdictInput, from: &VerdictInput) {
    let clean = clean();
    macro_rules! take {
        ($($field:ident),*) => { $(if from.$field != clean.$field { onto.$field = from.$field.clone(); })* };
    }
    take!(cancelled, infrastructure_failure, budget_exhausted, workflow, mode, patch_sha256, boundary, apply);
    take!(verification, checks, judge, findings, minimum_confidence, strict, autonomy_level);
    if from.confidence.to_bits() != clean.confidence.to_bits() {
        onto.confidence = from.confidence;
    }
}

#[test]
fn the_earlier_row_decides_and_the_later_ones_reasons_are_listed_too() {
    let mut pairs = 0;
    for (first_row, first_code, first) in cases() {
        for (second_row, second_code, second) in cases().into_iter().filter(|case| case.0 > first_row) {
            let mut both = second.clone();
            overlay(&mut both, &first);
            let decision = decide(&both);
            let codes: Vec<&str> = decision.reasons.iter().map(|reason| reason.code.as_str()).collect();
            // Two ways of one field cannot hold together; where both hold, both are told.
            if codes.contains(&first_code) && codes.contains(&second_code) {
                pairs += 1;
                assert!(decision.row <= first_row, "{first_code} with {second_code}: row {}", decision.row);
                let place = |code: &str| codes.iter().position(|told| *told == code);
                assert!(place(first_code) < place(second_code), "{second_row}: {codes:?}");
            }
        }
    }
    assert!(pairs > 200, "only {pairs} pairs were compared");
}

#[test]
fn j_1_j_3_no_judge_saves_what_failed_and_low_confidence_is_no_auto_pr() {
    let saved = with(|i| {
        i.verification = VerificationStatus::Failed;
        i.confidence = 1.0;
    });
    assert_eq!(decide(&saved).status, VerdictStatus::FailedVerification);
    assert_eq!(decide(&with(|i| i.confidence = 0.7)).eligibility, PrEligibility::EligibleForAutoPr);
}

#[test]
fn warnings_pass_where_the_judge_is_not_strict() {
    let lenient = with(|i| {
        i.strict = false;
        i.judge = JudgeStatus::PassedWithWarnings;
        i.findings.push(finding(Severity::Warning));
    });
    assert_eq!(decide(&lenient).row, 13);
}

#[test]
fn p_9_a_run_without_a_patch_that_wrote_outside_fails_by_policy() {
    let input = with(|i| {
        (i.mode, i.patch_sha256) = (IntentMode::AnalyzeOnly, None);
        i.boundary = Some(boundary_check(false));
    });
    assert_eq!(decide(&input).status, VerdictStatus::FailedPolicy);
}

#[test]
fn vd_2_reasons_name_the_evidence_they_rest_on() {
    let failed = decide(&cases().remove(9).2);
    assert_eq!(failed.reasons[0].refs, ["artifact_verifier_report"]);
    assert_eq!(decide(&cases().remove(1).2).reasons[0].refs, ["artifact_diff"]);
}

#[test]
fn vd_3_the_same_inputs_give_the_same_bytes_and_others_are_noticed() {
    let bytes = |input: &VerdictInput| {
        let verdict = Verdict::of(input, VerdictId::new(ulid(7)), sha(5), None, time(60));
        serde_json::to_vec(&verdict).unwrap()
    };
    for (_, code, input) in cases().into_iter().filter(|case| case.2.confidence.is_finite()) {
        let json = serde_json::to_string(&input).unwrap();
        let read: VerdictInput = serde_json::from_str(&json).unwrap();
        assert_eq!(bytes(&input), bytes(&read), "{code}");
        let verdict = Verdict::of(&input, VerdictId::new(ulid(7)), sha(5), None, time(60));
        assert!(verdict.follows_from(&read));
        assert_eq!(verdict.follows_from(&with(|i| i.cancelled = true)), code == "cancelled");
    }
}

#[test]
fn vd_4_a_new_verdict_names_the_old_one() {
    let old = Verdict::of(&clean(), VerdictId::new(ulid(7)), sha(5), None, time(60));
    let new = Verdict::of(&clean(), VerdictId::new(ulid(8)), sha(5), Some(old.id.clone()), time(70));
    assert_eq!(new.supersedes, Some(old.id));
}

fn pick<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(|index| all[index])
}

fn any_input() -> impl Strategy<Value = VerdictInput> {
    let ends = (
        any::<bool>(),
        proptest::option::of(pick(FailureCode::ALL)),
        proptest::option::of(pick(BudgetKind::ALL)),
    );
    let work =
        (pick(WorkflowEnd::ALL), pick(IntentMode::ALL), any::<bool>(), any::<bool>(), pick(ApplyState::ALL));
    let judged = (
        pick(VerificationStatus::ALL),
        pick(JudgeStatus::ALL),
        proptest::collection::vec(pick(Severity::ALL), 0..3),
    );
    let rest = (0.0_f64..=1.0, any::<bool>(), pick(AutonomyLevel::ALL));
    (ends, work, judged, rest).prop_map(|(ends, work, judged, rest)| {
        with(|input| {
            (input.cancelled, input.infrastructure_failure, input.budget_exhausted) = ends;
            let (workflow, mode, has_patch, within, state) = work;
            (input.workflow, input.mode) = (workflow, mode);
            if !has_patch {
                (input.patch_sha256, input.apply) = (None, None);
            } else {
                input.apply = apply(state);
            }
            input.boundary = Some(boundary_check(within));
            (input.verification, input.judge) = (judged.0, judged.1);
            input.findings = judged.2.into_iter().map(finding).collect();
            (input.confidence, input.strict, input.autonomy_level) = rest;
        })
    })
}

proptest! {
    #[test]
    fn a_pull_request_goes_by_itself_only_when_nothing_at_all_speaks_against_it(input in any_input()) {
        let decision = decide(&input);
        prop_assert!((1..=13).contains(&decision.row) && !decision.reasons.is_empty());
        prop_assert_eq!(&decision, &decide(&input.clone()));
        let (status, eligibility, retry) = printed(decision.row);
        prop_assert_eq!(
            (decision.status.as_str(), decision.eligibility.as_str(), decision.retry.as_str()),
            (status, eligibility, retry)
        );
        if decision.eligibility == PrEligibility::EligibleForAutoPr {
            prop_assert!(!input.cancelled && input.autonomy_level == AutonomyLevel::AutoPr);
            prop_assert!(input.boundary.as_ref().is_some_and(|check| check.passed));
            prop_assert_eq!(input.verification, VerificationStatus::Passed);
            prop_assert!(input.confidence >= input.minimum_confidence);
            prop_assert!(input.findings.iter().all(|finding| !finding.blocks_auto_pr));
        }
        if decision.eligibility != PrEligibility::NotEligible {
            prop_assert!(input.boundary.as_ref().is_some_and(|check| check.passed));
            prop_assert!(!matches!(input.verification, VerificationStatus::Failed | VerificationStatus::TimedOut));
        }
    }
}
