//! The form of results: structured content, and the same as compact text.

use crate::controller::{Refusal, RunState, action_id};
use crate::protocol::{Fault, NextAction, Wire};
use crate::service::ServiceError;
use crate::store::ArtifactRecord;
use crate::text::cut_units;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

/// The most issues that one error names (`mcp.md` 9).
const ISSUES: usize = 32;
/// The longest message of an error, in UTF-16 units.
const ERROR: usize = 800;
/// The longest message of an issue, in UTF-16 units.
const ISSUE: usize = 400;

/// A successful result. Tokens come first, so that a host that cuts long results keeps them.
pub(super) fn success(parts: Map<String, Value>, warnings: &[String]) -> CallToolResult {
    let mut content = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
    content.extend(parts);
    if !warnings.is_empty() {
        content.insert("warnings".into(), json!(warnings));
    }
    let content = Value::Object(content);
    let mut result = CallToolResult::success(vec![ContentBlock::text(content.to_string())]);
    result.structured_content = Some(content);
    result
}

/// A failed result: `ok` false, a code, one sentence, and what else a program can use.
pub(super) fn failure(code: &str, message: &str, further: Map<String, Value>) -> CallToolResult {
    let mut content = Map::from_iter([
        ("ok".to_owned(), Value::Bool(false)),
        ("code".to_owned(), json!(code)),
        ("error".to_owned(), json!(one_line(message, ERROR))),
    ]);
    content.extend(further);
    let content = Value::Object(content);
    let mut result = CallToolResult::error(vec![ContentBlock::text(content.to_string())]);
    result.structured_content = Some(content);
    result
}

/// Runs of CR, LF and TAB become one blank.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split(['\r', '\n', '\t']).filter(|part| !part.is_empty()).collect();
    cut_units(&words.join(" "), limit).to_owned()
}

fn issues(faults: &[Fault]) -> Value {
    let issue = |fault: &Fault| {
        let mut issue = json!({ "path": fault.path, "code": fault.code.as_str(),
            "message": one_line(&fault.message, ISSUE) });
        if let Some(rule) = fault.rule {
            issue["rule"] = json!(rule);
        }
        issue
    };
    faults.iter().take(ISSUES).map(issue).collect()
}

/// Arguments that do not fit the tool.
pub(super) fn malformed(tool: &str, faults: &[Fault]) -> CallToolResult {
    let first = faults.first().map_or_else(String::new, ToString::to_string);
    let further = Map::from_iter([("issues".to_owned(), issues(faults))]);
    failure("invalid_arguments", &format!("{tool}: {first}"), further)
}

/// A use case that failed.
pub(super) fn failed(error: &ServiceError) -> CallToolResult {
    match error {
        ServiceError::Refused(refusal) => refused(refusal),
        other => failure(other.code(), &other.to_string(), Map::new()),
    }
}

fn refused(refusal: &Refusal) -> CallToolResult {
    let mut further = Map::new();
    if let Some(rule) = refusal.rule {
        further.insert("rule".into(), json!(rule));
    }
    if let Some(path) = &refusal.path {
        further.insert("path".into(), json!(path));
    }
    if !refusal.details.is_empty() {
        further.insert("details".into(), json!(refusal.details));
    }
    if !refusal.issues.is_empty() {
        further.insert("issues".into(), issues(&refusal.issues));
    }
    failure(refusal.code.as_str(), &refusal.message, further)
}

/// Where the run stands, in the words of the arguments that continue it.
pub(super) fn tokens(run: &RunState) -> (String, Value) {
    let tokens = json!({ "run_id": run.run_id, "action_id": action_id(run),
        "expected_run_version": run.version, "phase": run.phase.public().as_str() });
    ("tokens".to_owned(), tokens)
}

/// The run record (`mcp.md` 5.10).
pub(super) fn run(run: &RunState) -> Value {
    json!({
        "runId": run.run_id,
        "schemaVersion": "1.0",
        "repositoryRoot": run.repository_root,
        "requestedMode": run.mode.as_str(),
        "status": run.status.as_str(),
        "phase": run.phase.as_str(),
        "resumePhase": run.resume_phase.map(crate::controller::RunPhase::as_str),
        "version": run.version,
        "budgets": {
            "promptRevisionsRemaining": run.prompt_revisions_remaining,
            "postExecutionRemediationsRemaining": run.remediations_remaining,
        },
        "outcomeHint": run.outcome_hint.map(crate::controller::OutcomeHint::as_str),
        "createdAt": run.created_at,
        "updatedAt": run.updated_at,
    })
}

/// An entry of the run list (`mcp.md` 5.6): neither path nor budgets.
pub(super) fn listed(run: &RunState) -> Value {
    json!({
        "runId": run.run_id,
        "schemaVersion": "1.0",
        "requestedMode": run.mode.as_str(),
        "status": run.status.as_str(),
        "phase": run.phase.as_str(),
        "resumePhase": run.resume_phase.map(crate::controller::RunPhase::as_str),
        "version": run.version,
        "outcomeHint": run.outcome_hint.map(crate::controller::OutcomeHint::as_str),
        "createdAt": run.created_at,
        "updatedAt": run.updated_at,
    })
}

/// Metadata of an artifact (`mcp.md` 5.10).
pub(super) fn metadata(record: &ArtifactRecord) -> Value {
    json!({
        "id": record.artifact_id,
        "runId": record.run_id,
        "type": record.kind,
        "schemaVersion": record.schema_version,
        "producer": record.producer,
        "sha256": record.sha256,
        "sourceRefs": record.source_refs,
        "redaction": record.redaction,
        "createdAt": record.created_at,
    })
}

/// The members that an answer to a state change has.
pub(super) fn changed(run_state: &RunState, next: &NextAction) -> Map<String, Value> {
    Map::from_iter([
        tokens(run_state),
        ("run".to_owned(), run(run_state)),
        ("nextAction".to_owned(), next.encode()),
    ])
}
