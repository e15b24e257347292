//! The schemas inside a next action, whole or short.

use super::compact::compact;
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
    /// The required one in few characters, of the others only where they are.
    Compact,
    /// Of each only where it is, for a reader who has them.
    Named,
}

static PUBLISHED: LazyLock<HashMap<Kind, Value>> =
    LazyLock::new(|| Kind::ALL.iter().map(|kind| (*kind, kind.schema())).collect());

/// The published schema of a type, built once.
#[must_use]
pub fn full_schema(kind: Kind) -> Map<String, Value> {
    PUBLISHED.get(&kind).and_then(Value::as_object).cloned().unwrap_or_default()
}

static COMPACT: LazyLock<HashMap<Kind, Map<String, Value>>> = LazyLock::new(|| {
    Kind::ALL.iter().map(|kind| (*kind, compact(kind.as_str(), &full_schema(*kind)))).collect()
});

/// The schema of a type in few characters, complete but for its bounds; built once.
#[must_use]
pub fn compact_schema(kind: Kind) -> Map<String, Value> {
    COMPACT.get(&kind).cloned().unwrap_or_default()
}

/// Says where a whole schema is, instead of writing it.
fn elsewhere(words: &str, kind: Kind) -> Map<String, Value> {
    let place = format!("{words}telic_get_artifact schema:{kind}");
    Map::from_iter([("type".to_owned(), json!("object")), ("description".to_owned(), json!(place))])
}

impl Schemas {
    /// The schema of the required type.
    pub(super) fn required(self, kind: Kind) -> Map<String, Value> {
        match self {
            Self::Full => full_schema(kind),
            // telic_ground_context writes this one; no host ever does.
            Self::Compact if kind == Kind::ContextManifest => {
                elsewhere("made by telic_ground_context; ", kind)
            }
            Self::Compact => compact_schema(kind),
            Self::Named => elsewhere("", kind),
        }
    }

    /// The schema of a type that may be submitted beside it.
    pub(super) fn additional(self, kind: Kind) -> Map<String, Value> {
        match self {
            Self::Full => full_schema(kind),
            Self::Compact | Self::Named => elsewhere("", kind),
        }
    }
}
