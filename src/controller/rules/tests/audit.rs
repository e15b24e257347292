use super::*;
use crate::protocol::ReleaseAudit;

fn refused(draft: &Draft) -> (Code, &'static str) {
    auditing(ANALYZE).refused(draft)
}

#[test]
fn c_ra_1_the_audit_states_the_remaining_budget_as_it_is() {
    let audit = make::audit(ANALYZE).set("/remainingRemediations", 0);
    assert_eq!(refused(&audit), (Code::BudgetMismatch, "C-RA-1"));
}

#[test]
fn c_ra_2_the_audit_sees_the_whole_run() {
    let run = auditing(BOTH);
    for (place, value) in [
        ("/originalRequestRef", json!(at(RUN))),
        ("/taskContractRef", json!(at("contract-0"))),
        ("/qualityReviewRef", json!(at("quality-1"))),
        ("/workPlanRefs", json!([at("plan-2")])),
        ("/workPlanRefs", json!([at("plan-1"), at("plan-2"), at("plan-2")])),
        ("/workResultRefs", json!([at("result-2")])),
    ] {
        let audit = make::audit(BOTH).set(place, value);
        assert_eq!(run.refused(&audit), (Code::LineageMismatch, "C-RA-2"), "{place}");
    }
}

#[test]
fn c_ra_3_fidelity_judges_the_request_once() {
    let entry = make::audit(ANALYZE).value["userFidelity"][0].clone();
    for audit in [
        make::audit(ANALYZE).set("/userFidelity/-", entry),
        make::audit(ANALYZE).set("/userFidelity/0/subjectRef", Value::Null),
        make::audit(ANALYZE).set("/userFidelity/0/subjectRef", at("frame-1")),
    ] {
        assert_eq!(refused(&audit), (Code::CoverageMismatch, "C-RA-3"));
    }
}

#[test]
fn c_ra_4_a_broken_mode_ends_partial_or_blocked() {
    let broken = |draft: Draft| draft.set("/modeCompliance", "fail");
    let defect = broken(make::defect(ANALYZE, "C-DONE", "quality-1"));
    assert_eq!(refused(&defect), (Code::DecisionNotAllowed, "C-RA-4"));
    let _ = auditing(ANALYZE).accept(&broken(make::short_audit(ANALYZE, "partial")));
}

#[test]
fn c_ra_5_a_blocked_review_is_not_softened() {
    let run = judging(ANALYZE).accept(&make::quality(ANALYZE).set("/decision", "block"));
    for audit in [
        make::audit(ANALYZE),
        make::short_audit(ANALYZE, "partial"),
        make::defect(ANALYZE, "C-DONE", "quality-1"),
    ] {
        assert_eq!(run.refused(&audit), (Code::DecisionNotAllowed, "C-RA-5"));
    }
    let _ = run.accept(&make::short_audit(ANALYZE, "block"));
}

#[test]
fn c_ra_6_only_a_passed_review_is_released() {
    let run = judging(ANALYZE).accept(&make::quality(ANALYZE).set("/decision", "partial"));
    assert_eq!(run.refused(&make::audit(ANALYZE)), (Code::DecisionNotAllowed, "C-RA-6"));
}

#[test]
fn c_ra_7_a_release_makes_a_claim() {
    let audit = make::audit(ANALYZE).set("/claimEvidenceMatrix", json!([]));
    assert_eq!(refused(&audit), (Code::CoverageMismatch, "C-RA-7"));
}

#[test]
fn c_ra_8_claim_ids_are_unique_even_where_the_schema_was_not_asked() {
    let entry = make::audit(ANALYZE).value["claimEvidenceMatrix"][0].clone();
    let audit = make::audit(ANALYZE).set("/claimEvidenceMatrix/-", entry);
    let refusal = auditing(ANALYZE).ask(&audit.forced::<ReleaseAudit>(), &[]).expect_err("refused");
    assert_eq!((refusal.code, refusal.rule), (Code::DuplicateEntry, Some("C-RA-8")));
}

