//! Writes a published schema in few characters, for hosts that cut long results (`hosts.md`, size of results).
//!
//! What an author needs is kept: every property at every depth, its type, its choices, its patterns, the fewest
//! entries of a list. What all objects and lists of the protocol have in common is said once in words, the shape of
//! permissions is the one that every next action shows, and the upper bounds stay in the whole schema. Definitions
//! used once are put in their place, parts that repeat are shared.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// How each of the three kinds of references begins; what may follow stands in the whole schema.
const REFERENCE: &str = "^(artifact|trace|repo)://";
/// How a reference to an artifact begins.
const ARTIFACT: &str = "^artifact://";

/// Names that are written often, and what they are called here.
const SHORT: [(&str, &str); 6] = [
    ("Identifier", "Id"),
    ("ArtifactUri", "Uri"),
    ("Reference", "Ref"),
    ("ActionCapability", "Capability"),
    ("PermissionSet", "Permissions"),
    ("TaskContractField", "Field"),
];

type Object = Map<String, Value>;

/// The compact form of the schema of `name`.
pub(super) fn compact(name: &str, full: &Object) -> Object {
    let mut defs: Object = full.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    say_in_words(&mut defs);
    let mut body = Value::Object(full.clone());
    if let Value::Object(object) = &mut body {
        object.shift_remove("$schema");
        object.shift_remove("$defs");
    }
    relax(&mut body);
    defs.values_mut().for_each(relax);
    let mut schema = Parts { body, defs };
    schema.place_single_uses();
    schema.share_repeats();
    schema.finish(name, full)
}

/// Replaces definitions that can be said in fewer characters.
fn say_in_words(defs: &mut Object) {
    if let Some(reference) = defs.get_mut("Reference") {
        *reference = json!({ "type": "string", "pattern": REFERENCE });
    }
    if let Some(artifact) = defs.get_mut("ArtifactUri") {
        *artifact = json!({ "type": "string", "pattern": ARTIFACT });
    }
    if let Some(permissions) = defs.get_mut("PermissionSet") {
        *permissions = json!({ "type": "object", "description": "shaped like effectivePermissions" });
    }
}

/// Calls `visit` for every schema directly inside a schema.
fn inner(schema: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let Value::Object(object) = schema else { return };
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(&mut *visit),
            ("anyOf" | "oneOf", Value::Array(entries)) => entries.iter_mut().for_each(&mut *visit),
            ("items" | "additionalProperties", value @ Value::Object(_)) => visit(value),
            _ => {}
        }
    }
}

/// Drops what is said in words or stands in the whole schema only.
fn relax(schema: &mut Value) {
    inner(schema, &mut relax);
    let Value::Object(object) = schema else { return };
    for bound in ["maxLength", "maxItems"] {
        object.shift_remove(bound);
    }
    if object.get("minLength") == Some(&json!(1)) {
        object.shift_remove("minLength");
    }
    if object.contains_key("enum") || object.contains_key("const") {
        object.shift_remove("type");
    }
    if object.get("additionalProperties") == Some(&Value::Bool(false)) {
        object.shift_remove("additionalProperties");
        object.shift_remove("required");
    }
    // What has properties is an object, what has items is a list.
    if object.contains_key("properties") || object.contains_key("items") {
        object.shift_remove("type");
    }
    if let Some(Value::String(pattern)) = object.get_mut("pattern") {
        *pattern = pattern.replace("\\/", "/");
    }
    if let Some(kind) = nullable(object) {
        object.shift_remove("anyOf");
        object.insert("type".into(), json!([kind, "null"]));
    }
}

