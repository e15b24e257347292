use super::*;
use crate::controller::RepositoryPolicy;

fn refused(draft: &Draft) -> (Code, &'static str) {
    compiling(FIX).refused(draft)
}

#[test]
fn c_tc_1_a_contract_is_for_the_mode_of_the_run() {
    assert_eq!(
        refused(
            &make::contract(FIX)
                .set("/intentMode", "analyze_only")
                .set("/permissions/repository/write", json!([]))
        ),
        (Code::ModeMismatch, "C-TC-1")
    );
}

#[test]
fn c_tc_2_a_contract_answers_the_request_and_rests_on_the_latest_frame() {
    let mut run = compiling(FIX);
    run.message("msg-2", "Yes.", &["clar-1"]);
    let other = make::contract(FIX).set("/originalRequestRef", at("msg-2"));
    assert_eq!(run.refused(&other), (Code::LineageMismatch, "C-TC-2"));
    let other = make::contract(FIX).set("/problemFrameRef", at("frame-2"));
    assert_eq!(run.refused(&other), (Code::LineageMismatch, "C-TC-2"));
}

#[test]
fn c_tc_3_the_sources_of_facts_and_inferences_stay_in_view() {
    for lost in [json!([SOURCE]), json!(["repo://src/retry.rs"])] {
        let contract = make::contract(FIX).set("/contextRefs", lost);
        assert_eq!(refused(&contract), (Code::SourceNotRetained, "C-TC-3"));
    }
    let wider = make::contract(FIX).set("/contextRefs/-", RULES);
    let _ = compiling(FIX).accept(&wider);
}

#[test]
fn c_tc_4_scope_constraints_and_non_goals_are_the_frames_in_its_order() {
    for (place, value) in [
        ("/scope/include", json!(["src/queue.rs"])),
        ("/constraints", json!(["No mail is lost.", "Order is kept."])),
        ("/nonGoals", json!([])),
    ] {
        let contract = make::contract(FIX).set(place, value);
        assert_eq!(refused(&contract), (Code::ContractNotPreserved, "C-TC-4"), "{place}");
    }
}

#[test]
fn c_tc_5_the_criteria_are_the_frames() {
    let contract = make::contract(FIX).set("/acceptanceCriteria/0/requirement", "It looks fine.");
    assert_eq!(refused(&contract), (Code::ContractNotPreserved, "C-TC-5"));
}

#[test]
fn c_tc_6_the_rules_are_exactly_the_frames() {
    for rules in [json!([]), json!([RULES, RULES]), json!([RULES, SOURCE])] {
        let contract = make::contract(FIX).set("/ruleRefs", rules);
        assert_eq!(refused(&contract), (Code::CoverageMismatch, "C-TC-6"));
    }
}

#[test]
fn c_tc_7_the_first_contract_has_version_one() {
    assert_eq!(refused(&make::contract(FIX).set("/version", 2)), (Code::ContractVersionInvalid, "C-TC-7"));
    let again = make::contract(FIX).id("contract-2");
    assert_eq!(reviewing(FIX).refused(&again), (Code::ContractVersionInvalid, "C-TC-7"));
}

fn revising() -> Run {
    reviewing(FIX).accept(&make::revise())
}

#[test]
fn a_revision_that_changes_what_was_asked_and_nothing_else_is_accepted() {
    let _ = revising().accept(&make::revised(FIX));
}

#[test]
fn c_tc_8_a_revision_follows_a_revise_has_version_two_and_cites_both() {
    let lineage = (Code::LineageMismatch, "C-TC-8");
    assert_eq!(revising().refused(&make::revised(FIX).set("/version", 1)), lineage);
    for cited in [&["contract-1"][..], &["review-1"], &[]] {
        assert_eq!(revising().refused(&make::revised(FIX).citing(cited)), lineage, "{cited:?}");
    }
    assert_eq!(planning(FIX).refused(&make::revised(FIX)), lineage);
}

#[test]
fn c_tc_9_a_revision_never_asks_for_more() {
    let wider = make::revised(FIX).set("/permissions/repository/write", json!(["**"]));
    assert_eq!(revising().refused(&wider), (Code::PermissionExceeded, "C-TC-9"));
    let escaping = make::revised(FIX).set("/permissions/repository/write", json!(["src/../etc/**"]));
    assert_eq!(revising().refused(&escaping), (Code::ScopePatternInvalid, "C-TC-9"));
}

#[test]
fn c_tc_10_a_field_both_kept_and_corrected_cannot_be_revised() {
    let review = make::revise().set("/findings/0/preserveFields", json!(["objective"]));
    let run = reviewing(FIX).accept(&review);
    assert_eq!(run.refused(&make::revised(FIX)), (Code::RevisionOutOfScope, "C-TC-10"));
}

