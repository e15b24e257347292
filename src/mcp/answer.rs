//! The form of results: structured content, and the same as compact text.

use super::diagnostics::say;
use crate::controller::{Refusal, RunState, action_id};
use crate::protocol::{Fault, NextAction, Wire};
use crate::service::ServiceError;
use crate::store::ArtifactRecord;
use crate::text::cut_units;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};
use std::path::Path;

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

/// A failed result that names no absolute path (`mcp.md` 14, 17): each is replaced by words, and the whole message goes
/// to the error stream.
pub(super) fn without_paths(mut result: CallToolResult, paths: &[(&Path, &str)]) -> CallToolResult {
    if result.is_error != Some(true) {
        return result;
    }
    let Some(content) = &mut result.structured_content else { return result };
    let before = content["error"].as_str().unwrap_or_default().to_owned();
    let found: Vec<(String, &str)> =
        paths.iter().map(|(path, words)| (path.to_string_lossy().into_owned(), *words)).collect();
    if replace(content, &found) {
        say(&before);
        result.content = vec![ContentBlock::text(content.to_string())];
    }
    result
}

/// Replaces paths in every text; whether there was one.
fn replace(value: &mut Value, paths: &[(String, &str)]) -> bool {
    let mut found = false;
    match value {
        Value::String(text) => {
            // The root of all paths stands in too many texts to be one.
            for (path, words) in paths.iter().filter(|(path, _)| path.len() > 1) {
                if text.contains(path) {
                    *text = text.replace(path, words);
                    found = true;
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| found |= replace(entry, paths)),
        Value::Object(object) => object.values_mut().for_each(|entry| found |= replace(entry, paths)),
        _ => {}
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_no_absolute_path() {
        let further = Map::from_iter([("details".to_owned(), json!({ "file": "/srv/state/blobs/ab" }))]);
        let result = failure("storage_failure", "cannot read /srv/state/blobs/ab for /home/u/repo", further);
        let known =
            [(Path::new("/srv/state"), "the state directory"), (Path::new("/home/u/repo"), "the repository")];
        let content = without_paths(result, &known).structured_content.unwrap();
        assert_eq!(content["error"], "cannot read the state directory/blobs/ab for the repository");
        assert_eq!(content["details"]["file"], "the state directory/blobs/ab");
    }

    #[test]
    fn an_error_is_one_line_of_at_most_eight_hundred_units() {
        let result = failure("x", &format!("a\r\n\tb{}", "ä".repeat(2000)), Map::new());
        let content = result.structured_content.unwrap();
        let error = content["error"].as_str().unwrap();
        assert!(error.starts_with("a bä") && crate::text::units(error) == 800, "{error}");
    }
}
