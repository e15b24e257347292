//! Which evidence can prove what: the C-ES rules (`controller.md` 7.13).

use super::context::Context;
use super::error::{Code, Refusal};
use super::references::{Found, is_direct_evidence, recognised};
use crate::protocol::{ActionCapability, Body, Evidence, EvidenceKind, Kind};
use crate::require;

/// Checks every artifact that is cited as proof.
///
/// # Errors
/// C-ES-1 to C-ES-3, in the order of the references.
pub fn check(ctx: &Context<'_>, body: &Body) -> Result<(), Refusal> {
    for found in recognised(body) {
        if !is_direct_evidence(body.kind(), &found.shape) {
            continue;
        }
        let Some(target) = ctx.view.resolve(&found.reference) else { continue };
        let reference = &found.reference;
        let done = match target.kind {
            Some(Kind::ContextDocument) => document(body, &found),
            Some(Kind::Evidence) => match target.read::<Evidence>() {
                Some(evidence) => fits(body, &found, evidence.kind),
                None => Err(Refusal::new(
                    Code::IntegrityFailure,
                    "C-ES-2",
                    format!("the Evidence {reference} cannot be read"),
                )),
            },
            _ => Ok(()),
        };
        done.map_err(|refusal| refusal.at(found.path.clone()))?;
    }
    Ok(())
}

/// C-ES-1
fn document(body: &Body, found: &Found) -> Result<(), Refusal> {
    let shape = found.shape.as_str();
    let read = matches!(shape, "observations[].evidenceRefs[]" | "inferences[].evidenceRefs[]");
    require!(
        read && body.kind() == Kind::WorkResult,
        EvidenceIncompatible,
        "C-ES-1",
        "{} is a document of the context; it supports observations and inferences of a WorkResult only",
        found.reference
    );
    Ok(())
}

/// C-ES-3
fn fits(body: &Body, found: &Found, kind: EvidenceKind) -> Result<(), Refusal> {
    let Some((allowed, what)) = demanded(body, found) else { return Ok(()) };
    require!(
        allowed.contains(&kind),
        EvidenceIncompatible,
        "C-ES-3",
        "{} is of kind {kind}; {what} needs {}",
        found.reference,
        allowed.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" or ")
    );
    Ok(())
}

/// The kinds that a place allows, and the place in words; nothing where any kind will do.
fn demanded(body: &Body, found: &Found) -> Option<(&'static [EvidenceKind], String)> {
    use EvidenceKind::{Diff, Log, Test, ToolOutput};
    let of = |capability: ActionCapability| Some((kinds_for(capability), capability.to_string()));
    match (body, found.shape.as_str()) {
        (Body::WorkResult(_), "filesChanged[].diffRef") => Some((&[Diff], "a file change".to_owned())),
        (Body::WorkResult(_), "testResults[].outputRef") => {
            Some((&[Test, ToolOutput, Log], "the output of a test".to_owned()))
        }
        (Body::WorkResult(_), "testResults[].commandRef") => {
            Some((&[ToolOutput, Log], "the command of a test".to_owned()))
        }
        (Body::WorkResult(result), "actions[].evidenceRefs[]") => {
            of(result.actions.get(found.entry?)?.capability)
        }
        (Body::QualityReview(review), "verificationResults[].evidenceRefs[]") => {
            of(review.verification_results.get(found.entry?)?.capability)
        }
        _ => None,
    }
}

/// The kinds of evidence that show the use of a capability.
#[must_use]
pub fn kinds_for(capability: ActionCapability) -> &'static [EvidenceKind] {
    use ActionCapability as C;
    use EvidenceKind::{Browser, Diff, Log, Repository, Runtime, Test, ToolOutput};
    match capability {
        C::RepositoryRead => &[Repository, Diff, ToolOutput],
        C::RepositoryWrite | C::RepositoryDelete => &[Diff],
        C::ShellInspect | C::ShellExecute => &[ToolOutput, Log, Test],
        C::RuntimeInspect | C::RuntimeRestart => &[Runtime, Log, ToolOutput],
        C::BrowserInspect | C::BrowserMutate => &[Browser],
        C::NetworkRead | C::ExternalWrite | C::SubagentSpawn => &[ToolOutput],
    }
}
