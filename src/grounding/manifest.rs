//! The bodies that are stored: one `ContextDocument` per source and the `ContextManifest` (`grounding.md` 8 and 9).

use super::budget::Budget;
use super::fingerprint::Fingerprint;
use super::paths::{instruction_scope, is_instruction};
use super::select::{Counts, Source};
use crate::protocol::InventorySource;
use crate::store::Digest;
use serde_json::{Value, json};

/// Entries that a list of references may hold.
const MOST_REFERENCES: usize = 256;

/// One source as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its artifact id.
    pub id: String,
    /// The reference of the file: its source reference, and the input of its event.
    pub repository_ref: String,
    /// The `ContextDocument` body.
    pub body: Value,
}

impl Document {
    /// The summary of its `context_source_stored` event. It names the id and not the reference, which could be
    /// too long for a summary (10.1).
    #[must_use]
    pub fn summary(&self) -> String {
        format!("Stored a repository source as {}", self.id)
    }
}

/// What makes up a manifest besides its sources.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) run_id: &'a str,
    pub(super) fingerprint: Fingerprint,
    pub(super) inventory: InventorySource,
    pub(super) warnings: &'a [String],
    pub(super) counts: &'a Counts,
    pub(super) budget: Budget,
    pub(super) candidates: u64,
}

/// The id of a manifest: a digest over a text whose member order is fixed, which is not the canonical one.
pub(super) fn manifest_id(
    run_id: &str,
    fingerprint: &Fingerprint,
    sources: &[Source],
    budget: &Budget,
) -> String {
    let selected: Vec<Value> = sources
        .iter()
        .map(|source| json!({"ref": source.reference, "content_hash": source.digest.to_string()}))
        .collect();
    let text = json!({
        "run_id": run_id,
        "repository_fingerprint": {
            "head_commit": fingerprint.head,
            "dirty_worktree_hash": fingerprint.worktree.to_string(),
        },
        "selected_sources": selected,
        "budget": {
            "max_files": budget.max_files,
            "max_file_bytes": budget.max_file_bytes,
            "max_total_bytes": budget.max_total_bytes,
            "max_inventory_files": budget.max_inventory_files,
        },
    })
    .to_string();
    format!("context-{}", &Digest::of(text.as_bytes()).hex()[..16])
}

/// The documents of a manifest, in selection order.
pub(super) fn documents(run_id: &str, manifest_id: &str, sources: &[Source]) -> Vec<Document> {
    sources
        .iter()
        .enumerate()
        .map(|(at, source)| {
            let id = document_id(manifest_id, at + 1, &source.digest);
            let body = document_body(run_id, &id, source);
            Document { id, repository_ref: source.reference.clone(), body }
        })
        .collect()
}

fn document_id(manifest_id: &str, position: usize, digest: &Digest) -> String {
    format!("{manifest_id}-source-{position:03}-{}", &digest.hex()[..13])
}

fn document_body(run_id: &str, id: &str, source: &Source) -> Value {
    let path = &source.ranked.path;
    let instruction = is_instruction(path);
    json!({
        "schemaVersion": "1.0",
        "id": id,
        "runId": run_id,
        "repositoryRef": source.reference,
        "contentHash": source.digest.to_string(),
        "sizeBytes": source.size,
        "trustKind": if instruction { "applicable_instruction" } else { "untrusted_repository_content" },
        "instructionScope": instruction.then(|| instruction_scope(path)),
        "content": source.content,
    })
}

/// Bytes that the body of a source takes as JSON. Ids are of one length, so it is known before they are.
pub(super) fn stored_size(run_id: &str, source: &Source) -> usize {
    let id = document_id("context-0000000000000000", 1, &source.digest);
    document_body(run_id, &id, source).to_string().len()
}

