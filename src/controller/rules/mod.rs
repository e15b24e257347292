//! Rules across artifacts, one file per artifact type; each rule carries its id beside the check.
//!
//! Within a file the rules stand in the order of their table in `controller.md` 7, and the first that does not hold
//! decides. What the reference accepts although the run could never finish afterwards (section 12) is refused after
//! all rules of the artifact. References (`C-RF`), clarifications (`C-CR`) and supporting artifacts are decided before
//! a submission comes here.

mod audit;
mod contract;
mod frame;
mod plan;
mod quality;
mod report;
mod result;
mod review;
mod sets;
mod verification;
mod work_order;

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

use super::context::Context;
use super::error::{Code, Refusal};
use super::{evidence, predicates};
use crate::protocol::{
    ActionCapability, Body, Kind, RunEnvelope, Stage, TaskContract, VerificationCapability,
};
use crate::text::cut_units;

/// Refuses unless a condition holds, and says where in the body.
macro_rules! demand {
    ($condition:expr, $code:ident, $rule:literal, $path:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::controller::Refusal::new($crate::controller::Code::$code, $rule, format!($($message)+))
                .at($path));
        }
    };
}
use demand;

/// Checks an artifact against the run so far.
///
/// # Errors
/// The first rule that does not hold. A rule that ends in a denial carries the decision to record.
pub fn check(body: &Body, cx: &Context<'_>) -> Result<(), Refusal> {
    readable(cx)?;
    match body {
        Body::ProblemFrame(frame) => frame::check(frame, cx)?,
        Body::TaskContract(contract) => contract::check(contract, cx)?,
        Body::PromptReview(review) => review::check(review, cx)?,
        Body::WorkPlan(plan) => plan::check(plan, cx)?,
        Body::WorkResult(result) => result::check(result, cx)?,
        Body::QualityReview(review) => quality::check(review, cx)?,
        Body::ReleaseAudit(audit) => audit::check(audit, cx)?,
        Body::UserReport(report) => {
            if report::check(report, cx)? == report::Read::Early {
                return Ok(());
            }
        }
        // The other types have no rule of their own here: the controller writes them, or they support.
        _ => return Ok(()),
    }
    // C-WR-23, C-QR-18, C-RA-12, C-UR-13
    evidence::check(cx, body)?;
    dead_ends(body, cx)
}

/// What the reference accepts although the run could never finish afterwards.
fn dead_ends(body: &Body, cx: &Context<'_>) -> Result<(), Refusal> {
    match body {
        Body::ProblemFrame(frame) => frame::dead_ends(frame),
        Body::TaskContract(contract) => contract::dead_ends(contract),
        Body::PromptReview(review) => review::dead_ends(review),
        Body::WorkResult(result) => result::dead_ends(result, cx),
        Body::QualityReview(review) => quality::dead_ends(review, cx),
        Body::ReleaseAudit(audit) => audit::dead_ends(audit, cx),
        _ => Ok(()),
    }
}

/// Sums and sets over the run would silently come out smaller if a body that counts could not be read.
fn readable(cx: &Context<'_>) -> Result<(), Refusal> {
    const COUNTED: [Kind; 8] = [
        Kind::RunEnvelope,
        Kind::ProblemFrame,
        Kind::TaskContract,
        Kind::PromptReview,
        Kind::WorkPlan,
        Kind::WorkResult,
        Kind::QualityReview,
        Kind::ReleaseAudit,
    ];
    let unreadable =
        COUNTED.into_iter().flat_map(|kind| cx.view.of_kind(kind)).find(|stored| stored.body.is_none());
    unreadable.map_or(Ok(()), |stored| {
        let message = format!("the stored artifact {} cannot be read; verify the store", stored.id);
        Err(Refusal { rule: None, ..Refusal::new(Code::IntegrityFailure, "C-SB-19", message) })
    })
}

/// The run's envelope.
fn envelope<'a>(cx: &Context<'a>, rule: &'static str) -> Result<&'a RunEnvelope, Refusal> {
    predicates::envelope(cx.view)
        .ok_or_else(|| Refusal::new(Code::IntegrityFailure, rule, "the run has no envelope"))
}

/// The latest contract.
fn contract<'a>(cx: &Context<'a>, rule: &'static str) -> Result<&'a TaskContract, Refusal> {
    let contract = cx.view.last::<TaskContract>(Kind::TaskContract).map(|(_, contract)| contract);
    contract.ok_or_else(|| Refusal::new(Code::LineageMismatch, rule, "the run has no TaskContract yet"))
}

/// Whether a reference names the latest artifact of a type.
fn names_latest(cx: &Context<'_>, kind: Kind, reference: &str) -> bool {
    latest_ref(cx, kind).as_deref() == Some(reference)
}

/// The reference of the latest artifact of a type.
fn latest_ref(cx: &Context<'_>, kind: Kind) -> Option<String> {
    cx.view.latest(kind).map(|stored| cx.view.reference(&stored.id))
}

/// The reference of the latest artifact of a type, in words.
fn latest_words(cx: &Context<'_>, kind: Kind) -> String {
    latest_ref(cx, kind).unwrap_or_else(|| format!("(the run has no {kind})"))
}

/// The references of every artifact of a type, in ledger order.
fn all_refs(cx: &Context<'_>, kind: Kind) -> Vec<String> {
    cx.view.of_kind(kind).map(|stored| cx.view.reference(&stored.id)).collect()
}

/// The ids of a contract's criteria, of one stage or of all.
fn criteria(contract: &TaskContract, stage: Option<Stage>) -> Vec<&str> {
    let all = contract.acceptance_criteria.iter();
    all.filter(|criterion| stage.is_none_or(|stage| criterion.stage == stage))
        .map(|criterion| &*criterion.id)
        .collect()
}

/// The stage of a criterion of the contract.
fn stage_of(contract: &TaskContract, id: &str) -> Option<Stage> {
    contract
        .acceptance_criteria
        .iter()
        .find(|criterion| &*criterion.id == id)
        .map(|criterion| criterion.stage)
}

/// The capability with which a requirement is proven.
fn proving(capability: VerificationCapability) -> ActionCapability {
    match capability {
        VerificationCapability::RepositoryRead => ActionCapability::RepositoryRead,
        VerificationCapability::ShellInspect => ActionCapability::ShellInspect,
        VerificationCapability::ShellExecute => ActionCapability::ShellExecute,
        VerificationCapability::RuntimeInspect => ActionCapability::RuntimeInspect,
        VerificationCapability::BrowserInspect => ActionCapability::BrowserInspect,
        VerificationCapability::NetworkRead => ActionCapability::NetworkRead,
    }
}

/// Outside text for a message, cut to a length a reader can bear.
fn shown(text: &str) -> &str {
    cut_units(text, 200)
}
