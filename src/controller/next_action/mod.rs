//! The one next step of a run, computed from the run alone and never stored (`controller.md` 5).
//!
//! Rooms: `inputs` (what the role may read), `schemas` (what it must write), `words` (why, in short).

mod compact;
mod inputs;
mod schemas;
mod words;

pub use inputs::input_refs;
pub use schemas::{Schemas, compact_schema, full_schema};

use super::authority::{run_authorization, subset};
use super::error::{Code, Refusal};
use super::policy::RepositoryPolicy;
use super::predicates::{PLAN_TOOL_CALLS, envelope, pending_node, reserved_tool_calls};
use super::run::{RunPhase, RunState, RunStatus};
use super::transition::accepted_types;
use super::view::RunView;
use crate::protocol::{
    AwaitingClarification, ClarificationAction, ClarificationKind, Kind, NextAction, OpenObject,
    PermissionSet, PhaseAction, PhaseKind, RemainingBudgets, RunEnvelope, SchemaMap, SchemaVersion,
    TerminalAction, TerminalKind, TerminalStatus, UserReport, WorkNode, WorkPlan,
};

/// The id of a run's next action: a function of the run and its version alone.
#[must_use]
pub fn action_id(run: &RunState) -> String {
    format!("action:{}:{}", run.run_id, run.version)
}

/// The next action of a run. It is the same for an unchanged run.
///
/// # Errors
/// `context_closure_too_large` when its mandatory inputs exceed 256; `permission_exceeded` when the node that is due
/// permits more than the run is authorised for; `integrity_failure` when the run's artifacts do not fit its state.
pub fn next_action(
    view: &RunView,
    policy: Option<&RepositoryPolicy>,
    schemas: Schemas,
) -> Result<NextAction, Refusal> {
    match view.run.status {
        RunStatus::Running => phase_action(view, policy, schemas).map(NextAction::Phase),
        RunStatus::AwaitingClarification => clarification_action(view).map(NextAction::Clarification),
        _ => Ok(NextAction::Terminal(terminal_action(view)?)),
    }
}

fn integrity(message: impl Into<String>) -> Refusal {
    Refusal { rule: None, ..Refusal::new(Code::IntegrityFailure, "C-SB-24", message) }
}

fn phase_action(
    view: &RunView,
    policy: Option<&RepositoryPolicy>,
    schemas: Schemas,
) -> Result<PhaseAction, Refusal> {
    let run = &view.run;
    let envelope = envelope(view).ok_or_else(|| integrity("the run has no readable envelope"))?;
    let node = if run.phase == RunPhase::Execute { pending_node(view) } else { None };
    let role = run.phase.role();
    let manifest = view.latest(Kind::ContextManifest).map(|manifest| view.reference(&manifest.id));
    let accepted = accepted_types(run.phase);
    let required = accepted[0];
    // ScenarioSpec is accepted while compiling, but not offered.
    let evidence = (run.phase == RunPhase::Execute).then_some(Kind::Evidence);
    let additional = accepted[1..].iter().copied().chain(evidence);
    let named = |text: &str| integrity(format!("{text} has no public name"));
    Ok(PhaseAction {
        schema_version: SchemaVersion,
        id: action_id(run).into(),
        run_id: run.run_id.as_str().into(),
        created_at: run.updated_at.as_str().into(),
        rationale_summary: words::rationale(view).into(),
        kind: PhaseKind,
        phase: run.phase.public().as_str().parse().map_err(|_| named(run.phase.as_str()))?,
        logical_role: role.as_str().parse().map_err(|_| named(role.as_str()))?,
        instruction_ref: format!("artifact://system/roles/{role}-v1").into(),
        input_refs: input_refs(view)?.into_iter().map(Into::into).collect(),
        context_manifest_ref: manifest.map(Into::into),
        required_output_type: required.published().ok_or_else(|| named(required.as_str()))?,
        required_output_schema: OpenObject(schemas.required(required)),
        additional_output_schemas: SchemaMap(
            additional.map(|kind| (kind.as_str().to_owned(), schemas.additional(kind).into())).collect(),
        ),
        work_node_id: node.map(|node| node.id.clone()),
        effective_permissions: effective_permissions(view, policy, node)?,
        remaining_budgets: phase_budgets(view, envelope, node),
        stop_conditions: words::STOP_CONDITIONS.into_iter().map(Into::into).collect(),
    })
}

