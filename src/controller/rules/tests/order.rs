use super::*;
use crate::controller::predicates::Order;
use crate::controller::rules::work_order::{Bounds, check};
use crate::protocol::{PermissionSet, QualityReview, TaskContract};

fn order(place: &str, value: Value) -> Draft {
    make::remediate(ANALYZE).set(&format!("/remediationWorkOrder/{place}"), value)
}

fn refused(draft: &Draft) -> (Code, &'static str) {
    judging(ANALYZE).refused(draft)
}

#[test]
fn c_wo_1_an_order_is_there() {
    let bare = make::remediate(ANALYZE).set("/remediationWorkOrder", Value::Null);
    let refusal = judging(ANALYZE).ask(&bare.forced::<QualityReview>(), &[]).expect_err("refused");
    assert_eq!((refusal.code, refusal.rule), (Code::WorkOrderInvalid, Some("C-WO-1")));
}

#[test]
fn c_wo_2_an_order_names_open_criteria_once_each() {
    for ids in [json!(["C-NEW"]), json!(["C-DONE", "C-DONE"])] {
        assert_eq!(refused(&order("failedCriterionIds", ids)), (Code::CriterionOutOfScope, "C-WO-2"));
    }
}

#[test]
fn c_wo_3_where_all_criteria_are_demanded_none_may_be_left_out() {
    let run = judging(BOTH);
    let (_, contract) = run.view.last::<TaskContract>(Kind::TaskContract).expect("a contract");
    let order = make::remediate(BOTH).body();
    let crate::protocol::Body::QualityReview(review) = order else { panic!("a review") };
    let bounds = Bounds {
        place: "body.order",
        criteria_field: "targetCriterionIds",
        allowed: vec!["C-CAUSE", "C-DONE"],
        all: true,
        contract,
        authority: PermissionSet::empty(),
        needs_capability: true,
        sources: Vec::new(),
    };
    let refusal =
        check(review.remediation_work_order.as_ref().map(Order::from), &bounds).expect_err("refused");
    assert_eq!((refusal.code, refusal.rule), (Code::CoverageMismatch, Some("C-WO-3")));
    assert_eq!(refusal.path.as_deref(), Some("body.order.targetCriterionIds"));
}

#[test]
fn c_wo_4_an_order_stays_within_contract_and_grant() {
    for (place, value) in [
        ("permissions/repository/write", json!(["src/**"])),
        ("permissions/network/readDomains", json!(["mail.example"])),
    ] {
        assert_eq!(refused(&order(place, value)), (Code::PermissionExceeded, "C-WO-4"), "{place}");
    }
    let escaping = order("permissions/repository/read", json!(["src/../docs/**"]));
    assert_eq!(refused(&escaping), (Code::ScopePatternInvalid, "C-WO-4"));
}

#[test]
fn c_wo_5_where_work_is_done_an_order_allows_a_capability() {
    assert_eq!(refused(&order("allowedCapabilities", json!([]))), (Code::CapabilityRequired, "C-WO-5"));
}

#[test]
fn c_wo_6_what_an_order_allows_its_permissions_back() {
    let unbacked = order("allowedCapabilities", json!(["repository.read", "runtime.inspect"]));
    assert_eq!(refused(&unbacked), (Code::CapabilityNotPermitted, "C-WO-6"));
}

#[test]
fn c_wo_7_an_order_rests_on_what_was_done() {
    assert_eq!(refused(&order("sourceRefs", json!([at("msg-1")]))), (Code::SourceNotRetained, "C-WO-7"));
    let one_of_two = order("sourceRefs", json!([at("msg-1"), at("result-1")]));
    let _ = judging(ANALYZE).accept(&one_of_two);
}

const DEAD_END: (Code, &str) = (Code::DeadEndRefused, "W-21");

#[test]
fn w_21_an_order_that_cannot_verify_again_is_refused() {
    let without = order("allowedCapabilities", json!(["shell.inspect"]));
    assert_eq!(refused(&without), DEAD_END);
    let unread = without.set("/remediationWorkOrder/permissions/repository/read", json!([]));
    assert_eq!(refused(&unread), DEAD_END);
}

