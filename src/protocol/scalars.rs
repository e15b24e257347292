//! Strings, numbers and lists with the limits of `protocol.md` 1.4 to 1.7.
//!
//! A limit is part of the type. Values built in code with `from` are checked when the body that holds them
//! is read or validated, as everything is before it is stored.

use super::wire::{Defs, FaultCode, Reader, Wire, wrong_type};
use crate::text::units;
use serde_json::{Value, json};
use std::fmt;
use std::ops::Deref;

/// Declares a string newtype with a check and a schema.
macro_rules! wire_string {
    ($(#[$meta:meta])* pub struct $name:ident; max $max:literal; check $check:path; schema $schema:expr; missing $missing:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The string itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Wire for $name {
            fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
                let Some(Value::String(text)) = value else {
                    if FaultCode::$missing == FaultCode::InvalidType {
                        wrong_type(reader, "a string", value);
                    } else {
                        reader.fault(FaultCode::$missing, "must be an artifact://, trace:// or repo:// reference");
                    }
                    return None;
                };
                // A structural fault (a string that is no reference) leaves nothing to run rules on.
                let before = reader.structural();
                $check(text, $max, reader);
                (reader.structural() == before).then(|| Self(text.clone()))
            }

            fn encode(&self) -> Value {
                Value::String(self.0.clone())
            }

            fn schema(defs: &mut Defs) -> Value {
                defs.share(stringify!($name), |_| $schema)
            }
        }
        crate::wire_serde!($name);
    };
}

fn check_units(text: &str, max: usize, reader: &mut Reader) -> bool {
    let length = units(text);
    if length == 0 {
        reader.fault(FaultCode::TooSmall, "must not be empty");
        return false;
    }
    if length > max {
        reader.fault(FaultCode::TooBig, format!("has {length} units, at most {max} are allowed"));
        return false;
    }
    true
}

fn check_bytes(text: &str, max: usize, reader: &mut Reader) {
    check_units(text, max, reader);
    if text.len() > max {
        reader.fault(
            FaultCode::Custom,
            format!("has {} bytes as UTF-8, at most {max} are allowed", text.len()),
        );
    }
}

/// Whether `text` is an `identifier` (`protocol.md` 1.4): 1 to 128 of `A-Za-z0-9._:-`, the first a letter or digit.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    text.len() <= 128 && is_identifier_form(text)
}

fn is_identifier_form(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
}

fn check_identifier(text: &str, max: usize, reader: &mut Reader) {
    check_units(text, max, reader);
    if !is_identifier_form(text) {
        reader.fault(
            FaultCode::InvalidFormat,
            "must start with a letter or digit and hold only letters, digits and . _ : -",
        );
    }
}

fn check_relative_path(text: &str, max: usize, reader: &mut Reader) {
    check_units(text, max, reader);
    if text.starts_with('/') || text.split('/').any(|segment| segment == "..") {
        reader.fault(FaultCode::Custom, "must be relative to the repository and hold no `..` segment");
    }
}

fn check_absolute_path(text: &str, max: usize, reader: &mut Reader) {
    check_units(text, max, reader);
    if !text.starts_with('/') {
        reader.fault(FaultCode::Custom, "must start with /");
    }
}

fn lower_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn check_sha256(text: &str, _: usize, reader: &mut Reader) {
    if !text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && lower_hex(hex)) {
        reader.fault(FaultCode::InvalidFormat, "must be sha256: and 64 lower-case hex digits");
    }
}

fn check_commit(text: &str, _: usize, reader: &mut Reader) {
    if !((40..=64).contains(&text.len()) && lower_hex(text)) {
        reader.fault(FaultCode::InvalidFormat, "must be 40 to 64 lower-case hex digits");
    }
}

const REFERENCE_SCHEMES: [&str; 3] = ["artifact://", "trace://", "repo://"];

/// The longest reference, in units (`protocol.md` 1.4).
pub const REFERENCE_LIMIT: usize = 2048;

fn is_uri(text: &str, scheme: &str) -> bool {
    text.strip_prefix(scheme).is_some_and(|rest| {
        !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~!$&'()*+,;=:@%/-".contains(&b))
    })
}

