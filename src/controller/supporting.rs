//! Evidence and ScenarioSpec: stored without moving the run, idempotent (`controller.md` 8).

use super::accepted::{Accepted, Effect, SlotQuota};
use super::context::{Context, Env};
use super::error::{Code, Refusal};
use super::references::{self, effective_refs};
use super::screen::{check_evidence, warn_of_credentials};
use super::stamp::Stamp;
use super::submit::{Incoming, check_count, check_schema, check_trace};
use super::trace::{EventType, Events};
use super::view::{RunView, Stored};
use crate::protocol::{Body, Kind, ScenarioSpec};
use crate::require;
use std::sync::Arc;

/// Most Evidence after the latest plan.
pub const EVIDENCE_PER_PLAN: usize = 128;

/// Takes in a supporting artifact. Its phase has been checked (C-EV-1, C-SS-1).
pub(super) fn accept(
    view: &RunView,
    incoming: &Incoming<'_>,
    stamp: &Stamp,
    env: &Env<'_>,
) -> Result<Accepted, Refusal> {
    let evidence = incoming.kind == Kind::Evidence;
    let body = check_schema(incoming.kind, incoming.value, if evidence { "C-EV-2" } else { "C-SS-2" })?;
    let encoded = body.encode();
    // C-EV-3, C-SS-3: id, run, version and producer are read from the body and the type.
    let producer = incoming.kind.producer().unwrap_or_else(|| view.run.phase.role());
    let rule = if evidence { "C-EV-4" } else { "C-SS-4" };
    let effective = effective_refs(view, &encoded, incoming.source_refs)
        .map_err(|refusal| Refusal { rule: Some(rule), ..refusal })?;
    if let Body::Evidence(evidence) = &body {
        check_evidence(evidence, &encoded, &effective, env)?;
    }
    // C-EV-8, and with it C-EV-9 and C-SS-5: what is named exists.
    let ctx = Context::new(view, *env, &effective);
    references::check(&ctx, incoming.id, &body, &encoded)?;
    let new = incoming.stored(producer.as_str(), effective, Arc::new(body), stamp);
    if let Some(stored) = view.get(incoming.id) {
        check_replay(stored, &new, if evidence { "C-EV-10" } else { "C-SS-6" })?;
        return Ok(Accepted {
            effect: Effect::Replay(incoming.id.to_owned()),
            expected_version: view.run.version,
            run: view.run.clone(),
            artifacts: Vec::new(),
            events: Vec::new(),
            warnings: Vec::new(),
        });
    }
    check_count(view, 1, if evidence { "C-EV-11" } else { "C-SB-22" })?;
    let quota = match &*new.body {
        Body::ScenarioSpec(spec) => scenario_quota(view, spec)?,
        _ => evidence_quota(view)?,
    };
    check_trace(view, 1, false)?;
    let (event, what) = if evidence {
        (EventType::EvidenceCaptured, "was captured")
    } else {
        (EventType::ScenarioPresentationStored, "was stored")
    };
    let mut events = Events::new(stamp, view.run.phase, &view.run);
    let outputs = vec![view.reference(incoming.id)];
    let summary = format!("{} {} {what}.", incoming.kind, incoming.id);
    events.add(producer.as_str(), event, new.source_refs.clone(), outputs, summary);
    let events = events.finish();
    // Evidence with a likely credential was refused; a scenario is only spoken of.
    let warnings = if evidence { Vec::new() } else { warn_of_credentials(&encoded, env) };
    Ok(Accepted {
        effect: Effect::Support(quota),
        expected_version: view.run.version,
        run: view.run.clone(),
        artifacts: vec![new],
        events,
        warnings,
    })
}

/// C-EV-10, C-SS-6: the same id again must be the same artifact; the difference is named (W-32).
pub(super) fn check_replay(
    stored: &Stored,
    new: &super::accepted::NewArtifact,
    rule: &'static str,
) -> Result<(), Refusal> {
    // Both bodies were read by the same table, so equal JSON is equal canonical text.
    let same_body = stored.body.as_deref().is_some_and(|body| body.encode() == new.body.encode());
    let difference = if stored.kind != Some(new.kind) {
        "type"
    } else if stored.producer != new.producer {
        "producer"
    } else if !same_body {
        "body"
    } else if stored.redaction != new.redaction.as_str() {
        "redaction"
    } else if stored.source_refs != new.source_refs {
        "sourceRefs"
    } else {
        return Ok(());
    };
    let message =
        format!("the run has an artifact {:?} with another {difference}; choose another id", new.id);
    Err(Refusal::new(Code::ReplayConflict, rule, message).with("differs", difference))
}

/// C-EV-12
fn evidence_quota(view: &RunView) -> Result<SlotQuota, Refusal> {
    let plan = view.latest(Kind::WorkPlan).and_then(|plan| view.position(&plan.id));
    let since = view.of_kind(Kind::Evidence).filter(|stored| view.position(&stored.id) > plan).count();
    if since >= EVIDENCE_PER_PLAN {
        let message = format!("at most {EVIDENCE_PER_PLAN} Evidence artifacts may follow a plan");
        return Err(Refusal::new(Code::QuotaExceeded, "C-EV-12", message).with("limit", EVIDENCE_PER_PLAN));
    }
    Ok(SlotQuota::AfterLatest(Kind::WorkPlan, EVIDENCE_PER_PLAN as u64))
}

/// C-SS-7
fn scenario_quota(view: &RunView, spec: &ScenarioSpec) -> Result<SlotQuota, Refusal> {
    let frame = spec.problem_frame_ref.as_str();
    let taken = view
        .all::<ScenarioSpec>(Kind::ScenarioSpec)
        .any(|(_, stored)| stored.problem_frame_ref.as_str() == frame);
    require!(!taken, QuotaExceeded, "C-SS-7", "{frame} has a ScenarioSpec already");
    Ok(SlotQuota::OnePer("problemFrameRef", frame.to_owned()))
}
