use super::*;
use crate::controller::OutcomeHint;
use crate::protocol::UserReport;

fn refused(draft: &Draft) -> (Code, &'static str) {
    reporting(ANALYZE).refused(draft)
}

/// A run whose audit decided short of release.
fn short(decision: &str) -> Run {
    auditing(ANALYZE).accept(&make::short_audit(ANALYZE, decision))
}

#[test]
fn c_ur_1_the_report_names_the_trace_of_its_run() {
    for trace in ["trace://run-2", "trace://run-1/event-0001"] {
        let report = make::report(ANALYZE).set("/traceRef", trace);
        assert_eq!(refused(&report), (Code::LineageMismatch, "C-UR-1"), "{trace}");
    }
}

#[test]
fn c_ur_2_the_report_names_every_diff_once() {
    for changes in [json!([]), json!([at("ev-diff"), at("ev-diff")]), json!([at("ev-diff"), at("ev-look")])] {
        let report = make::report(FIX).set("/changeRefs", changes.clone());
        assert_eq!(reporting(FIX).refused(&report), (Code::CoverageMismatch, "C-UR-2"), "{changes}");
    }
}

fn stopped() -> Run {
    reviewing(ANALYZE).accept(&make::block())
}

#[test]
fn c_ur_3_a_run_that_was_stopped_early_reports_what_stopped_it() {
    let report = make::short_report(ANALYZE, "blocked", "review-1");
    let wrong = (Code::BlockedReportInvalid, "C-UR-3");
    let claims = make::report(ANALYZE).value["completionClaims"].clone();
    for draft in [
        make::short_report(ANALYZE, "partial", "review-1"),
        report.clone().set("/permissionsHonored", false),
        report.clone().set("/completionClaims", claims),
        make::short_report(ANALYZE, "blocked", "contract-1"),
    ] {
        assert_eq!(stopped().refused(&draft), wrong);
    }
    assert_eq!(auditing(ANALYZE).refused(&report), wrong);
    let _ = stopped().accept(&report);
}

/// Stores questions as they stand after the budget of one was spent.
fn exhausted(mut run: Run, count: usize) -> Run {
    for n in 1..=count {
        let choice = |id: &str, effect: &str| {
            json!({
                "id": id, "label": id, "consequence": format!("{id} follows"),
                "authorityEffect": "within_current_authority", "runEffect": effect
            })
        };
        let value = json!({
            "schemaVersion": "1.0", "id": format!("clar-{n}"), "runId": RUN, "question": "Which?",
            "reason": "user_owned_materially_divergent", "divergence": "Two ways.", "evidenceInspected": [SOURCE],
            "blockedBoundary": "scope", "responseConstraints": "One id.",
            "responseChoices": [choice("go", "resume"), choice("stop", "cancel")],
            "permissionExpansionRequired": false, "rationaleSummary": "Only the user knows."
        });
        run.put(&format!("clar-{n}"), &Draft::new(Kind::ClarificationRequest, value).body(), &[]);
    }
    run.view.run.outcome_hint = Some(OutcomeHint::Blocked);
    run
}

#[test]
fn c_ur_3_before_any_review_the_last_question_is_what_stopped_the_run() {
    let report = |finding: &str| make::short_report(ANALYZE, "blocked", finding);
    let run = exhausted(compiling(ANALYZE), 2);
    assert_eq!(run.refused(&report("clar-1")), (Code::BlockedReportInvalid, "C-UR-3"));
    let _ = run.accept(&report("clar-2"));
}

#[test]
fn w_25_after_exhaustion_the_review_or_the_last_question_may_be_cited() {
    for finding in ["review-1", "clar-2"] {
        let _ = exhausted(planning(ANALYZE), 2).accept(&make::short_report(ANALYZE, "blocked", finding));
    }
    // One question that was answered stopped nothing.
    let answered = exhausted(stopped(), 1);
    let report = make::short_report(ANALYZE, "blocked", "clar-1");
    assert_eq!(answered.refused(&report), (Code::BlockedReportInvalid, "C-UR-3"));
}

#[test]
fn w_15_an_audit_that_sent_the_work_back_binds_no_report() {
    let run = auditing(ANALYZE).accept(&make::defect(ANALYZE, "C-DONE", "quality-1"));
    for finding in ["review-1", "audit-1", "clar-2"] {
        let _ = exhausted(run.clone(), 2).accept(&make::short_report(ANALYZE, "blocked", finding));
    }
}

#[test]
fn c_ur_4_the_report_is_the_one_that_the_audit_announced() {
    assert_eq!(refused(&make::report(ANALYZE).id("report-2")), (Code::ReportRefMismatch, "C-UR-4"));
}

#[test]
fn c_ur_5_permissions_were_honored_exactly_when_the_mode_was_kept() {
    let broken = make::short_audit(ANALYZE, "partial").set("/modeCompliance", "fail");
    let run = auditing(ANALYZE).accept(&broken);
    let report = make::short_report(ANALYZE, "partial", "audit-1");
    assert_eq!(run.refused(&report), (Code::ReportMismatch, "C-UR-5"));
    let _ = run.accept(&report.set("/permissionsHonored", false));
}

