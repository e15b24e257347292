//! Rules of what is asked: manifest, clarification, frame, contract, prompt review.

use super::{repeated, repeats};
use crate::protocol::context::{Candidate, ContextBudget, ContextManifest};
use crate::protocol::control::ClarificationRequest;
use crate::protocol::enums::{
    AuthorityEffect, ClarificationReason, CoverageStatus, FindingSeverity, IntentMode, PromptDecision,
    RunEffect, Stage, UnknownClass,
};
use crate::protocol::intent::{Clarification, ProblemFrame, PromptReview, ReadinessScores, TaskContract};
use crate::protocol::wire::Reader;
use std::collections::HashSet;

pub(in crate::protocol) fn context_budget_rules(it: &ContextBudget, reader: &mut Reader) {
    if it.selected_bytes.get() > it.maximum_total_bytes.get() {
        let message =
            format!("{} selected bytes exceed the maximum of {}", it.selected_bytes, it.maximum_total_bytes);
        reader.rule("CM-1", "", message);
    }
}

pub(in crate::protocol) fn context_manifest_rules(it: &ContextManifest, reader: &mut Reader) {
    let reference = |candidate: &Candidate| match candidate {
        Candidate::Selected(selected) => selected.reference.to_string(),
        Candidate::Excluded(excluded) => excluded.reference.to_string(),
    };
    let references: Vec<String> = it.candidates.iter().map(reference).collect();
    for (n, used) in repeated(references.iter().map(String::as_str)) {
        reader.rule(
            "CM-2",
            &format!("candidates.{n}.ref"),
            format!("{used} was used by an earlier candidate"),
        );
    }
    let selected = || {
        it.candidates.iter().filter_map(|candidate| match candidate {
            Candidate::Selected(selected) => Some(selected.byte_size.get()),
            Candidate::Excluded(_) => None,
        })
    };
    let (bytes, files) = (selected().sum::<i64>(), selected().count());
    if it.budget.selected_bytes.get() != bytes {
        reader.rule(
            "CM-3",
            "budget.selectedBytes",
            format!("must be {bytes}, the sum over selected candidates"),
        );
    }
    if it.budget.selected_files.get() != i64::try_from(files).unwrap_or(i64::MAX) {
        reader.rule(
            "CM-4",
            "budget.selectedFiles",
            format!("must be {files}, the number of selected candidates"),
        );
    }
    for (n, reason) in repeated(it.excluded_candidate_summaries.iter().map(|summary| summary.reason.as_str()))
    {
        let path = format!("excludedCandidateSummaries.{n}.reason");
        reader.rule("CM-5", &path, format!("{reason} was used by an earlier summary"));
    }
}

pub(in crate::protocol) fn clarification_request_rules(it: &ClarificationRequest, reader: &mut Reader) {
    let expanding = it.reason == ClarificationReason::PermissionExpanding;
    if it.permission_expansion_required != expanding {
        reader.rule(
            "CR-1",
            "permissionExpansionRequired",
            format!("must be {expanding} for the reason {}", it.reason),
        );
    }
    let choices = &it.response_choices;
    if repeats(choices.iter().map(|choice| &*choice.id))
        || repeats(choices.iter().map(|choice| &*choice.consequence))
    {
        reader.rule("CR-2", "responseChoices", "ids and consequences of the choices must differ");
    }
    for (n, choice) in choices.iter().enumerate() {
        let new_authority = choice.authority_effect == AuthorityEffect::RequiresNewRun;
        if new_authority != (choice.run_effect == RunEffect::NewRun) {
            reader.rule("CR-3", &format!("responseChoices.{n}"), "requires_new_run and new_run go together");
        }
    }
    let within = |choice: &&_| -> bool {
        let choice: &crate::protocol::ResponseChoice = choice;
        choice.authority_effect == AuthorityEffect::WithinCurrentAuthority
    };
    if !expanding && choices.iter().any(|choice| !within(&choice)) {
        reader.rule(
            "CR-4",
            "responseChoices",
            "a user-owned question offers choices within current authority only",
        );
    }
    let bounded = choices.iter().filter(within).any(|choice| choice.run_effect == RunEffect::Resume);
    if expanding && (!bounded || choices.iter().all(|choice| within(&choice))) {
        let message = "a permission-expanding question offers one choice that resumes within current authority \
                       and one that requires a new run";
        reader.rule("CR-5", "responseChoices", message);
    }
}

pub(in crate::protocol) fn problem_frame_rules(it: &ProblemFrame, reader: &mut Reader) {
    let mut seen = HashSet::new();
    let lists: [(&str, Vec<&str>); 4] = [
        ("knownFacts", it.known_facts.iter().map(|fact| &*fact.id).collect()),
        ("inferences", it.inferences.iter().map(|inference| &*inference.id).collect()),
        ("unknowns", it.unknowns.iter().map(|unknown| &*unknown.id).collect()),
        (
            "draftAcceptanceCriteria",
            it.draft_acceptance_criteria.iter().map(|criterion| &*criterion.id).collect(),
        ),
    ];
    for (list, ids) in lists {
        for id in ids {
            if !seen.insert(id) {
                reader.rule("PF-1", list, format!("the id {id} was used before in this frame"));
            }
        }
    }
    let owned = it.unknowns.iter().find(|unknown| {
        matches!(
            unknown.classification,
            UnknownClass::UserOwnedMateriallyDivergent | UnknownClass::PermissionExpanding
        )
    });
    if let (Some(unknown), Clarification::No(_)) = (owned, &it.clarification) {
        let message = format!("must be true: the unknown {} is {}", unknown.id, unknown.classification);
        reader.rule("PF-2", "clarification.required", message);
    }
}

