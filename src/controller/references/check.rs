//! The C-RF rules, per reference in order (`controller.md` 6.4).

use super::REFERENCES_LIMIT;
use super::place::{Place, is_known_system};
use super::walk::{Found, recognised_in};
use crate::controller::context::Context;
use crate::controller::error::{Code, Refusal};
use crate::controller::predicates::is_deliverable;
use crate::protocol::{Body, Candidate, ContextManifest, Kind, Reference, is_identifier, is_reference};
use crate::require;
use serde_json::Value;
use std::collections::HashSet;

/// Checks every reference of a submission: those of the body, then those that will be stored with it.
///
/// # Errors
/// The first of C-RF-2 to C-RF-18 that does not hold, in the order of the references.
pub fn check(ctx: &Context<'_>, id: &str, body: &Body, encoded: &Value) -> Result<(), Refusal> {
    let refs = ctx.effective_refs;
    let unique: HashSet<&String> = refs.iter().collect();
    require!(
        refs.len() <= REFERENCES_LIMIT
            && unique.len() == refs.len()
            && refs.iter().all(|it| is_reference(it)),
        SourceRefsInvalid,
        "C-RF-2",
        "the source references must be at most {REFERENCES_LIMIT}, each given once and well formed"
    );
    let check = Check { ctx, id, body, selected: selected(ctx) };
    for found in recognised_in(encoded) {
        let place = Place::of(body, &found);
        check.one(&found, place).map_err(|refusal| refusal.at(found.path))?;
    }
    for (index, reference) in refs.iter().enumerate() {
        let found = Found::given(index, reference);
        let place =
            Place { system: false, direct: false, user_reported: false, forward: false, expected: None };
        check.one(&found, place).map_err(|refusal| refusal.at(found.path))?;
    }
    Ok(())
}

/// The repository sources that may be cited: pinned and selected ones of the latest manifest.
fn selected<'a>(ctx: &Context<'a>) -> HashSet<&'a str> {
    let Some((_, manifest)) = ctx.view.last::<ContextManifest>(Kind::ContextManifest) else {
        return HashSet::new();
    };
    let candidates = manifest.candidates.iter().filter_map(|candidate| match candidate {
        Candidate::Selected(selected) => Some(selected.reference.as_str()),
        Candidate::Excluded(_) => None,
    });
    manifest.pinned_refs.iter().map(Reference::as_str).chain(candidates).collect()
}

struct Check<'a> {
    ctx: &'a Context<'a>,
    id: &'a str,
    body: &'a Body,
    selected: HashSet<&'a str>,
}

impl Check<'_> {
    fn one(&self, found: &Found, place: Place) -> Result<(), Refusal> {
        let reference = found.reference.as_str();
        if reference.starts_with("artifact://system/") {
            require!(
                is_known_system(reference) && place.system,
                MisplacedSystemReference,
                "C-RF-3",
                "{reference:?} is no known part of the protocol, or may not be named here"
            );
            return Ok(());
        }
        if reference.starts_with("repo://") {
            return self.repository(reference, place);
        }
        if let Some(rest) = reference.strip_prefix("trace://") {
            return self.trace(reference, rest, place);
        }
        match reference.strip_prefix("artifact://") {
            Some(rest) => self.artifact(reference, rest, place),
            None => Ok(()),
        }
    }

    fn repository(&self, reference: &str, place: Place) -> Result<(), Refusal> {
        require!(
            !place.user_reported,
            UserReportedEvidence,
            "C-RF-4",
            "{reference:?} cannot show what only the user knows; cite the user's message"
        );
        require!(
            self.body.kind() == Kind::ContextManifest || self.selected.contains(reference),
            UnselectedRepositoryReference,
            "C-RF-5",
            "{reference:?} was not selected when the repository was grounded"
        );
        require!(
            !place.direct,
            NotDirectEvidence,
            "C-RF-6",
            "{reference:?} is a source, not proof; capture Evidence and cite that"
        );
        Ok(())
    }

    fn trace(&self, reference: &str, rest: &str, place: Place) -> Result<(), Refusal> {
        require!(
            !place.user_reported,
            UserReportedEvidence,
            "C-RF-7",
            "{reference:?} cannot show what only the user knows; cite the user's message"
        );
        let (run, event) = rest.split_once('/').map_or((rest, None), |(run, event)| (run, Some(event)));
        require!(
            !run.is_empty() && event.is_none_or(|event| !event.is_empty() && !event.contains('/')),
            InvalidReference,
            "C-RF-8",
            "{reference:?} must be trace://RUN or trace://RUN/EVENT"
        );
        require!(
            run == self.ctx.view.run.run_id,
            CrossRunReference,
            "C-RF-8",
            "{reference:?} names another run"
        );
        let Some(event) = event else {
            require!(!place.direct, NotDirectEvidence, "C-RF-9", "{reference:?} is a whole trace, not proof");
            return Ok(());
        };
        let known = self
            .ctx
            .view
            .events()
            .iter()
            .any(|known| known.id == event || format!("event-{:04}", known.sequence) == event);
        require!(known, UnknownReference, "C-RF-10", "{reference:?} names no event of this run");
        require!(
            !place.direct,
            NotDirectEvidence,
            "C-RF-11",
            "{reference:?} is an event of the controller, not proof; capture Evidence and cite that"
        );
        Ok(())
    }

    fn artifact(&self, reference: &str, rest: &str, place: Place) -> Result<(), Refusal> {
        let view = self.ctx.view;
        let parts =
            rest.split_once('/').filter(|(run, id)| !run.is_empty() && !id.is_empty() && !id.contains('/'));
        let Some((run, id)) = parts else {
            let message = format!("{reference:?} must be artifact://RUN/ARTIFACT");
            return Err(Refusal::new(Code::InvalidReference, "C-RF-12", message));
        };
        require!(run == view.run.run_id, CrossRunReference, "C-RF-13", "{reference:?} names another run");
        let target = view.get(id);
        if place.forward {
            // W-16: the report could never have this id.
            require!(is_identifier(id), InvalidReference, "C-RF-14", "{id:?} cannot be the id of a report");
            require!(
                target.is_none() && id != self.id,
                ReportRefTaken,
                "C-RF-14",
                "{reference:?} is to name the report that will follow, but the id is taken"
            );
            return Ok(());
        }
        let Some(target) = target else {
            let message = format!("{reference:?} names no artifact of this run");
            return Err(Refusal::new(Code::UnknownReference, "C-RF-15", message));
        };
        if let Some(expected) = place.expected {
            require!(
                target.kind == Some(expected),
                WrongReferenceType,
                "C-RF-16",
                "{reference:?} must name a {expected}"
            );
        }
        if place.user_reported {
            require!(
                target.kind == Some(Kind::UserMessage),
                UserReportedEvidence,
                "C-RF-17",
                "{reference:?} must be a message of the user"
            );
            return Ok(());
        }
        if !place.direct {
            return Ok(());
        }
        let is_deliverable_plan = is_deliverable(self.ctx.mode)
            && view.latest(Kind::WorkPlan).is_some_and(|plan| plan.id == target.id);
        require!(
            is_deliverable_plan || matches!(target.kind, Some(Kind::Evidence | Kind::ContextDocument)),
            NotDirectEvidence,
            "C-RF-18",
            "{reference:?} is no proof; capture Evidence and cite that"
        );
        Ok(())
    }
}
