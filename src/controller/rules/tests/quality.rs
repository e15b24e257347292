use super::*;

fn refused(draft: &Draft) -> (Code, &'static str) {
    judging(ANALYZE).refused(draft)
}

#[test]
fn c_qr_1_the_review_states_the_remaining_budget_as_it_is() {
    let review = make::quality(ANALYZE).set("/remainingRemediations", 0);
    assert_eq!(refused(&review), (Code::BudgetMismatch, "C-QR-1"));
}

#[test]
fn c_qr_2_the_review_is_under_the_latest_contract() {
    let review = make::quality(ANALYZE).set("/taskContractRef", at("contract-0"));
    assert_eq!(refused(&review), (Code::LineageMismatch, "C-QR-2"));
}

#[test]
fn c_qr_3_the_latest_plan_is_reviewed_others_may_be_named_too() {
    let review = make::correction_quality().set("/workPlanRefs", json!([at("plan-1")]));
    assert_eq!(judging_correction().refused(&review), (Code::LineageMismatch, "C-QR-3"));
    let both = make::correction_quality().set("/workPlanRefs", json!([at("plan-1"), at("plan-2")]));
    let _ = judging_correction().accept(&both);
}

#[test]
fn c_qr_4_exactly_the_results_of_the_latest_plan_are_reviewed() {
    for results in
        [json!([]), json!([at("result-1"), at("result-2")]), json!([at("result-2"), at("result-2")])]
    {
        let review = make::correction_quality().set("/workResultRefs", results.clone());
        assert_eq!(judging_correction().refused(&review), (Code::LineageMismatch, "C-QR-4"), "{results}");
    }
    let invented = make::quality(PLAN).set("/workResultRefs", json!([at("result-1")]));
    assert_eq!(judging(PLAN).refused(&invented), (Code::LineageMismatch, "C-QR-4"));
}

#[test]
fn c_qr_5_approval_needs_every_node_completed() {
    let run = executing(ANALYZE).accept(&make::result(ANALYZE).set("/status", "partial"));
    assert_eq!(run.refused(&make::quality(ANALYZE)), (Code::NodesIncomplete, "C-QR-5"));
    let _ = run.accept(&make::quality(ANALYZE).set("/decision", "partial"));
}

#[test]
fn c_qr_6_a_fix_that_changed_nothing_does_not_pass() {
    let look = make::plan_of("plan-1", vec![make::look_node("look", &["C-DONE"])]);
    let run = planning(FIX).accept(&look).evidence("ev-look", "repository");
    let run = run.accept(&make::result(ANALYZE));
    assert_eq!(run.refused(&make::quality(ANALYZE)), (Code::MutationMissing, "C-QR-6"));
}

#[test]
fn c_qr_6_a_correction_that_changed_nothing_does_not_pass() {
    let look = make::look_node("look-again", &["C-DONE"]);
    let plan = make::plan_of("plan-2", vec![look]).set("/nodes/0/inputRefs", json!([at("quality-1")]));
    let result = make::look_result("result-2", "plan-2", "look-again", "C-DONE");
    let run = replanning().accept(&plan).evidence("ev-after", "repository").accept(&result);
    assert_eq!(run.refused(&make::correction_quality()), (Code::MutationMissing, "C-QR-6"));
}

#[test]
fn c_qr_7_every_criterion_of_the_stage_is_judged_once() {
    let entry = make::correction_quality().value["acceptanceResults"][1].clone();
    let early = make::quality(BOTH).set("/acceptanceResults/-", entry);
    assert_eq!(judging(BOTH).refused(&early), (Code::CoverageMismatch, "C-QR-7"));
    let first = make::correction_quality().value["acceptanceResults"][0].clone();
    let half = make::correction_quality().set("/acceptanceResults", json!([first]));
    assert_eq!(judging_correction().refused(&half), (Code::CoverageMismatch, "C-QR-7"));
}

#[test]
fn c_qr_8_a_passed_criterion_rests_on_exactly_the_evidence_of_its_result() {
    let unproven = (Code::AcceptanceUnproven, "C-QR-8");
    for evidence in [json!([at("ev-diff")]), json!([at("ev-look"), at("ev-diff")])] {
        let review = make::quality(ANALYZE).set("/acceptanceResults/0/evidenceRefs", evidence);
        assert_eq!(refused(&review), unproven);
    }
    let retained =
        make::correction_quality().set("/acceptanceResults/0/evidenceRefs", json!([at("ev-after")]));
    assert_eq!(judging_correction().refused(&retained), unproven);
}

