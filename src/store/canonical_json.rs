//! Canonical JSON: the text that digests are taken over (`store.md` 5).
//!
//! This file owns the order of keys, the printing of numbers and strings, and the two ways in: a parsed
//! `serde_json::Value`, and raw text ([`canonical_text`]), which also takes what no Rust `String` can hold
//! (unpaired surrogates). Reading raw text is `json_text`'s part.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;
use thiserror::Error;

use super::Digest;
use super::json_text::{self, Json, Text};

/// Levels of nesting that are read and written; deeper values are refused.
pub const MAX_DEPTH: usize = 512;

/// Why a value has no canonical text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CanonicalError {
    /// The text is not JSON (RFC 8259).
    #[error("not JSON at byte {at}: {reason}")]
    NotJson {
        /// Byte offset of the trouble.
        at: usize,
        /// What was expected.
        reason: &'static str,
    },
    /// A number does not fit a double.
    #[error("a number overflows a double")]
    Overflow,
    /// The value is nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// The canonical text of a parsed value.
///
/// # Errors
/// [`CanonicalError::Overflow`] and [`CanonicalError::TooDeep`].
pub fn canonical(value: &Value) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(256);
    write_value(&mut out, value, 0)?;
    Ok(out)
}

/// The canonical text of raw JSON text, unpaired surrogate escapes included.
///
/// # Errors
/// Any [`CanonicalError`].
pub fn canonical_text(text: &[u8]) -> Result<String, CanonicalError> {
    canonical_json(&json_text::parse(text)?)
}

/// The digest of canonical text (of any bytes).
#[must_use]
pub fn digest(text: &[u8]) -> Digest {
    Digest::of(text)
}

pub(super) fn canonical_json(json: &Json) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(256);
    write_json(&mut out, json)?;
    Ok(out)
}

