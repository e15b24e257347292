//! The rows of the ledger as the rest of the program sees them (`store.md` 3.2).
//!
//! Statuses, phases and types are still text here, for the ledger may hold what this program does not know; the
//! layer above makes them typed. Nothing here knows how rows are stored.

use serde_json::Value;

use super::canonical_json::canonical;
use super::{Digest, StoreError};

/// The schema version of protocol 1.0.
pub const SCHEMA_VERSION: &str = "1.0";
/// Bytes a body's canonical text may have (`store.md` 6).
pub const BODY_LIMIT: usize = 2_097_152;
/// Artifacts per run (`store.md` 6).
pub const ARTIFACTS_PER_RUN: i64 = 2048;
/// Events per run (`store.md` 6).
pub const EVENTS_PER_RUN: i64 = 10_000;
/// UTF-16 units of a decision summary (`store.md` 6).
pub const SUMMARY_LIMIT: usize = 800;

/// A workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Identifier of the run.
    pub run_id: String,
    /// Always [`SCHEMA_VERSION`] in rows that can be read.
    pub schema_version: String,
    /// Canonical absolute path of the repository.
    pub repository_root: String,
    /// The intent mode.
    pub requested_mode: String,
    /// `running`, `awaiting_clarification`, `completed`, `partial`, `blocked` or `cancelled`.
    pub status: String,
    /// Internal phase name.
    pub phase: String,
    /// Internal phase name while a clarification is awaited.
    pub resume_phase: Option<String>,
    /// Starts at 1 and grows by one with each transition; the guard of every update.
    pub version: i64,
    /// 0 or 1.
    pub prompt_revisions_remaining: u8,
    /// 0 or 1.
    pub remediations_remaining: u8,
    /// Upper bound for the final report: `completed`, `partial` or `blocked`.
    pub outcome_hint: Option<String>,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub created_at: String,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub updated_at: String,
}