#[test]
fn c_qr_8_what_an_earlier_review_passed_is_not_kept_for_a_criterion_that_was_worked_again() {
    let passed = make::remediate(ANALYZE)
        .set("/acceptanceResults/0/status", "pass")
        .set("/verificationResults/0/status", "fail");
    let again = make::look_result("result-2", "plan-2", "again", "C-DONE")
        .set("/acceptanceCoverage/0/evidenceRefs", json!([at("ev-diff")]));
    let run = judging(ANALYZE).accept(&passed).accept(&make::remediation_plan("C-DONE")).accept(&again);
    let second = make::quality(ANALYZE)
        .id("quality-2")
        .set("/workPlanRefs", json!([at("plan-2")]))
        .set("/workResultRefs", json!([at("result-2")]))
        .set("/remainingRemediations", 0);
    assert_eq!(run.refused(&second), (Code::AcceptanceUnproven, "C-QR-8"));
    let _ = run.accept(&second.set("/acceptanceResults/0/evidenceRefs", json!([at("ev-diff")])));
}

#[test]
fn c_qr_9_every_rule_of_the_contract_is_judged_once() {
    let entry = make::quality(ANALYZE).value["ruleCompliance"][0].clone();
    let twice = make::quality(ANALYZE).set("/ruleCompliance/-", entry);
    let without = make::quality(ANALYZE).set("/ruleCompliance/0/subjectRef", Value::Null);
    let foreign = make::quality(ANALYZE).set("/ruleCompliance/0/subjectRef", SOURCE);
    for review in [twice, without, foreign] {
        assert_eq!(refused(&review), (Code::CoverageMismatch, "C-QR-9"));
    }
}

#[test]
fn c_qr_10_every_verification_of_the_stage_is_answered_once() {
    let early = make::quality(BOTH).set("/verificationResults/-", make::verifies("V-DONE", "ev-look"));
    assert_eq!(judging(BOTH).refused(&early), (Code::CoverageMismatch, "C-QR-10"));
    let unknown = make::quality(ANALYZE).set("/verificationResults/0/requirementId", "V-NEW");
    assert_eq!(refused(&unknown), (Code::CoverageMismatch, "C-QR-10"));
}

#[test]
fn c_qr_11_a_verification_names_the_contracted_capability_also_for_a_plan() {
    for mode in [ANALYZE, PLAN] {
        let review = make::quality(mode).set("/verificationResults/0/capability", "shell.inspect");
        assert_eq!(judging(mode).refused(&review), (Code::VerificationMismatch, "C-QR-11"), "{mode}");
    }
}

#[test]
fn c_qr_12_approval_needs_every_required_verification_to_pass() {
    for (mode, status) in [(ANALYZE, "unavailable"), (ANALYZE, "fail"), (BOTH, "unverified"), (PLAN, "fail")]
    {
        let review = make::quality(mode).set("/verificationResults/0/status", status);
        assert_eq!(
            judging(mode).refused(&review),
            (Code::VerificationIncomplete, "C-QR-12"),
            "{mode} {status}"
        );
    }
}

#[test]
fn c_qr_13_a_passed_verification_shares_evidence_with_an_action_that_looked_last() {
    let unproven = (Code::VerificationUnproven, "C-QR-13");
    let other = make::quality(ANALYZE).set("/verificationResults/0/evidenceRefs", json!([at("ev-diff")]));
    assert_eq!(refused(&other), unproven);
    // Read before the change: the criterion is shown, the completion is not.
    let stale = make::correction_quality().set("/verificationResults/1/evidenceRefs", json!([at("ev-look")]));
    assert_eq!(judging_correction().refused(&stale), unproven);
    let mut early = make::correction_result().set("/actions/1/evidenceRefs", json!([at("ev-look")]));
    early = early.set("/actions/-", make::action("A-3", "repository.read", "src/a.rs", false, "ev-after"));
    early.value["actions"].as_array_mut().expect("actions").swap(0, 1);
    let run = correcting().accept(&early);
    let _ = run.clone().accept(&make::correction_quality());
    assert_eq!(run.refused(&stale), unproven);
}

#[test]
fn c_qr_13_a_kept_diagnosis_proof_keeps_its_evidence() {
    let changed =
        make::correction_quality().set("/verificationResults/0/evidenceRefs", json!([at("ev-after")]));
    assert_eq!(judging_correction().refused(&changed), (Code::VerificationUnproven, "C-QR-13"));
}

