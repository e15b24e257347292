//! The two open objects of the protocol: a JSON Schema, and a map of them.

use super::wire::{Defs, FaultCode, Reader, Wire, wrong_type};
use crate::text::units;
use serde_json::{Map, Value, json};

/// A JSON object with free content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenObject(pub Map<String, Value>);

impl Wire for OpenObject {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::Object(object)) = value else {
            wrong_type(reader, "an object", value);
            return None;
        };
        Some(Self(object.clone()))
    }

    fn encode(&self) -> Value {
        Value::Object(self.0.clone())
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "object", "propertyNames": { "type": "string" }, "additionalProperties": {} })
    }
}

/// Type names to JSON Schemas; a key has 1 to 128 units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaMap(pub Map<String, Value>);

impl Wire for SchemaMap {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::Object(object)) = value else {
            wrong_type(reader, "an object", value);
            return None;
        };
        let before = reader.structural();
        for (key, entry) in object {
            reader.named(key, |reader| {
                if !(1..=128).contains(&units(key)) {
                    reader.fault(FaultCode::InvalidKey, "a key must have 1 to 128 units");
                }
                OpenObject::decode(Some(entry), reader);
            });
        }
        (reader.structural() == before).then(|| Self(object.clone()))
    }

    fn encode(&self) -> Value {
        Value::Object(self.0.clone())
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({
            "type": "object",
            "propertyNames": { "type": "string", "minLength": 1, "maxLength": 128 },
            "additionalProperties": OpenObject::schema(defs),
        })
    }
}
