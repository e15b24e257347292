//! Everything that is shown of one run, except bodies, diffs and logs.

use super::{Queries, Supervised, permissions, phases, review, row};
use crate::controller::{RunStatus, RunView};
use crate::domain::{Attempt, ExecutionSpec, Message, Step, ToolCall};
use crate::protocol::{ClarificationRequest, Kind, RunEnvelope, TaskContract, WorkPlan};
use crate::service::ServiceError;
use crate::service::snapshot::{
    ArtifactLine, AttemptView, ChoiceView, ClarificationView, DecisionLine, Fact, Gauge, MessageView,
    NextStep, RunDetail, StepView, TraceLine,
};
use crate::service::workflow::policy_of;
use crate::store::{Digest, EventRecord};
use std::collections::HashMap;
use std::sync::Arc;

/// The most events that are shown (`store.md` 6: as many as a run can have).
const EVENTS: u32 = 10_000;
/// The most artifacts a run may hold.
const ARTIFACTS: u64 = 2_048;
/// Plan tool calls that a run may reserve (`controller.md` 0).
const PLAN_TOOL_CALLS: u64 = 4_000;
/// Evidence that may be stored after a plan.
const EVIDENCE: u64 = 128;

pub(super) fn detail(queries: &Queries, run_id: &str) -> Result<RunDetail, ServiceError> {
    let row = row::row(queries, run_id)?;
    let around = queries.supervised(run_id)?;
    let spec = execution_spec(queries, &around);
    let mut detail = RunDetail { row, ..RunDetail::default() };
    if !detail.row.workflow_status.is_empty() {
        let view = queries.views().view(run_id)?;
        let events = queries.store().events(run_id, 0, EVENTS)?;
        workflow(queries, &mut detail, &view, &events, &around, spec.as_ref())?;
    }
    if let Some(task) = &around.task {
        detail.request.clone_from(&task.instruction);
        let messages = queries.store().records_under::<Message>(task.session_id.as_str())?;
        detail.messages = messages.iter().map(message).collect();
    }
    if let Some(spec) = &spec {
        supervision_budgets(&mut detail, &around, spec);
    }
    detail.attempts = attempts(queries, run_id)?;
    supervision_facts(&mut detail, &around);
    detail.verification = around.verification.as_ref().map(review::verification);
    detail.boundary = around.patch.as_ref().map(review::boundary);
    detail.judge = around.judge.as_ref().map(review::judge);
    detail.patch = review::patch(queries, &around)?;
    detail.approval = review::approval(&around, spec.as_ref(), detail.patch.as_ref());
    Ok(detail)
}

/// The execution spec that a run was frozen with, when it can be read.
pub(super) fn execution_spec(queries: &Queries, around: &Supervised) -> Option<ExecutionSpec> {
    let sha256 = around.run.as_ref()?.execution_spec_sha256.as_ref()?;
    let mut blob = queries.store().open_blob(&Digest::parse(sha256).ok()?).ok()?;
    let size = usize::try_from(blob.size()).ok()?;
    serde_json::from_slice(&blob.range(0, size).ok()?).ok()
}

fn workflow(
    queries: &Queries,
    detail: &mut RunDetail,
    view: &RunView,
    events: &[EventRecord],
    around: &Supervised,
    spec: Option<&ExecutionSpec>,
) -> Result<(), ServiceError> {
    if let Some((_, message)) = view.all::<crate::protocol::UserMessage>(Kind::UserMessage).next() {
        detail.request = message.content.to_string();
    }
    let root = around.run.as_ref().map_or(&view.run.repository_root, |run| &run.repository);
    fact(detail, "repository", root);
    if let Some((_, envelope)) = view.last::<RunEnvelope>(Kind::RunEnvelope) {
        fact(detail, "host", &envelope.host.name);
    }
    detail.phases = phases::visits(view, events);
    detail.next_action = next_step(view);
    detail.budgets = workflow_budgets(view, events.len());
    detail.stop_conditions = stop_conditions(view);
    detail.permissions = permissions::table(view, spec.map(policy_of).as_ref());
    detail.decisions = events.iter().rev().filter_map(decision).collect();
    detail.trace = Arc::new(events.iter().map(trace_line).collect());
    detail.artifacts = artifacts(queries, view, events)?;
    detail.clarification = clarification(view);
    Ok(())
}

fn fact(detail: &mut RunDetail, name: &str, value: &str) {
    detail.facts.push(Fact { name: name.to_owned(), value: value.to_owned() });
}