fn write_value(out: &mut String, value: &Value, depth: usize) -> Result<(), CanonicalError> {
    if depth > MAX_DEPTH {
        return Err(CanonicalError::TooDeep);
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number.as_f64().ok_or(CanonicalError::Overflow)?)?,
        Value::String(text) => write_str(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item, depth + 1)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().filter(|(key, _)| *key != PROTO).collect();
            members.sort_by(|(a, _), (b, _)| key_order(a, b));
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_str(out, key);
                out.push(':');
                write_value(out, member, depth + 1)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Writes a value read by `json_text`, which has bounded its depth.
fn write_json(out: &mut String, json: &Json) -> Result<(), CanonicalError> {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => write_number(out, *number)?,
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item)?;
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<&(Text, Json)> = members.iter().filter(|(key, _)| !key.is(PROTO)).collect();
            // Stable: of equal keys the last in the text comes last, and it is the one that counts (5.1).
            members.sort_by(|(a, _), (b, _)| text_order(a, b));
            out.push('{');
            let mut first = true;
            for (index, (key, member)) in members.iter().enumerate() {
                if members.get(index + 1).is_some_and(|(next, _)| next == key) {
                    continue;
                }
                if !first {
                    out.push(',');
                }
                first = false;
                write_text(out, key);
                out.push(':');
                write_json(out, member)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// The key that is dropped at every depth (5.2, rule 1).
const PROTO: &str = "__proto__";

/// The number of an index key (5.2, rule 2).
fn index_key(key: &str) -> Option<u32> {
    let bytes = key.as_bytes();
    if bytes.is_empty()
        || bytes.len() > 10
        || !bytes.iter().all(u8::is_ascii_digit)
        || (bytes[0] == b'0' && key != "0")
    {
        return None;
    }
    key.parse::<u32>().ok().filter(|number| *number != u32::MAX)
}

fn key_order(a: &str, b: &str) -> Ordering {
    match (index_key(a), index_key(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) if a.is_ascii() && b.is_ascii() => a.cmp(b),
        (None, None) => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

fn text_order(a: &Text, b: &Text) -> Ordering {
    match (a, b) {
        (Text::Plain(a), Text::Plain(b)) => key_order(a, b),
        (Text::Plain(a), Text::Units(b)) => {
            if index_key(a).is_some() {
                Ordering::Less
            } else {
                a.encode_utf16().cmp(b.iter().copied())
            }
        }
        (Text::Units(_), Text::Plain(_)) => text_order(b, a).reverse(),
        (Text::Units(a), Text::Units(b)) => a.cmp(b),
    }
}

fn write_number(out: &mut String, number: f64) -> Result<(), CanonicalError> {
    if !number.is_finite() {
        return Err(CanonicalError::Overflow);
    }
    if number == 0.0 {
        out.push('0'); // also for -0 (5.3)
    } else {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    }
    Ok(())
}

/// Writes a string without unpaired surrogates.
fn write_str(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..at]);
        write_escape(out, byte);
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn write_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0c => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        other => write_unit(out, u16::from(other)),
    }
}

fn write_unit(out: &mut String, unit: u16) {
    write!(out, "\\u{unit:04x}").expect("writing to a String cannot fail");
}

fn write_text(out: &mut String, text: &Text) {
    let units = match text {
        Text::Plain(text) => return write_str(out, text),
        Text::Units(units) => units,
    };
    out.push('"');
    for read in char::decode_utf16(units.iter().copied()) {
        match read {
            Ok(c @ ('"' | '\\' | '\0'..='\x1f')) => write_escape(out, c as u8),
            Ok(c) => out.push(c),
            Err(unpaired) => write_unit(out, unpaired.unpaired_surrogate()),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(text: &str) -> String {
        let value: Value = serde_json::from_str(text).unwrap();
        let parsed = canonical(&value).unwrap();
        assert_eq!(canonical_text(text.as_bytes()).unwrap(), parsed, "the two ways in agree on {text}");
        parsed
    }

    #[test]
    fn index_keys_come_first_in_numeric_order_and_proto_is_dropped_at_every_depth() {
        assert_eq!(both(r#"{"b":0,"10":1,"9":2,"a":3}"#), r#"{"9":2,"10":1,"a":3,"b":0}"#);
        assert_eq!(
            both(r#"{"01":1,"4294967295":2,"4294967294":3,"-1":4,"0":5,"1.5":6}"#),
            r#"{"0":5,"4294967294":3,"-1":4,"01":1,"1.5":6,"4294967295":2}"#
        );
        assert_eq!(both(r#"[{"__proto__":1,"a":{"__proto__":{"x":2}}}]"#), r#"[{"a":{}}]"#);
    }

    #[test]
    fn keys_are_ordered_by_utf16_units_not_by_code_points() {
        assert_eq!(both("{\"\u{ffff}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{ffff}\":1}");
    }

    #[test]
    fn a_repeated_key_keeps_its_last_value() {
        assert_eq!(both(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn integers_beyond_the_doubles_lose_digits() {
        assert_eq!(both("12345678901234567890"), "12345678901234567000");
        assert_eq!(both("9007199254740993"), "9007199254740992");
        assert_eq!(both("-0.0"), "0");
        assert_eq!(both("1e-400"), "0");
    }

    #[test]
    fn an_unpaired_surrogate_stays_escaped_and_counts_in_the_order_of_keys() {
        assert_eq!(canonical_text(br#""a\uD800b""#).unwrap(), r#""a\ud800b""#);
        assert_eq!(canonical_text(br#""\ud83d\ude00""#).unwrap(), "\"\u{1f600}\"");
        assert_eq!(
            canonical_text(br#"{"\ue000":1,"\ud800":2,"5":3}"#).unwrap(),
            "{\"5\":3,\"\\ud800\":2,\"\u{e000}\":1}"
        );
    }

    #[test]
    fn nesting_beyond_the_limit_is_an_error_of_its_own() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(canonical_text(deep(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(canonical_text(deep(MAX_DEPTH + 2).as_bytes()), Err(CanonicalError::TooDeep));
    }

    proptest! {
        #[test]
        fn canonical_text_of_canonical_text_is_itself(text in "\\PC{0,12}", number in any::<f64>(), flag: bool) {
            prop_assume!(number.is_finite());
            let value = serde_json::json!({ text.clone(): [number, flag, null_or(&text)], "z": { "k": text } });
            let once = canonical(&value).unwrap();
            prop_assert_eq!(&canonical_text(once.as_bytes()).unwrap(), &once);
            let again: Value = serde_json::from_str(&once).unwrap();
            prop_assert_eq!(&canonical(&again).unwrap(), &once);
        }
    }

    fn null_or(text: &str) -> Option<&str> {
        (!text.is_empty()).then_some(text)
    }
}