fn order(place: &str, value: Value) -> Draft {
    make::quality(BOTH).set(&format!("/diagnosisGate/correctionWorkOrder/{place}"), value)
}

#[test]
fn c_qr_14_a_correction_names_every_completion_criterion_and_nothing_else() {
    let run = judging(BOTH);
    let scope = (Code::CriterionOutOfScope, "C-WO-2");
    assert_eq!(run.refused(&order("targetCriterionIds", json!(["C-CAUSE"]))), scope);
    assert_eq!(run.refused(&order("targetCriterionIds", json!(["C-DONE", "C-DONE"]))), scope);
    assert_eq!(run.refused(&order("targetCriterionIds", json!(["C-NEW"]))), scope);
}

#[test]
fn c_qr_14_a_correction_stays_within_the_contract_and_rests_on_the_direct_evidence() {
    let run = judging(BOTH);
    let wider = order("permissions/repository/write", json!(["**"]));
    assert_eq!(run.refused(&wider), (Code::PermissionExceeded, "C-WO-4"));
    let unbacked = order("allowedCapabilities", json!(["repository.read", "browser.inspect"]));
    assert_eq!(run.refused(&unbacked), (Code::CapabilityNotPermitted, "C-WO-6"));
}

#[test]
fn c_qr_15_before_the_gate_a_remediation_holds_diagnosis_and_analysis_only() {
    let run = judging(BOTH);
    let late = make::remediate(BOTH).set("/remediationWorkOrder/failedCriterionIds", json!(["C-DONE"]));
    assert_eq!(run.refused(&late), (Code::CriterionOutOfScope, "C-WO-2"));
    let writes =
        make::remediate(BOTH).set("/remediationWorkOrder/permissions/repository/write", json!(["src/**"]));
    assert_eq!(run.refused(&writes), (Code::PermissionExceeded, "C-WO-4"));
    let _ = run.accept(&make::remediate(BOTH)).accept(&make::remediation_plan("C-CAUSE"));
}

#[test]
fn c_qr_15_a_remediation_rests_on_the_plan_its_results_or_evidence() {
    let rests =
        |source: &str| make::remediate(ANALYZE).set("/remediationWorkOrder/sourceRefs", json!([at(source)]));
    assert_eq!(refused(&rests("contract-1")), (Code::SourceNotRetained, "C-WO-7"));
    for source in ["plan-1", "result-1", "ev-look"] {
        let _ = judging(ANALYZE).accept(&rests(source));
    }
}

#[test]
fn c_qr_15_a_plan_only_review_may_send_the_plan_back() {
    let _ = judging(PLAN).accept(&make::remediate(PLAN));
}

#[test]
fn c_qr_16_only_a_diagnosis_goes_on_to_a_fix() {
    let gate = make::quality(BOTH).value["diagnosisGate"].clone();
    let proceeds =
        |draft: Draft| draft.set("/decision", "proceed_to_fix").set("/diagnosisGate", gate.clone());
    let again = proceeds(make::correction_quality());
    assert_eq!(judging_correction().refused(&again), (Code::DecisionNotAllowed, "C-QR-16"));
    let fix = proceeds(make::quality(FIX));
    assert_eq!(judging(FIX).refused(&fix), (Code::DecisionNotAllowed, "C-QR-16"));
}

#[test]
fn c_qr_17_a_diagnosis_does_not_pass() {
    let review = make::quality(BOTH).set("/decision", "pass").set("/diagnosisGate", Value::Null);
    assert_eq!(judging(BOTH).refused(&review), (Code::DecisionNotAllowed, "C-QR-17"));
}

#[test]
fn c_qr_18_a_verification_rests_on_evidence_of_its_kind() {
    let mut run = executing(ANALYZE).evidence("ev-log", "log");
    run = run.accept(&make::result(ANALYZE));
    let review = make::quality(ANALYZE).set("/verificationResults/0/evidenceRefs/-", at("ev-log"));
    assert_eq!(run.refused(&review), (Code::EvidenceIncompatible, "C-ES-3"));
}

#[test]
fn w_18_acceptance_evidence_is_named_once() {
    let review = make::quality(ANALYZE)
        .set("/decision", "partial")
        .set("/acceptanceResults/0/status", "fail")
        .set("/acceptanceResults/0/evidenceRefs", json!([at("ev-look"), at("ev-look")]));
    assert_eq!(refused(&review), (Code::DuplicateEntry, "W-18"));
}
