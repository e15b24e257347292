//! Rules of a prompt review (`controller.md` 7.6).

use super::contract::{correction_fields, preserved_fields};
use super::{
    Code, Context, Kind, Refusal, contract, demand, envelope, latest_words, names_latest, sets, shown,
};
use crate::protocol::{PromptDecision, PromptReview};

/// What each of the three sources must be covered by (C-PR-3).
const REQUEST_FIELDS: [&str; 2] = ["objective", "intentMode"];
const FRAME_FIELDS: [&str; 5] = ["scope", "constraints", "nonGoals", "acceptanceCriteria", "ruleRefs"];
const CONTRACT_FIELDS: [&str; 7] = [
    "permissions",
    "contextRefs",
    "requiredOutputs",
    "verificationRequirements",
    "stopConditions",
    "assumptions",
    "unresolvedQuestions",
];

pub(super) fn check(review: &PromptReview, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        names_latest(cx, Kind::TaskContract, &review.target_ref),
        LineageMismatch,
        "C-PR-1",
        "body.targetRef",
        "the review is of {}, the latest contract is {}",
        shown(&review.target_ref),
        latest_words(cx, Kind::TaskContract)
    );
    let contract = contract(cx, "C-PR-1")?;
    demand!(
        review.coverage.len() == 3,
        CoverageMismatch,
        "C-PR-2",
        "body.coverage",
        "coverage has {} entries; it has exactly three: the request, the frame, the contract",
        review.coverage.len()
    );
    let request = &envelope(cx, "C-PR-3")?.original_request_ref;
    covers(review, "the original request", request, &REQUEST_FIELDS)?;
    covers(review, "the frame", &contract.problem_frame_ref, &FRAME_FIELDS)?;
    covers(review, "the contract", &review.target_ref, &CONTRACT_FIELDS)?;
    demand!(
        review.revision_number.get() == contract.version.get() - 1,
        RevisionNumberMismatch,
        "C-PR-4",
        "body.revisionNumber",
        "revisionNumber is {}; the contract has version {}, so it must be {}",
        review.revision_number,
        contract.version,
        contract.version.get() - 1
    );
    Ok(())
}

/// C-PR-3: one entry for the source, with exactly its fields.
fn covers(review: &PromptReview, what: &str, source: &str, fields: &[&str]) -> Result<(), Refusal> {
    let mut entries = review.coverage.iter().enumerate().filter(|(_, entry)| *entry.source_ref == *source);
    let (Some((n, entry)), None) = (entries.next(), entries.next()) else {
        let message = format!("coverage must have exactly one entry for {what}, {}", shown(source));
        return Err(Refusal::new(Code::CoverageMismatch, "C-PR-3", message).at("body.coverage"));
    };
    let named: Vec<&str> = entry.contract_fields.iter().map(|field| field.as_str()).collect();
    sets::mismatch(&named, fields).map_or(Ok(()), |why| {
        let message = format!("the entry for {what} {why}; it must name exactly {}", fields.join(", "));
        let path = format!("body.coverage[{n}].contractFields");
        Err(Refusal::new(Code::CoverageMismatch, "C-PR-3", message).at(path))
    })
}

/// W-19, W-24: what a review sends back, a revision must be able to meet.
pub(super) fn dead_ends(review: &PromptReview) -> Result<(), Refusal> {
    if review.decision != PromptDecision::Revise {
        return Ok(());
    }
    let kept = preserved_fields(review);
    if let Some(field) = ["id", "version"].into_iter().find(|field| kept.contains(field)) {
        demand!(
            false,
            DeadEndRefused,
            "W-19",
            "body.findings",
            "preserveFields names {field}, which every revision changes; leave it out"
        );
    }
    demand!(
        !correction_fields(review).is_empty(),
        DeadEndRefused,
        "W-24",
        "body.findings",
        "a revise names at least one correction field on a blocking finding with a required correction; otherwise the \
         only revision is an unchanged copy"
    );
    Ok(())
}
