use super::*;
use crate::controller::Refusal;
use crate::protocol::{ActionCapability as C, PermissionVerdict, WorkResult};

fn refused(draft: &Draft) -> (Code, &'static str) {
    executing(FIX).refused(draft)
}

/// The refusal's denial as capability and scope.
fn denied(run: &Run, draft: &Draft) -> ((Code, &'static str), (String, String)) {
    let (answer, refusal) = run.refusal(draft);
    let denial = refusal.denial.expect("a denial to record");
    assert_eq!(denial.decision, PermissionVerdict::Deny);
    let policies: Vec<&str> = denial.policy_refs.iter().map(|it| &**it).collect();
    assert_eq!(policies, [at("contract-1"), at("plan-1")]);
    (answer, (denial.capability.to_string(), denial.scope.to_string()))
}

fn told(capability: &str, scope: &str) -> (String, String) {
    (capability.to_owned(), scope.to_owned())
}

#[test]
fn c_wr_1_a_result_needs_a_node_that_is_ready() {
    let none = (Code::NoReadyNode, "C-WR-1");
    assert_eq!(planning(FIX).refused(&make::result(FIX)), none);
    assert_eq!(judging(FIX).refused(&make::result(FIX).id("result-2")), none);
}

fn chain() -> Run {
    let mut second = make::look_node("second", &["C-DONE"]);
    second["dependsOn"] = json!(["first"]);
    let plan = make::plan_of("plan-1", vec![second, make::look_node("first", &["C-DONE"])]);
    planning(ANALYZE).accept(&plan).evidence("ev-look", "repository")
}

fn of(id: &str, node: &str) -> Draft {
    make::look_result(id, "plan-1", node, "C-DONE")
}

#[test]
fn a_chain_is_worked_in_the_order_of_its_dependencies() {
    let run = chain().accept(&of("result-1", "first")).accept(&of("result-2", "second"));
    assert_eq!(run.refused(&of("result-3", "second")), (Code::NoReadyNode, "C-WR-1"));
}

#[test]
fn c_wr_1_an_unsuccessful_node_leaves_what_depends_on_it_unready() {
    let run = chain().accept(&make::stopped(of("result-1", "first")));
    assert_eq!(run.refused(&of("result-2", "second")), (Code::NoReadyNode, "C-WR-1"));
}

#[test]
fn c_wr_25_a_result_is_of_the_node_that_is_due() {
    let (answer, refusal) = chain().refusal(&of("result-1", "second"));
    assert_eq!(answer, (Code::NodeMismatch, "C-WR-25"));
    assert_eq!(refusal.details["workNodeId"], "first");
}

#[test]
fn c_wr_24_a_result_is_of_the_latest_plan() {
    let run = replanning().accept(&make::correction_plan()).evidence("ev-after", "repository");
    let old = make::correction_result().set("/workPlanRef", at("plan-1"));
    assert_eq!(run.refused(&old), (Code::LineageMismatch, "C-WR-24"));
}

#[test]
fn w_1_plan_and_node_come_before_authority_so_no_denial_is_recorded() {
    let outside = |draft: Draft| draft.set("/actions/0/target", "/etc/passwd");
    for (draft, rule) in [
        (outside(of("result-1", "second")), "C-WR-25"),
        (outside(of("result-1", "first")).set("/workPlanRef", at("plan-9")), "C-WR-24"),
    ] {
        let ((_, found), refusal) = chain().refusal(&draft);
        assert_eq!((found, refusal.denial.is_some()), (rule, false));
    }
}

#[test]
fn c_wr_2_actions_and_tool_events_stay_within_the_budget_skipped_ones_too() {
    let mut skipped = make::action("A-9", "repository.read", "src/a", false, "ev-look");
    skipped["status"] = json!("skipped");
    let mut run = executing(FIX);
    let four = make::result(FIX).set("/actions/-", skipped.clone()).set("/actions/-", skipped.clone());
    assert_eq!(run.refused(&four.clone().set("/actions/-", skipped)), (Code::BudgetExceeded, "C-WR-2"));
    run = run.accept(&four);
    assert!(run.view.get("result-1").is_some());
    let events = make::result(FIX).set("/toolEventRefs", json!(vec![at("ev-look"); 5]));
    assert_eq!(refused(&events), (Code::BudgetExceeded, "C-WR-2"));
}

#[test]
fn c_wr_3_an_analysis_changes_nothing_and_the_attempt_is_denied() {
    let writes = make::action("A-2", "repository.write", "src/queue.rs", true, "ev-diff");
    for mode in [ANALYZE, BOTH] {
        let result = make::result(mode).set("/actions/-", writes.clone());
        assert_eq!(
            denied(&executing(mode), &result),
            ((Code::PermissionDenied, "C-WR-3"), told("repository.write", "src/queue.rs"))
        );
        let mut deleted = make::change("src/old.rs");
        deleted["changeType"] = json!("deleted");
        deleted["afterHash"] = Value::Null;
        let result = make::result(mode).set("/filesChanged", json!([deleted]));
        assert_eq!(
            denied(&executing(mode), &result),
            ((Code::PermissionDenied, "C-WR-3"), told("repository.delete", "src/old.rs"))
        );
    }
}

#[test]
fn c_wr_4_the_schema_knows_no_other_capability() {
    let result = make::result(FIX).set("/actions/0/capability", "repository.rename");
    assert!(crate::protocol::Body::read(result.kind, &result.value).is_err());
}

fn partial_with(run_mode: IntentMode, capability: &str, target: &str, status: &str) -> Draft {
    let mut action = make::action("A-1", capability, target, false, "ev-look");
    action["status"] = json!(status);
    make::stopped(make::result(run_mode)).set("/actions", json!([action]))
}

#[test]
fn c_wr_5_an_inspection_has_a_typed_target_unless_it_is_an_honest_denial() {
    let run = executing(ANALYZE).evidence("ev-log", "log");
    for status in ["completed", "failed"] {
        assert_eq!(
            denied(&run, &partial_with(ANALYZE, "shell.inspect", "rm -rf /", status)),
            ((Code::PermissionDenied, "C-WR-5"), told("shell.inspect", "rm -rf /")),
            "{status}"
        );
    }
    for (target, status) in [("rm -rf /", "denied"), ("rm -rf /", "skipped"), ("git.status", "completed")] {
        let _ = run.clone().accept(
            &partial_with(ANALYZE, "shell.inspect", target, status)
                .set("/actions/0/evidenceRefs", json!([at("ev-log")])),
        );
    }
}

#[test]
fn c_wr_6_an_action_uses_a_tool_of_its_node_unless_it_is_an_honest_denial() {
    let run = executing(ANALYZE);
    let used = |status| partial_with(ANALYZE, "runtime.inspect", "local", status);
    assert_eq!(
        denied(&run, &used("completed")),
        ((Code::PermissionDenied, "C-WR-6"), told("runtime.inspect", "local"))
    );
    let _ = run.accept(&used("denied").set("/actions/0/evidenceRefs", json!([])));
}

#[test]
fn c_wr_7_a_denial_must_be_one() {
    let run = executing(ANALYZE);
    let claimed = |target| partial_with(ANALYZE, "repository.read", target, "denied");
    let (answer, refusal) = run.refusal(&claimed("src/queue.rs"));
    assert_eq!((answer, refusal.denial.is_some()), ((Code::FalseDenial, "C-WR-7"), false));
    let _ = run.accept(&claimed("docs/plan.md"));
}

#[test]
fn c_wr_8_an_attempt_outside_authority_is_refused_and_denied() {
    let run = executing(FIX);
    for target in ["docs/plan.md", "../other", "/etc/passwd", "src", "src/a\\b"] {
        let result = make::result(FIX).set("/actions/1/target", target);
        let (answer, denial) = denied(&run, &result);
        assert_eq!(answer, (Code::PermissionDenied, "C-WR-8"), "{target}");
        assert_eq!(denial, told("repository.read", target));
    }
}

#[test]
fn c_wr_8_names_the_policies_that_refused() {
    let result = make::result(FIX).set("/actions/1/target", "docs/plan.md");
    let (_, refusal): (_, Refusal) = executing(FIX).refusal(&result);
    assert!(refusal.message.ends_with("refused by work_node:edit"), "{refusal}");
    assert_eq!(refusal.path.as_deref(), Some("body.actions[1]"));
}

#[test]
fn c_wr_9_a_write_is_marked_as_a_change() {
    let result = make::result(FIX).set("/actions/0/mutating", false);
    assert_eq!(refused(&result), (Code::MutatingFlagMismatch, "C-WR-9"));
}

#[test]
fn c_wr_10_a_read_is_not_marked_as_a_change() {
    let result = make::result(FIX).set("/actions/1/mutating", true);
    assert_eq!(refused(&result), (Code::MutatingFlagMismatch, "C-WR-10"));
}

#[test]
fn c_wr_11_no_more_children_are_started_than_the_node_may() {
    let contract = make::contract(ANALYZE)
        .set("/permissions/subagents", json!({ "spawn": true, "maximumChildren": 2, "maximumDepth": 1 }));
    let plan = make::plan(ANALYZE)
        .set("/globalBudgets/maximumSubagentDepth", 1)
        .set(
            "/nodes/0/permissions/subagents",
            json!({ "spawn": true, "maximumChildren": 2, "maximumDepth": 1 }),
        )
        .set("/nodes/0/allowedTools/-", "subagent.spawn")
        .set("/nodes/0/budgets/maximumChildren", 1);
    let run = Run::start(ANALYZE, &[C::SubagentSpawn]).accept(&make::frame(ANALYZE)).accept(&contract);
    let run = run
        .accept(&make::review())
        .accept(&plan)
        .evidence("ev-look", "repository")
        .evidence("ev-out", "tool_output");
    let child = |id: &str| make::action(id, "subagent.spawn", "reader", false, "ev-out");
    let one = make::result(ANALYZE).set("/actions/-", child("A-2"));
    let _ = run.clone().accept(&one);
    assert_eq!(run.refused(&one.set("/actions/-", child("A-3"))), (Code::BudgetExceeded, "C-WR-11"));
}

#[test]
fn c_wr_12_a_changed_file_is_within_authority() {
    let result = make::result(FIX).set("/filesChanged/0/path", "docs/plan.md");
    assert_eq!(
        denied(&executing(FIX), &result),
        ((Code::PermissionDenied, "C-WR-12"), told("repository.write", "docs/plan.md"))
    );
    let mut deleted = make::change("src/queue.rs");
    deleted["changeType"] = json!("deleted");
    deleted["afterHash"] = Value::Null;
    let result = make::result(FIX).set("/filesChanged/-", deleted);
    assert_eq!(
        denied(&executing(FIX), &result),
        ((Code::PermissionDenied, "C-WR-12"), told("repository.delete", "src/queue.rs"))
    );
}

#[test]
fn c_wr_13_a_changed_file_has_an_action_with_the_same_text_as_target() {
    for path in ["src/other.rs", "./src/queue.rs"] {
        let result = make::result(FIX).set("/filesChanged/0/path", path);
        assert_eq!(refused(&result), (Code::FileChangeUnmatched, "C-WR-13"), "{path}");
    }
}

#[test]
fn c_wr_14_a_result_covers_criteria_of_its_node() {
    let result = make::result(FIX).set("/acceptanceCoverage/0/criterionId", "C-NEW");
    assert_eq!(refused(&result), (Code::CriterionOutOfScope, "C-WR-14"));
}

#[test]
fn c_wr_15_a_criterion_is_covered_once() {
    let twice = make::result(FIX);
    let entry = twice.value["acceptanceCoverage"][0].clone();
    assert_eq!(refused(&twice.set("/acceptanceCoverage/-", entry)), (Code::DuplicateEntry, "C-WR-15"));
}

#[test]
fn c_wr_16_a_completed_write_stands_among_the_changes_in_any_status() {
    for result in [make::result(FIX), make::result(FIX).set("/status", "failed")] {
        let hidden = result.set("/filesChanged", json!([]));
        assert_eq!(refused(&hidden), (Code::FileChangeUnmatched, "C-WR-16"));
    }
}

#[test]
fn c_wr_17_a_completion_is_verified_after_the_last_change() {
    let mut result = make::result(FIX);
    result.value["actions"].as_array_mut().expect("actions").reverse();
    assert_eq!(refused(&result), (Code::VerificationOrder, "C-WR-17"));
    let early = result.set("/status", "partial");
    let _ = executing(FIX).accept(&early);
}

#[test]
fn c_wr_18_every_required_capability_was_used() {
    let read_only = make::result(FIX)
        .set("/actions", json!([make::action("A-1", "repository.read", "src/a.rs", false, "ev-look")]))
        .set("/filesChanged", json!([]));
    assert_eq!(refused(&read_only), (Code::CapabilityNotPerformed, "C-WR-18"));
}

#[test]
fn c_wr_19_a_completed_result_covers_every_criterion_of_its_node() {
    let bare = make::result(FIX).set("/acceptanceCoverage", json!([]));
    assert_eq!(refused(&bare), (Code::CoverageMismatch, "C-WR-19"));
}

#[test]
fn c_wr_20_to_22_hold_even_where_the_schema_was_not_asked() {
    let mut failed = make::action("A-3", "repository.read", "src/a.rs", false, "ev-look");
    failed["status"] = json!("failed");
    let test = json!({
        "id": "T-1", "name": "sends once", "status": "failed", "commandRef": null, "outputRef": at("ev-look"),
        "exitCode": 1, "rationaleSummary": "Red."
    });
    for (draft, rule) in [
        (make::result(FIX).set("/actions/-", failed), "C-WR-20"),
        (make::result(FIX).set("/testResults/-", test), "C-WR-21"),
        (make::result(FIX).set("/acceptanceCoverage/0/status", "fail"), "C-WR-22"),
    ] {
        let refusal = executing(FIX).ask(&draft.forced::<WorkResult>(), &[]).expect_err("refused");
        assert_eq!((refusal.code, refusal.rule), (Code::ResultNotComplete, Some(rule)));
    }
}

#[test]
fn c_wr_23_evidence_must_fit_its_place() {
    let result = make::result(FIX).set("/actions/0/evidenceRefs", json!([at("ev-look")]));
    assert_eq!(refused(&result), (Code::EvidenceIncompatible, "C-ES-3"));
}

#[test]
fn w_18_coverage_evidence_is_named_once() {
    let result = make::result(FIX).set("/acceptanceCoverage/0/evidenceRefs/-", at("ev-diff"));
    assert_eq!(refused(&result), (Code::DuplicateEntry, "W-18"));
}

#[test]
fn w_22_execution_does_not_end_without_any_evidence() {
    let run = planning(FIX).accept(&make::plan(FIX));
    let result = make::stopped(make::result(FIX));
    assert_eq!(run.refused(&result), (Code::DeadEndRefused, "W-22"));
    let _ = run.evidence("ev-log", "log").accept(&result);
}

#[test]
fn w_29_a_path_is_changed_once() {
    let result = make::result(FIX).set("/filesChanged/-", make::change("src/queue.rs"));
    assert_eq!(refused(&result), (Code::DuplicateEntry, "W-29"));
}