fn supervision_facts(detail: &mut RunDetail, around: &Supervised) {
    let Some(run) = &around.run else { return };
    if let Some(commit) = &run.base_commit {
        fact(detail, "base commit", commit);
    }
    if let Some(branch) = &run.base_ref {
        fact(detail, "base ref", branch);
    }
    if let Some(agent) = &run.agent {
        fact(detail, "agent", agent);
    }
    if let Some(publication) = &run.publication {
        fact(detail, "branch", &publication.branch);
        if let Some(commit) = &publication.commit {
            fact(detail, "commit", commit);
        }
    }
    if let Some(decision) = &run.policy_decision {
        fact(detail, "policy digest", &decision.policy_digest);
    }
    fact(detail, "workspace", run.workspace_state.as_str());
}

fn gauge(name: &str, used: u64, limit: u64, unit: &str) -> Gauge {
    Gauge { name: name.to_owned(), used, limit, unit: unit.to_owned() }
}

fn workflow_budgets(view: &RunView, events: usize) -> Vec<Gauge> {
    let run = &view.run;
    let reserved: i64 = view
        .all::<WorkPlan>(Kind::WorkPlan)
        .flat_map(|(_, plan)| &plan.nodes)
        .map(|node| node.budgets.maximum_tool_calls.get())
        .sum();
    let plan_at = view.latest(Kind::WorkPlan).and_then(|plan| view.position(&plan.id));
    let evidence = view
        .of_kind(Kind::Evidence)
        .filter(|stored| {
            plan_at.is_some_and(|at| view.position(&stored.id).is_some_and(|position| position > at))
        })
        .count();
    vec![
        gauge("prompt revisions", 1 - u64::from(run.prompt_revisions_remaining.min(1)), 1, ""),
        gauge("remediations", 1 - u64::from(run.remediations_remaining.min(1)), 1, ""),
        gauge("plan tool calls", u64::try_from(reserved).unwrap_or(0), PLAN_TOOL_CALLS, ""),
        gauge("evidence of this plan", evidence as u64, EVIDENCE, ""),
        gauge("artifacts", view.artifacts().len() as u64, ARTIFACTS, ""),
        gauge("trace events", events as u64, u64::from(EVENTS), ""),
    ]
}

fn supervision_budgets(detail: &mut RunDetail, around: &Supervised, spec: &ExecutionSpec) {
    let Some(run) = &around.run else { return };
    let (used, budget) = (&run.budget_use, &spec.budget);
    detail.budgets.extend([
        gauge("wall clock", used.active_millis / 1000, budget.wall_clock_seconds, "s"),
        gauge("attempts", u64::from(run.attempts_used), u64::from(budget.attempts), ""),
        gauge("tool calls", used.tool_calls, budget.tool_calls, ""),
        gauge("output", used.output_bytes, budget.output_bytes, "B"),
    ]);
}

fn stop_conditions(view: &RunView) -> Vec<String> {
    let contract = view.last::<TaskContract>(Kind::TaskContract);
    let mut conditions: Vec<String> = contract
        .iter()
        .flat_map(|(_, contract)| &contract.stop_conditions)
        .map(ToString::to_string)
        .collect();
    if let Some(node) = crate::controller::predicates::pending_node(view) {
        conditions.extend(node.stop_conditions.iter().map(ToString::to_string));
    }
    conditions.dedup();
    conditions
}

fn next_step(view: &RunView) -> Option<NextStep> {
    let run = &view.run;
    if run.status != RunStatus::Running {
        return None;
    }
    let artifact = run.phase.required_kind();
    let node = crate::controller::predicates::pending_node(view).map(|node| node.id.to_string());
    let role = run.phase.role();
    Some(NextStep {
        phase: run.phase.public().as_str().to_owned(),
        role: role.as_str().to_owned(),
        artifact_type: artifact.as_str().to_owned(),
        words: match &node {
            Some(node) => {
                format!("the {} submits a {artifact} for the node {node}", role.as_str().replace('_', " "))
            }
            None => format!("the {} submits a {artifact}", role.as_str().replace('_', " ")),
        },
        node,
    })
}

fn decision(event: &EventRecord) -> Option<DecisionLine> {
    let decision = event.permission_decision.as_ref()?;
    let text = |key: &str| decision[key].as_str().unwrap_or_default().to_owned();
    Some(DecisionLine {
        at: event.timestamp.clone(),
        allowed: decision["decision"] == "allow",
        capability: text("capability"),
        target: text("scope"),
        reason: text("rationaleSummary"),
    })
}

fn trace_line(event: &EventRecord) -> TraceLine {
    let decision = event.permission_decision.as_ref();
    TraceLine {
        sequence: u64::try_from(event.sequence).unwrap_or(0),
        at: event.timestamp.clone(),
        actor: event.actor.clone(),
        phase: phases::public(&event.phase),
        event: event.event_type.clone(),
        summary: event.decision_summary.clone(),
        inputs: event.input_refs.clone(),
        outputs: event.output_refs.clone(),
        allowed: decision.map(|decision| decision["decision"] == "allow"),
    }
}