/// Whether `text` is a `reference` (`protocol.md` 1.4).
#[must_use]
pub fn is_reference(text: &str) -> bool {
    text.len() <= REFERENCE_LIMIT && REFERENCE_SCHEMES.iter().any(|scheme| is_uri(text, scheme))
}

fn check_uri(text: &str, scheme: &str, max: usize, reader: &mut Reader) {
    check_units(text, max, reader);
    if !is_uri(text, scheme) {
        reader
            .fault(FaultCode::InvalidFormat, format!("must be {scheme} and characters that a URI may hold"));
    }
}

fn check_artifact_uri(text: &str, max: usize, reader: &mut Reader) {
    check_uri(text, "artifact://", max, reader);
}

fn check_trace_uri(text: &str, max: usize, reader: &mut Reader) {
    check_uri(text, "trace://", max, reader);
}

fn check_repository_uri(text: &str, max: usize, reader: &mut Reader) {
    check_uri(text, "repo://", max, reader);
}

fn check_reference(text: &str, _: usize, reader: &mut Reader) {
    if !is_reference(text) {
        reader.fault(FaultCode::InvalidUnion, "must be an artifact://, trace:// or repo:// reference");
    }
}

fn check_timestamp(text: &str, _: usize, reader: &mut Reader) {
    if !is_timestamp(text) {
        reader.fault(
            FaultCode::InvalidFormat,
            "must be a date and time with a zone, as 2026-03-02T09:15:30.250Z",
        );
    }
}

/// Whether `text` has the form of `protocol.md` 1.5 and names a time that exists.
#[must_use]
pub fn is_timestamp(text: &str) -> bool {
    fn number(bytes: &[u8]) -> Option<u32> {
        bytes
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| bytes.iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0')))
    }
    fn parse(bytes: &[u8]) -> Option<bool> {
        let field = |from: usize, to: usize| bytes.get(from..to).and_then(number);
        let mark = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        if !(mark(4, b'-') && mark(7, b'-') && mark(10, b'T') && mark(13, b':')) {
            return Some(false);
        }
        let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return Some(false),
        };
        let (hour, minute) = (field(11, 13)?, field(14, 16)?);
        if day == 0 || day > days || hour > 23 || minute > 59 {
            return Some(false);
        }
        let mut at = 16;
        if mark(at, b':') {
            if field(17, 19)? > 59 {
                return Some(false);
            }
            at = 19;
            if mark(at, b'.') {
                let digits = bytes[20..].iter().take_while(|b| b.is_ascii_digit()).count();
                if digits == 0 {
                    return Some(false);
                }
                at = 20 + digits;
            }
        }
        match bytes.get(at)? {
            b'Z' => Some(bytes.len() == at + 1),
            b'+' | b'-' => Some(
                bytes.len() == at + 6
                    && mark(at + 3, b':')
                    && field(at + 1, at + 3)? <= 23
                    && field(at + 4, at + 6)? <= 59,
            ),
            _ => Some(false),
        }
    }
    parse(text.as_bytes()).unwrap_or(false)
}

const URI_CHARACTERS: &str = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]+$";

fn uri_schema(scheme: &str) -> Value {
    let pattern = format!(r"^{scheme}:\/\/{URI_CHARACTERS}");
    json!({ "type": "string", "minLength": 1, "maxLength": REFERENCE_LIMIT, "pattern": pattern })
}

/// The pattern of the published schemas for a timestamp.
const TIMESTAMP_PATTERN: &str = r"^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$";

