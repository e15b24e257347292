use super::*;

fn refused(draft: &Draft) -> (Code, &'static str) {
    planning(ANALYZE).refused(draft)
}

fn two(edit: impl Fn(Value) -> Value) -> Draft {
    make::plan_of(
        "plan-1",
        vec![make::look_node("one", &["C-DONE"]), edit(make::look_node("two", &["C-DONE"]))],
    )
}

#[test]
fn c_wp_1_a_plan_is_for_the_latest_contract() {
    let plan = make::plan(ANALYZE).set("/taskContractRef", at("frame-1"));
    assert_eq!(refused(&plan), (Code::LineageMismatch, "C-WP-1"));
}

#[test]
fn c_wp_2_only_a_valid_plan_is_accepted() {
    for state in ["pending", "invalid"] {
        let plan = make::plan(ANALYZE).set("/planValidation", state);
        assert_eq!(refused(&plan), (Code::PlanNotValid, "C-WP-2"), "{state}");
    }
}

#[test]
fn c_wp_3_the_schema_knows_no_other_execution_mode_than_serial() {
    let plan = make::plan(ANALYZE).set("/executionMode", "parallel");
    assert!(crate::protocol::Body::read(plan.kind, &plan.value).is_err());
}

#[test]
fn c_wp_4_the_nodes_stay_within_the_plans_tool_calls() {
    let plan = two(|node| node).set("/globalBudgets/maximumToolCalls", 7);
    assert_eq!(refused(&plan), (Code::BudgetExceeded, "C-WP-4"));
    let _ = planning(ANALYZE).accept(&two(|node| node));
}

fn thousand(count: usize) -> Draft {
    let node = |n: usize| {
        let mut node = make::look_node(&format!("n-{n}"), &["C-DONE"]);
        node["budgets"]["maximumToolCalls"] = json!(1000);
        node
    };
    make::plan_of("plan-1", (0..count).map(node).collect()).set("/globalBudgets/maximumToolCalls", 4000)
}

#[test]
fn c_wp_5_the_plans_of_a_run_reserve_at_most_4000_tool_calls_together() {
    let _ = planning(ANALYZE).accept(&thousand(4));
    let mut run = planning(ANALYZE);
    run.put("plan-0", &thousand(4).set("/nodes/0/budgets/maximumToolCalls", 997).body(), &[]);
    let last = |calls: i64| thousand(1).set("/nodes/0/budgets/maximumToolCalls", calls);
    let (answer, refusal) = run.refusal(&last(4));
    assert_eq!(answer, (Code::BudgetExceeded, "C-WP-5"));
    assert_eq!(refusal.details["remainingPlanToolCalls"], 3);
    let _ = run.accept(&last(3));
}

#[test]
fn c_wp_6_a_plan_goes_no_deeper_than_the_host() {
    let plan = make::plan(ANALYZE).set("/globalBudgets/maximumSubagentDepth", 2);
    assert_eq!(refused(&plan), (Code::BudgetExceeded, "C-WP-6"));
}

fn replan() -> Run {
    judging(ANALYZE).accept(&make::remediate(ANALYZE))
}

#[test]
fn a_plan_that_stays_within_its_work_order_is_accepted() {
    let _ = replan().accept(&make::remediation_plan("C-DONE"));
}

#[test]
fn c_wp_7_an_artifact_that_orders_work_holds_an_order() {
    let mut run = judging(ANALYZE);
    let bare = make::remediate(ANALYZE).set("/remediationWorkOrder", Value::Null);
    run.put("quality-1", &bare.forced::<crate::protocol::QualityReview>(), &[]);
    assert_eq!(run.refused(&make::remediation_plan("C-DONE")), (Code::WorkOrderInvalid, "C-WP-7"));
}

#[test]
fn c_wp_8_every_node_lists_what_ordered_the_plan() {
    let plan = make::remediation_plan("C-DONE").set("/nodes/0/inputRefs", json!([at("contract-1")]));
    assert_eq!(replan().refused(&plan), (Code::LineageMismatch, "C-WP-8"));
    let plan = make::correction_plan().set("/nodes/0/inputRefs", json!([]));
    assert_eq!(replanning().refused(&plan), (Code::LineageMismatch, "C-WP-8"));
}

#[test]
fn c_wp_8_a_remediation_of_the_audit_is_cited_as_the_audit() {
    let run = auditing(ANALYZE).accept(&make::defect(ANALYZE, "C-DONE", "quality-1"));
    let plan = make::remediation_plan("C-DONE");
    assert_eq!(run.refused(&plan), (Code::LineageMismatch, "C-WP-8"));
    let _ = run.accept(&plan.set("/nodes/0/inputRefs", json!([at("audit-1")])));
}

#[test]
fn c_wp_9_a_scoped_plan_allows_no_more_tool_calls_than_its_order() {
    let plan = make::remediation_plan("C-DONE").set("/globalBudgets/maximumToolCalls", 9);
    assert_eq!(replan().refused(&plan), (Code::BudgetExceeded, "C-WP-9"));
}

