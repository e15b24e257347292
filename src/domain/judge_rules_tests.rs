use super::judge_rules::{
    JudgeOutcome, PatchJudgement, ProgramAnswer, WorkflowFacts, derive, join, program_failed,
};
use super::samples::{self, change, commit, time, ulid};
use super::*;
use crate::protocol::{AuditDecision, Body, QualityDecision};
use proptest::prelude::*;

fn facts(review: Option<QualityDecision>, audit: Option<AuditDecision>) -> WorkflowFacts {
    WorkflowFacts {
        review,
        audit,
        score: Some(92.0),
        claim_confidences: vec![0.95, 0.9],
        criteria: 4,
        criteria_proven: 4,
        findings: Vec::new(),
    }
}

fn passing() -> WorkflowFacts {
    facts(Some(QualityDecision::Pass), Some(AuditDecision::Release))
}

fn patch() -> Patch {
    let changes = vec![change("src/cart.rs")];
    Patch {
        id: PatchId::new(ulid(30)),
        run_id: samples::run_id(),
        base_commit: commit(1),
        unified_diff_artifact: ArtifactId::new(ulid(31)),
        stats: stats_of(&changes),
        file_changes: changes,
        boundary_check: BoundaryCheck {
            passed: true,
            allowed_path_violations: Vec::new(),
            forbidden_path_violations: Vec::new(),
            unexpected_generated_files: Vec::new(),
            unexpected_lockfile_changes: Vec::new(),
            limit_violations: Vec::new(),
        },
        apply_status: ApplyStatus { state: ApplyState::Clean, tip: Some(commit(1)), base_moved_by: 0 },
        touches_verification: Vec::new(),
        undeclared_changes: Vec::new(),
        missing_changes: Vec::new(),
        secrets: Vec::new(),
        created_at: time(50),
    }
}

fn judged(patch: &Patch) -> JudgeOutcome {
    derive(&passing(), &PatchJudgement { patch: Some(patch), ..PatchJudgement::default() })
}

#[test]
fn review_and_audit_together_give_the_answer() {
    use AuditDecision as A;
    use JudgeStatus::{Failed, Inconclusive, NeedsHumanReview, Passed};
    use QualityDecision as Q;
    for (review, audit, expected) in [
        (Some(Q::Pass), Some(A::Release), Passed),
        (Some(Q::Pass), Some(A::Partial), NeedsHumanReview),
        (Some(Q::Partial), Some(A::Release), NeedsHumanReview),
        (Some(Q::Partial), Some(A::Partial), NeedsHumanReview),
        (Some(Q::Pass), Some(A::Block), Failed),
        (Some(Q::Block), Some(A::Block), Failed),
        (Some(Q::Block), None, Failed),
        (Some(Q::Pass), None, Inconclusive),
        (None, None, Inconclusive),
        (None, Some(A::Release), Inconclusive),
        (Some(Q::Pass), Some(A::Remediate), Inconclusive),
        (Some(Q::Remediate), Some(A::Release), Inconclusive),
        (Some(Q::ProceedToFix), Some(A::Release), Inconclusive),
    ] {
        let outcome = derive(&facts(review, audit), &PatchJudgement::default());
        assert_eq!(outcome.status, expected, "{review:?} {audit:?}");
    }
}

