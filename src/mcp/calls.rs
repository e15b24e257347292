//! What each tool does: arguments in, one use case, a result out.

use super::answer::{
    self, changed, failed, failure, listed, malformed, metadata, run, success, without_paths,
};
use super::arguments::{Arguments, Malformed};
use crate::controller::{Schemas, StartInput, StoredEvent, Submission, Tokens, full_schema, public_event};
use crate::grounding::{BudgetRequest, Watch};
use crate::protocol::wire::{Reader, Wire, unknown_keys};
use crate::protocol::{
    ActionCapability, Identifier, Int, IntentMode, Kind, List, NativeSubagents, OpenObject, Reference, Str,
};
use crate::service::workflow::{Answer, Workflow};
use crate::store::EventRecord;
use crate::wire_enum;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

wire_enum! {
    /// The types that a host may name; the controller owns the others.
    pub enum Submittable {
        ClarificationRequest = "ClarificationRequest",
        ProblemFrame = "ProblemFrame",
        ScenarioSpec = "ScenarioSpec",
        TaskContract = "TaskContract",
        PromptReview = "PromptReview",
        WorkPlan = "WorkPlan",
        WorkResult = "WorkResult",
        QualityReview = "QualityReview",
        ReleaseAudit = "ReleaseAudit",
        UserReport = "UserReport",
        Evidence = "Evidence",
    }
}

/// A version, or a position in the trace.
type Whole<const MIN: i64> = Int<MIN, 9_007_199_254_740_991>;

type Object = Map<String, Value>;

/// Characters that a result should not exceed (`hosts.md`, size of results).
const RESULT: usize = 10_000;
/// Characters set aside for warnings and the names of members.
const WORDS: usize = 300;

/// Calls a tool; a name that no tool has is a failed result.
pub(super) fn call(workflow: &Workflow, tool: &str, given: &Object, watch: Watch) -> CallToolResult {
    let outcome = match tool {
        "telic_start_run" => start(workflow, given),
        "telic_ground_context" => ground(workflow, given, watch),
        "telic_get_next_action" => next_action(workflow, given),
        "telic_submit_artifact" => submit(workflow, given),
        "telic_cancel_run" => cancel(workflow, given),
        "telic_list_runs" => list_runs(workflow, given),
        "telic_get_run" => get_run(workflow, given),
        "telic_get_artifact" => get_artifact(workflow, given),
        "telic_get_trace" => get_trace(workflow, given),
        other => {
            let message = format!("there is no tool {other:?}; there are {}", super::tools::NAMES.join(", "));
            return failure("unknown_tool", &message, Map::new());
        }
    };
    let result = outcome.unwrap_or_else(|Malformed(faults)| malformed(tool, &faults));
    without_paths(
        result,
        &[(workflow.views().store().state_dir(), "the state directory"), (workflow.root(), "the repository")],
    )
}

type Outcome = Result<CallToolResult, Malformed>;

fn answered(answer: &Answer, extra: Object, mut warnings: Vec<String>) -> CallToolResult {
    warnings.extend(answer.warnings.iter().cloned());
    let mut parts = changed(&answer.run, &answer.next);
    parts.extend(extra);
    success(parts, &warnings)
}

fn start(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let request = arguments.required::<Str<32_768>>("original_request");
    let mode = arguments.required::<IntentMode>("mode");
    let host = arguments.optional::<Str<128>>("host_name");
    let subagents = arguments.optional::<NativeSubagents>("native_subagents");
    let host_capabilities = arguments.optional::<List<ActionCapability>>("host_capabilities");
    let granted = arguments.optional::<List<ActionCapability>>("authorization_granted");
    let denied = arguments.optional::<List<ActionCapability>>("authorization_denied");
    let commands = arguments.optional::<List<Str<2048>>>("shell_execute_allowlist");
    let domains = arguments.optional::<List<Str<253>>>("network_read_domains");
    let mut warnings = arguments.finish()?;
    let (Some(request), Some(mode)) = (request, mode) else { return Err(Malformed(Vec::new())) };
    let texts = |list: &List<ActionCapability>| -> Vec<String> {
        list.iter().map(|capability| capability.as_str().to_owned()).collect()
    };
    let mut input = StartInput::new(request.to_string(), mode, workflow.root().to_string_lossy());
    if let Some(host) = host {
        input.host_name = host.to_string();
    }
    if let Some(subagents) = subagents {
        input.native_subagents = subagents;
    }
    if let Some(list) = &host_capabilities {
        input.host_capabilities = texts(list);
    }
    input.granted = granted.as_ref().map(texts);
    input.denied = denied.as_ref().map(texts).unwrap_or_default();
    input.shell_execute_allowlist =
        commands.iter().flat_map(|list| list.iter()).map(ToString::to_string).collect();
    input.network_read_domains =
        domains.iter().flat_map(|list| list.iter()).map(ToString::to_string).collect();
    for grant in input.granted.iter().flatten() {
        if !input.host_capabilities.contains(grant) {
            warnings.push(format!("the grant {grant} was dropped: the host does not have it"));
        }
    }
    Ok(match workflow.start(&input) {
        Ok(answer) => answered(&answer, Map::new(), warnings),
        Err(error) => failed(&error),
    })
}