#[test]
fn w_21_an_order_without_a_criterion_of_the_stage_is_refused() {
    let run = judging_correction();
    let review = make::correction_quality()
        .set("/decision", "remediate")
        .set("/remediationWorkOrder", make::remediate(BOTH).value["remediationWorkOrder"].clone())
        .set("/remediationWorkOrder/sourceRefs", json!([at("result-2")]));
    assert_eq!(run.refused(&review), DEAD_END);
    let both = review.set("/remediationWorkOrder/failedCriterionIds", json!(["C-CAUSE", "C-DONE"]));
    let _ = run.accept(&both);
}

#[test]
fn w_21_a_correction_that_could_not_be_verified_is_refused() {
    let review = make::quality(BOTH)
        .set("/diagnosisGate/correctionWorkOrder/allowedCapabilities", json!(["repository.write"]));
    assert_eq!(judging(BOTH).refused(&review), DEAD_END);
}

#[test]
fn w_21_an_order_needs_a_tool_call_for_each_proof_and_the_run_must_have_them_left() {
    let contract = |draft: Draft| {
        draft.set("/verificationRequirements/-", make::requirement("V-2", "completion", "shell.inspect"))
    };
    let plan = make::plan(ANALYZE).set("/nodes/0/requiredCapabilities/-", "shell.inspect");
    let result = make::result(ANALYZE)
        .set("/actions/-", make::action("A-2", "shell.inspect", "git.log", false, "ev-log"));
    let mut second = make::verifies("V-2", "ev-log");
    second["capability"] = json!("shell.inspect");
    let review = make::remediate(ANALYZE).set("/verificationResults/-", second);
    let run = compiling(ANALYZE).accept(&contract(make::contract(ANALYZE))).accept(&make::review());
    let run = run.accept(&plan).evidence("ev-look", "repository").evidence("ev-log", "log").accept(&result);
    let calls = |calls: i64| review.clone().set("/remediationWorkOrder/maximumToolCalls", calls);
    assert_eq!(run.refused(&calls(1)), DEAD_END);
    let _ = run.clone().accept(&calls(2));

    let mut spent = Run { view: crate::controller::RunView::new(run.view.run.clone()), policy: None };
    for stored in run.view.artifacts() {
        if stored.id == "plan-1" {
            let mut nodes: Vec<Value> = (0..4).map(|n| make::look_node(&format!("n-{n}"), &[])).collect();
            nodes.iter_mut().for_each(|node| node["budgets"]["maximumToolCalls"] = json!(999));
            spent.put("plan-0", &make::plan_of("plan-0", nodes).body(), &[]);
        }
        spent.view.push(stored.clone());
    }
    // 3996 and 4 are reserved: nothing is left.
    let (answer, refusal) = spent.refusal(&calls(8));
    assert_eq!((answer, refusal.details["remainingPlanToolCalls"].as_i64()), (DEAD_END, Some(0)));
}

#[test]
fn w_21_a_defect_before_the_gate_that_asks_for_completion_is_refused() {
    let mode = BOTH;
    let partial = make::quality(mode).set("/decision", "partial").set("/diagnosisGate", Value::Null);
    let run = judging(mode).accept(&partial);
    let defect = |criterion: &str| {
        make::defect(mode, criterion, "quality-1")
            .set("/workPlanRefs", json!([at("plan-1")]))
            .set("/workResultRefs", json!([at("result-1")]))
            .set("/qualityReviewRef", at("quality-1"))
            .set("/claimEvidenceMatrix", json!([]))
    };
    assert_eq!(run.refused(&defect("C-DONE")), DEAD_END);
    let plan = make::remediation_plan("C-CAUSE").set("/nodes/0/inputRefs", json!([at("audit-1")]));
    let _ = run.accept(&defect("C-CAUSE")).accept(&plan);
}