#[test]
fn confidence_is_the_least_of_its_three_parts() {
    let with = |change: fn(&mut WorkflowFacts)| {
        let mut facts = passing();
        change(&mut facts);
        derive(&facts, &PatchJudgement::default()).confidence
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(close(with(|_| ()), 0.9));
    assert!(close(with(|f| f.score = Some(40.0)), 0.4));
    assert!(close(with(|f| f.criteria_proven = 1), 0.25));
    assert!(close(with(|f| f.claim_confidences.push(0.1)), 0.1));
    assert!(close(with(|f| f.claim_confidences.clear()), 0.92));
    assert!(close(with(|f| f.score = None), 0.0));
    assert!(close(with(|f| f.criteria = 0), 0.0));
}

#[test]
fn p_11_p_12_p_13_the_patch_speaks_against_itself() {
    assert_eq!(judged(&patch()).status, JudgeStatus::Passed);
    let mut bad = patch();
    bad.secrets.push(SecretHit {
        path: "a.env".into(),
        line: Some(3),
        description: "token ghp_…".to_owned(),
    });
    bad.undeclared_changes.push("src/x.rs".into());
    bad.missing_changes.push("src/y.rs".into());
    bad.touches_verification = vec!["Cargo.toml".into(), "tests/a.rs".into()];
    bad.stats.additions = 2_000;
    let weakened = ["tests/a.rs".into()];
    let outside = ["src/lib.rs".into()];
    let judgement =
        PatchJudgement { patch: Some(&bad), outside_scope: &outside, weakened_tests: &weakened, checks: &[] };
    let outcome = derive(&passing(), &judgement);
    let found: Vec<(&str, Severity, bool)> = outcome
        .findings
        .iter()
        .map(|finding| (finding.category.as_str(), finding.severity, finding.blocks_auto_pr))
        .collect();
    assert_eq!(
        found,
        [
            ("secret", Severity::Blocker, true),
            ("undeclared_change", Severity::Error, true),
            ("missing_change", Severity::Error, true),
            ("touches_verification", Severity::Warning, false),
            ("large_patch", Severity::Info, false),
            ("outside_scope", Severity::Warning, false),
            ("tests_weakened", Severity::Warning, true),
        ]
    );
    assert_eq!(outcome.status, JudgeStatus::PassedWithWarnings);
    assert_eq!(outcome.findings[0].line_number, Some(3));
}

#[test]
fn an_info_is_no_warning() {
    let mut large = patch();
    large.stats.files = 26;
    assert_eq!(judged(&large).status, JudgeStatus::Passed);
}

#[test]
fn a_program_may_doubt_but_not_improve() {
    let own = derive(&passing(), &PatchJudgement::default());
    let says = |status, confidence| ProgramAnswer { status, findings: Vec::new(), confidence };
    let joined = join(own.clone(), says(JudgeStatus::Failed, 1.0));
    assert_eq!(joined.status, JudgeStatus::Failed);
    assert!((joined.confidence - 0.9).abs() < 1e-12);
    let failed = JudgeOutcome { status: JudgeStatus::Failed, ..own.clone() };
    assert_eq!(join(failed, says(JudgeStatus::Passed, 1.0)).status, JudgeStatus::Failed);
    let crashed = join(own, program_failed("exit code 3"));
    assert_eq!((crashed.status, crashed.findings.len()), (JudgeStatus::Inconclusive, 1));
    assert_eq!(crashed.confidence, 0.0);
}

#[test]
fn a_programs_output_is_read_strictly() {
    let good = r#"{"status":"PASSED_WITH_WARNINGS","confidence":0.8,
        "findings":[{"severity":"WARNING","category":"style","message":"long","filePath":"src/a.rs","lineNumber":3,"blocksAutoPr":false}]}"#;
    assert_eq!(ProgramAnswer::parse(good).unwrap().findings[0].file_path, Some("src/a.rs".into()));
    assert!(ProgramAnswer::parse(r#"{"status":"PASSED","confidence":1}"#).is_ok());
    for bad in [
        "",
        "fine",
        "{}",
        r#"{"status":"PASSED"}"#,
        r#"{"status":"GREAT","confidence":1}"#,
        r#"{"status":"NOT_RUN","confidence":1}"#,
        r#"{"status":"PASSED","confidence":1.5}"#,
        r#"{"status":"PASSED","confidence":1,"approve":true}"#,
        r#"{"status":"PASSED","confidence":1} x"#,
    ] {
        assert!(ProgramAnswer::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_workflow_body_becomes_findings_by_what_it_says() {
    let reference = "artifact://run-7/evidence-1";
    let audit = serde_json::json!({
        "schemaVersion": "1.0", "id": "audit-1", "runId": "run-7",
        "originalRequestRef": "artifact://run-7/request", "taskContractRef": "artifact://run-7/contract-1",
        "workPlanRefs": ["artifact://run-7/plan-1"], "workResultRefs": ["artifact://run-7/result-1"],
        "qualityReviewRef": "artifact://run-7/review-1",
        "userFidelity": [{"id": "f1", "description": "answers the request", "status": "unverified",
            "evidenceRefs": [], "rationaleSummary": "r"}],
        "modeCompliance": "pass",
        "claimEvidenceMatrix": [
            {"claimId": "c1", "claim": "rounds once", "criterionIds": ["AC-1"], "basis": "direct",
             "status": "supported", "evidenceRefs": [reference], "rationaleSummary": "r"},
            {"claimId": "c2", "claim": "is fast", "criterionIds": ["AC-2"], "basis": "direct",
             "status": "unsupported", "evidenceRefs": [], "rationaleSummary": "r"}],
        "unresolvedRisks": ["no load test"], "findings": [], "remainingRemediations": 0,
        "decision": "partial", "remediationDefect": null, "userReportRef": "artifact://run-7/report-1",
        "rationaleSummary": "r",
    });
    let body = Body::read("ReleaseAudit".parse().unwrap(), &audit);
    let Ok(Body::ReleaseAudit(audit)) = body else { panic!("{body:?}") };
    let facts = WorkflowFacts::of(None, Some(&audit), None);
    assert_eq!((facts.audit, facts.criteria, facts.criteria_proven), (Some(AuditDecision::Partial), 2, 1));
    let found: Vec<(&str, Severity)> =
        facts.findings.iter().map(|finding| (finding.category.as_str(), finding.severity)).collect();
    assert_eq!(
        found,
        [
            ("user_fidelity", Severity::Warning),
            ("claim", Severity::Error),
            ("unresolved_risk", Severity::Info)
        ]
    );
}

proptest! {
    #[test]
    fn confidence_stays_between_0_and_1(
        score in proptest::option::of(any::<f64>()), claims in proptest::collection::vec(any::<f64>(), 0..4),
        criteria in 0_usize..9, proven in 0_usize..9,
    ) {
        let facts = WorkflowFacts { score, claim_confidences: claims, criteria, criteria_proven: proven, ..passing() };
        let confidence = derive(&facts, &PatchJudgement::default()).confidence;
        prop_assert!((0.0..=1.0).contains(&confidence));
    }
}
