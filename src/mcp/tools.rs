//! The nine tools as hosts see them: names, words, hints and plain schemas (`traps.md`, MCP).

use super::calls::Submittable;
use crate::protocol::{ActionCapability, IntentMode};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// Names of the tools, in the order of the list.
pub(super) const NAMES: [&str; 9] = [
    "telic_start_run",
    "telic_ground_context",
    "telic_get_next_action",
    "telic_submit_artifact",
    "telic_cancel_run",
    "telic_list_runs",
    "telic_get_run",
    "telic_get_artifact",
    "telic_get_trace",
];

/// Everything that is published about one tool.
struct Words {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    read_only: bool,
    properties: Value,
    required: &'static [&'static str],
    output: &'static [(&'static str, &'static str)],
}

fn capability_names() -> Vec<&'static str> {
    ActionCapability::ALL.iter().map(|capability| capability.as_str()).collect()
}

fn mode_names() -> Vec<&'static str> {
    IntentMode::ALL.iter().map(|mode| mode.as_str()).collect()
}

fn type_names() -> Vec<&'static str> {
    Submittable::ALL.iter().map(|kind| kind.as_str()).collect()
}

fn id(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]*$",
        "description": description })
}

fn version() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_i64,
        "description": "The run version that the action belongs to" })
}

fn texts(most: u32, default: bool, description: &str) -> Value {
    let mut list = json!({ "type": "array", "maxItems": 256, "description": description,
        "items": { "type": "string", "minLength": 1, "maxLength": most } });
    if default {
        list["default"] = json!([]);
    }
    list
}

fn capabilities(default: Option<Value>, description: &str) -> Value {
    let mut list = json!({ "type": "array", "maxItems": 256, "description": description,
        "items": { "type": "string", "enum": capability_names() } });
    if let Some(default) = default {
        list["default"] = default;
    }
    list
}

fn count(least: u32, most: u64, default: Option<u32>, description: &str) -> Value {
    let mut number =
        json!({ "type": "integer", "minimum": least, "maximum": most, "description": description });
    if let Some(default) = default {
        number["default"] = json!(default);
    }
    number
}

fn starting() -> Words {
    Words {
        name: "telic_start_run",
        title: "Start a Telic run",
        description: "Start a Telic run for a user's request, stored unchanged and bounded by the authority given.",
        read_only: false,
        properties: json!({
            "original_request": { "type": "string", "minLength": 1, "maxLength": 32_768,
                "description": "The user's exact words" },
            "mode": { "type": "string",
                "enum": mode_names(),
                "description": "What the user wants done" },
            "host_name": { "type": "string", "minLength": 1, "maxLength": 128, "default": "mcp-host",
                "description": "The program you run in" },
            "native_subagents": { "type": "string", "enum": ["available", "unavailable", "unknown"],
                "default": "unknown", "description": "Whether the host can run children" },
            "host_capabilities": capabilities(Some(json!(["repository.read"])), "What the host can really do"),
            "authorization_granted": capabilities(None,
                "What the user granted; left out means the mode's default, an empty list means nothing"),
            "authorization_denied": capabilities(Some(json!([])), "What the user denied"),
            "shell_execute_allowlist": texts(2048, true, "Exact commands the user allowed"),
            "network_read_domains": texts(253, true, "Host names the user approved one by one"),
        }),
        required: &["original_request", "mode"],
        output: &[("run", "object"), ("nextAction", "object")],
    }
}

fn grounding() -> Words {
    Words {
        name: "telic_ground_context",
        title: "Ground a Telic run",
        description: "Ground a Telic run in its repository: select sources, store their text, record the manifest. \
                      The first phase of every run.",
        read_only: false,
        properties: json!({
            "run_id": id("The run"),
            "action_id": id("The id of the current next action"),
            "expected_run_version": version(),
            "active_paths": texts(1024, false, "Paths the user is working on, relative to the repository"),
            "budget": { "type": "object", "additionalProperties": false, "description": "Limits of the selection",
                "properties": {
                    "max_files": count(1, 256, None, "Files"),
                    "max_file_bytes": count(1, 2_097_152, None, "Bytes of one file"),
                    "max_total_bytes": count(1, 16_777_216, None, "Bytes in all"),
                    "max_inventory_files": count(1, 100_000, None, "Files looked at"),
                } },
        }),
        required: &["run_id", "action_id", "expected_run_version"],
        output: &[("run", "object"), ("nextAction", "object"), ("manifest", "object")],
    }
}

fn submitting() -> Words {
    Words {
        name: "telic_submit_artifact",
        title: "Submit to a Telic run",
        description: "Submit one artifact to a Telic run, or the user's answer to its clarification question.",
        read_only: false,
        properties: json!({
            "run_id": id("The run"),
            "action_id": id("The id of the current next action"),
            "expected_run_version": version(),
            "artifact_type": { "type": "string", "enum": type_names(), "description": "The type the action requires" },
            "body": { "type": "object", "description": "The artifact, as its schema says" },
            "body_json": { "type": "string", "minLength": 2, "maxLength": 2_097_152,
                "description": "The artifact as JSON text, only where the host loses empty arrays" },
            "source_refs": texts(2048, true, "References beside those in the body"),
            "clarification_response": { "type": "string", "minLength": 1, "maxLength": 32_768,
                "description": "The id of the choice the user made, instead of an artifact" },
        }),
        required: &["run_id", "action_id", "expected_run_version"],
        output: &[("run", "object"), ("nextAction", "object"), ("artifact", "object")],
    }
}