wire_string! {
    /// Names an artifact, a run, a node, a criterion: 1 to 128 of `A-Za-z0-9._:-`.
    pub struct Identifier; max 128; check check_identifier;
    schema json!({ "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]*$" });
    missing InvalidType
}
wire_string! {
    /// Prose: 1 to 32,768 units and at most 32,768 bytes.
    pub struct Text; max 32768; check check_bytes;
    schema json!({ "type": "string", "minLength": 1, "maxLength": 32768 }); missing InvalidType
}
wire_string! {
    /// Short prose: 1 to 4,096 units and at most 4,096 bytes.
    pub struct Summary; max 4096; check check_bytes;
    schema json!({ "type": "string", "minLength": 1, "maxLength": 4096 }); missing InvalidType
}
wire_string! {
    /// A path below the repository root; `..` segments are refused, nothing is normalised.
    pub struct RelativePath; max 1024; check check_relative_path;
    schema json!({ "type": "string", "minLength": 1, "maxLength": 1024 }); missing InvalidType
}
wire_string! {
    /// A path that starts with `/`; nothing else is checked.
    pub struct AbsolutePath; max 4096; check check_absolute_path;
    schema json!({ "type": "string", "minLength": 1, "maxLength": 4096 }); missing InvalidType
}
wire_string! {
    /// `sha256:` and 64 lower-case hex digits.
    pub struct Sha256; max 71; check check_sha256;
    schema json!({ "type": "string", "pattern": "^sha256:[a-f0-9]{64}$" }); missing InvalidType
}
wire_string! {
    /// A git commit: 40 to 64 lower-case hex digits.
    pub struct Commit; max 64; check check_commit;
    schema json!({ "type": "string", "pattern": "^[a-f0-9]{40,64}$" }); missing InvalidType
}
wire_string! {
    /// `artifact://<run>/<artifact>`.
    pub struct ArtifactUri; max 2048; check check_artifact_uri; schema uri_schema("artifact"); missing InvalidType
}
wire_string! {
    /// `trace://<run>`.
    pub struct TraceUri; max 2048; check check_trace_uri; schema uri_schema("trace"); missing InvalidType
}
wire_string! {
    /// `repo://` and a path whose segments are percent-encoded.
    pub struct RepositoryUri; max 2048; check check_repository_uri; schema uri_schema("repo"); missing InvalidType
}
wire_string! {
    /// An artifact, trace or repository URI.
    pub struct Reference; max 2048; check check_reference;
    schema json!({ "anyOf": [uri_schema("artifact"), uri_schema("trace"), uri_schema("repo")] });
    missing InvalidUnion
}
wire_string! {
    /// A point in time, kept as it came in (`protocol.md` 1.5).
    pub struct Timestamp; max 64; check check_timestamp;
    schema json!({ "type": "string", "format": "date-time", "pattern": TIMESTAMP_PATTERN }); missing InvalidType
}

/// A string of 1 to `MAX` units, any characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str<const MAX: usize>(String);

