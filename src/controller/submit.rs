//! The way of a submission through the controller (`controller.md` 7.1).
//!
//! [`submit`] reads the call, then hands it to the room of its kind: `phase` for what moves the run, `supporting` for
//! Evidence and ScenarioSpec, `clarification` for the user's answer. Here are the steps that all of them share.

use super::accepted::{Accepted, Effect, NewArtifact, NewEvent};
use super::context::Env;
use super::error::{Code, Refusal};
use super::next_action::action_id;
use super::run::RunStatus;
use super::stamp::Stamp;
use super::trace::{DENIALS_PER_VERSION, EVENT_LIMIT, EVENTS_RESERVED, EventType, Events};
use super::transition::{Input, accepted_types, step, supporting_phase};
use super::view::RunView;
use super::{clarification, phase, supporting};
use crate::protocol::{Body, Kind, Redaction};
use crate::require;
use crate::text::cut_units;
use serde_json::Value;
use std::sync::Arc;

/// Most artifacts of a run.
pub const ARTIFACT_LIMIT: usize = 2048;

/// What proves that the caller knows where the run stands (`controller.md` 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The id of the next action the caller answers.
    pub action_id: String,
    /// The version of the run the caller saw.
    pub expected_version: i64,
}

impl Tokens {
    /// The tokens of a run as it stands.
    #[must_use]
    pub fn of(view: &RunView) -> Self {
        Self { action_id: action_id(&view.run), expected_version: view.run.version }
    }
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

impl Submission {
    /// The submission of an artifact without further references.
    #[must_use]
    pub fn artifact(tokens: Tokens, kind: Kind, body: Value) -> Self {
        Self {
            tokens,
            kind: Some(kind.as_str().to_owned()),
            body: Some(body),
            body_json: None,
            source_refs: Vec::new(),
            redaction: None,
            clarification_response: None,
        }
    }

    /// The answer to the open clarification: the id of a choice.
    #[must_use]
    pub fn answer(tokens: Tokens, response: impl Into<String>) -> Self {
        Self {
            tokens,
            kind: None,
            body: None,
            body_json: None,
            source_refs: Vec::new(),
            redaction: None,
            clarification_response: Some(response.into()),
        }
    }
}

/// Takes in an artifact or an answer.
///
/// The run exists (C-SB-2): the caller has its view. What only the transaction can know is left to the store: the
/// size of the canonical body (C-SB-22) and the version at the moment of writing (C-SB-23, W-7).
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
    check_tokens(view, &submission.tokens)?;
    if let Some(response) = &submission.clarification_response {
        require!(
            submission.kind.is_none() && submission.body.is_none() && submission.body_json.is_none(),
            InvalidArguments,
            "C-SB-5",
            "an answer to a clarification comes alone, without an artifact"
        );
        return clarification::answer(view, response, stamp);
    }
    let Some(name) = &submission.kind else {
        return Err(Refusal::new(Code::InvalidArguments, "C-SB-6", "the artifact type is missing"));
    };
    let value = one_body(submission)?;
    let id = identify(view, &value)?;
    require!(
        view.run.status == RunStatus::Running,
        RunNotRunning,
        "C-SB-10",
        "the run is {}, it takes in no artifact",
        view.run.status
    );
    let Ok(kind) = name.parse::<Kind>() else {
        let message = format!("{:?} is no artifact type", cut_units(name, 100));
        return Err(Refusal::new(Code::InvalidArguments, "C-SB-1", message));
    };
    require!(is_submittable(kind), ControllerOwnedType, "C-SB-11", "a host cannot submit a {kind}");
    check_type(view, kind)?;
    let redaction = redaction(submission.redaction.as_deref())?;
    let incoming = Incoming { kind, id, value: &value, source_refs: &submission.source_refs, redaction };
    // C-SB-12
    if supporting_phase(kind).is_some() {
        return supporting::accept(view, &incoming, stamp, env);
    }
    phase::accept(view, &incoming, stamp, env)
}

/// An artifact on its way in.
pub(super) struct Incoming<'a> {
    /// Its type.
    pub(super) kind: Kind,
    /// The id in its body.
    pub(super) id: &'a str,
    /// Its body as it came.
    pub(super) value: &'a Value,
    /// References beside those in the body.
    pub(super) source_refs: &'a [String],
    /// How much of it was redacted.
    pub(super) redaction: Redaction,
}

