//! How a body is read: one table per object decodes it, encodes it and publishes its schema.
//!
//! [`wire_object!`](crate::wire_object), [`wire_enum!`](crate::wire_enum) and
//! [`wire_choice!`](crate::wire_choice) turn a field table into a Rust type with all three. Faults are
//! reported in the order of `protocol.md` 1.9: a body's first fault has a fixed path.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt;

/// The code of a fault (`protocol.md` 1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// Wrong JSON type, missing field, number not whole or not finite.
    InvalidType,
    /// Literal or enum value that is wrong or missing.
    InvalidValue,
    /// A reference or a discriminator that is wrong or missing.
    InvalidUnion,
    /// Keys that the object's table does not have.
    UnrecognizedKeys,
    /// Fewer units or entries, or a smaller number, than allowed.
    TooSmall,
    /// More units or entries, or a larger number, than allowed.
    TooBig,
    /// A pattern or a timestamp.
    InvalidFormat,
    /// A key of a map.
    InvalidKey,
    /// A byte limit, a path rule, or a rule with an id.
    Custom,
}

impl FaultCode {
    /// The code as it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidType => "invalid_type",
            Self::InvalidValue => "invalid_value",
            Self::InvalidUnion => "invalid_union",
            Self::UnrecognizedKeys => "unrecognized_keys",
            Self::TooSmall => "too_small",
            Self::TooBig => "too_big",
            Self::InvalidFormat => "invalid_format",
            Self::InvalidKey => "invalid_key",
            Self::Custom => "custom",
        }
    }

    /// Whether the rules of an object that holds such a fault are skipped (`protocol.md` 1.9).
    fn is_structural(self) -> bool {
        matches!(self, Self::InvalidType | Self::InvalidValue | Self::InvalidUnion | Self::UnrecognizedKeys)
    }
}

/// One thing wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Keys and zero-based indexes from the body down, joined with dots; empty for the body itself.
    pub path: String,
    /// What kind of fault it is.
    pub code: FaultCode,
    /// What is wrong and what would be right.
    pub message: String,
    /// The rule of `protocol.md` that it breaks, where it has an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the body" } else { &self.path };
        write!(f, "{place}: {}", self.message)?;
        if let Some(rule) = self.rule {
            write!(f, " ({rule})")?;
        }
        Ok(())
    }
}

/// Collects faults while a body is read, and knows where the reader stands.
#[derive(Default)]
pub struct Reader {
    path: Vec<Step>,
    faults: Vec<Fault>,
    structural: usize,
}

enum Step {
    Key(&'static str),
    Entry(usize),
    Named(String),
}

impl Reader {
    /// Everything that was wrong, in order.
    #[must_use]
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    /// How many faults so far keep the rules of the surrounding objects from running.
    #[must_use]
    pub fn structural(&self) -> usize {
        self.structural
    }

    /// Reports a fault where the reader stands.
    pub fn fault(&mut self, code: FaultCode, message: impl Into<String>) {
        self.push("", code, message.into(), None);
    }

    /// Reports a broken rule at `path`, relative to the object that is being read.
    pub fn rule(&mut self, id: &'static str, path: &str, message: impl Into<String>) {
        self.push(path, FaultCode::Custom, message.into(), Some(id));
    }

    /// Reads below a field.
    pub fn within<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(Step::Key(key));
        let result = read(self);
        self.path.pop();
        result
    }

    /// Reads below an entry of a list.
    pub fn entry<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(Step::Entry(index));
        let result = read(self);
        self.path.pop();
        result
    }

    /// Reads below a key that the body chose.
    pub fn named<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(Step::Named(key.to_owned()));
        let result = read(self);
        self.path.pop();
        result
    }

    fn push(&mut self, below: &str, code: FaultCode, message: String, rule: Option<&'static str>) {
        let mut path = String::new();
        for step in &self.path {
            if !path.is_empty() {
                path.push('.');
            }
            match step {
                Step::Key(key) => path.push_str(key),
                Step::Entry(index) => path.push_str(&index.to_string()),
                Step::Named(key) => path.push_str(key),
            }
        }
        if !below.is_empty() {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(below);
        }
        self.structural += usize::from(code.is_structural());
        self.faults.push(Fault { path, code, message, rule });
    }
}

/// Shared parts of a schema, published once under `$defs`.
#[derive(Default)]
pub struct Defs(Map<String, Value>);

impl Defs {
    /// A reference to the definition `name`, which is built on first use.
    pub fn share(&mut self, name: &str, build: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Value::Null);
            let schema = build(self);
            self.0.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// The definitions that were shared.
    #[must_use]
    pub fn into_map(self) -> Map<String, Value> {
        self.0
    }

    /// Takes a definition out again, to publish it at the root.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }
}

/// A value that can be read from a body, written back, and described by a schema.
pub trait Wire: Sized {
    /// Reads a value; `None` stands for a missing key. Returns nothing after a structural fault; after a
    /// fault of length, count, range or format it still returns what it read, so that rules can run.
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self>;