fn artifacts(
    queries: &Queries,
    view: &RunView,
    events: &[EventRecord],
) -> Result<Vec<ArtifactLine>, ServiceError> {
    let mut phase_of: HashMap<&str, &str> = HashMap::new();
    for event in events {
        for reference in &event.output_refs {
            if let Some(id) = reference.rsplit('/').next() {
                phase_of.entry(id).or_insert(&event.phase);
            }
        }
    }
    let records = queries.store().artifacts(&view.run.run_id)?;
    let line = |(at, record): (usize, &crate::store::ArtifactRecord)| {
        let readable = view.artifacts().get(at).is_some_and(|stored| stored.body.is_some());
        let size = record.digest().ok().and_then(|digest| queries.store().blob_size(&digest).ok().flatten());
        ArtifactLine {
            id: record.artifact_id.clone(),
            kind: record.kind.clone(),
            producer: record.producer.clone(),
            phase: phase_of
                .get(record.artifact_id.as_str())
                .map_or_else(String::new, |phase| phases::public(phase)),
            at: record.created_at.clone(),
            digest: record.sha256.clone(),
            bytes: size.unwrap_or(0),
            fault: (!readable).then(|| match queries.store().body(record) {
                Ok(_) => "of a type this program does not know".to_owned(),
                Err(error) => error.to_string(),
            }),
        }
    };
    Ok(records.iter().enumerate().map(line).collect())
}

fn clarification(view: &RunView) -> Option<ClarificationView> {
    if view.run.status != RunStatus::AwaitingClarification {
        return None;
    }
    let (stored, request) = view.last::<ClarificationRequest>(Kind::ClarificationRequest)?;
    Some(ClarificationView {
        request_id: stored.id.clone(),
        question: request.question.to_string(),
        reason: request.reason.as_str().to_owned(),
        divergence: request.divergence.to_string(),
        blocked_boundary: request.blocked_boundary.to_string(),
        inspected: request.evidence_inspected.iter().map(ToString::to_string).collect(),
        choices: request
            .response_choices
            .iter()
            .map(|choice| ChoiceView {
                id: choice.id.to_string(),
                label: choice.label.to_string(),
                consequence: choice.consequence.to_string(),
                authority_effect: choice.authority_effect.as_str().to_owned(),
                run_effect: choice.run_effect.as_str().to_owned(),
            })
            .collect(),
        resume_phase: view.run.resume_phase.map(|phase| phase.public().as_str().to_owned()),
        asked_at: stored.created_at.clone(),
        version: u64::try_from(view.run.version).unwrap_or(0),
    })
}

fn message(message: &Message) -> MessageView {
    MessageView {
        role: message.role.as_str().to_owned(),
        at: message.created_at.to_string(),
        text: message.content.clone(),
    }
}

fn attempts(queries: &Queries, run_id: &str) -> Result<Vec<AttemptView>, ServiceError> {
    let store = queries.store();
    let steps: Vec<Step> = store.records_of_run(run_id)?;
    let calls: Vec<ToolCall> = store.records_of_run(run_id)?;
    let of_step = |step: &Step| {
        let call = calls.iter().find(|call| Some(&call.id) == step.tool_call_id.as_ref());
        StepView {
            sequence: step.sequence_number,
            kind: step.step_type.as_str().to_owned(),
            status: step.status.as_str().to_owned(),
            title: step.title.clone(),
            started_at: step.started_at.to_string(),
            ended_at: step.ended_at.map(|at| at.to_string()),
            call: call.map(|call| format!("{} {}", call.decision.as_str(), call.tool_name)),
        }
    };
    let view = |attempt: Attempt| AttemptView {
        id: attempt.id.to_string(),
        number: attempt.attempt_number,
        status: attempt.status.as_str().to_owned(),
        worker: attempt.worker_id.clone(),
        started_at: attempt.started_at.to_string(),
        ended_at: attempt.ended_at.map(|at| at.to_string()),
        heartbeat_at: Some(attempt.last_heartbeat_at.to_string()),
        lease_expires_at: attempt.lease_expires_at.map(|at| at.to_string()),
        failure_code: attempt.failure_code.map(|code| code.as_str().to_owned()),
        steps: steps.iter().filter(|step| step.attempt_id == attempt.id).map(of_step).collect(),
    };
    Ok(store.records_of_run::<Attempt>(run_id)?.into_iter().map(view).collect())
}