#[test]
fn c_wp_10_a_scoped_node_uses_what_its_order_allows() {
    let plan = make::remediation_plan("C-DONE").set("/nodes/0/allowedTools/-", "browser.inspect");
    assert_eq!(replan().refused(&plan), (Code::CapabilityNotPermitted, "C-WP-10"));
}

#[test]
fn c_wp_11_a_scoped_node_stays_within_its_orders_permissions() {
    let with = |scope: &str| {
        make::remediation_plan("C-DONE").set("/nodes/0/permissions/repository/read", json!([scope]))
    };
    assert_eq!(replan().refused(&with("docs/**")), (Code::PermissionExceeded, "C-WP-11"));
    assert_eq!(replan().refused(&with("src/../docs/**")), (Code::ScopePatternInvalid, "C-WP-11"));
}

#[test]
fn c_wp_12_a_node_stays_within_the_contract() {
    let with = |value: Value| make::plan(FIX).set("/nodes/0/permissions/repository/write", value);
    for scope in ["**", "src2/**", "docs/a.md"] {
        assert_eq!(
            planning(FIX).refused(&with(json!([scope]))),
            (Code::PermissionExceeded, "C-WP-12"),
            "{scope}"
        );
    }
    assert_eq!(planning(FIX).refused(&with(json!(["src/./a"]))), (Code::ScopePatternInvalid, "C-WP-12"));
}

#[test]
fn c_wp_13_nothing_is_changed_before_the_diagnosis_gate() {
    let plan = make::plan(BOTH).set("/nodes/0/permissions/repository/write", json!(["src/**"]));
    assert_eq!(planning(BOTH).refused(&plan), (Code::PermissionExceeded, "C-WP-13"));
}

/// An analysis whose contract lets children be started.
fn spawning() -> Run {
    let contract = make::contract(ANALYZE)
        .set("/permissions/subagents", json!({ "spawn": true, "maximumChildren": 2, "maximumDepth": 1 }));
    let run = Run::start(ANALYZE, &[ActionCapability::SubagentSpawn]).accept(&make::frame(ANALYZE));
    run.accept(&contract).accept(&make::review())
}

fn spawn_plan() -> Draft {
    make::plan(ANALYZE)
        .set("/globalBudgets/maximumSubagentDepth", 1)
        .set(
            "/nodes/0/permissions/subagents",
            json!({ "spawn": true, "maximumChildren": 2, "maximumDepth": 1 }),
        )
        .set("/nodes/0/allowedTools/-", "subagent.spawn")
        .set("/nodes/0/requiredCapabilities/-", "subagent.spawn")
        .set("/nodes/0/budgets/maximumChildren", 1)
}

#[test]
fn c_wp_14_a_node_starts_no_more_children_than_it_may() {
    let _ = spawning().accept(&spawn_plan());
    let plan = spawn_plan().set("/nodes/0/budgets/maximumChildren", 3);
    assert_eq!(spawning().refused(&plan), (Code::BudgetExceeded, "C-WP-14"));
}

#[test]
fn c_wp_15_a_node_goes_no_deeper_than_its_plan_and_spawning_needs_depth() {
    let flat = spawn_plan().set("/globalBudgets/maximumSubagentDepth", 0);
    assert_eq!(spawning().refused(&flat), (Code::BudgetExceeded, "C-WP-15"));
    let shallow = flat.set("/nodes/0/permissions/subagents/maximumDepth", 0);
    assert_eq!(spawning().refused(&shallow), (Code::BudgetExceeded, "C-WP-15"));
}

#[test]
fn c_wp_16_a_tool_is_backed_by_the_nodes_permissions() {
    let plan = make::plan(ANALYZE).set("/nodes/0/permissions/shell/inspect", false);
    assert_eq!(refused(&plan), (Code::CapabilityNotPermitted, "C-WP-16"));
}

#[test]
fn c_wp_17_a_capability_is_required_once() {
    let plan = make::plan(ANALYZE).set("/nodes/0/requiredCapabilities/-", "repository.read");
    assert_eq!(refused(&plan), (Code::DuplicateEntry, "C-WP-17"));
}

#[test]
fn c_wp_18_where_work_is_done_a_node_requires_a_capability() {
    let plan = two(|mut node| {
        node["requiredCapabilities"] = json!([]);
        node
    });
    assert_eq!(refused(&plan), (Code::CapabilityRequired, "C-WP-18"));
}

#[test]
fn c_wp_19_what_is_required_is_allowed() {
    let plan = make::plan(ANALYZE).set("/nodes/0/allowedTools", json!(["shell.inspect"]));
    assert_eq!(refused(&plan), (Code::CapabilityNotPermitted, "C-WP-19"));
}

