//! The references that are stored with an artifact (`controller.md` 6.2).

use super::REFERENCES_LIMIT;
use crate::controller::error::{Code, Refusal};
use crate::controller::view::RunView;
use crate::protocol::is_reference;
use serde_json::Value;
use std::collections::HashSet;

/// Deepest nesting that is searched.
const DEPTH_LIMIT: usize = 64;

/// The caller's references in their order, then those of the body, each once. Left out are parts of the protocol
/// and artifacts that this run does not have.
///
/// # Errors
/// C-RF-2 for a reference that is repeated or none at all; C-SB-14 for more than 256 in all.
pub fn effective_refs(view: &RunView, encoded: &Value, given: &[String]) -> Result<Vec<String>, Refusal> {
    let mut seen: HashSet<&str> = HashSet::new();
    for (index, reference) in given.iter().enumerate() {
        let fault = if !is_reference(reference) {
            "is no artifact://, trace:// or repo:// reference"
        } else if !seen.insert(reference) {
            "is given twice"
        } else {
            continue;
        };
        let shown = crate::text::cut_units(reference, 200);
        let message = format!("the source reference {shown:?} {fault}");
        return Err(
            Refusal::new(Code::SourceRefsInvalid, "C-RF-2", message).at(format!("sourceRefs[{index}]"))
        );
    }
    let mut refs = given.to_vec();
    let mut in_body = Vec::new();
    collect(encoded, None, 0, &mut in_body);
    for reference in in_body {
        let foreign = reference.starts_with("artifact://") && view.resolve(reference).is_none();
        if !foreign && seen.insert(reference) {
            refs.push(reference.to_owned());
        }
    }
    if refs.len() > REFERENCES_LIMIT {
        let message =
            format!("{} references are cited, at most {REFERENCES_LIMIT} can be stored", refs.len());
        return Err(Refusal::new(Code::SourceRefsLimit, "C-SB-14", message).with("limit", REFERENCES_LIMIT));
    }
    Ok(refs)
}

fn collect<'a>(value: &'a Value, key: Option<&str>, depth: usize, found: &mut Vec<&'a str>) {
    if depth > DEPTH_LIMIT {
        return;
    }
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| collect(value, Some(key), depth + 1, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, key, depth + 1, found)),
        Value::String(text) => {
            let named = key.is_some_and(|key| {
                key == "ref" || key == "evidenceInspected" || key.ends_with("Ref") || key.ends_with("Refs")
            });
            if named && is_reference(text) {
                found.push(text);
            }
        }
        _ => {}
    }
}