impl Incoming<'_> {
    /// The artifact as it will be stored.
    pub(super) fn stored(
        &self,
        producer: &str,
        source_refs: Vec<String>,
        body: Arc<Body>,
        stamp: &Stamp,
    ) -> NewArtifact {
        NewArtifact {
            id: self.id.to_owned(),
            kind: self.kind,
            producer: producer.to_owned(),
            source_refs,
            redaction: self.redaction,
            body,
            created_at: stamp.now.clone(),
        }
    }
}

/// C-SB-3, C-SB-4.
pub(super) fn check_tokens(view: &RunView, tokens: &Tokens) -> Result<(), Refusal> {
    let (given, version) = (tokens.expected_version, view.run.version);
    if given != version {
        let message = format!("the run is at version {version}, not {given}; read the next action again");
        return Err(Refusal::new(Code::StaleVersion, "C-SB-3", message)
            .with("currentVersion", version)
            .with("expectedVersion", given));
    }
    let current = action_id(&view.run);
    require!(
        tokens.action_id == current,
        StaleAction,
        "C-SB-4",
        "{:?} is not the next action, which is {current:?}",
        cut_units(&tokens.action_id, 200)
    );
    Ok(())
}

/// C-SB-7: exactly one of the two ways to give a body, and it is an object.
fn one_body(submission: &Submission) -> Result<Value, Refusal> {
    let refuse = |message: String| Err(Refusal::new(Code::InvalidArguments, "C-SB-7", message));
    let value = match (&submission.body, &submission.body_json) {
        (Some(body), None) => body.clone(),
        (None, Some(text)) => match serde_json::from_str(text) {
            Ok(value) => value,
            Err(fault) => return refuse(format!("body_json is no JSON: {fault}")),
        },
        _ => return refuse("exactly one of body and body_json is needed".to_owned()),
    };
    if value.is_object() { Ok(value) } else { refuse("the body must be a JSON object".to_owned()) }
}

/// C-SB-8, C-SB-9.
fn identify<'a>(view: &RunView, value: &'a Value) -> Result<&'a str, Refusal> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let (Some(id), Some(run_id)) = (text("id"), text("runId")) else {
        let message = "the body's id and runId must be strings";
        return Err(Refusal::new(Code::InvalidArguments, "C-SB-8", message));
    };
    require!(
        run_id == view.run.run_id,
        RunIdMismatch,
        "C-SB-9",
        "the body names run {:?}, it was submitted to {:?}",
        cut_units(run_id, 128),
        view.run.run_id
    );
    Ok(id)
}

fn is_submittable(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::RunEnvelope
            | Kind::ContextManifest
            | Kind::NextAction
            | Kind::TraceEvent
            | Kind::UserMessage
            | Kind::ContextDocument
    )
}

/// C-SB-21, C-EV-1 and C-SS-1, asked before anything else is (W-1). A later question keeps its own code (C-CR-2).
fn check_type(view: &RunView, kind: Kind) -> Result<(), Refusal> {
    let phase = view.run.phase;
    if let Some(only) = supporting_phase(kind) {
        let rule = if kind == Kind::Evidence { "C-EV-1" } else { "C-SS-1" };
        if phase == only {
            return Ok(());
        }
        let message = format!("{kind} is accepted in {} only, not in {}", only.public(), phase.public());
        return Err(Refusal::new(Code::WrongPhase, rule, message));
    }
    let asked = kind == Kind::ClarificationRequest && view.latest(kind).is_some();
    let accepted = accepted_types(phase);
    if accepted.contains(&kind) || asked {
        return Ok(());
    }
    let message = format!("{} needs a {}, not a {kind}", phase.public(), accepted[0]);
    Err(Refusal::new(Code::WrongPhase, "C-SB-21", message).with("requiredOutputType", accepted[0].as_str()))
}

fn redaction(given: Option<&str>) -> Result<Redaction, Refusal> {
    given.map_or(Ok(Redaction::None), |given| {
        given
            .parse()
            .map_err(|why| Refusal::new(Code::RedactionInvalid, "C-RF-1", format!("the redaction {why}")))
    })
}