#[test]
fn c_ur_6_a_completed_report_claims_something_even_where_the_schema_was_not_asked() {
    let report = make::report(ANALYZE).set("/completionClaims", json!([]));
    let refusal = reporting(ANALYZE).ask(&report.forced::<UserReport>(), &[]).expect_err("refused");
    assert_eq!((refusal.code, refusal.rule), (Code::CoverageMismatch, Some("C-UR-6")));
}

#[test]
fn c_ur_7_a_report_short_of_completion_cites_the_review_or_the_audit() {
    let report = |finding: &str| make::short_report(ANALYZE, "partial", finding);
    assert_eq!(short("partial").refused(&report("plan-1")), (Code::LineageMismatch, "C-UR-7"));
    for finding in ["quality-1", "audit-1"] {
        let _ = short("partial").accept(&report(finding));
    }
}

#[test]
fn c_ur_8_a_completed_report_names_the_proof_of_every_required_verification() {
    for proof in [json!([]), json!([at("ev-diff")]), json!([at("ev-look"), at("ev-look")])] {
        let report = make::report(ANALYZE).set("/verificationRefs", proof.clone());
        assert_eq!(refused(&report), (Code::VerificationIncomplete, "C-UR-8"), "{proof}");
    }
    let open =
        make::quality(ANALYZE).set("/decision", "partial").set("/verificationResults/0/status", "fail");
    let run = judging(ANALYZE).accept(&open).accept(&make::short_audit(ANALYZE, "partial"));
    assert_eq!(run.refused(&make::report(ANALYZE)), (Code::VerificationIncomplete, "C-UR-8"));
}

#[test]
fn c_ur_9_failed_verification_needs_a_verification_that_failed() {
    let report = make::short_report(ANALYZE, "failed_verification", "audit-1");
    assert_eq!(short("partial").refused(&report), (Code::ReportMismatch, "C-UR-9"));
    let open =
        make::quality(ANALYZE).set("/decision", "partial").set("/verificationResults/0/status", "fail");
    let _ = judging(ANALYZE).accept(&open).accept(&make::short_audit(ANALYZE, "partial")).accept(&report);
}

#[test]
fn c_ur_10_the_status_fits_the_audit() {
    let wrong = (Code::OutcomeNotAllowed, "C-UR-10");
    for (decision, statuses) in [("partial", ["blocked"]), ("block", ["partial"])] {
        for status in statuses {
            let report = make::short_report(ANALYZE, status, "audit-1");
            assert_eq!(short(decision).refused(&report), wrong, "{decision} {status}");
        }
    }
    assert_eq!(short("partial").refused(&make::report(ANALYZE)), wrong);
    assert_eq!(refused(&make::short_report(ANALYZE, "partial", "audit-1")), wrong);
}

#[test]
fn c_ur_11_a_claim_is_an_audited_one_word_for_word() {
    for (place, value) in [
        ("/completionClaims/0/id", json!("K-9")),
        ("/completionClaims/0/text", json!("All is well.")),
        ("/completionClaims/0/status", json!("user_reported")),
        ("/completionClaims/0/evidenceRefs", json!([at("ev-look"), at("ev-diff")])),
    ] {
        let report = make::report(ANALYZE).set(place, value);
        assert_eq!(refused(&report), (Code::ClaimNotAudited, "C-UR-11"), "{place}");
    }
    let unsupported =
        make::short_audit(ANALYZE, "partial").set("/claimEvidenceMatrix/0/status", "unverified");
    let claims = make::report(ANALYZE).value["completionClaims"].clone();
    let report = make::short_report(ANALYZE, "partial", "audit-1").set("/completionClaims", claims);
    assert_eq!(auditing(ANALYZE).accept(&unsupported).refused(&report), (Code::ClaimNotAudited, "C-UR-11"));
    let _ = short("partial").accept(&report);
}

#[test]
fn c_ur_12_a_released_report_makes_every_supported_claim_once() {
    let first = make::report(BOTH).value["completionClaims"][0].clone();
    let half = make::report(BOTH).set("/completionClaims", json!([first.clone()]));
    assert_eq!(reporting(BOTH).refused(&half), (Code::CoverageMismatch, "C-UR-12"));
    let twice = make::report(BOTH).set("/completionClaims/-", first);
    assert_eq!(reporting(BOTH).refused(&twice), (Code::CoverageMismatch, "C-UR-12"));
}

#[test]
fn c_ur_13_a_document_of_the_context_verifies_nothing() {
    let mut run = short("partial");
    let document = json!({
        "schemaVersion": "1.0", "id": "doc-1", "runId": RUN, "repositoryRef": SOURCE,
        "contentHash": format!("sha256:{}", "3".repeat(64)), "sizeBytes": 3,
        "trustKind": "untrusted_repository_content", "instructionScope": null, "content": "fn"
    });
    run.put("doc-1", &Draft::new(Kind::ContextDocument, document).body(), &[]);
    let report =
        make::short_report(ANALYZE, "partial", "audit-1").set("/verificationRefs", json!([at("doc-1")]));
    assert_eq!(run.refused(&report), (Code::EvidenceIncompatible, "C-ES-1"));
}
