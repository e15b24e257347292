//! Recorded vectors of the protocol. The folder is `$TELIC_CONFORMANCE_DIR`, or `../shared/conformance` beside
//! the checkout; where it is missing, each test says that it was skipped.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use serde_json::{Map, Value};
use std::path::PathBuf;
use telic::protocol::{Body, Kind};

/// The folder of the vectors, or nothing, said aloud.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/conformance");
    let folder =
        std::env::var_os("TELIC_CONFORMANCE_DIR").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no vectors at {}", folder.display());
    None
}

fn json(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Writes out the placeholders of the body vectors: `$repeat`, `$concat`, `$items`.
fn expand(value: &Value, copy: Option<usize>) -> Value {
    match value {
        Value::Object(object) => match object.iter().next() {
            Some((key, Value::Array(parts))) if key == "$repeat" => {
                let (text, count) = (parts[0].as_str().unwrap(), parts[1].as_u64().unwrap());
                Value::String(text.repeat(usize::try_from(count).unwrap()))
            }
            Some((key, Value::Array(parts))) if key == "$concat" => {
                let parts = parts.iter().map(|part| expand(part, copy).as_str().unwrap().to_owned());
                Value::String(parts.collect())
            }
            Some((key, Value::Array(parts))) if key == "$items" => {
                let count = usize::try_from(parts[1].as_u64().unwrap()).unwrap();
                Value::Array((0..count).map(|n| expand(&parts[0], Some(n))).collect())
            }
            _ => {
                Value::Object(object.iter().map(|(k, v)| (k.clone(), expand(v, copy))).collect::<Map<_, _>>())
            }
        },
        Value::Array(entries) => Value::Array(entries.iter().map(|entry| expand(entry, copy)).collect()),
        Value::String(text) => match copy {
            Some(n) => Value::String(text.replace("{i}", &n.to_string())),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

#[test]
fn bodies_are_accepted_and_refused_at_the_recorded_place() {
    let Some(folder) = folder() else { return };
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder.join("bodies")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let kind: Kind = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        for vector in json(&path).as_array().unwrap() {
            count += 1;
            let result = Body::read(kind, &expand(&vector["body"], None));
            let first = result.as_ref().err().map(|faults| &faults[0]);
            let expected_path = vector["path"].as_str();
            let rule = vector["rule"].as_str().filter(|rule| *rule != "field" && expected_path.is_some());
            if first.map(|fault| fault.path.as_str()) != expected_path
                || rule.is_some_and(|rule| first.and_then(|fault| fault.rule) != Some(rule))
            {
                wrong.push(format!(
                    "{kind} {}: expected {expected_path:?} {rule:?}, got {first:?}",
                    vector["name"]
                ));
            }
        }
    }
    assert!(count > 0, "no vectors found");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{count} bodies");
}

/// A schema with every local reference resolved, descriptions and definitions left out.
fn resolved(value: &Value, root: &Value) -> Value {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                let target = root.pointer(&reference[1..]).unwrap_or_else(|| panic!("no {reference}"));
                let mut merged = resolved(target, root);
                for (key, entry) in object.iter().filter(|(key, _)| *key != "$ref") {
                    merged[key] = resolved(entry, root);
                }
                return merged;
            }
            let kept = object
                .iter()
                .filter(|(key, value)| *key != "$defs" && !(*key == "description" && value.is_string()));
            Value::Object(kept.map(|(key, entry)| (key.clone(), resolved(entry, root))).collect())
        }
        Value::Array(entries) => Value::Array(entries.iter().map(|entry| resolved(entry, root)).collect()),
        other => other.clone(),
    }
}

#[test]
fn schemas_equal_the_published_ones() {
    let Some(folder) = folder() else { return };
    let mut count = 0;
    for kind in Kind::ALL.iter().filter(|kind| kind.published().is_some()) {
        let published = json(&folder.join("schemas").join(format!("{kind}.json")));
        let own = kind.schema();
        assert_eq!(resolved(&own, &own), resolved(&published, &published), "{kind}");
        count += 1;
    }
    assert_eq!(count, 15);
}

