//! One capture that claims can point to.

use super::enums::{EvidenceEncoding, EvidenceKind};
use super::literals::SchemaVersion;
use super::rules::evidence_rules;
use super::scalars::{Identifier, List, Reference, Str, Summary, Text, Timestamp};
use crate::wire_object;

wire_object! {
    /// One capture that claims can point to.
    pub struct Evidence {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// What it shows.
        kind: "kind" => EvidenceKind;
        /// When it was captured.
        captured_at: "capturedAt" => Timestamp;
        /// What it proves, in a line.
        summary: "summary" => Summary;
        /// Media type (not parsed).
        content_type: "contentType" => Str<255>;
        /// `encoding`.
        encoding: "encoding" => EvidenceEncoding;
        /// The capture itself.
        content: "content" => Text;
        /// Where it comes from.
        source_refs: "sourceRefs" => List<Reference>;
        /// What was blanked, in words.
        redactions: "redactions" => List<Text>;
        /// Why, in short; never hidden reasoning.
        rationale_summary: "rationaleSummary" => Summary;
    } rules evidence_rules;
}