#[test]
fn c_wp_20_a_node_has_a_tool_call_for_each_required_capability() {
    let plan = make::plan(ANALYZE)
        .set("/nodes/0/requiredCapabilities/-", "shell.inspect")
        .set("/nodes/0/budgets/maximumToolCalls", 1);
    assert_eq!(refused(&plan), (Code::BudgetInsufficient, "C-WP-20"));
}

#[test]
fn c_wp_21_a_node_that_must_spawn_may_start_a_child() {
    let plan = spawn_plan().set("/nodes/0/budgets/maximumChildren", 0);
    assert_eq!(spawning().refused(&plan), (Code::BudgetInsufficient, "C-WP-21"));
}

#[test]
fn c_wp_22_a_node_answers_criteria_of_the_contract() {
    let plan = make::plan(ANALYZE).set("/nodes/0/acceptanceCriteria/-", "C-NEW");
    assert_eq!(refused(&plan), (Code::CriterionUnknown, "C-WP-22"));
}

#[test]
fn c_wp_23_a_scoped_node_answers_criteria_of_its_order() {
    let plan = make::correction_plan().set("/nodes/0/acceptanceCriteria/-", "C-CAUSE");
    assert_eq!(replanning().refused(&plan), (Code::CriterionOutOfScope, "C-WP-23"));
}

#[test]
fn c_wp_24_before_the_gate_only_diagnosis_is_planned() {
    let plan = make::plan(BOTH).set("/nodes/0/acceptanceCriteria/-", "C-DONE");
    assert_eq!(planning(BOTH).refused(&plan), (Code::CriterionOutOfScope, "C-WP-24"));
}

#[test]
fn c_wp_25_the_nodes_together_answer_every_required_criterion() {
    for (run, plan) in [
        (planning(ANALYZE), make::plan(ANALYZE)),
        (planning(BOTH), make::plan(BOTH)),
        (replanning(), make::correction_plan()),
        (planning(REPORT), make::plan(REPORT)),
    ] {
        let plan = plan.set("/nodes/0/acceptanceCriteria", json!([]));
        assert_eq!(run.refused(&plan), (Code::CoverageMismatch, "C-WP-25"));
    }
}

#[test]
fn c_wp_26_every_required_verification_is_scheduled_also_when_only_a_plan_is_wanted() {
    let other = |draft: Draft| draft.set("/nodes/0/requiredCapabilities", json!(["shell.inspect"]));
    assert_eq!(refused(&other(make::plan(ANALYZE))), (Code::VerificationUnscheduled, "C-WP-26"));
    let none = make::plan(PLAN).set("/nodes/0/requiredCapabilities", json!([]));
    assert_eq!(planning(PLAN).refused(&none), (Code::VerificationUnscheduled, "C-WP-26"));
    // The capability on one node, the criterion on another: neither can prove it.
    let split = two(|mut node| {
        node["acceptanceCriteria"] = json!([]);
        node
    })
    .set("/nodes/0/requiredCapabilities", json!(["shell.inspect"]));
    assert_eq!(refused(&split), (Code::VerificationUnscheduled, "C-WP-26"));
}

#[test]
fn c_wp_27_completion_is_verified_after_everything_that_may_change_something() {
    let edit = make::plan(FIX).value["nodes"][0].clone();
    let chained = |before: &str, after: &str| {
        let mut look = make::look_node("check", &["C-DONE"]);
        let mut edit = edit.clone();
        edit["requiredCapabilities"] = json!(["repository.write"]);
        let ids = |list: &str| if list.is_empty() { json!([]) } else { json!([list]) };
        look["dependsOn"] = ids(before);
        edit["dependsOn"] = ids(after);
        make::plan_of("plan-1", vec![look, edit])
    };
    let order = (Code::VerificationOrder, "C-WP-27");
    assert_eq!(planning(FIX).refused(&chained("", "")), order);
    assert_eq!(planning(FIX).refused(&chained("", "check")), order);
    let _ = planning(FIX).accept(&chained("edit", ""));
}

#[test]
fn c_wp_27_order_is_transitive_and_spawning_counts_as_a_change() {
    let mut helper = spawn_plan().value["nodes"][0].clone();
    helper["id"] = json!("helper");
    helper["requiredCapabilities"] = json!(["subagent.spawn"]);
    let mut middle = make::look_node("middle", &[]);
    middle["requiredCapabilities"] = json!(["shell.inspect"]);
    let mut check = make::look_node("check", &["C-DONE"]);
    let plan = |nodes: [&Value; 3]| {
        let nodes = nodes.into_iter().cloned().collect();
        make::plan_of("plan-1", nodes)
            .set("/globalBudgets/maximumToolCalls", 12)
            .set("/globalBudgets/maximumSubagentDepth", 1)
    };
    check["dependsOn"] = json!(["middle"]);
    assert_eq!(spawning().refused(&plan([&check, &helper, &middle])), (Code::VerificationOrder, "C-WP-27"));
    middle["dependsOn"] = json!(["helper"]);
    let _ = spawning().accept(&plan([&check, &helper, &middle]));
}