    /// The value as JSON, fields in the order of their table.
    fn encode(&self) -> Value;

    /// The JSON Schema (draft 2020-12) of the value.
    fn schema(defs: &mut Defs) -> Value;
}

/// Names the JSON type of a value for a message.
#[must_use]
pub fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Reports that a value is not of the type that its field has.
pub fn wrong_type(reader: &mut Reader, expected: &str, value: Option<&Value>) {
    let message = match value {
        None => format!("is missing; it must be {expected}"),
        Some(_) => format!("must be {expected}, not {}", type_name(value)),
    };
    reader.fault(FaultCode::InvalidType, message);
}

impl Wire for bool {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        match value {
            Some(Value::Bool(flag)) => Some(*flag),
            other => {
                wrong_type(reader, "a boolean", other);
                None
            }
        }
    }

    fn encode(&self) -> Value {
        Value::Bool(*self)
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "boolean" })
    }
}

/// Required and nullable: a missing key is a fault, `null` is not (`protocol.md` 1.3).
impl<T: Wire> Wire for Option<T> {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        match value {
            Some(Value::Null) => Some(None),
            other => T::decode(other, reader).map(Some),
        }
    }

    fn encode(&self) -> Value {
        self.as_ref().map_or(Value::Null, Wire::encode)
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({ "anyOf": [T::schema(defs), { "type": "null" }] })
    }
}

/// Reports the keys of an object that its table does not have.
pub fn unknown_keys(reader: &mut Reader, object: &Map<String, Value>, known: &[&str]) {
    let unknown: Vec<&str> = object.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        let names = unknown.iter().take(8).map(|key| format!("{:?}", crate::text::cut_units(key, 64)));
        let names: Vec<String> = names.collect();
        reader.fault(FaultCode::UnrecognizedKeys, format!("has unknown keys: {}", names.join(", ")));
    }
}

/// Implements serde's traits through [`Wire`], so that a type is read in one way only.
#[macro_export]
macro_rules! wire_serde {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&$crate::protocol::wire::Wire::encode(self), serializer)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                $crate::protocol::wire::read(&value).map_err(|faults| {
                    serde::de::Error::custom(faults.first().map_or_else(String::new, ToString::to_string))
                })
            }
        }
    };
}

/// Reads a whole value.
///
/// # Errors
/// All faults, in the order of `protocol.md` 1.9.
pub fn read<T: Wire>(value: &Value) -> Result<T, Vec<Fault>> {
    let mut reader = Reader::default();
    let decoded = T::decode(Some(value), &mut reader);
    let faults = reader.into_faults();
    match decoded {
        Some(decoded) if faults.is_empty() => Ok(decoded),
        _ => Err(faults),
    }
}

/// The published schema of a type: draft 2020-12, shared parts under `$defs`.
#[must_use]
pub fn schema<T: Wire>() -> Value {
    let mut defs = Defs::default();
    let reference = T::schema(&mut defs);
    let name = reference.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    let body = name.and_then(|name| defs.take(name)).unwrap_or(reference);
    let mut root = Map::new();
    root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    if let Value::Object(body) = body {
        root.extend(body);
    }
    let defs = defs.into_map();
    if !defs.is_empty() {
        root.insert("$defs".into(), Value::Object(defs));
    }
    Value::Object(root)
}

/// Declares a closed object from its field table.
///
/// A field is `name: "wireName" => Type;` or, for the five optional ones, `name: "wireName" => Type, default json;`.
/// After the struct, `rules PATH;` names a function `fn(&Self, &mut Reader)` with the rules of the object; it
/// runs only when nothing inside the object is structurally wrong.
#[macro_export]
macro_rules! wire_object {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident : $key:literal => $type:ty $(, default $default:tt)?;)*
    } $(rules $rules:path;)?) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl $crate::protocol::wire::Wire for $name {
            fn decode(
                value: Option<&serde_json::Value>,
                reader: &mut $crate::protocol::wire::Reader,
            ) -> Option<Self> {
                let Some(serde_json::Value::Object(object)) = value else {
                    $crate::protocol::wire::wrong_type(reader, "an object", value);
                    return None;
                };
                let before = reader.structural();
                $(
                    let given = object.get($key);
                    $(
                        let default = serde_json::json!($default);
                        let given = given.or(Some(&default));
                    )?
                    let $field = reader.within($key, |reader| <$type as $crate::protocol::wire::Wire>::decode(given, reader));
                )*
                $crate::protocol::wire::unknown_keys(reader, object, &[$($key),*]);
                let decoded = Self { $($field: $field?,)* };
                if reader.structural() != before {
                    return None;
                }
                $( $rules(&decoded, reader); )?
                Some(decoded)
            }

            fn encode(&self) -> serde_json::Value {
                let mut object = serde_json::Map::new();
                $( object.insert($key.to_owned(), $crate::protocol::wire::Wire::encode(&self.$field)); )*
                serde_json::Value::Object(object)
            }

            fn schema(defs: &mut $crate::protocol::wire::Defs) -> serde_json::Value {
                defs.share(stringify!($name), |defs| {
                    let mut properties = serde_json::Map::new();
                    $(
                        #[allow(unused_mut)]
                        let mut field = <$type as $crate::protocol::wire::Wire>::schema(defs);
                        $( field["default"] = serde_json::json!($default); )?
                        properties.insert($key.to_owned(), field);
                    )*
                    serde_json::json!({
                        "type": "object",
                        "properties": properties,
                        "required": [$($key),*],
                        "additionalProperties": false,
                    })
                })
            }
        }
        $crate::wire_serde!($name);
    };
}

