//! The way of a submission through the controller (`controller.md` 7.1).

use super::accepted::{Accepted, NewEvent};
use super::context::Env;
use super::error::{Code, Refusal};
use super::stamp::Stamp;
use super::trace::{EventType, Events};
use super::view::RunView;
use crate::protocol::{Body, ContextDocument, ContextManifest, Kind};
use serde_json::Value;

/// What proves that the caller knows where the run stands (`controller.md` 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The id of the next action the caller answers.
    pub action_id: String,
    /// The version of the run the caller saw.
    pub expected_version: i64,
}

/// One artifact, or the answer to a clarification, as the caller gave it. The producer is never given.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// Where the caller believes the run to stand.
    pub tokens: Tokens,
    /// The artifact type by name.
    pub kind: Option<String>,
    /// The body, or instead of it `body_json`.
    pub body: Option<Value>,
    /// The body as JSON text.
    pub body_json: Option<String>,
    /// References beside those in the body.
    pub source_refs: Vec<String>,
    /// `none`, `partial` or `full`; nothing means `none`.
    pub redaction: Option<String>,
    /// The answer to the open clarification, instead of an artifact.
    pub clarification_response: Option<String>,
}

/// What grounding found, as the controller's own artifacts.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounding {
    /// The manifest.
    pub manifest: ContextManifest,
    /// The text of each selected source, in the order of the manifest's candidates.
    pub documents: Vec<ContextDocument>,
}

/// Takes in an artifact or an answer.
///
/// # Errors
/// The first rule that does not hold; nothing is to be written then, except the denial that the refusal may carry
/// ([`denial_event`]).
pub fn submit(
    view: &RunView,
    submission: &Submission,
    stamp: &Stamp,
    env: &Env<'_>,
) -> Result<Accepted, Refusal> {
    let _ = (view, submission, stamp, env.policy);
    Err(Refusal::new(Code::IntegrityFailure, "C-SB-1", "submissions are not taken in yet"))
}

/// Takes in what grounding found: the documents, and the manifest as the phase artifact, in one transaction (W-14).
///
/// # Errors
/// As [`submit`].
pub fn ground(
    view: &RunView,
    tokens: &Tokens,
    grounding: Grounding,
    stamp: &Stamp,
    env: &Env<'_>,
) -> Result<Accepted, Refusal> {
    let _ = (view, tokens, grounding, stamp, env.policy);
    Err(Refusal::new(Code::IntegrityFailure, "C-SB-1", "grounding is not taken in yet"))
}

/// Ends a run at the user's wish; on a run that has ended nothing changes (C-TR-33, C-TR-34).
///
/// # Errors
/// `stale_version`, `stale_action`.
pub fn cancel(view: &RunView, tokens: &Tokens, stamp: &Stamp) -> Result<Accepted, Refusal> {
    let _ = (view, tokens, stamp);
    Err(Refusal::new(Code::IntegrityFailure, "C-TR-33", "runs cannot be cancelled yet"))
}

/// The event that records a refused submission's denial, to be appended unless an equal one is there
/// (`controller.md` 9.3). Nothing when the refusal denies nothing.
#[must_use]
pub fn denial_event(view: &RunView, refusal: &Refusal, stamp: &Stamp) -> Option<NewEvent> {
    let decision = refusal.denial.as_deref()?.clone();
    let inputs = decision.policy_refs.iter().map(|reference| reference.to_string()).collect();
    let mut events = Events::new(stamp, view.run.phase, &view.run);
    let summary = decision.rationale_summary.to_string();
    events.add("controller", EventType::PermissionChecked, inputs, Vec::new(), summary).decision =
        Some(decision);
    events.finish().pop()
}

pub(super) fn check_schema(kind: Kind, value: &Value, rule: &'static str) -> Result<Body, Refusal> {
    Body::read(kind, value).map_err(|issues| {
        let first = issues.first().map_or_else(String::new, |fault| format!(": {fault}"));
        let mut refusal =
            Refusal::new(Code::SchemaInvalid, rule, format!("the {kind} has {} faults{first}", issues.len()));
        refusal.issues = issues;
        refusal
    })
}
