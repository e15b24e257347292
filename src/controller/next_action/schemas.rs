//! The schemas inside a next action, whole or short.

use crate::protocol::Kind;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How the schemas inside a next action are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schemas {
    /// The published schemas whole, as the protocol has them.
    #[default]
    Full,
    /// The required one complete without what every reader knows; of the others only where they are.
    Compact,
}

static PUBLISHED: LazyLock<HashMap<Kind, Value>> =
    LazyLock::new(|| Kind::ALL.iter().map(|kind| (*kind, kind.schema())).collect());

/// The published schema of a type, built once.
#[must_use]
pub fn full_schema(kind: Kind) -> Map<String, Value> {
    PUBLISHED.get(&kind).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The schema of a type without titles and without the name of its dialect.
#[must_use]
pub fn compact_schema(kind: Kind) -> Map<String, Value> {
    let mut schema = full_schema(kind);
    schema.shift_remove("$schema");
    schema.values_mut().for_each(drop_titles);
    schema
}

/// Titles are dropped where they are annotations, not where `title` names a property.
fn drop_titles(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("title").is_some_and(Value::is_string) {
                object.shift_remove("title");
            }
            object.values_mut().for_each(drop_titles);
        }
        Value::Array(entries) => entries.iter_mut().for_each(drop_titles),
        _ => {}
    }
}

impl Schemas {
    /// The schema of the required type.
    pub(super) fn required(self, kind: Kind) -> Map<String, Value> {
        match self {
            Self::Full => full_schema(kind),
            Self::Compact => compact_schema(kind),
        }
    }

    /// The schema of a type that may be submitted beside it.
    pub(super) fn additional(self, kind: Kind) -> Map<String, Value> {
        match self {
            Self::Full => full_schema(kind),
            Self::Compact => {
                let place = format!("whole schema: telic_get_artifact with artifact_id schema:{kind}");
                let short = json!({ "type": "object", "description": place });
                short.as_object().cloned().unwrap_or_default()
            }
        }
    }
}
