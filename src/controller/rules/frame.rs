//! Rules of a problem frame (`controller.md` 7.4).

use super::{Code, Context, Kind, Refusal, demand, envelope, sets, shown};
use crate::protocol::{Clarification, Evidence, EvidenceKind, GroundedFact, ProblemFrame, Provenance};

pub(super) fn check(frame: &ProblemFrame, cx: &Context<'_>) -> Result<(), Refusal> {
    demand!(
        frame.intent_mode == cx.mode,
        ModeMismatch,
        "C-PF-1",
        "body.intentMode",
        "the frame is for {}, the run is {}",
        frame.intent_mode,
        cx.mode
    );
    let request = &envelope(cx, "C-PF-2")?.original_request_ref;
    demand!(
        frame.original_request_ref == *request,
        LineageMismatch,
        "C-PF-2",
        "body.originalRequestRef",
        "the frame answers {}, the original request is {request}",
        shown(&frame.original_request_ref)
    );
    for (n, fact) in frame.known_facts.iter().enumerate() {
        provenance(fact, cx).map_err(|refusal| refusal.at(format!("body.knownFacts[{n}].sourceRef")))?;
    }
    demand!(
        !matches!(frame.clarification, Clarification::Yes(_)),
        ClarificationRequired,
        "C-PF-6",
        "body.clarification.required",
        "a question the user must answer is asked with a ClarificationRequest before framing"
    );
    Ok(())
}

/// W-18: a repeated rule could never be matched by the contract's rule set (C-TC-6).
pub(super) fn dead_ends(frame: &ProblemFrame) -> Result<(), Refusal> {
    let rules = sets::texts(&frame.applicable_rule_refs);
    sets::repeat(&rules).map_or(Ok(()), |rule| {
        let message = format!("{} is listed more than once; name each rule once", shown(rule));
        Err(Refusal::new(Code::DuplicateEntry, "W-18", message).at("body.applicableRuleRefs"))
    })
}

/// Whether the source of a fact is of the kind that its provenance says (C-PF-3 to C-PF-5).
fn provenance(fact: &GroundedFact, cx: &Context<'_>) -> Result<(), Refusal> {
    use EvidenceKind as E;
    let (id, source) = (&fact.id, shown(&fact.source_ref));
    let target = cx.view.resolve(&fact.source_ref);
    let kinds: &[EvidenceKind] = match fact.provenance {
        Provenance::User => {
            let said = target.is_some_and(|t| t.kind == Some(Kind::UserMessage) && t.producer == "user");
            crate::require!(
                said,
                ProvenanceMismatch,
                "C-PF-3",
                "fact {id} comes from the user but cites {source}; cite what the user said in this run"
            );
            return Ok(());
        }
        Provenance::Repository => {
            crate::require!(
                fact.source_ref.starts_with("repo://"),
                ProvenanceMismatch,
                "C-PF-4",
                "fact {id} comes from the repository but cites {source}; cite a repo:// source"
            );
            return Ok(());
        }
        Provenance::Runtime => &[E::Runtime, E::Log],
        Provenance::Browser => &[E::Browser],
        Provenance::Tool => &[E::ToolOutput, E::Test, E::Diff],
    };
    let proven =
        target.and_then(|t| t.read::<Evidence>()).is_some_and(|evidence| kinds.contains(&evidence.kind));
    let wanted: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    crate::require!(
        proven,
        ProvenanceMismatch,
        "C-PF-5",
        "fact {id} has the provenance {} but cites {source}; cite Evidence of kind {}",
        fact.provenance,
        wanted.join(" or ")
    );
    Ok(())
}
