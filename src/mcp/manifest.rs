//! A manifest in few characters, for a result that must stay short (`hosts.md`, size of results).

use serde_json::{Map, Value, json};

/// What of a candidate a model needs to choose what to read.
const KEPT: [&str; 4] = ["ref", "byteSize", "score", "pinned"];
/// Lists of a manifest that grow with the repository.
const LISTS: [&str; 3] = ["candidates", "derivedRefs", "pinnedRefs"];

/// The manifest as it is where it fits into `room` characters. Else each candidate is shown by what a reader chooses
/// by, then fewer of them, the best first; a sentence says where the whole one is.
pub(super) fn fitted(manifest: Value, room: usize) -> Value {
    if length(&manifest) <= room {
        return manifest;
    }
    let Value::Object(mut manifest) = manifest else { return manifest };
    let id = manifest.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let total = manifest.get("candidates").and_then(Value::as_array).map_or(0, Vec::len);
    if let Some(Value::Array(candidates)) = manifest.get_mut("candidates") {
        candidates.iter_mut().for_each(shorten);
    }
    let note =
        |shown: usize| json!(format!("{shown} of {total} sources; the whole: telic_get_artifact {id}"));
    manifest.insert("shortened".into(), note(total));
    let mut shown = total;
    while shown > 0 && length_of(&manifest) > room {
        // A few at a time: the result need not be filled to the last character.
        shown = shown - shown.div_ceil(16);
        for list in LISTS {
            if let Some(Value::Array(entries)) = manifest.get_mut(list) {
                entries.truncate(shown);
            }
        }
        manifest.insert("shortened".into(), note(shown));
    }
    Value::Object(manifest)
}

fn shorten(candidate: &mut Value) {
    if let Value::Object(candidate) = candidate {
        candidate.retain(|key, _| KEPT.contains(&key.as_str()));
    }
}

fn length(value: &Value) -> usize {
    value.to_string().chars().count()
}

fn length_of(object: &Map<String, Value>) -> usize {
    serde_json::to_string(object).map_or(0, |text| text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(count: usize) -> Value {
        let candidate = |n: usize| {
            json!({ "id": format!("candidate-{n:04}"), "ref": format!("repo://src/{n}.rs"),
                "contentHash": "sha256:0", "score": 1000 - n, "pinned": n == 0, "byteSize": n })
        };
        let derived = |n: usize| json!(format!("artifact://run_1/context-document-{n}"));
        json!({ "id": "context-1", "candidates": (0..count).map(candidate).collect::<Vec<_>>(),
            "derivedRefs": (0..count).map(derived).collect::<Vec<_>>(), "pinnedRefs": ["repo://src/0.rs"] })
    }

    #[test]
    fn a_manifest_that_fits_is_left_as_it_is() {
        assert_eq!(fitted(manifest(3), 2_000), manifest(3));
    }

    #[test]
    fn a_long_manifest_shows_its_best_sources_and_where_the_whole_one_is() {
        let short = fitted(manifest(80), 2_000);
        assert!(length(&short) <= 2_000);
        let candidates = short["candidates"].as_array().unwrap();
        assert_eq!(
            candidates[0],
            json!({ "ref": "repo://src/0.rs", "score": 1000, "pinned": true, "byteSize": 0 })
        );
        assert!((5..80).contains(&candidates.len()), "{}", candidates.len());
        let note = short["shortened"].as_str().unwrap();
        assert_eq!(
            note,
            format!("{} of 80 sources; the whole: telic_get_artifact context-1", candidates.len())
        );
    }
}
