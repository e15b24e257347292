use super::*;

fn refused(draft: &Draft) -> (Code, &'static str) {
    reviewing(ANALYZE).refused(draft)
}

#[test]
fn c_pr_1_a_review_is_of_the_latest_contract() {
    assert_eq!(
        refused(&make::review().set("/targetRef", at("contract-0"))),
        (Code::LineageMismatch, "C-PR-1")
    );
    let run = reviewing(ANALYZE).accept(&make::revise()).accept(&make::revised(ANALYZE));
    assert_eq!(run.refused(&make::review().id("review-2")), (Code::LineageMismatch, "C-PR-1"));
}

#[test]
fn c_pr_2_coverage_has_three_entries() {
    let extra = json!({ "sourceRef": SOURCE, "contractFields": ["objective"], "status": "covered" });
    let review = make::review().set("/coverage/-", extra);
    assert_eq!(refused(&review), (Code::CoverageMismatch, "C-PR-2"));
}

#[test]
fn c_pr_3_each_source_is_covered_once_by_exactly_its_fields() {
    for (place, value) in [
        ("/coverage/0/sourceRef", json!(at("frame-1"))),
        ("/coverage/0/contractFields", json!(["objective"])),
        ("/coverage/0/contractFields", json!(["objective", "intentMode", "objective"])),
        (
            "/coverage/1/contractFields",
            json!(["scope", "constraints", "nonGoals", "acceptanceCriteria", "permissions"]),
        ),
        ("/coverage/2/sourceRef", json!(SOURCE)),
    ] {
        let review = make::review().set(place, value.clone());
        assert_eq!(refused(&review), (Code::CoverageMismatch, "C-PR-3"), "{place} {value}");
    }
}

#[test]
fn c_pr_3_holds_for_a_block_too() {
    let review = make::block().set("/coverage/0/contractFields", json!(["objective"]));
    assert_eq!(refused(&review), (Code::CoverageMismatch, "C-PR-3"));
}

#[test]
fn c_pr_4_the_revision_number_follows_the_version() {
    let review = make::review().set("/revisionNumber", 1);
    assert_eq!(refused(&review), (Code::RevisionNumberMismatch, "C-PR-4"));
    let run = reviewing(ANALYZE).accept(&make::revise()).accept(&make::revised(ANALYZE));
    let second = make::review()
        .id("review-2")
        .set("/targetRef", at("contract-2"))
        .set("/coverage/2/sourceRef", at("contract-2"));
    assert_eq!(run.refused(&second), (Code::RevisionNumberMismatch, "C-PR-4"));
    let _ = run.accept(&second.set("/revisionNumber", 1));
}

#[test]
fn w_19_a_revise_may_not_keep_what_every_revision_changes() {
    for field in ["id", "version"] {
        let review = make::revise().set("/findings/0/preserveFields", json!([field]));
        assert_eq!(refused(&review), (Code::DeadEndRefused, "W-19"), "{field}");
    }
    let _ = reviewing(ANALYZE).accept(&make::revise().set("/findings/0/preserveFields", json!(["runId"])));
}

#[test]
fn w_24_a_revise_names_a_correction_on_a_blocking_finding() {
    let findings = json!([
        make::finding("P-1", "blocking", &[], &[]),
        make::finding("P-2", "warning", &[], &["objective"])
    ]);
    let review = make::revise().set("/findings", findings);
    assert_eq!(refused(&review), (Code::DeadEndRefused, "W-24"));
}