#[test]
fn canonical_json_agrees_with_every_vector() {
    use telic::store::canonical_json::{canonical, canonical_text, digest};
    let Some(folder) = folder() else { return };
    let file = json(&folder.join("canonical-json.json"));
    let entries = file["vectors"].as_array().unwrap();
    assert!(entries.len() > 50);
    for entry in entries {
        let input = entry["input"].as_str().unwrap();
        let expected = entry["canonical"].as_str().unwrap();
        let text = canonical_text(input.as_bytes()).unwrap_or_else(|error| panic!("{input}: {error}"));
        assert_eq!(text, expected, "{input}");
        assert_eq!(digest(text.as_bytes()).to_string(), entry["sha256"].as_str().unwrap(), "{input}");
        // What the usual parser can read must come out the same way.
        if let Ok(value) = serde_json::from_str::<Value>(input) {
            assert_eq!(canonical(&value).unwrap(), expected, "parsed: {input}");
        }
    }
    for entry in file["rejected"].as_array().unwrap() {
        let input = entry["input"].as_str().unwrap();
        assert!(canonical_text(input.as_bytes()).is_err(), "{input}: {}", entry["reason"]);
    }
}

#[test]
fn secrets_are_detected_as_recorded() {
    use telic::grounding::{paths::is_secret_like, secrets::likely_credential};
    let Some(folder) = folder() else { return };
    let vectors = json(&folder.join("secrets.json"));
    let vectors = vectors["vectors"].as_array().unwrap();
    assert!(vectors.len() > 100);
    let wrong: Vec<_> = vectors
        .iter()
        .filter(|vector| {
            let input = vector["input"].as_str().unwrap();
            let secret = match vector["kind"].as_str().unwrap() {
                "content" => likely_credential(input).is_some(),
                "path" => is_secret_like(input),
                other => panic!("unknown kind {other}"),
            };
            secret != vector["secret"].as_bool().unwrap()
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_are_ranked_as_recorded() {
    use telic::grounding::{paths::is_instruction, ranking::Query};
    let Some(folder) = folder() else { return };
    let vectors = json(&folder.join("ranking.json"));
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()).collect()
    };
    for vector in vectors["vectors"].as_array().unwrap() {
        let query = Query::new(vector["request"].as_str().unwrap(), &strings(&vector["active_paths"]));
        let paths = strings(&vector["paths"]);
        let ranked: Vec<Value> = query
            .rank_all(paths.iter().map(String::as_str))
            .into_iter()
            .map(
                |entry| serde_json::json!({"path": entry.path, "score": entry.score, "pinned": entry.pinned}),
            )
            .collect();
        assert_eq!(&Value::Array(ranked), &vector["ranked"], "{}", vector["name"]);
    }
    for vector in vectors["instruction_paths"].as_array().unwrap() {
        let path = vector["path"].as_str().unwrap();
        assert_eq!(is_instruction(path), vector["instruction"].as_bool().unwrap(), "{path}");
    }
}

#[test]
fn globs_match_as_recorded() {
    let Some(folder) = folder() else { return };
    let vectors = json(&folder.join("globs.json"));
    let vectors = vectors["vectors"].as_array().unwrap();
    let mut wrong = Vec::new();
    for vector in vectors {
        let (glob, path) = (vector["glob"].as_str().unwrap(), vector["path"].as_str().unwrap());
        if telic::domain::glob::matches(glob, path) != vector["match"].as_bool().unwrap() {
            wrong.push(vector.to_string());
        }
    }
    assert!(!vectors.is_empty(), "no vectors found");
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

#[test]
fn network_names_are_read_as_recorded() {
    let Some(folder) = folder() else { return };
    let vectors = json(&folder.join("domains.json"));
    let vectors = vectors["vectors"].as_array().unwrap();
    assert!(vectors.len() > 50, "only {} vectors", vectors.len());
    for vector in vectors {
        let input = vector["input"].as_str().unwrap();
        let found = match vector["kind"].as_str().unwrap() {
            "normalize_domain" => telic::controller::authority::normalize_domain(input),
            "target_host" => telic::controller::authority::target_host(input),
            other => panic!("unknown kind {other}"),
        };
        assert_eq!(found.as_deref(), vector["output"].as_str(), "{vector}");
    }
}