#[test]
fn c_tc_11_a_field_nobody_asked_for_stays_even_when_it_only_narrows() {
    for (place, value) in [
        ("/stopConditions", json!([])),
        ("/permissions/shell/inspect", json!(false)),
        ("/acceptanceCriteria/0/requirement", json!("Easier.")),
    ] {
        let contract = make::revised(FIX).set(place, value);
        assert_eq!(revising().refused(&contract), (Code::RevisionOutOfScope, "C-TC-11"), "{place}");
    }
    let warning = make::finding("P-2", "warning", &[], &["stopConditions"]);
    let run = reviewing(FIX).accept(&make::revise().set("/findings/-", warning));
    let contract = make::revised(FIX).set("/stopConditions", json!([]));
    assert_eq!(run.refused(&contract), (Code::RevisionOutOfScope, "C-TC-11"));
}

#[test]
fn c_tc_12_every_correction_is_made() {
    let copy = make::revised(FIX).set("/objective", "Find the second send.");
    assert_eq!(revising().refused(&copy), (Code::RevisionIncomplete, "C-TC-12"));
}

#[test]
fn c_tc_13_a_kept_field_is_protected_by_the_rule_on_changes_as_well() {
    // Every kept field that changed is first a field nobody asked to change, except those C-TC-11 leaves out.
    let review = make::revise().set("/findings/0/preserveFields", json!(["version"]));
    let mut run = reviewing(FIX);
    run.put("review-1", &review.body(), &[]);
    assert_eq!(run.refused(&make::revised(FIX)), (Code::RevisionOutOfScope, "C-TC-13"));
}

#[test]
fn c_tc_14_a_required_verification_needs_a_capability_that_the_contract_backs() {
    let contract = make::contract(FIX).set("/verificationRequirements/0/capability", "shell.execute");
    assert_eq!(refused(&contract), (Code::CapabilityNotPermitted, "C-TC-14"));
    let optional = contract
        .set("/verificationRequirements/0/required", false)
        .set("/verificationRequirements/-", make::requirement("V-2", "completion", "repository.read"));
    let _ = compiling(FIX).accept(&optional);
}

#[test]
fn c_tc_15_a_command_is_exact() {
    let run = Run::start(FIX, &[ActionCapability::ShellExecute]).accept(&make::frame(FIX));
    let with =
        |command: &str| make::contract(FIX).set("/permissions/shell/executeAllowlist", json!([command]));
    for command in ["cargo test; rm x", "cargo *", "**", "authorized"] {
        assert_eq!(run.refused(&with(command)), (Code::ShellCommandInvalid, "C-TC-15"), "{command}");
    }
    assert_eq!(run.refused(&with("cargo build")), (Code::PermissionExceeded, "C-TC-16"));
    let _ = run.accept(&with("cargo test"));
}

#[test]
fn c_tc_16_a_contract_never_asks_for_more_than_was_granted() {
    for (place, value) in [
        ("/permissions/repository/delete", json!(["src/**"])),
        ("/permissions/runtime/inspect", json!(["remote"])),
        ("/permissions/browser/inspect", json!(true)),
        ("/permissions/network/readDomains", json!(["mail.example"])),
        ("/permissions/subagents/spawn", json!(true)),
    ] {
        let contract = make::contract(FIX).set(place, value);
        assert_eq!(refused(&contract), (Code::PermissionExceeded, "C-TC-16"), "{place}");
    }
}

#[test]
fn c_tc_16_the_policy_of_the_repository_narrows_the_grant() {
    let mut run = compiling(FIX);
    run.policy =
        Some(RepositoryPolicy { deny: vec![ActionCapability::ShellInspect], ..RepositoryPolicy::default() });
    assert_eq!(run.refused(&make::contract(FIX)), (Code::PermissionExceeded, "C-TC-16"));
}

#[test]
fn w_2_a_scope_that_leads_out_is_refused_before_it_is_compared() {
    for scope in
        ["src/../infra/**", "src/{../infra,x}/**", "/src/**", "./src", "src//a", "src\\a", "src/\u{0}"]
    {
        let contract = make::contract(FIX).set("/permissions/repository/write", json!([scope]));
        assert_eq!(refused(&contract), (Code::ScopePatternInvalid, "C-TC-16"), "{scope:?}");
    }
}

#[test]
fn w_20_a_required_verification_needs_a_criterion_of_its_stage() {
    let early = |draft: Draft, place: &str| draft.set(place, "diagnosis");
    let run = framing(ANALYZE).accept(&early(make::frame(ANALYZE), "/draftAcceptanceCriteria/0/stage"));
    let contract = early(make::contract(ANALYZE), "/acceptanceCriteria/0/stage");
    assert_eq!(run.refused(&contract), (Code::DeadEndRefused, "W-20"));
}