pub(in crate::protocol) fn task_contract_rules(it: &TaskContract, reader: &mut Reader) {
    for (n, id) in repeated(it.acceptance_criteria.iter().map(|criterion| &*criterion.id)) {
        let path = format!("acceptanceCriteria.{n}.id");
        reader.rule("TC-1", &path, format!("the id {id} was used by an earlier criterion"));
    }
    let requirements = &it.verification_requirements;
    if repeats(requirements.iter().map(|requirement| &*requirement.id)) {
        reader.rule("TC-2", "verificationRequirements", "two requirements share an id");
    }
    let executes =
        matches!(it.intent_mode, IntentMode::AnalyzeOnly | IntentMode::FixOnly | IntentMode::AnalyzeAndFix);
    if executes && !requirements.iter().any(|requirement| requirement.required) {
        let message = format!("mode {} needs a required verification", it.intent_mode);
        reader.rule("TC-3", "verificationRequirements", message);
    }
    let both = |stages: &[Stage]| stages.contains(&Stage::Diagnosis) && stages.contains(&Stage::Completion);
    if it.intent_mode == IntentMode::AnalyzeAndFix {
        let stages: Vec<Stage> = it.acceptance_criteria.iter().map(|criterion| criterion.stage).collect();
        if !both(&stages) {
            reader.rule("TC-4", "acceptanceCriteria", "analyze_and_fix needs criteria of both stages");
        }
        let required = requirements.iter().filter(|requirement| requirement.required);
        let stages: Vec<Stage> = required.map(|requirement| requirement.stage).collect();
        if !both(&stages) {
            let message = "analyze_and_fix needs required verifications of both stages";
            reader.rule("TC-5", "verificationRequirements", message);
        }
    } else if requirements.iter().any(|requirement| requirement.stage == Stage::Diagnosis) {
        let message = format!("mode {} has no diagnosis stage to verify", it.intent_mode);
        reader.rule("TC-6", "verificationRequirements", message);
    }
    let read_only =
        matches!(it.intent_mode, IntentMode::ReportOnly | IntentMode::PlanOnly | IntentMode::AnalyzeOnly);
    if read_only && it.permissions.mutates() {
        reader.rule("TC-7", "permissions", format!("mode {} may not change anything", it.intent_mode));
    }
}

/// The weighted score of a prompt review (PR-1).
///
/// Each product and sum is rounded on its own, left to right: the order is part of the protocol.
#[must_use]
pub fn weighted_score(scores: &ReadinessScores) -> f64 {
    let weighted = scores.intent_fidelity.get() * 0.3
        + scores.repository_grounding.get() * 0.2
        + scores.constraints_and_permissions.get() * 0.15
        + scores.testable_acceptance.get() * 0.2
        + scores.execution_feasibility.get() * 0.1
        + scores.context_efficiency.get() * 0.05;
    (weighted * 100.0).round() / 100.0
}

pub(in crate::protocol) fn prompt_review_rules(it: &PromptReview, reader: &mut Reader) {
    let expected = weighted_score(&it.dimension_scores);
    #[expect(clippy::float_cmp, reason = "PR-1 demands the same double")]
    if it.overall_score.get() != expected {
        reader.rule("PR-1", "overallScore", format!("must be {expected}, the weighted score"));
    }
    let failed_gate = it.hard_gates.iter().any(|gate| !gate.passed);
    let blocking = it.findings.iter().any(|finding| finding.severity == FindingSeverity::Blocking);
    match it.decision {
        PromptDecision::Pass => {
            if failed_gate || blocking {
                reader.rule("PR-2", "decision", "pass allows no failed gate and no blocking finding");
            }
            let covered = it.coverage.iter().all(|entry| entry.status == CoverageStatus::Covered);
            if it.overall_score.get() < 80.0 || it.coverage.is_empty() || !covered {
                reader.rule("PR-4", "decision", "pass needs a score of 80 or more and full coverage");
            }
        }
        PromptDecision::Block => {
            if !failed_gate && !blocking {
                reader.rule("PR-3", "decision", "block needs a failed gate or a blocking finding");
            }
        }
        PromptDecision::Revise => {
            if it.revision_number.get() == 1 {
                reader.rule("PR-5", "revisionNumber", "a contract is revised once");
            }
            let demands = it.findings.iter().any(|finding| {
                finding.severity == FindingSeverity::Blocking && finding.required_correction.is_some()
            });
            if !demands {
                reader.rule("PR-6", "findings", "revise needs a blocking finding with a required correction");
            }
            if it.findings.iter().all(|finding| finding.correction_fields.is_empty()) {
                reader.rule("PR-7", "findings", "revise needs a finding that names a correction field");
            }
        }
    }
}
