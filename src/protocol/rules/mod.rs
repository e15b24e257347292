//! The rules of one body that no field table can say (`protocol.md`, the rule tables).
//!
//! A rule runs only when nothing inside its object is structurally wrong; its id stands beside the check.

mod intent;
mod release;
mod work;

pub(super) use intent::{
    clarification_request_rules, context_budget_rules, context_manifest_rules, problem_frame_rules,
    prompt_review_rules, task_contract_rules,
};
pub(super) use release::{
    claim_evidence_entry_rules, diagnosis_gate_rules, evidence_rules, quality_review_rules,
    release_audit_rules, trace_event_rules, user_report_rules, verification_result_rules,
};
pub(super) use work::{
    acceptance_coverage_rules, evidence_claim_rules, file_change_rules, finding_rules, review_check_rules,
    test_result_rules, work_action_rules, work_plan_rules, work_result_rules,
};

/// The weighted score of PR-1.
pub use intent::weighted_score;

use std::collections::HashSet;

/// Whether some key occurs twice.
fn repeats<'a>(keys: impl IntoIterator<Item = &'a str>) -> bool {
    let mut seen = HashSet::new();
    !keys.into_iter().all(|key| seen.insert(key))
}

/// The positions of keys that occurred before.
fn repeated<'a>(keys: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let mut seen = HashSet::new();
    keys.into_iter().enumerate().filter(|(_, key)| !seen.insert(*key)).collect()
}