/// Declares an enum of fixed strings, in the order of the published schema.
#[macro_export]
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_meta])* #[doc = concat!("`", $text, "`")] $variant,)* }

        impl $name {
            /// Every value, in the order of the published schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value as it is written on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("must be one of {}", [$($text),*].join(", "))),
                }
            }
        }

        impl $crate::protocol::wire::Wire for $name {
            fn decode(
                value: Option<&serde_json::Value>,
                reader: &mut $crate::protocol::wire::Reader,
            ) -> Option<Self> {
                let found = value.and_then(serde_json::Value::as_str).and_then(|text| text.parse().ok());
                if found.is_none() {
                    let message = format!("must be one of {}", [$($text),*].join(", "));
                    reader.fault($crate::protocol::wire::FaultCode::InvalidValue, message);
                }
                found
            }

            fn encode(&self) -> serde_json::Value {
                self.as_str().into()
            }

            fn schema(defs: &mut $crate::protocol::wire::Defs) -> serde_json::Value {
                defs.share(stringify!($name), |_| serde_json::json!({ "type": "string", "enum": [$($text),*] }))
            }
        }
        $crate::wire_serde!($name);
    };
}

/// Declares a type with one value only, for literal fields and discriminators.
#[macro_export]
macro_rules! wire_literal {
    ($(#[$meta:meta])* pub struct $name:ident = $kind:literal $value:literal;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl $crate::protocol::wire::Wire for $name {
            fn decode(
                value: Option<&serde_json::Value>,
                reader: &mut $crate::protocol::wire::Reader,
            ) -> Option<Self> {
                let same = value.is_some_and(|value| $crate::protocol::wire::same_literal(value, &serde_json::json!($value)));
                if !same {
                    let message = format!("must be {}", serde_json::json!($value));
                    reader.fault($crate::protocol::wire::FaultCode::InvalidValue, message);
                }
                same.then_some(Self)
            }

            fn encode(&self) -> serde_json::Value {
                serde_json::json!($value)
            }

            fn schema(_: &mut $crate::protocol::wire::Defs) -> serde_json::Value {
                serde_json::json!({ "type": $kind, "const": $value })
            }
        }
    };
}

/// Whether a value is a literal; numbers are compared by value (`1.0` is `1`).
#[must_use]
pub fn same_literal(value: &Value, literal: &Value) -> bool {
    match (value.as_f64(), literal.as_f64()) {
        (Some(value), Some(literal)) => value.total_cmp(&literal).is_eq(),
        _ => value == literal,
    }
}

/// Declares a choice between closed objects, told apart by a discriminator field.
#[macro_export]
macro_rules! wire_choice {
    ($(#[$meta:meta])* pub enum $name:ident by $key:literal { $($(#[$variant_meta:meta])* $variant:ident($type:ty) = $value:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name { $($(#[$variant_meta])* $variant($type),)* }

        impl $crate::protocol::wire::Wire for $name {
            fn decode(
                value: Option<&serde_json::Value>,
                reader: &mut $crate::protocol::wire::Reader,
            ) -> Option<Self> {
                let Some(serde_json::Value::Object(object)) = value else {
                    $crate::protocol::wire::wrong_type(reader, "an object", value);
                    return None;
                };
                let given = object.get($key);
                $(
                    if given == Some(&serde_json::json!($value)) {
                        return <$type as $crate::protocol::wire::Wire>::decode(value, reader).map(Self::$variant);
                    }
                )*
                reader.within($key, |reader| {
                    let message = format!("must be one of {}", [$(serde_json::json!($value).to_string()),*].join(", "));
                    reader.fault($crate::protocol::wire::FaultCode::InvalidUnion, message);
                });
                None
            }

            fn encode(&self) -> serde_json::Value {
                match self { $(Self::$variant(inner) => $crate::protocol::wire::Wire::encode(inner),)* }
            }

            fn schema(defs: &mut $crate::protocol::wire::Defs) -> serde_json::Value {
                defs.share(stringify!($name), |defs| {
                    serde_json::json!({ "oneOf": [$(<$type as $crate::protocol::wire::Wire>::schema(defs)),*] })
                })
            }
        }
        $crate::wire_serde!($name);
    };
}