/// The type of a schema that says `anyOf` that type and null, and nothing more about either.
fn nullable(object: &Object) -> Option<Value> {
    let [one, null] = object.get("anyOf")?.as_array()?.as_slice() else { return None };
    let one = one.as_object().filter(|one| one.len() == 1)?;
    (null == &json!({ "type": "null" })).then(|| one.get("type").cloned()).flatten()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn target(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// A schema taken apart.
struct Parts {
    body: Value,
    defs: Object,
}

impl Parts {
    /// Calls `visit` for the body, every definition and every schema inside them, innermost last.
    fn every(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        fn down(schema: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
            visit(schema);
            inner(schema, &mut |schema| down(schema, visit));
        }
        down(&mut self.body, visit);
        self.defs.values_mut().for_each(|schema| down(schema, visit));
    }

    fn uses(&mut self) -> HashMap<String, usize> {
        let mut uses = HashMap::new();
        self.every(&mut |schema| {
            if let Some(name) = target(schema) {
                *uses.entry(name.to_owned()).or_insert(0) += 1;
            }
        });
        uses
    }

    /// Puts definitions in their place that are used once, or that are no longer than their references.
    fn place_single_uses(&mut self) {
        loop {
            let uses = self.uses();
            let cheap = |(name, schema): (&String, &Value)| {
                let (count, length) = (uses.get(name).copied().unwrap_or(0), length(schema));
                let shared = count * length_of_reference(name) + length + name.len() + 4;
                (count * length <= shared).then(|| name.clone())
            };
            let Some(name) = self.defs.iter().find_map(cheap) else { return };
            let Some(placed) = self.defs.shift_remove(&name) else { return };
            self.every(&mut |schema| {
                if target(schema) == Some(&name) {
                    let mut whole = placed.clone();
                    if let (Value::Object(whole), Value::Object(beside)) = (&mut whole, &*schema) {
                        let beside = beside.iter().filter(|(key, _)| *key != "$ref");
                        whole.extend(beside.map(|(key, value)| (key.clone(), value.clone())));
                    }
                    *schema = whole;
                }
            });
        }
    }

    /// Shares what stands in several places, the part that saves most first.
    fn share_repeats(&mut self) {
        loop {
            let mut counts: HashMap<String, (usize, Value)> = HashMap::new();
            self.every(&mut |schema| {
                if schema.get("$ref").is_none() {
                    counts.entry(schema.to_string()).or_insert_with(|| (0, schema.clone())).0 += 1;
                }
            });
            let saved = |text: &str, count: usize| {
                (count * text.len()).saturating_sub(count * length_of_reference("Refs") + text.len() + 9)
            };
            let best = counts
                .into_iter()
                .map(|(text, (count, schema))| (saved(&text, count), text, schema))
                .max_by(|one, other| (one.0, &other.1).cmp(&(other.0, &one.1)));
            let Some((1.., _, shared)) = best else { return };
            let known = self.defs.iter().find(|(_, schema)| **schema == shared).map(|(name, _)| name.clone());
            let name = known.unwrap_or_else(|| self.free_name(&shared));
            let pointer = reference(&name);
            self.every(&mut |schema| {
                if *schema == shared {
                    *schema = pointer.clone();
                }
            });
            self.defs.insert(name, shared);
        }
    }

    /// A name that says what the list is of, else a number.
    fn free_name(&self, schema: &Value) -> String {
        let of = schema.get("items").map(|items| target(items).map_or("Text", short));
        let some = if schema.get("minItems").is_some() { "Some" } else { "" };
        let wanted = of.map(|of| format!("{some}{of}s"));
        let numbered = (1..).map(|number| format!("Part{number}"));
        let mut names = wanted.into_iter().chain(numbered);
        names.find(|name| !self.defs.contains_key(name)).unwrap_or_default()
    }

    fn finish(mut self, name: &str, full: &Object) -> Object {
        self.every(&mut |schema| {
            if let Some(renamed) = target(schema).map(short).map(reference)
                && let (Value::Object(schema), Some(pointer)) = (schema, renamed.get("$ref"))
            {
                schema.insert("$ref".into(), pointer.clone());
            }
        });
        let words = format!(
            "All properties of all objects are required, no others are allowed. Bounds: schema:{name}"
        );
        let mut schema = Object::from_iter([("description".to_owned(), words.into())]);
        if let Value::Object(body) = self.body {
            schema.extend(body);
        }
        for key in ["type", "required", "additionalProperties"] {
            schema.extend(full.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        let defs: Object = self.defs.into_iter().map(|(name, def)| (short(&name).to_owned(), def)).collect();
        if !defs.is_empty() {
            schema.insert("$defs".into(), Value::Object(defs));
        }
        schema
    }
}

fn length_of_reference(name: &str) -> usize {
    r##"{"$ref":"#/$defs/"}"##.len() + short(name).len()
}

fn short(name: &str) -> &str {
    SHORT.iter().find(|(long, _)| *long == name).map_or(name, |(_, short)| short)
}

#[cfg(test)]
mod tests {
    use super::super::schemas::{compact_schema, full_schema};
    use super::*;
    use crate::protocol::Kind;

    /// A schema with every reference replaced by what it stands for.
    fn expanded(schema: &Value, defs: &Value) -> Value {
        let mut whole = schema.clone();
        if let Some(name) = target(schema) {
            let mut found = defs[name].clone();
            assert!(found.is_object(), "{name} is not defined");
            let beside = schema.as_object().unwrap().iter().filter(|(key, _)| *key != "$ref");
            found.as_object_mut().unwrap().extend(beside.map(|(key, value)| (key.clone(), value.clone())));
            whole = found;
        }
        inner(&mut whole, &mut |part| *part = expanded(part, defs));
        whole
    }

    fn shape(schema: &Object) -> Value {
        let mut defs = schema.get("$defs").cloned().unwrap_or_else(|| json!({}));
        say_in_words(defs.as_object_mut().unwrap());
        let mut body = Value::Object(schema.clone());
        let object = body.as_object_mut().unwrap();
        for key in ["$defs", "$schema", "description"] {
            object.shift_remove(key);
        }
        let mut whole = expanded(&body, &defs);
        relax(&mut whole);
        whole
    }

    #[test]
    fn the_compact_schema_keeps_every_property_type_and_choice() {
        for kind in Kind::ALL {
            assert_eq!(shape(&compact_schema(*kind)), shape(&full_schema(*kind)), "{kind}");
        }
    }

    #[test]
    fn the_compact_schema_of_a_submitted_type_leaves_room_in_a_result_of_ten_thousand_characters() {
        for kind in Kind::ALL {
            let length = Value::Object(compact_schema(*kind)).to_string().len();
            assert!(length <= 5_500, "{kind}: {length}");
        }
    }
}