impl<const MAX: usize> Deref for Str<MAX> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize, T: Into<String>> From<T> for Str<MAX> {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl<const MAX: usize> fmt::Display for Str<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<const MAX: usize> Wire for Str<MAX> {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::String(text)) = value else {
            wrong_type(reader, "a string", value);
            return None;
        };
        check_units(text, MAX, reader);
        Some(Self(text.clone()))
    }

    fn encode(&self) -> Value {
        Value::String(self.0.clone())
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

/// A whole number from `MIN` to `MAX`, whatever its notation (`protocol.md` 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// The number.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

impl<const MIN: i64, const MAX: i64> From<i64> for Int<MIN, MAX> {
    fn from(number: i64) -> Self {
        Self(number)
    }
}

impl<const MIN: i64, const MAX: i64> fmt::Display for Int<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MIN: i64, const MAX: i64> Wire for Int<MIN, MAX> {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::Number(number)) = value else {
            wrong_type(reader, "a whole number", value);
            return None;
        };
        let Some(whole) = whole_number(number) else {
            reader.fault(FaultCode::InvalidType, "must be a whole number");
            return None;
        };
        if whole < MIN {
            reader.fault(FaultCode::TooSmall, format!("must be {MIN} or more"));
        } else if whole > MAX {
            reader.fault(FaultCode::TooBig, format!("must be {MAX} or less"));
        }
        Some(Self(whole))
    }

    fn encode(&self) -> Value {
        self.0.into()
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// The whole number that a JSON number is, saturated at the ends of `i64`; nothing when it has a fraction.
#[must_use]
pub fn whole_number(number: &serde_json::Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let double = number.as_f64()?;
    // A float to integer cast saturates, which is right here: both ends lie outside every limit.
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is zero and the cast saturates")]
    (double.is_finite() && double.fract() == 0.0).then_some(double as i64)
}

/// A finite number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number<const MIN: i64, const MAX: i64>(f64);

impl<const MIN: i64, const MAX: i64> Number<MIN, MAX> {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl<const MIN: i64, const MAX: i64> From<f64> for Number<MIN, MAX> {
    fn from(number: f64) -> Self {
        Self(number)
    }
}

impl<const MIN: i64, const MAX: i64> Wire for Number<MIN, MAX> {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::Number(number)) = value else {
            wrong_type(reader, "a number", value);
            return None;
        };
        let double = number.as_f64().filter(|double| double.is_finite());
        let Some(double) = double else {
            reader.fault(FaultCode::InvalidType, "must be a finite number");
            return None;
        };
        #[expect(clippy::cast_precision_loss, reason = "the limits are small whole numbers")]
        if double < MIN as f64 {
            reader.fault(FaultCode::TooSmall, format!("must be {MIN} or more"));
        } else if double > MAX as f64 {
            reader.fault(FaultCode::TooBig, format!("must be {MAX} or less"));
        }
        Some(Self(double))
    }

    fn encode(&self) -> Value {
        // Whole doubles are written as integers, so that a body reads as its author wrote it.
        match whole_number(&serde_json::Number::from_f64(self.0).unwrap_or_else(|| 0.into())) {
            Some(whole) => whole.into(),
            None => json!(self.0),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "number", "minimum": MIN, "maximum": MAX })
    }
}

/// A list of `MIN` to `MAX` entries, 0 to 256 unless a table says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T, const MIN: usize = 0, const MAX: usize = 256>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> Default for List<T, MIN, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MIN: usize, const MAX: usize> Deref for List<T, MIN, MAX> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T, const MIN: usize, const MAX: usize> From<Vec<T>> for List<T, MIN, MAX> {
    fn from(entries: Vec<T>) -> Self {
        Self(entries)
    }
}

impl<T, const MIN: usize, const MAX: usize> FromIterator<T> for List<T, MIN, MAX> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<'a, T, const MIN: usize, const MAX: usize> IntoIterator for &'a List<T, MIN, MAX> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Wire, const MIN: usize, const MAX: usize> Wire for List<T, MIN, MAX> {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::Array(entries)) = value else {
            wrong_type(reader, "a list", value);
            return None;
        };
        let mut decoded = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            decoded.extend(reader.entry(index, |reader| T::decode(Some(entry), reader)));
        }
        if entries.len() < MIN {
            reader.fault(
                FaultCode::TooSmall,
                format!("has {} entries, at least {MIN} are needed", entries.len()),
            );
        } else if entries.len() > MAX {
            reader.fault(
                FaultCode::TooBig,
                format!("has {} entries, at most {MAX} are allowed", entries.len()),
            );
        }
        (decoded.len() == entries.len()).then_some(Self(decoded))
    }

    fn encode(&self) -> Value {
        Value::Array(self.0.iter().map(Wire::encode).collect())
    }

    fn schema(defs: &mut Defs) -> Value {
        let mut schema = json!({ "type": "array", "items": T::schema(defs), "maxItems": MAX });
        if MIN > 0 {
            schema["minItems"] = MIN.into();
        }
        schema
    }
}

/// Any string, also an empty one, without a limit of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnyText(pub String);

impl Deref for AnyText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for AnyText {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Wire for AnyText {
    fn decode(value: Option<&Value>, reader: &mut Reader) -> Option<Self> {
        let Some(Value::String(text)) = value else {
            wrong_type(reader, "a string", value);
            return None;
        };
        Some(Self(text.clone()))
    }

    fn encode(&self) -> Value {
        Value::String(self.0.clone())
    }

    fn schema(_: &mut Defs) -> Value {
        json!({ "type": "string" })
    }
}
