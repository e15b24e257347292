//! Rules of a task contract, first version and revision (`controller.md` 7.5).

use super::{
    Code, Context, Kind, Refusal, criteria, demand, envelope, latest_ref, latest_words, proving, sets, shown,
};
use crate::controller::RunPhase;
use crate::controller::authority;
use crate::protocol::{
    FindingSeverity, ProblemFrame, PromptDecision, PromptReview, Provenance, TaskContract, Wire,
};
use std::collections::BTreeSet;

pub(super) fn check(contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        contract.intent_mode == cx.mode,
        ModeMismatch,
        "C-TC-1",
        "body.intentMode",
        "the contract is for {}, the run is {}",
        contract.intent_mode,
        cx.mode
    );
    let frame = lineage(contract, cx)?;
    sources_retained(contract, frame)?;
    if cx.phase == RunPhase::Compile {
        preserved(contract, frame)?;
    }
    if let Some(why) =
        sets::mismatch(&sets::texts(&contract.rule_refs), &sets::texts(&frame.applicable_rule_refs))
    {
        let message = format!("the contract's rules must be exactly the frame's: it {why}");
        return Err(Refusal::new(Code::CoverageMismatch, "C-TC-6", message).at("body.ruleRefs"));
    }
    if cx.phase == RunPhase::Revise {
        revision(contract, cx)?;
    } else {
        demand!(
            cx.view.latest(Kind::TaskContract).is_none() && contract.version.get() == 1,
            ContractVersionInvalid,
            "C-TC-7",
            "body.version",
            "the first contract of a run has version 1, not {}",
            contract.version
        );
    }
    authority_of(contract, cx)
}

/// C-TC-2, and the frame it leads to.
fn lineage<'a>(contract: &TaskContract, cx: &Context<'a>) -> Result<&'a ProblemFrame, Refusal> {
    let request = &envelope(cx, "C-TC-2")?.original_request_ref;
    demand!(
        contract.original_request_ref == *request,
        LineageMismatch,
        "C-TC-2",
        "body.originalRequestRef",
        "the contract answers {}, the original request is {request}",
        shown(&contract.original_request_ref)
    );
    let frame = cx.view.last::<ProblemFrame>(Kind::ProblemFrame);
    let named = frame.filter(|(stored, _)| *contract.problem_frame_ref == *cx.view.reference(&stored.id));
    named.map(|(_, frame)| frame).ok_or_else(|| {
        let message = format!(
            "the contract rests on {}, the latest frame is {}",
            shown(&contract.problem_frame_ref),
            latest_words(cx, Kind::ProblemFrame)
        );
        Refusal::new(Code::LineageMismatch, "C-TC-2", message).at("body.problemFrameRef")
    })
}

/// C-TC-3: what the frame rests on stays in view.
fn sources_retained(contract: &TaskContract, frame: &ProblemFrame) -> Result<(), Refusal> {
    let facts = frame.known_facts.iter().filter(|fact| fact.provenance != Provenance::User);
    let facts = facts.map(|fact| (&fact.id, &fact.source_ref));
    let inferences =
        frame.inferences.iter().flat_map(|it| it.source_refs.iter().map(move |source| (&it.id, source)));
    for (id, source) in facts.chain(inferences) {
        demand!(
            contract.context_refs.contains(source),
            SourceNotRetained,
            "C-TC-3",
            "body.contextRefs",
            "{}, the source of {id} in the frame, is missing",
            shown(source)
        );
    }
    Ok(())
}

/// C-TC-4, C-TC-5: the first contract repeats the frame's bounds. Typed bodies are equal exactly when their canonical
/// texts are.
fn preserved(contract: &TaskContract, frame: &ProblemFrame) -> Result<(), Refusal> {
    let kept = [
        ("scope", contract.scope == frame.scope),
        ("constraints", contract.constraints == frame.constraints),
        ("nonGoals", contract.non_goals == frame.non_goals),
    ];
    for (field, kept) in kept {
        demand!(
            kept,
            ContractNotPreserved,
            "C-TC-4",
            format!("body.{field}"),
            "{field} must be exactly the frame's, in the same order"
        );
    }
    demand!(
        contract.acceptance_criteria.iter().eq(frame.draft_acceptance_criteria.iter()),
        ContractNotPreserved,
        "C-TC-5",
        "body.acceptanceCriteria",
        "acceptanceCriteria must be exactly the frame's draftAcceptanceCriteria, in the same order"
    );
    Ok(())
}

/// C-TC-8 to C-TC-13: a revision changes what the review asked for and nothing else.
fn revision(contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    let prior = cx.view.last::<TaskContract>(Kind::TaskContract);
    let review = cx.view.last::<PromptReview>(Kind::PromptReview);
    let (Some((_, prior)), Some((_, review))) = (prior, review) else {
        let message = "a revision needs an earlier TaskContract and its PromptReview";
        return Err(Refusal::new(Code::LineageMismatch, "C-TC-8", message));
    };
    demand!(
        review.decision == PromptDecision::Revise && review.revision_number.get() == 0,
        LineageMismatch,
        "C-TC-8",
        "body",
        "the latest PromptReview decided {} with revisionNumber {}; a revision follows revise with 0",
        review.decision,
        review.revision_number
    );
    demand!(
        contract.version.get() == 2,
        LineageMismatch,
        "C-TC-8",
        "body.version",
        "the revised contract has version 2, not {}",
        contract.version
    );
    for kind in [Kind::TaskContract, Kind::PromptReview] {
        let reference = latest_ref(cx, kind).unwrap_or_default();
        demand!(
            cx.cites(&reference),
            LineageMismatch,
            "C-TC-8",
            "sourceRefs",
            "the revision must cite {reference}, the latest {kind}"
        );
    }
    authority::refuse_unsafe_scopes(&contract.permissions, "C-TC-9", "body.permissions")?;
    if let Some((place, what)) = authority::excess(&contract.permissions, &prior.permissions) {
        let message = format!("the revision asks for {what}, which the first contract does not allow");
        return Err(
            Refusal::new(Code::PermissionExceeded, "C-TC-9", message).at(format!("body.permissions.{place}"))
        );
    }
    changes(contract, prior, review)
}

