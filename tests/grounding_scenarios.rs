//! The recorded black-box scenarios of grounding, replayed against the library: what `telic_ground_context` must
//! select, count and warn about. The folder is found as in `vectors.rs`.

#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use telic::grounding::{BudgetRequest, GroundingInput, ground};

fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/conformance");
    let folder =
        std::env::var_os("TELIC_CONFORMANCE_DIR").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no scenarios at {}", folder.display());
    None
}

fn json_at(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn git(root: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"])
        .arg(root)
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn write(root: &Path, path: &str, content: &Value) {
    let target = root.join(path);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    match content {
        Value::String(text) => std::fs::write(target, text).unwrap(),
        content if content["symlink"].is_string() => {
            std::os::unix::fs::symlink(content["symlink"].as_str().unwrap(), target).unwrap();
        }
        content if content["base64"].is_string() => {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(content["base64"].as_str().unwrap());
            std::fs::write(target, bytes.unwrap()).unwrap();
        }
        content => std::fs::write(target, content["text"].as_str().unwrap()).unwrap(),
    }
}

/// A template of the given name, or the value itself.
fn template(folder: &Path, value: &Value) -> Value {
    let Some(name) = value["$template"].as_str() else { return value.clone() };
    let file = name.split('.').next().unwrap();
    let mut body = json_at(&folder.join("templates").join(format!("{file}.json")))[name].clone();
    if body["$template"].is_string() {
        let changes = body["$set"].clone();
        body = template(folder, &body);
        for (key, change) in changes.as_object().into_iter().flatten() {
            body[key] = change.clone();
        }
    }
    for (key, change) in value["$set"].as_object().into_iter().flatten() {
        body[key] = change.clone();
    }
    body
}

fn expand(value: &Value, root: &str) -> Value {
    match value {
        Value::Array(entries) => Value::Array(entries.iter().map(|entry| expand(entry, root)).collect()),
        Value::String(text) => Value::String(text.replace("${root}", root)),
        Value::Object(object) if object.contains_key("$text") => {
            let count = usize::try_from(object["$text"].as_u64().unwrap()).unwrap();
            Value::String(object["$of"].as_str().unwrap().repeat(count))
        }
        Value::Object(object) if object.contains_key("$list") => {
            let count = object["$list"].as_u64().unwrap();
            let of = object["$of"].as_str().unwrap();
            Value::Array((1..=count).map(|n| json!(of.replace("${n}", &n.to_string()))).collect())
        }
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, entry)| (key.clone(), expand(entry, root))).collect())
        }
        other => other.clone(),
    }
}