#[test]
fn c_ra_9_claims_name_criteria_of_the_contract() {
    let audit = make::audit(ANALYZE).set("/claimEvidenceMatrix/0/criterionIds/-", "C-NEW");
    assert_eq!(refused(&audit), (Code::CriterionUnknown, "C-RA-9"));
}

#[test]
fn c_ra_10_a_defect_is_a_bounded_work_order() {
    let defect = |place: &str, value: Value| {
        make::defect(ANALYZE, "C-DONE", "quality-1").set(&format!("/remediationDefect/{place}"), value)
    };
    for (place, value, answer) in [
        ("failedCriterionIds", json!(["C-NEW"]), (Code::CriterionOutOfScope, "C-WO-2")),
        ("permissions/repository/write", json!(["src/**"]), (Code::PermissionExceeded, "C-WO-4")),
        ("allowedCapabilities", json!([]), (Code::CapabilityRequired, "C-WO-5")),
        ("allowedCapabilities", json!(["browser.inspect"]), (Code::CapabilityNotPermitted, "C-WO-6")),
        ("sourceRefs", json!([at("contract-1"), at("plan-1")]), (Code::SourceNotRetained, "C-WO-7")),
    ] {
        assert_eq!(refused(&defect(place, value)), answer, "{place}");
    }
    let _ = auditing(ANALYZE).accept(&defect("sourceRefs", json!([at("ev-look")])));
}

#[test]
fn c_ra_11_every_criterion_has_a_supported_claim_with_direct_proof() {
    let run = auditing(BOTH);
    let first = make::audit(BOTH).value["claimEvidenceMatrix"][0].clone();
    let half = make::audit(BOTH).set("/claimEvidenceMatrix", json!([first]));
    assert_eq!(run.refused(&half), (Code::CoverageMismatch, "C-RA-11"));
    let told = make::audit(ANALYZE)
        .set("/claimEvidenceMatrix/0/basis", "user_reported")
        .set("/claimEvidenceMatrix/0/evidenceRefs", json!([at("msg-1")]));
    assert_eq!(refused(&told), (Code::CoverageMismatch, "C-RA-11"));
}

#[test]
fn c_ra_11_a_report_may_be_released_on_the_users_word() {
    let told = make::audit(REPORT)
        .set("/claimEvidenceMatrix/0/basis", "user_reported")
        .set("/claimEvidenceMatrix/0/evidenceRefs", json!([at("msg-1")]));
    let _ = auditing(REPORT).accept(&told);
}

#[test]
fn w_16_the_announced_report_can_exist() {
    let own = make::audit(ANALYZE).set("/userReportRef", at("audit-1"));
    assert_eq!(refused(&own), (Code::ReportRefTaken, "W-16"));
    for id in ["-report", "re%20port", "~r"] {
        let odd = make::audit(ANALYZE).set("/userReportRef", at(id));
        assert_eq!(refused(&odd), (Code::InvalidReference, "W-16"), "{id}");
    }
}

#[test]
fn w_18_claim_evidence_is_named_once() {
    let audit = make::audit(ANALYZE).set("/claimEvidenceMatrix/0/evidenceRefs/-", at("ev-look"));
    assert_eq!(refused(&audit), (Code::DuplicateEntry, "W-18"));
}

#[test]
fn c_ra_12_a_document_of_the_context_proves_no_claim() {
    let mut run = auditing(ANALYZE);
    let document = json!({
        "schemaVersion": "1.0", "id": "doc-1", "runId": RUN, "repositoryRef": SOURCE,
        "contentHash": format!("sha256:{}", "3".repeat(64)), "sizeBytes": 3,
        "trustKind": "untrusted_repository_content", "instructionScope": null, "content": "fn"
    });
    run.put("doc-1", &Draft::new(Kind::ContextDocument, document).body(), &[]);
    let audit = make::audit(ANALYZE).set("/claimEvidenceMatrix/0/evidenceRefs/-", at("doc-1"));
    assert_eq!(run.refused(&audit), (Code::EvidenceIncompatible, "C-ES-1"));
}