/// C-SB-13: reads a body, defaults filled in.
pub(super) fn check_schema(kind: Kind, value: &Value, rule: &'static str) -> Result<Body, Refusal> {
    Body::read(kind, value).map_err(|issues| {
        let first = issues.first().map_or_else(String::new, |fault| format!(": {fault}"));
        let count = issues.len();
        let faults = if count == 1 { "one fault" } else { "faults, the first" };
        let mut refusal = Refusal::new(Code::SchemaInvalid, rule, format!("the {kind} has {faults}{first}"))
            .with("faults", count);
        refusal.issues = issues;
        refusal
    })
}

/// C-SB-22, as far as the view can tell.
pub(super) fn check_slot(view: &RunView, id: &str) -> Result<(), Refusal> {
    require!(
        view.get(id).is_none(),
        ArtifactExists,
        "C-SB-22",
        "the run has an artifact {id:?} already; choose another id"
    );
    check_count(view, 1, "C-SB-22")
}

/// Whether the run can hold so many more artifacts.
pub(super) fn check_count(view: &RunView, more: usize, rule: &'static str) -> Result<(), Refusal> {
    if view.artifacts().len() + more <= ARTIFACT_LIMIT {
        return Ok(());
    }
    let message = format!("a run holds at most {ARTIFACT_LIMIT} artifacts");
    Err(Refusal::new(Code::ArtifactLimit, rule, message).with("limit", ARTIFACT_LIMIT))
}

/// C-SB-23: whether the trace can hold so many more events. The last ones are kept for what ends the run (W-9).
pub(super) fn check_trace(view: &RunView, more: usize, ends: bool) -> Result<(), Refusal> {
    let limit = if ends { EVENT_LIMIT } else { EVENT_LIMIT - EVENTS_RESERVED };
    if view.events().len() + more <= limit {
        return Ok(());
    }
    let message = format!("the trace of a run holds at most {EVENT_LIMIT} events; end the run");
    Err(Refusal::new(Code::TraceLimit, "C-SB-23", message).with("limit", EVENT_LIMIT))
}

/// Ends a run at the user's wish; on a run that has ended nothing changes (C-TR-33, C-TR-34).
///
/// # Errors
/// `stale_version`, `stale_action`.
pub fn cancel(view: &RunView, tokens: &Tokens, stamp: &Stamp) -> Result<Accepted, Refusal> {
    check_tokens(view, tokens)?;
    if view.run.status.is_terminal() {
        return Ok(Accepted {
            effect: Effect::Nothing,
            expected_version: tokens.expected_version,
            run: view.run.clone(),
            artifacts: Vec::new(),
            events: Vec::new(),
            warnings: Vec::new(),
        });
    }
    let (row, run) = step(&view.run, Input::Cancel, false, &stamp.now)?;
    check_trace(view, 1, true)?;
    let mut events = Events::new(stamp, view.run.phase, &run);
    events.add("user", row.event, Vec::new(), Vec::new(), "The user cancelled the run.");
    let events = events.finish();
    Ok(Accepted {
        effect: Effect::Move,
        expected_version: tokens.expected_version,
        run,
        artifacts: Vec::new(),
        events,
        warnings: Vec::new(),
    })
}

/// The event that records a refused submission's denial, to be appended unless an equal one is there
/// (`controller.md` 9.3). Nothing when the refusal denies nothing, or when this version of the run has as many
/// recorded denials as it may have (W-9).
#[must_use]
pub fn denial_event(view: &RunView, refusal: &Refusal, stamp: &Stamp) -> Option<NewEvent> {
    let decision = refusal.denial.as_deref()?.clone();
    let of_version = view
        .events()
        .iter()
        .rev()
        .take_while(|event| !EventType::find(&event.event_type).is_some_and(EventType::moves_run));
    let denials = of_version
        .filter(|event| event.event_type == EventType::PermissionChecked.as_str() && !event.has_output)
        .count();
    if denials >= DENIALS_PER_VERSION || check_trace(view, 1, false).is_err() {
        return None;
    }
    let inputs = decision.policy_refs.iter().map(|reference| reference.as_str().to_owned()).collect();
    let mut events = Events::new(stamp, view.run.phase, &view.run);
    let summary = decision.rationale_summary.to_string();
    events.add("controller", EventType::PermissionChecked, inputs, Vec::new(), summary).decision =
        Some(decision);
    events.finish().pop()
}
