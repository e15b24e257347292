//! What a run may lean on: the manifest, the stored sources, the words of the user.

use super::enums::{ExclusionReason, InventorySource, TrustKind};
use super::literals::{Excluded, SchemaVersion, Selected};
use super::rules::{context_budget_rules, context_manifest_rules};
use super::scalars::{
    AnyText, Commit, Identifier, Int, List, Reference, RelativePath, RepositoryUri, Sha256, Str, Summary,
};
use crate::{wire_choice, wire_object};

wire_object! {
    /// What the run may lean on in the repository.
    pub struct ContextManifest {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// State of the repository.
        repository_fingerprint: "repositoryFingerprint" => RepositoryFingerprint;
        /// Sources that were selected by policy.
        pinned_refs: "pinnedRefs" => List<Reference>;
        /// What was selected (and, optionally, left out).
        candidates: "candidates" => List<Candidate, 0, 2048>;
        /// The ContextDocument artifacts.
        derived_refs: "derivedRefs" => List<Reference>;
        /// Counts per reason.
        excluded_candidate_summaries: "excludedCandidateSummaries" => List<ExclusionSummary>;
        /// How files were listed.
        inventory_source: "inventorySource" => InventorySource;
        /// Notes for people.
        warnings: "warnings" => List<Summary>;
        /// Limits and use.
        budget: "budget" => ContextBudget;
    } rules context_manifest_rules;
}

wire_object! {
    /// RepositoryFingerprint.
    pub struct RepositoryFingerprint {
        /// 40 to 64 lower-case hex digits.
        head_commit: "headCommit" => Option<Commit>;
        /// Digest of the uncommitted state.
        dirty_worktree_hash: "dirtyWorktreeHash" => Sha256;
    }
}

wire_choice! {
    /// A file that was selected, or left out.
    pub enum Candidate by "decision" {
        /// It was selected.
        Selected(SelectedCandidate) = "selected",
        /// It was left out.
        Excluded(ExcludedCandidate) = "excluded",
    }
}

wire_object! {
    /// SelectedCandidate.
    pub struct SelectedCandidate {
        /// Its identifier.
        id: "id" => Identifier;
        /// Repository URI.
        reference: "ref" => Reference;
        /// Paths or symbols.
        locations: "locations" => List<Str<1024>>;
        /// Digest of the bytes.
        content_hash: "contentHash" => Sha256;
        /// `byteSize`.
        byte_size: "byteSize" => Int<0, 100000000>;
        /// `decision`.
        decision: "decision" => Selected;
        /// `selectionReason`.
        selection_reason: "selectionReason" => Summary;
        /// `path`.
        path: "path" => RelativePath;
        /// Rank value.
        score: "score" => Int<0, 10000000>;
        /// Selected by policy.
        pinned: "pinned" => bool;
    }
}

wire_object! {
    /// ExcludedCandidate.
    pub struct ExcludedCandidate {
        /// Its identifier.
        id: "id" => Identifier;
        /// `ref`.
        reference: "ref" => Reference;
        /// `locations`.
        locations: "locations" => List<Str<1024>>;
        /// `contentHash`.
        content_hash: "contentHash" => Option<Sha256>;
        /// `byteSize`.
        byte_size: "byteSize" => Option<Int<0, 100000000>>;
        /// `decision`.
        decision: "decision" => Excluded;
        /// Why it was left out.
        exclusion_reason: "exclusionReason" => Summary;
    }
}

wire_object! {
    /// ExclusionSummary.
    pub struct ExclusionSummary {
        /// `reason`.
        reason: "reason" => ExclusionReason;
        /// `count`.
        count: "count" => Int<1, 10000000>;
    }
}

wire_object! {
    /// ContextBudget.
    pub struct ContextBudget {
        /// `maximumFiles`.
        maximum_files: "maximumFiles" => Int<1, 100000>;
        /// `maximumFileBytes`.
        maximum_file_bytes: "maximumFileBytes" => Int<1, 100000000>;
        /// `maximumTotalBytes`.
        maximum_total_bytes: "maximumTotalBytes" => Int<1, 100000000>;
        /// `maximumInventoryFiles`.
        maximum_inventory_files: "maximumInventoryFiles" => Int<1, 10000000>;
        /// `candidateFiles`.
        candidate_files: "candidateFiles" => Int<0, 10000000>;
        /// `selectedFiles`.
        selected_files: "selectedFiles" => Int<0, 100000>;
        /// `estimatedTokens`.
        estimated_tokens: "estimatedTokens" => Int<0, 10000000>;
        /// `selectedBytes`.
        selected_bytes: "selectedBytes" => Int<0, 100000000>;
    } rules context_budget_rules;
}

wire_object! {
    /// The exact text of one selected source. Producer `controller`, one per selected source, written just before the manifest, in the order of the manifest's candidates; their URIs are its `derivedRefs`.
    pub struct ContextDocument {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `repositoryRef`.
        repository_ref: "repositoryRef" => RepositoryUri;
        /// `contentHash`.
        content_hash: "contentHash" => Sha256;
        /// `sizeBytes`.
        size_bytes: "sizeBytes" => Int<0, 100000000>;
        /// `trustKind`.
        trust_kind: "trustKind" => TrustKind;
        /// `instructionScope`.
        instruction_scope: "instructionScope" => Option<AnyText>;
        /// `content`.
        content: "content" => AnyText;
    }
}

wire_object! {
    /// What the user said, unchanged. Written when a run starts (the request) and when a clarification is answered (the answer). Producer `user`.
    pub struct UserMessage {
        /// The version of the protocol.
        schema_version: "schemaVersion" => SchemaVersion;
        /// Its identifier.
        id: "id" => Identifier;
        /// The run it belongs to.
        run_id: "runId" => Identifier;
        /// `content`.
        content: "content" => Str<32768>;
    }
}