/// What may be done in the phase (`controller.md` 5.4).
fn effective_permissions(
    view: &RunView,
    policy: Option<&RepositoryPolicy>,
    node: Option<&WorkNode>,
) -> Result<PermissionSet, Refusal> {
    let mut set = PermissionSet::empty();
    if view.run.phase == RunPhase::ContextGrounding {
        set.repository.read = run_authorization(view, policy).repository.read;
    }
    let Some(node) = node else { return Ok(set) };
    if !subset(&node.permissions, &run_authorization(view, policy)) {
        let message = format!("node {:?} permits more than the run is authorised for", &*node.id);
        return Err(Refusal { rule: None, ..Refusal::new(Code::PermissionExceeded, "C-WP-12", message) });
    }
    Ok(node.permissions.clone())
}

/// Whether grounding may read the repository: without that authority it selects nothing (W-5).
#[must_use]
pub fn may_ground_repository(view: &RunView, policy: Option<&RepositoryPolicy>) -> bool {
    !run_authorization(view, policy).repository.read.is_empty()
}

fn budgets(view: &RunView, workers: i64, depth: i64) -> RemainingBudgets {
    RemainingBudgets {
        prompt_revisions: i64::from(view.run.prompt_revisions_remaining).into(),
        post_execution_remediations: i64::from(view.run.remediations_remaining).into(),
        remaining_plan_tool_calls: (PLAN_TOOL_CALLS - reserved_tool_calls(view)).max(0).into(),
        maximum_parallel_workers: workers.into(),
        maximum_subagent_depth: depth.into(),
    }
}

fn phase_budgets(view: &RunView, envelope: &RunEnvelope, node: Option<&WorkNode>) -> RemainingBudgets {
    let mut workers = envelope.budgets.maximum_parallel_workers.get();
    let mut depth = envelope.budgets.maximum_subagent_depth.get();
    if view.run.phase == RunPhase::Execute {
        if view.last::<WorkPlan>(Kind::WorkPlan).is_some() {
            // A plan has one worker; the protocol writes it as a literal.
            workers = workers.min(1);
        }
        if let Some(node) = node {
            depth = depth.min(node.permissions.subagents.maximum_depth.get());
        }
    }
    budgets(view, workers, depth)
}

fn clarification_action(view: &RunView) -> Result<ClarificationAction, Refusal> {
    let run = &view.run;
    let request = view.latest(Kind::ClarificationRequest);
    let request =
        request.ok_or_else(|| integrity("the run waits for an answer, but no question is stored"))?;
    Ok(ClarificationAction {
        schema_version: SchemaVersion,
        id: action_id(run).into(),
        run_id: run.run_id.as_str().into(),
        created_at: run.updated_at.as_str().into(),
        rationale_summary: words::WAITING.into(),
        kind: ClarificationKind,
        phase: AwaitingClarification,
        clarification_request_ref: view.reference(&request.id).into(),
        effective_permissions: PermissionSet::empty(),
        remaining_budgets: budgets(view, 1, 0),
    })
}

fn terminal_action(view: &RunView) -> Result<TerminalAction, Refusal> {
    let run = &view.run;
    let report = view.latest(Kind::UserReport);
    let failed = report
        .and_then(|report| report.read::<UserReport>())
        .is_some_and(|report| report.terminal_status == TerminalStatus::FailedVerification);
    let named = || integrity(format!("{} is no end of a run", run.status));
    let status = run.status.as_str().parse().map_err(|_| named())?;
    Ok(TerminalAction {
        schema_version: SchemaVersion,
        id: action_id(run).into(),
        run_id: run.run_id.as_str().into(),
        created_at: run.updated_at.as_str().into(),
        rationale_summary: words::ended(run.status).into(),
        kind: TerminalKind,
        phase: run.status.as_str().parse().map_err(|_| named())?,
        status: if failed && run.status == RunStatus::Partial {
            TerminalStatus::FailedVerification
        } else {
            status
        },
        report_ref: report.map(|report| view.reference(&report.id).into()),
    })
}
