//! Likely credentials in what is handed in (`controller.md` 8.1, W-6). The detector itself comes in from outside.

use super::context::Env;
use super::error::{Code, Refusal};
use crate::protocol::{Evidence, EvidenceEncoding};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The largest decoded content of Evidence, in bytes.
const CONTENT_LIMIT: usize = 2 * 1024 * 1024;

/// C-EV-5 to C-EV-7: Evidence is decodable, not too large, and holds no likely credential anywhere.
pub(super) fn check_evidence(
    evidence: &Evidence,
    encoded: &Value,
    effective: &[String],
    env: &Env<'_>,
) -> Result<(), Refusal> {
    let content = decoded(evidence)?;
    if content.len() > CONTENT_LIMIT {
        let message = format!("the content has {} bytes, at most {CONTENT_LIMIT} are allowed", content.len());
        return Err(Refusal::new(Code::ArtifactTooLarge, "C-EV-6", message).with("limit", CONTENT_LIMIT));
    }
    let refuse = |path: String, kind: &str| {
        let message =
            format!("{path} holds a likely credential ({kind}); redact it and say so in redactions");
        Refusal::new(Code::SecretDetected, "C-EV-7", message).at(path)
    };
    let mut hit = None;
    each_string(encoded, &mut "body".to_owned(), &mut |path, text| {
        if hit.is_none() {
            hit = (env.secrets)(text.as_bytes()).map(|kind| refuse(path.to_owned(), &kind));
        }
    });
    if let Some(refusal) = hit {
        return Err(refusal);
    }
    if let Some(kind) = (env.secrets)(&content) {
        return Err(refuse("body.content".to_owned(), &kind));
    }
    for (index, reference) in effective.iter().enumerate() {
        if let Some(kind) = (env.secrets)(reference.as_bytes()) {
            return Err(refuse(format!("sourceRefs[{index}]"), &kind));
        }
    }
    Ok(())
}

fn decoded(evidence: &Evidence) -> Result<Vec<u8>, Refusal> {
    let text = evidence.content.as_str();
    if evidence.encoding == EvidenceEncoding::Utf8 {
        return Ok(text.as_bytes().to_vec());
    }
    let decoded = STANDARD.decode(text).ok().filter(|bytes| STANDARD.encode(bytes) == text);
    decoded.ok_or_else(|| {
        let message = "the content is no canonical base64: standard alphabet, padded, nothing else";
        Refusal::new(Code::Base64Invalid, "C-EV-5", message).at("body.content")
    })
}

/// Notes on likely credentials in an artifact that is accepted all the same.
pub(super) fn warn_of_credentials(encoded: &Value, env: &Env<'_>) -> Vec<String> {
    const MOST: usize = 8;
    let mut warnings = Vec::new();
    each_string(encoded, &mut "body".to_owned(), &mut |path, text| {
        if warnings.len() < MOST
            && let Some(kind) = (env.secrets)(text.as_bytes())
        {
            warnings.push(format!("{path} holds a likely credential ({kind}); it is stored as it is"));
        }
    });
    warnings
}

/// Calls `see` with every string value and its path.
fn each_string(value: &Value, path: &mut String, see: &mut dyn FnMut(&str, &str)) {
    let length = path.len();
    match value {
        Value::String(text) => see(path, text),
        Value::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                each_string(entry, path, see);
                path.truncate(length);
            }
        }
        Value::Object(object) => {
            for (key, entry) in object {
                path.push('.');
                path.push_str(key);
                each_string(entry, path, see);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