fn cancelling() -> Words {
    Words {
        name: "telic_cancel_run",
        title: "Cancel a Telic run",
        description: "Cancel a Telic run at the user's wish, without touching the repository and without a report.",
        read_only: false,
        properties: json!({
            "run_id": id("The run"),
            "action_id": id("The id of the current next action"),
            "expected_run_version": version(),
        }),
        required: &["run_id", "action_id", "expected_run_version"],
        output: &[("run", "object"), ("nextAction", "object"), ("changed", "boolean")],
    }
}

fn reading() -> [Words; 5] {
    [
        Words {
            name: "telic_get_next_action",
            title: "Next action of a Telic run",
            description: "Read the one legal next step of a Telic run: inputs, output schema, permissions, budgets.",
            read_only: true,
            properties: json!({
                "run_id": id("The run"),
                "include_schemas": { "type": "boolean", "default": true,
                    "description": "False leaves out the schemas, for a reader who has them" },
            }),
            required: &["run_id"],
            output: &[("nextAction", "object")],
        },
        Words {
            name: "telic_list_runs",
            title: "List Telic runs",
            description: "List the Telic runs of this repository, newest change first.",
            read_only: true,
            properties: json!({ "limit": count(1, 100, Some(20), "How many") }),
            required: &[],
            output: &[("runs", "array")],
        },
        Words {
            name: "telic_get_run",
            title: "Read a Telic run",
            description: "Read where a Telic run stands, its artifacts without bodies, and its next action.",
            read_only: true,
            properties: json!({ "run_id": id("The run") }),
            required: &["run_id"],
            output: &[("run", "object"), ("artifacts", "array"), ("nextAction", "object")],
        },
        Words {
            name: "telic_get_artifact",
            title: "Read an artifact of a Telic run",
            description: "Read one artifact of a Telic run with its body, or a schema: artifact_id schema:TYPE.",
            read_only: true,
            properties: json!({ "run_id": id("The run"), "artifact_id": id("The artifact, or schema:TYPE") }),
            required: &["run_id", "artifact_id"],
            output: &[("artifact", "object")],
        },
        Words {
            name: "telic_get_trace",
            title: "Trace of a Telic run",
            description: "Read the events of a Telic run in order.",
            read_only: true,
            properties: json!({
                "run_id": id("The run"),
                "after_sequence": count(0, 9_007_199_254_740_991, Some(0), "Events after this one"),
                "limit": count(1, 500, Some(100), "How many"),
            }),
            required: &["run_id"],
            output: &[("events", "array"), ("hasMore", "boolean")],
        },
    ]
}

/// The tools as they are listed.
pub(super) fn list() -> Vec<Tool> {
    let mut words = vec![starting(), grounding(), submitting(), cancelling()];
    words.extend(reading());
    NAMES.iter().filter_map(|name| words.iter().find(|words| words.name == *name)).map(tool).collect()
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn tool(words: &Words) -> Tool {
    let input = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": words.properties, "required": words.required });
    let mut shown: Vec<(&str, &str)> = vec![("ok", "boolean")];
    shown.extend(words.output);
    let properties: serde_json::Map<String, Value> =
        shown.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    let output = json!({ "type": "object", "properties": properties, "required": ["ok"] });
    let annotations = ToolAnnotations::with_title(words.title)
        .read_only(words.read_only)
        .destructive(false)
        .idempotent(words.read_only)
        .open_world(false);
    Tool::new(words.name, words.description, object(input))
        .with_title(words.title)
        .with_raw_output_schema(object(output))
        .with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
        visit(path, value);
        match value {
            Value::Object(object) => {
                object.iter().for_each(|(key, entry)| walk(entry, &format!("{path}.{key}"), visit));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| walk(entry, path, visit)),
            _ => {}
        }
    }

    #[test]
    fn no_published_schema_holds_what_makes_a_client_drop_every_tool() {
        for tool in list() {
            let schemas = [Value::Object((*tool.input_schema).clone()), json!(tool.output_schema)];
            for schema in schemas {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                walk(&schema, &tool.name, &mut |path, value| {
                    let Value::Object(object) = value else { return };
                    for word in ["$ref", "oneOf", "anyOf", "allOf", "not", "$defs"] {
                        assert!(!object.contains_key(word), "{path} holds {word}");
                    }
                    assert!(
                        object.get("type").is_none_or(|kind| !kind.is_array()),
                        "{path}: a list of types"
                    );
                    assert!(object.get("format").is_none(), "{path}: a format");
                });
            }
        }
    }

    #[test]
    fn every_tool_says_telic_and_run_and_carries_all_four_hints() {
        let tools = list();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), NAMES);
        for tool in tools {
            let words = tool.description.as_deref().unwrap();
            assert!(words.contains("Telic run"), "{words}");
            let hints = serde_json::to_value(tool.annotations.unwrap()).unwrap();
            for hint in ["readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"] {
                assert!(hints[hint].is_boolean(), "{} lacks {hint}", tool.name);
            }
            assert_eq!((&hints["destructiveHint"], &hints["openWorldHint"]), (&json!(false), &json!(false)));
        }
    }
}