/// A manifest as the scenarios write it.
fn projected(manifest: &Value, derived: &[String]) -> Value {
    let selected: Vec<Value> = manifest["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| json!([entry["ref"], entry["score"], entry["pinned"], entry["byteSize"]]))
        .collect();
    let excluded: Map<String, Value> = manifest["excludedCandidateSummaries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["reason"].as_str().unwrap().to_owned(), entry["count"].clone()))
        .collect();
    json!({
        "selected": selected,
        "pinnedRefs": manifest["pinnedRefs"],
        "derivedRefs": derived,
        "excluded": excluded,
        "warnings": manifest["warnings"].as_array().unwrap().len(),
        "budget": manifest["budget"],
    })
}

/// Grounds as a server would for one call. Refusals of the tool's own schema count as refusals here.
fn call(root: &Path, request: &str, report_only: bool, arguments: &Value) -> Option<Value> {
    let arguments = expand(arguments, root.to_str().unwrap());
    let mut input = GroundingInput::new("run-1", root, request);
    input.mode_report_only = report_only;
    let active = arguments["active_paths"].as_array().into_iter().flatten();
    input.active_paths = active.map(|path| path.as_str().unwrap().to_owned()).collect();
    if input.active_paths.iter().any(|path| path.len() > 1024) {
        return None;
    }
    if let Some(budget) = arguments.get("budget") {
        let budget: BudgetRequest = serde_json::from_value(budget.clone()).ok()?;
        input.budget = budget.merged().ok()?;
    }
    let grounding = ground(&input).ok()?;
    let kinds = [(telic::protocol::Kind::ContextManifest, &grounding.manifest)];
    let documents = grounding.documents.iter();
    let documents = documents.map(|document| (telic::protocol::Kind::ContextDocument, &document.body));
    for (kind, body) in kinds.into_iter().chain(documents) {
        telic::protocol::Body::read(kind, body).unwrap_or_else(|faults| panic!("{kind}: {faults:?}"));
    }
    let derived: Vec<String> = grounding
        .documents
        .iter()
        .map(|document| format!("${{doc:{}}}", document.repository_ref.trim_start_matches("repo://")))
        .collect();
    Some(projected(&grounding.manifest, &derived))
}

/// The expectation with documents named by reference, as `projected` does.
fn encoded(mut expected: Value) -> Value {
    if let Some(derived) = expected["derivedRefs"].as_array() {
        let derived: Vec<Value> = derived
            .iter()
            .map(|entry| {
                let entry = entry.as_str().unwrap();
                // Some scenarios write the path, some the encoded reference.
                let path = &entry["${doc:".len()..entry.len() - 1];
                let path = if path.contains('%') {
                    path.to_owned()
                } else {
                    telic::grounding::paths::repository_reference(path)[7..].to_owned()
                };
                json!(format!("${{doc:{path}}}"))
            })
            .collect();
        expected["derivedRefs"] = Value::Array(derived);
    }
    expected
}

#[test]
fn grounding_answers_every_recorded_scenario() {
    let Some(folder) = folder() else { return };
    let mut calls = 0;
    for entry in std::fs::read_dir(folder.join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("ground-") {
            continue;
        }
        let scenario = json_at(&path);
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap().join("repository");
        std::fs::create_dir(&root).unwrap();
        for (path, content) in scenario["outside"].as_object().into_iter().flatten() {
            write(&home.path().join("outside"), path, content);
        }
        let files = template(&folder, &scenario["repository"]);
        let files = files.as_object().cloned().unwrap_or_default();
        let tracked = |content: &Value| content["tracked"] != json!(false);
        for (path, content) in files.iter().filter(|(_, content)| tracked(content)) {
            write(&root, path, content);
        }
        if scenario["git"] != json!(false) {
            git(&root, &["init", "-q"]);
            git(&root, &["add", "-A"]);
            git(&root, &["commit", "-q", "--allow-empty", "-m", "x"]);
        }
        for (path, content) in files.iter().filter(|(_, content)| !tracked(content)) {
            write(&root, path, content);
        }
        let (mut request, mut report_only) = (String::new(), false);
        for step in scenario["steps"].as_array().unwrap() {
            for (path, content) in step["write"].as_object().into_iter().flatten() {
                write(&root, path, content);
            }
            for path in step["delete"].as_array().into_iter().flatten() {
                std::fs::remove_file(root.join(path.as_str().unwrap())).unwrap();
            }
            let (tool, arguments) = (&step["call"]["tool"], &step["call"]["arguments"]);
            if tool == "telic_start_run" {
                let start = template(&folder, arguments);
                request = start["original_request"].as_str().unwrap().to_owned();
                report_only = start["mode"] == "report_only";
            }
            // A second grounding of a run is refused by the controller, not here.
            if tool != "telic_ground_context" || name == "ground-only-once" {
                continue;
            }
            calls += 1;
            let answer = call(&root, &request, report_only, arguments);
            match step["expect"].get("manifest") {
                Some(expected) => assert_eq!(answer, Some(encoded(expected.clone())), "{name}"),
                None => {
                    assert_eq!(answer.is_some(), step["expect"]["ok"] == json!(true), "{name}: {arguments}");
                }
            }
        }
    }
    assert!(calls > 30, "only {calls} calls were replayed");
}