/// The tokens of a state change.
struct Addressed {
    run_id: String,
    tokens: Tokens,
}

fn addressed(arguments: &mut Arguments<'_>) -> Option<Addressed> {
    let run_id = arguments.required::<Identifier>("run_id");
    let action_id = arguments.required::<Identifier>("action_id");
    let version = arguments.required::<Whole<1>>("expected_run_version");
    let tokens = Tokens { action_id: action_id?.to_string(), expected_version: version?.get() };
    Some(Addressed { run_id: run_id?.to_string(), tokens })
}

fn ground(workflow: &Workflow, given: &Object, watch: Watch) -> Outcome {
    let mut arguments = Arguments::new(given);
    let addressed = addressed(&mut arguments);
    let paths = arguments.optional::<List<Str<1024>>>("active_paths");
    let budget = arguments.nested("budget", budget).unwrap_or_default();
    let warnings = arguments.finish()?;
    let Some(Addressed { run_id, tokens }) = addressed else { return Err(Malformed(Vec::new())) };
    let paths = paths.iter().flat_map(|list| list.iter()).map(ToString::to_string).collect();
    let budget = match budget.merged() {
        Ok(budget) => budget,
        Err(error) => return Ok(failure(error.code(), &error.to_string(), Map::new())),
    };
    Ok(match workflow.ground(&run_id, &tokens, paths, budget, watch) {
        Ok((answer, manifest)) => {
            let room = match workflow.schemas() {
                Schemas::Full => usize::MAX,
                Schemas::Compact | Schemas::Named => {
                    let beside = Value::Object(changed(&answer.run, &answer.next)).to_string();
                    RESULT.saturating_sub(beside.chars().count() + WORDS)
                }
            };
            let manifest = super::manifest::fitted(manifest, room);
            answered(&answer, Map::from_iter([("manifest".to_owned(), manifest)]), warnings)
        }
        Err(error) => failed(&error),
    })
}

fn budget(object: &Object, reader: &mut Reader) -> Option<BudgetRequest> {
    fn part<const MAX: i64>(object: &Object, name: &'static str, reader: &mut Reader) -> Option<u64> {
        let value = object.get(name)?;
        let number = reader.within(name, |reader| Int::<1, MAX>::decode(Some(value), reader))?;
        u64::try_from(number.get()).ok()
    }
    let request = BudgetRequest {
        max_files: part::<256>(object, "max_files", reader),
        max_file_bytes: part::<2_097_152>(object, "max_file_bytes", reader),
        max_total_bytes: part::<16_777_216>(object, "max_total_bytes", reader),
        max_inventory_files: part::<100_000>(object, "max_inventory_files", reader),
    };
    unknown_keys(reader, object, &["max_files", "max_file_bytes", "max_total_bytes", "max_inventory_files"]);
    Some(request)
}

fn submit(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let addressed = addressed(&mut arguments);
    let kind = arguments.optional::<Submittable>("artifact_type");
    let body = arguments.optional::<OpenObject>("body");
    let body_json = arguments.optional::<Str<2_097_152>>("body_json");
    let references = arguments.optional::<List<Reference>>("source_refs");
    let response = arguments.optional::<Str<32_768>>("clarification_response");
    let warnings = arguments.finish()?;
    let Some(Addressed { run_id, tokens }) = addressed else { return Err(Malformed(Vec::new())) };
    let submission = Submission {
        tokens,
        kind: kind.map(|kind| kind.as_str().to_owned()),
        body: body.map(|body| Value::Object(body.0)),
        body_json: body_json.map(|text| text.to_string()),
        source_refs: references.iter().flat_map(|list| list.iter()).map(ToString::to_string).collect(),
        redaction: None,
        clarification_response: response.map(|text| text.to_string()),
    };
    Ok(match workflow.submit(&run_id, &submission) {
        Ok(answer) => {
            let artifact = answer.artifact.as_ref().map(|record| ("artifact".to_owned(), metadata(record)));
            answered(&answer, artifact.into_iter().collect(), warnings)
        }
        Err(error) => failed(&error),
    })
}

fn cancel(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let addressed = addressed(&mut arguments);
    let warnings = arguments.finish()?;
    let Some(Addressed { run_id, tokens }) = addressed else { return Err(Malformed(Vec::new())) };
    Ok(match workflow.cancel(&run_id, &tokens) {
        Ok(answer) => {
            let extra = Map::from_iter([("changed".to_owned(), json!(answer.changed))]);
            answered(&answer, extra, warnings)
        }
        Err(error) => failed(&error),
    })
}

/// Reads the one argument of most reading tools.
fn one_run(given: &Object) -> Result<(String, Vec<String>), Malformed> {
    let mut arguments = Arguments::new(given);
    let run_id = arguments.required::<Identifier>("run_id");
    let warnings = arguments.finish()?;
    run_id.map(|run_id| (run_id.to_string(), warnings)).ok_or_else(|| Malformed(Vec::new()))
}