/// The body of a manifest.
pub(super) fn manifest(facts: &Facts<'_>, id: &str, sources: &[Source], documents: &[Document]) -> Value {
    let candidates: Vec<Value> = sources
        .iter()
        .enumerate()
        .map(|(at, source)| {
            json!({
                "id": format!("candidate-{:04}", at + 1),
                "ref": source.reference,
                "locations": [source.ranked.path],
                "contentHash": source.digest.to_string(),
                "byteSize": source.size,
                "decision": "selected",
                "selectionReason": source.ranked.reason,
                "path": source.ranked.path,
                "score": source.ranked.score,
                "pinned": source.ranked.pinned,
            })
        })
        .collect();
    let excluded: Vec<Value> =
        facts.counts.iter().map(|(reason, count)| json!({"reason": reason, "count": count})).collect();
    let bytes: u64 = sources.iter().map(|source| source.size).sum();
    json!({
        "schemaVersion": "1.0",
        "id": id,
        "runId": facts.run_id,
        "repositoryFingerprint": {
            "headCommit": facts.fingerprint.head,
            "dirtyWorktreeHash": facts.fingerprint.worktree.to_string(),
        },
        "pinnedRefs": pinned(sources),
        "candidates": candidates,
        "derivedRefs": derived(facts.run_id, documents),
        "excludedCandidateSummaries": excluded,
        "inventorySource": facts.inventory.as_str(),
        "warnings": facts.warnings,
        "budget": {
            "maximumFiles": facts.budget.max_files,
            "maximumFileBytes": facts.budget.max_file_bytes,
            "maximumTotalBytes": facts.budget.max_total_bytes,
            "maximumInventoryFiles": facts.budget.max_inventory_files,
            "candidateFiles": facts.candidates,
            "selectedFiles": sources.len(),
            "estimatedTokens": bytes.div_ceil(4),
            "selectedBytes": bytes,
        },
    })
}

/// The references of the pinned sources.
pub(super) fn pinned(sources: &[Source]) -> Vec<String> {
    sources.iter().filter(|source| source.ranked.pinned).map(|source| source.reference.clone()).collect()
}

/// The references of the stored documents.
pub(super) fn derived(run_id: &str, documents: &[Document]) -> Vec<String> {
    documents.iter().map(|document| format!("artifact://{run_id}/{}", document.id)).collect()
}

/// The source references of the manifest's record: the action's inputs, then the documents, each once, the first
/// 256. The flag tells that some did not fit.
pub(super) fn source_refs(inputs: &[String], derived: &[String]) -> (Vec<String>, bool) {
    let mut refs: Vec<String> = Vec::new();
    for reference in inputs.iter().chain(derived) {
        if !refs.contains(reference) {
            refs.push(reference.clone());
        }
    }
    let cut = refs.len() > MOST_REFERENCES;
    refs.truncate(MOST_REFERENCES);
    (refs, cut)
}

/// The id of a manifest of nothing.
pub(super) fn empty_id(run_id: &str) -> String {
    format!("context-report-only-{}", run_id.chars().take(12).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grounding::ranking::Query;

    fn source(path: &str, content: &str) -> Source {
        Source {
            ranked: Query::new("x", &[]).rank(path),
            reference: super::super::paths::repository_reference(path),
            digest: Digest::of(content.as_bytes()),
            size: content.len() as u64,
            content: content.to_owned(),
        }
    }

    #[test]
    fn the_worked_example_has_its_id_and_documents_follow_it() {
        let worktree =
            Digest::parse("fe1c9ec778a44e7f418cae00db8feebe5827f8334818c045962fa9cfb110d784").unwrap();
        let head = Some("1f38e6ba097c024d7a1865990419a4638eb84bb7".to_owned());
        let fingerprint = Fingerprint { head, worktree, from_git: true };
        let sources = [source("a.txt", "alpha\n"), source("b.txt", "beta\n")];
        let id = manifest_id("run-1", &fingerprint, &sources, &Budget::default());
        assert_eq!(id, "context-518276fad21edf72");
        let documents = documents("run-1", &id, &sources);
        let digest = Digest::of(b"beta\n").hex();
        assert_eq!(documents[1].id, format!("context-518276fad21edf72-source-002-{}", &digest[..13]));
    }

    #[test]
    fn the_size_of_a_stored_body_is_known_before_its_id() {
        let source = source("AGENTS.md", "a \u{1} \"quoted\"\n");
        let body = &documents("run-1", "context-518276fad21edf72", std::slice::from_ref(&source))[0].body;
        let canonical = crate::store::canonical_json::canonical(body).unwrap();
        assert_eq!(stored_size("run-1", &source), canonical.len());
    }

    #[test]
    fn source_references_are_unique_and_cut_aloud() {
        let inputs = ["artifact://r/a".to_owned(), "artifact://r/b".to_owned()];
        let derived: Vec<String> = (0..255).map(|n| format!("artifact://r/d{n}")).collect();
        let (refs, cut) = source_refs(&inputs, &derived);
        assert_eq!((refs.len(), cut), (256, true));
        assert_eq!(refs[..2], inputs);
        assert!(!source_refs(&inputs, &derived[..254]).1);
        assert_eq!(source_refs(&inputs, &inputs).0, inputs);
    }
}
