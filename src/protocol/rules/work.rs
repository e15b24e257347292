//! Rules of plans, results and the structures they share.

use super::repeated;
use crate::protocol::enums::{
    ActionStatus, ChangeType, CheckStatus, EvidenceStatus, FindingSeverity, TestStatus, WorkStatus,
};
use crate::protocol::execution::{FileChange, TestResult, WorkAction, WorkPlan, WorkResult};
use crate::protocol::shared::{AcceptanceCoverage, EvidenceClaim, Finding, ReviewCheck};
use crate::protocol::wire::Reader;
use std::collections::HashMap;

pub(in crate::protocol) fn evidence_claim_rules(it: &EvidenceClaim, reader: &mut Reader) {
    if matches!(it.status, EvidenceStatus::Observed | EvidenceStatus::Inferred) && it.evidence_refs.is_empty()
    {
        reader.rule("EC-1", "evidenceRefs", format!("a claim that is {} needs evidence", it.status));
    }
}

pub(in crate::protocol) fn finding_rules(it: &Finding, reader: &mut Reader) {
    if it.severity == FindingSeverity::Blocking && it.source_refs.is_empty() {
        reader.rule("FD-1", "sourceRefs", "a blocking finding needs a source");
    }
}

pub(in crate::protocol) fn acceptance_coverage_rules(it: &AcceptanceCoverage, reader: &mut Reader) {
    if matches!(it.status, CheckStatus::Pass | CheckStatus::Fail) && it.evidence_refs.is_empty() {
        reader.rule("CV-1", "evidenceRefs", format!("a criterion with status {} needs evidence", it.status));
    }
}

pub(in crate::protocol) fn review_check_rules(it: &ReviewCheck, reader: &mut Reader) {
    if matches!(it.status, CheckStatus::Pass | CheckStatus::Fail) && it.evidence_refs.is_empty() {
        reader.rule("RC-1", "evidenceRefs", format!("a check with status {} needs evidence", it.status));
    }
}

pub(in crate::protocol) fn work_action_rules(it: &WorkAction, reader: &mut Reader) {
    if it.status == ActionStatus::Completed && it.evidence_refs.is_empty() {
        reader.rule("WA-1", "evidenceRefs", "a completed action needs evidence");
    }
}

pub(in crate::protocol) fn file_change_rules(it: &FileChange, reader: &mut Reader) {
    let (before, after) = (it.before_hash.as_ref(), it.after_hash.as_ref());
    match it.change_type {
        ChangeType::Created => {
            if before.is_some() {
                reader.rule("FC-1", "beforeHash", "a created file has no hash before");
            }
            if after.is_none() {
                reader.rule("FC-2", "afterHash", "a created file has a hash after");
            }
        }
        ChangeType::Deleted => {
            if before.is_none() {
                reader.rule("FC-3", "beforeHash", "a deleted file has a hash before");
            }
            if after.is_some() {
                reader.rule("FC-4", "afterHash", "a deleted file has no hash after");
            }
        }
        ChangeType::Modified => {
            if before.is_none() || after.is_none() || before == after {
                reader.rule("FC-5", "afterHash", "a modified file has two hashes that differ");
            }
        }
    }
}

pub(in crate::protocol) fn test_result_rules(it: &TestResult, reader: &mut Reader) {
    if matches!(it.status, TestStatus::Passed | TestStatus::Failed) && it.output_ref.is_none() {
        reader.rule("TR-1", "outputRef", format!("a test that {} needs its output", it.status));
    }
}

pub(in crate::protocol) fn work_result_rules(it: &WorkResult, reader: &mut Reader) {
    if it.status == WorkStatus::Completed {
        if it.evidence_refs.is_empty() {
            reader.rule("WR-1", "evidenceRefs", "a completed result needs evidence");
        }
        for (n, action) in it.actions.iter().enumerate() {
            if matches!(action.status, ActionStatus::Failed | ActionStatus::Denied) {
                let path = format!("actions.{n}.status");
                reader.rule("WR-2", &path, format!("a completed result holds no {} action", action.status));
            }
        }
        for (n, test) in it.test_results.iter().enumerate() {
            if test.status == TestStatus::Failed {
                let path = format!("testResults.{n}.status");
                reader.rule("WR-3", &path, "a completed result holds no failed test");
            }
        }
        for (n, coverage) in it.acceptance_coverage.iter().enumerate() {
            if coverage.status != CheckStatus::Pass {
                let path = format!("acceptanceCoverage.{n}.status");
                reader.rule(
                    "WR-4",
                    &path,
                    format!("a completed result covers with pass, not {}", coverage.status),
                );
            }
        }
    }
    for (n, claim) in it.observations.iter().enumerate() {
        if !matches!(claim.status, EvidenceStatus::Observed | EvidenceStatus::UserReported) {
            let path = format!("observations.{n}.status");
            reader.rule(
                "WR-5",
                &path,
                format!("an observation is observed or user_reported, not {}", claim.status),
            );
        }
    }
    for (n, claim) in it.inferences.iter().enumerate() {
        if !matches!(claim.status, EvidenceStatus::Inferred | EvidenceStatus::Unverified) {
            let path = format!("inferences.{n}.status");
            reader.rule(
                "WR-6",
                &path,
                format!("an inference is inferred or unverified, not {}", claim.status),
            );
        }
    }
}

pub(in crate::protocol) fn work_plan_rules(it: &WorkPlan, reader: &mut Reader) {
    for (n, id) in repeated(it.nodes.iter().map(|node| &*node.id)) {
        reader.rule("WP-1", &format!("nodes.{n}.id"), format!("the id {id} was used by an earlier node"));
    }
    // Where an id is repeated, the last node with it counts.
    let index: HashMap<&str, usize> = it.nodes.iter().enumerate().map(|(n, node)| (&*node.id, n)).collect();
    for (n, node) in it.nodes.iter().enumerate() {
        for dependency in &node.depends_on {
            let path = format!("nodes.{n}.dependsOn");
            if !index.contains_key(&**dependency) {
                reader.rule("WP-2", &path, format!("the plan has no node {dependency}"));
            }
            if *dependency == node.id {
                reader.rule("WP-3", &path, format!("the node {dependency} depends on itself"));
            }
        }
    }
    if has_cycle(it, &index) {
        reader.rule("WP-4", "nodes", "following dependsOn leads from a node back to itself");
    }
}

/// Whether the dependencies form a cycle: nodes whose dependencies are all settled are taken away until
/// none is left to take.
fn has_cycle(plan: &WorkPlan, index: &HashMap<&str, usize>) -> bool {
    let mut settled = vec![false; plan.nodes.len()];
    loop {
        let mut moved = false;
        for &n in index.values() {
            let ready =
                plan.nodes[n].depends_on.iter().all(|id| index.get(&**id).is_none_or(|&d| settled[d]));
            if !settled[n] && ready {
                settled[n] = true;
                moved = true;
            }
        }
        if !moved {
            return index.values().any(|&n| !settled[n]);
        }
    }
}