fn next_action(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let run_id = arguments.required::<Identifier>("run_id");
    let with_schemas = arguments.optional::<bool>("include_schemas");
    let warnings = arguments.finish()?;
    let Some(run_id) = run_id else { return Err(Malformed(Vec::new())) };
    // `mcp.md` 14, 8: a host that has seen the schemas can leave them out.
    let named = with_schemas == Some(false);
    let workflow = if named { &workflow.writing(Schemas::Named) } else { workflow };
    let read = || -> Result<CallToolResult, crate::service::ServiceError> {
        let view = workflow.view(&run_id)?;
        let next = workflow.next_action(&view)?;
        let parts = Map::from_iter([answer::tokens(&view.run), ("nextAction".to_owned(), next.encode())]);
        Ok(success(parts, &warnings))
    };
    Ok(read().unwrap_or_else(|error| failed(&error)))
}

fn list_runs(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let limit = arguments.optional::<Int<1, 100>>("limit");
    let mut warnings = arguments.finish()?;
    let limit = limit.and_then(|limit| u32::try_from(limit.get()).ok()).unwrap_or(20);
    Ok(match workflow.runs(limit) {
        Ok((runs, faults)) => {
            warnings.extend(faults);
            let runs: Value = runs.iter().map(listed).collect();
            success(Map::from_iter([("runs".to_owned(), runs)]), &warnings)
        }
        Err(error) => failed(&error),
    })
}

fn get_run(workflow: &Workflow, given: &Object) -> Outcome {
    let (run_id, warnings) = one_run(given)?;
    let read = || -> Result<CallToolResult, crate::service::ServiceError> {
        let view = workflow.view(&run_id)?;
        let next = workflow.next_action(&view)?;
        let artifacts: Value = workflow.artifacts(&run_id)?.iter().map(metadata).collect();
        let parts = Map::from_iter([
            answer::tokens(&view.run),
            ("run".to_owned(), run(&view.run)),
            ("artifacts".to_owned(), artifacts),
            ("nextAction".to_owned(), next.encode()),
        ]);
        Ok(success(parts, &warnings))
    };
    Ok(read().unwrap_or_else(|error| failed(&error)))
}

fn get_artifact(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let run_id = arguments.required::<Identifier>("run_id");
    let artifact_id = arguments.required::<Identifier>("artifact_id");
    let warnings = arguments.finish()?;
    let (Some(run_id), Some(artifact_id)) = (run_id, artifact_id) else { return Err(Malformed(Vec::new())) };
    if let Some(name) = artifact_id.strip_prefix("schema:") {
        return Ok(schema(name, &artifact_id, &warnings));
    }
    Ok(match workflow.artifact(&run_id, &artifact_id) {
        Ok((record, body)) => {
            let mut artifact = metadata(&record);
            artifact["body"] = (*body).clone();
            success(Map::from_iter([("artifact".to_owned(), artifact)]), &warnings)
        }
        Err(error) => failed(&error),
    })
}

fn schema(name: &str, id: &str, warnings: &[String]) -> CallToolResult {
    match name.parse::<Kind>() {
        Ok(kind) => {
            let body = Value::Object(full_schema(kind));
            let artifact = json!({ "id": id, "type": "JsonSchema", "body": body });
            success(Map::from_iter([("artifact".to_owned(), artifact)]), warnings)
        }
        Err(error) => failure("artifact_not_found", &error, Map::new()),
    }
}

fn get_trace(workflow: &Workflow, given: &Object) -> Outcome {
    let mut arguments = Arguments::new(given);
    let run_id = arguments.required::<Identifier>("run_id");
    let after = arguments.optional::<Whole<0>>("after_sequence");
    let limit = arguments.optional::<Int<1, 500>>("limit");
    let warnings = arguments.finish()?;
    let Some(run_id) = run_id else { return Err(Malformed(Vec::new())) };
    let limit = limit.and_then(|limit| usize::try_from(limit.get()).ok()).unwrap_or(100);
    let asked = u32::try_from(limit + 1).unwrap_or(u32::MAX);
    Ok(match workflow.events(&run_id, after.map_or(0, Int::get), asked) {
        Ok(mut events) => {
            let more = events.len() > limit;
            events.truncate(limit);
            let events: Value =
                events.iter().map(|event| public_event(&run_id, &stored(event)).encode()).collect();
            let parts = Map::from_iter([("events".to_owned(), events), ("hasMore".to_owned(), json!(more))]);
            success(parts, &warnings)
        }
        Err(error) => failed(&error),
    })
}

fn stored(event: &EventRecord) -> StoredEvent {
    StoredEvent {
        id: event.event_id.clone(),
        sequence: event.sequence,
        timestamp: event.timestamp.clone(),
        actor: event.actor.clone(),
        phase: event.phase.clone(),
        event_type: event.event_type.clone(),
        input_refs: event.input_refs.clone(),
        output_refs: event.output_refs.clone(),
        decision: event.permission_decision.clone(),
        summary: event.decision_summary.clone(),
        prompt_revisions_remaining: event.budget_snapshot.prompt_revisions_remaining,
        remediations_remaining: event.budget_snapshot.remediations_remaining,
    }
}