fn changes(contract: &TaskContract, prior: &TaskContract, review: &PromptReview) -> Result<(), Refusal> {
    let (kept, corrections) = (preserved_fields(review), correction_fields(review));
    if let Some(field) = corrections.intersection(&kept).next() {
        let message =
            format!("the review both keeps {field} and asks for its correction, so no revision is possible");
        return Err(Refusal::new(Code::RevisionOutOfScope, "C-TC-10", message).at(format!("body.{field}")));
    }
    let (old, new) = (prior.encode(), contract.encode());
    let unchanged = |field: &str| match (old.get(field), new.get(field)) {
        (Some(old), Some(new)) => sets::same(old, new),
        (None, None) => true,
        _ => false,
    };
    let fields = new.as_object().into_iter().flat_map(|fields| fields.keys());
    for field in fields.filter(|field| !matches!(field.as_str(), "id" | "version")) {
        demand!(
            unchanged(field) || corrections.contains(field.as_str()),
            RevisionOutOfScope,
            "C-TC-11",
            format!("body.{field}"),
            "{field} changed, but the review asked only for {}",
            corrections.iter().copied().collect::<Vec<_>>().join(", ")
        );
    }
    for field in &corrections {
        demand!(
            !unchanged(field),
            RevisionIncomplete,
            "C-TC-12",
            format!("body.{field}"),
            "the review asked for a correction of {field}, which is unchanged"
        );
    }
    for field in &kept {
        demand!(
            new.get(field).is_some() && unchanged(field),
            RevisionOutOfScope,
            "C-TC-13",
            format!("body.{field}"),
            "the review keeps {field}, which changed"
        );
    }
    Ok(())
}

/// The fields that a review keeps as they are.
pub(super) fn preserved_fields(review: &PromptReview) -> BTreeSet<&'static str> {
    review
        .findings
        .iter()
        .flat_map(|finding| finding.preserve_fields.iter())
        .map(|field| field.as_str())
        .collect()
}

/// The fields that a revision must change: those of blocking findings that ask for a correction.
pub(super) fn correction_fields(review: &PromptReview) -> BTreeSet<&'static str> {
    let asking = review.findings.iter().filter(|finding| {
        finding.severity == FindingSeverity::Blocking && finding.required_correction.is_some()
    });
    asking.flat_map(|finding| finding.correction_fields.iter()).map(|field| field.as_str()).collect()
}

/// C-TC-14 to C-TC-16: what the contract permits is enough for its own proofs and no more than was granted.
fn authority_of(contract: &TaskContract, cx: &Context<'_>) -> Result<(), Refusal> {
    for (n, requirement) in contract.verification_requirements.iter().enumerate() {
        demand!(
            !requirement.required
                || authority::backed(&contract.permissions, proving(requirement.capability)),
            CapabilityNotPermitted,
            "C-TC-14",
            format!("body.verificationRequirements[{n}].capability"),
            "{} needs {}, which the contract's permissions do not back",
            requirement.id,
            requirement.capability
        );
    }
    for (n, command) in contract.permissions.shell.execute_allowlist.iter().enumerate() {
        demand!(
            authority::is_exact_command(command),
            ShellCommandInvalid,
            "C-TC-15",
            format!("body.permissions.shell.executeAllowlist[{n}]"),
            "{:?} is not one exact command: no wildcard, no placeholder, nothing a shell would split or redirect",
            shown(command)
        );
    }
    authority::refuse_unsafe_scopes(&contract.permissions, "C-TC-16", "body.permissions")?;
    let granted = authority::run_authorization(cx.view, cx.env.policy);
    if let Some((place, what)) = authority::excess(&contract.permissions, &granted) {
        let message = format!("the contract asks for {what}, which the run's authorization does not allow");
        return Err(Refusal::new(Code::PermissionExceeded, "C-TC-16", message)
            .at(format!("body.permissions.{place}")));
    }
    Ok(())
}

/// W-20: a required verification needs a criterion of its stage, or no plan can schedule it (C-WP-26).
pub(super) fn dead_ends(contract: &TaskContract) -> Result<(), Refusal> {
    for (n, requirement) in contract.verification_requirements.iter().enumerate() {
        demand!(
            !requirement.required || !criteria(contract, Some(requirement.stage)).is_empty(),
            DeadEndRefused,
            "W-20",
            format!("body.verificationRequirements[{n}].stage"),
            "no plan could schedule {}: the contract has no criterion of stage {}",
            requirement.id,
            requirement.stage
        );
    }
    Ok(())
}
