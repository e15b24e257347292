//! Takes in an artifact that moves the run (`controller.md` 7.1, C-SB-13 to C-SB-23).

use super::accepted::{Accepted, Effect};
use super::clarification::check_lineage;
use super::context::{Context, Env};
use super::decisions::{is_checked, policy_refs, recorded};
use super::error::{Code, Refusal};
use super::predicates::{current_results, pending_node};
use super::references::{self, effective_refs};
use super::run::RunStatus;
use super::screen::warn_of_credentials;
use super::stamp::Stamp;
use super::submit::{Incoming, check_schema, check_slot, check_trace};
use super::trace::{EventType, Events};
use super::transition::{Input, Row, accepted_types, step};
use super::view::RunView;
use super::{clarification, rules};
use crate::protocol::{Body, Kind, WorkPlan, WorkResult, WorkStatus};
use std::collections::HashSet;
use std::sync::Arc;

/// Takes in a phase artifact or a question.
pub(super) fn accept(
    view: &RunView,
    incoming: &Incoming<'_>,
    stamp: &Stamp,
    env: &Env<'_>,
) -> Result<Accepted, Refusal> {
    let body = check_schema(incoming.kind, incoming.value, "C-SB-13")?;
    let encoded = body.encode();
    let effective = effective_refs(view, &encoded, incoming.source_refs)?;
    // C-SB-15: id, run and producer are read from the body and the type, so that they cannot disagree.
    let producer = incoming.kind.producer().unwrap_or_else(|| view.run.phase.role());
    let asked = view.latest(Kind::ClarificationRequest).is_some();
    let ctx = Context::new(view, *env, &effective);
    // C-SB-16, C-SB-17
    if incoming.kind == Kind::ClarificationRequest {
        clarification::check_further(view, asked)?;
    } else if accepted_types(view.run.phase).contains(&incoming.kind) {
        check_lineage(&ctx)?;
    }
    // C-SB-18
    references::check(&ctx, incoming.id, &body, &encoded)?;
    // C-SB-19, with what evidence proves at its end (C-WR-23, C-QR-18, C-RA-12, C-UR-13); C-SB-20 is asked with the rules of a result, right after C-WR-1 (W-1).
    rules::check(&body, &ctx)?;
    let input = Input::of(&body, asked).ok_or_else(|| {
        Refusal::new(Code::WrongPhase, "C-SB-21", format!("a {} moves no run", incoming.kind))
    })?;
    let (row, run) = step(&view.run, input, nodes_done(view, &body), &stamp.now)?;
    check_slot(view, incoming.id)?;

    let artifact_ref = view.reference(incoming.id);
    let mut events = Events::new(stamp, view.run.phase, &run);
    if let Body::WorkResult(result) = &body {
        record_actions(&ctx, result, &artifact_ref, &mut events);
    }
    let summary = summary(row, incoming, &body);
    events.add(producer.as_str(), row.event, effective.clone(), vec![artifact_ref], summary);
    let events = events.finish();
    check_trace(view, events.len(), ends_run(run.status))?;
    let warnings = warn_of_credentials(&encoded, env);
    let body = Arc::new(body);
    Ok(Accepted {
        effect: Effect::Move,
        expected_version: view.run.version,
        artifacts: vec![incoming.stored(producer.as_str(), effective, body, stamp)],
        run,
        events,
        warnings,
    })
}

fn ends_run(status: RunStatus) -> bool {
    status.is_terminal()
}

/// Whether every planned node is completed once this artifact is stored.
fn nodes_done(view: &RunView, body: &Body) -> bool {
    let Body::WorkResult(result) = body else { return false };
    let Some((_, plan)) = view.last::<WorkPlan>(Kind::WorkPlan) else { return false };
    let mut done: HashSet<&str> = current_results(view)
        .filter(|(_, result)| result.status == WorkStatus::Completed)
        .map(|(_, result)| result.node_id.as_str())
        .collect();
    if result.status == WorkStatus::Completed {
        done.insert(&result.node_id);
    }
    plan.nodes.iter().all(|node| done.contains(node.id.as_str()))
}

/// One event per checked action, before the result's own (9.2).
fn record_actions(ctx: &Context<'_>, result: &WorkResult, artifact_ref: &str, events: &mut Events<'_>) {
    let Some(node) = pending_node(ctx.view) else { return };
    for action in result.actions.iter().filter(|action| is_checked(action.status)) {
        let decision = recorded(ctx, node, action);
        let summary = decision.rationale_summary.to_string();
        let outputs = vec![artifact_ref.to_owned()];
        let inputs = policy_refs(ctx.view);
        events.add("controller", EventType::PermissionChecked, inputs, outputs, summary).decision =
            Some(decision);
    }
}

fn summary(row: &Row, incoming: &Incoming<'_>, body: &Body) -> String {
    let (kind, id) = (incoming.kind, incoming.id);
    match (row.id, body) {
        ("C-TR-29", _) => format!("The user was asked by {id}; the run waits for the answer."),
        ("C-TR-30", _) => {
            format!(
                "A second question, {id}, exceeds the budget of one; the run can only be reported as blocked."
            )
        }
        ("C-TR-7", _) => format!("{id} asks for a revision; the budget of one prompt revision is spent."),
        ("C-TR-19" | "C-TR-24", _) => {
            format!("{id} sends the work back; the budget of one remediation is spent.")
        }
        (_, Body::WorkResult(result)) => {
            format!("{id} reports node {} as {}.", &*result.node_id, result.status)
        }
        _ => format!("{kind} {id} was accepted."),
    }
}
