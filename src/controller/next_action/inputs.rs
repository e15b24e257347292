//! What a role may read: the latest of each kind, what those rest on, and recent evidence (`controller.md` 5.5).

use crate::controller::error::{Code, Refusal};
use crate::controller::predicates::envelope;
use crate::controller::references::REFERENCES_LIMIT;
use crate::controller::run::RunPhase;
use crate::controller::view::RunView;
use crate::protocol::Kind;
use std::collections::{BTreeSet, VecDeque};

/// The types that a phase may read.
fn eligible(phase: RunPhase) -> &'static [Kind] {
    use Kind::{
        ClarificationRequest, ContextManifest, Evidence, ProblemFrame, PromptReview, QualityReview,
        ReleaseAudit, RunEnvelope, TaskContract, UserMessage, WorkPlan, WorkResult,
    };
    match phase {
        RunPhase::ContextGrounding => &[RunEnvelope, UserMessage, ClarificationRequest],
        RunPhase::Frame => &[RunEnvelope, UserMessage, ContextManifest, ClarificationRequest],
        RunPhase::Compile => &[RunEnvelope, UserMessage, ContextManifest, ProblemFrame, ClarificationRequest],
        RunPhase::PromptReview => &[UserMessage, ProblemFrame, TaskContract, ClarificationRequest],
        RunPhase::Revise => &[UserMessage, ProblemFrame, TaskContract, PromptReview, ClarificationRequest],
        RunPhase::Plan => &[
            TaskContract,
            PromptReview,
            ContextManifest,
            QualityReview,
            ReleaseAudit,
            UserMessage,
            ClarificationRequest,
        ],
        RunPhase::Execute => &[
            TaskContract,
            WorkPlan,
            ContextManifest,
            QualityReview,
            ReleaseAudit,
            UserMessage,
            ClarificationRequest,
        ],
        RunPhase::QualityReview => &[
            TaskContract,
            WorkPlan,
            WorkResult,
            Evidence,
            QualityReview,
            ReleaseAudit,
            UserMessage,
            ClarificationRequest,
        ],
        RunPhase::Audit => {
            &[UserMessage, TaskContract, WorkPlan, WorkResult, Evidence, QualityReview, ClarificationRequest]
        }
        RunPhase::Report => &[
            UserMessage,
            ProblemFrame,
            TaskContract,
            PromptReview,
            WorkPlan,
            WorkResult,
            Evidence,
            QualityReview,
            ReleaseAudit,
            ClarificationRequest,
        ],
    }
}

/// The input references of the run's current phase, in ledger order.
///
/// # Errors
/// `context_closure_too_large` when more than 256 artifacts must be among them; nothing is ever cut off.
pub fn input_refs(view: &RunView) -> Result<Vec<String>, Refusal> {
    let eligible = eligible(view.run.phase);
    let mut selection = Selection { selected: BTreeSet::new(), queue: VecDeque::new() };
    for kind in eligible.iter().filter(|kind| **kind != Kind::Evidence) {
        selection.add(view.latest(*kind).and_then(|stored| view.position(&stored.id)))?;
    }
    let request = envelope(view).and_then(|envelope| view.resolve(&envelope.original_request_ref));
    selection.add(request.and_then(|stored| view.position(&stored.id)))?;
    for kind in [Kind::WorkPlan, Kind::WorkResult].into_iter().filter(|kind| eligible.contains(kind)) {
        for stored in view.of_kind(kind) {
            selection.add(view.position(&stored.id))?;
        }
    }
    while let Some(at) = selection.queue.pop_front() {
        let stored = &view.artifacts()[at];
        for reference in view.references_at(at).iter().chain(&stored.source_refs) {
            let Some(target) = view.resolve(reference) else { continue };
            let fits = target.kind.is_some_and(|kind| kind != Kind::Evidence && eligible.contains(&kind));
            if fits {
                selection.add(view.position(&target.id))?;
            }
        }
    }
    if eligible.contains(&Kind::Evidence) {
        for stored in view.of_kind(Kind::Evidence).rev() {
            if selection.selected.len() >= REFERENCES_LIMIT {
                break;
            }
            selection.selected.extend(view.position(&stored.id));
        }
    }
    Ok(selection.selected.iter().map(|at| view.reference(&view.artifacts()[*at].id)).collect())
}

/// Places in the ledger, each taken once.
struct Selection {
    selected: BTreeSet<usize>,
    queue: VecDeque<usize>,
}

impl Selection {
    fn add(&mut self, at: Option<usize>) -> Result<(), Refusal> {
        let Some(at) = at else { return Ok(()) };
        if self.selected.insert(at) {
            self.queue.push_back(at);
        }
        if self.selected.len() <= REFERENCES_LIMIT {
            return Ok(());
        }
        let message = format!("more than {REFERENCES_LIMIT} artifacts must be among the inputs");
        let refusal = Refusal::new(Code::ContextClosureTooLarge, "C-SB-24", message);
        Err(Refusal { rule: None, ..refusal.with("limit", REFERENCES_LIMIT) })
    }
}