/// The metadata of a stored artifact; its body is read with [`super::Store::body`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRecord {
    /// Unique within the run only.
    pub artifact_id: String,
    /// The run it belongs to.
    pub run_id: String,
    /// The artifact type's name.
    pub kind: String,
    /// The schema version of the body.
    pub schema_version: String,
    /// A role's name, or `user`.
    pub producer: String,
    /// The digest as the row holds it, with or without its prefix; [`ArtifactRecord::digest`] reads it.
    pub sha256: String,
    /// Effective source references.
    pub source_refs: Vec<String>,
    /// `none`, `partial` or `full`.
    pub redaction: String,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`. Never used for order.
    pub created_at: String,
}

impl ArtifactRecord {
    /// The body's digest.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when the row holds no digest.
    pub fn digest(&self) -> Result<Digest, StoreError> {
        Digest::parse(&self.sha256).map_err(|_| {
            StoreError::malformed(format!("artifact {}", self.artifact_id), "its digest is malformed")
        })
    }
}

/// An artifact to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// Unique within the run.
    pub artifact_id: String,
    /// The run it belongs to.
    pub run_id: String,
    /// The artifact type's name.
    pub kind: String,
    /// The schema version of the body.
    pub schema_version: String,
    /// A role's name, or `user`.
    pub producer: String,
    /// Effective source references.
    pub source_refs: Vec<String>,
    /// `none`, `partial` or `full`.
    pub redaction: String,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub created_at: String,
    /// The body.
    pub body: Body,
}

/// The canonical text of a body, with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    text: String,
    digest: Digest,
}

impl Body {
    /// The canonical text of `value`.
    ///
    /// # Errors
    /// [`StoreError::Canonical`], and [`StoreError::TooLarge`] beyond [`BODY_LIMIT`].
    pub fn new(value: &Value) -> Result<Self, StoreError> {
        let text = canonical(value)?;
        if text.len() > BODY_LIMIT {
            return Err(StoreError::TooLarge { bytes: text.len() as u64, limit: BODY_LIMIT as u64 });
        }
        let digest = Digest::of(text.as_bytes());
        Ok(Self { text, digest })
    }

    /// The canonical text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The run's two budgets as an event records them, after the transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSnapshot {
    /// 0 or 1.
    pub prompt_revisions_remaining: u8,
    /// 0 or 1.
    pub remediations_remaining: u8,
}

impl BudgetSnapshot {
    /// The budgets of `run`.
    #[must_use]
    pub fn of(run: &RunRecord) -> Self {
        Self {
            prompt_revisions_remaining: run.prompt_revisions_remaining,
            remediations_remaining: run.remediations_remaining,
        }
    }

    pub(super) fn to_json(self) -> String {
        format!(
            "{{\"postExecutionRemediationsRemaining\":{},\"promptRevisionsRemaining\":{}}}",
            self.remediations_remaining, self.prompt_revisions_remaining
        )
    }
}

/// A trace event of the workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// Identifier of the event.
    pub event_id: String,
    /// The run it belongs to.
    pub run_id: String,
    /// 1, 2, 3 … per run.
    pub sequence: i64,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub timestamp: String,
    /// A role's name.
    pub actor: String,
    /// Internal phase name.
    pub phase: String,
    /// Internal event name.
    pub event_type: String,
    /// What went in.
    pub input_refs: Vec<String>,
    /// What came out.
    pub output_refs: Vec<String>,
    /// An object with `decision`, `capability`, `scope`, `policyRefs`, `rationaleSummary`.
    pub permission_decision: Option<Value>,
    /// 1 to [`SUMMARY_LIMIT`] UTF-16 units.
    pub decision_summary: String,
    /// The budgets after the transition.
    pub budget_snapshot: BudgetSnapshot,
}

/// A trace event to be appended; its sequence is found inside the transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// Identifier of the event.
    pub event_id: String,
    /// The run it belongs to.
    pub run_id: String,
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub timestamp: String,
    /// A role's name.
    pub actor: String,
    /// Internal phase name.
    pub phase: String,
    /// Internal event name.
    pub event_type: String,
    /// What went in.
    pub input_refs: Vec<String>,
    /// What came out.
    pub output_refs: Vec<String>,
    /// An object, or nothing.
    pub permission_decision: Option<Value>,
    /// 1 to [`SUMMARY_LIMIT`] UTF-16 units.
    pub decision_summary: String,
    /// The budgets after the transition.
    pub budget_snapshot: BudgetSnapshot,
}

/// Rows that could be read, and those that could not with the reason.
#[derive(Debug, Clone)]
pub struct Listing<T> {
    /// What could be read.
    pub items: Vec<T>,
    /// Ids of unreadable rows, and why (`store.md` 3.4: one must not hide the others).
    pub refused: Vec<(String, StoreError)>,
}

/// The ledger's form of a time: UTC with exactly three fraction digits (`store.md` 3.3).
#[must_use]
pub fn timestamp_text(time: jiff::Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time);
    format!("{time:.3}")
}

/// Whether `text` has the ledger's form of a time.
#[must_use]
pub fn is_timestamp(text: &str) -> bool {
    text.len() == 24
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            19 => byte == b'.',
            23 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_exactly_three_fraction_digits() {
        for (nanoseconds, text) in [
            (0, "2026-03-01T10:00:00.000Z"),
            (5_999_999, "2026-03-01T10:00:00.005Z"),
            (120_000_000, "2026-03-01T10:00:00.120Z"),
        ] {
            let time: jiff::Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
            let time = time + jiff::SignedDuration::from_nanos(nanoseconds);
            assert_eq!(timestamp_text(time), text);
            assert!(is_timestamp(text));
        }
        for text in ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00.12Z", "2026-03-01 10:00:00.120Z"] {
            assert!(!is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn a_budget_snapshot_is_canonical_json() {
        let text = BudgetSnapshot { prompt_revisions_remaining: 1, remediations_remaining: 0 }.to_json();
        assert_eq!(text, r#"{"postExecutionRemediationsRemaining":0,"promptRevisionsRemaining":1}"#);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(canonical(&value).unwrap(), text);
    }

    #[test]
    fn a_body_beyond_two_mebibytes_is_refused() {
        let fits = "x".repeat(BODY_LIMIT - 2);
        assert!(Body::new(&Value::String(fits.clone())).is_ok());
        assert_eq!(Body::new(&Value::String(fits + "x")).unwrap_err().code(), "artifact_too_large");
    }
}
