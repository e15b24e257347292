//! Takes in what grounding found, all of it or nothing (`controller.md` 9.2, W-14).

use super::accepted::{Accepted, Effect, NewArtifact};
use super::clarification::check_lineage;
use super::context::{Context, Env};
use super::error::{Code, Refusal};
use super::next_action::input_refs;
use super::references::REFERENCES_LIMIT;
use super::run::{RunPhase, RunStatus};
use super::stamp::Stamp;
use super::submit::{Tokens, check_count, check_schema, check_slot, check_tokens, check_trace};
use super::supporting::check_replay;
use super::trace::{EventType, Events};
use super::transition::{Input, step};
use super::view::RunView;
use crate::protocol::{Body, ContextDocument, ContextManifest, Kind, Redaction};
use crate::require;
use serde_json::Value;
use std::sync::Arc;

/// What grounding found, as the controller's own artifacts.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounding {
    /// The manifest.
    pub manifest: ContextManifest,
    /// The text of each selected source, in the order of the manifest's candidates.
    pub documents: Vec<ContextDocument>,
}

impl Grounding {
    /// Reads the bodies that grounding made.
    ///
    /// # Errors
    /// `schema_invalid`: grounding made something that the protocol does not know.
    pub fn read<'a>(
        manifest: &Value,
        documents: impl IntoIterator<Item = &'a Value>,
    ) -> Result<Self, Refusal> {
        let Body::ContextManifest(manifest) = check_schema(Kind::ContextManifest, manifest, "C-SB-13")?
        else {
            return Err(Refusal::new(Code::SchemaInvalid, "C-SB-13", "the manifest is none"));
        };
        let documents = documents.into_iter().map(|document| {
            match check_schema(Kind::ContextDocument, document, "C-SB-13")? {
                Body::ContextDocument(document) => Ok(document),
                _ => Err(Refusal::new(Code::SchemaInvalid, "C-SB-13", "the document is none")),
            }
        });
        Ok(Self { documents: documents.collect::<Result<_, Refusal>>()?, manifest })
    }
}

/// Takes in what grounding found: the documents, and the manifest as the phase artifact, in one transaction.
/// Documents that an interrupted grounding of the same repository state left behind are replays and stay.
///
/// # Errors
/// As [`super::submit()`]; `wrong_phase` when the run was grounded already.
pub fn ground(
    view: &RunView,
    tokens: &Tokens,
    grounding: Grounding,
    stamp: &Stamp,
    env: &Env<'_>,
) -> Result<Accepted, Refusal> {
    check_groundable(view, tokens)?;
    let manifest = Body::from(grounding.manifest);
    check_schema(Kind::ContextManifest, &manifest.encode(), "C-SB-13")?;
    let Body::ContextManifest(ContextManifest { id, run_id, .. }) = &manifest else {
        return Err(Refusal::new(Code::SchemaInvalid, "C-SB-13", "the manifest is none"));
    };
    let manifest_id = id.as_str().to_owned();
    require!(run_id.as_str() == view.run.run_id, RunIdMismatch, "C-SB-9", "the manifest names another run");
    check_slot(view, &manifest_id)?;
    check_count(view, grounding.documents.len() + 1, "C-SB-22")?;

    let mut effective = input_refs(view)?;
    for document in &grounding.documents {
        let reference = view.reference(&document.id);
        if !effective.contains(&reference) {
            effective.push(reference);
        }
    }
    let mut warnings = Vec::new();
    if effective.len() > REFERENCES_LIMIT {
        let over = effective.len() - REFERENCES_LIMIT;
        warnings.push(format!(
            "{over} documents are not among the manifest's source references; all are derived"
        ));
        effective.truncate(REFERENCES_LIMIT);
    }
    check_lineage(&Context::new(view, *env, &effective))?;
    let (row, run) = step(&view.run, Input::Manifest, false, &stamp.now)?;

    let mut events = Events::new(stamp, view.run.phase, &run);
    let mut artifacts = Vec::new();
    for document in grounding.documents {
        let source = document.repository_ref.to_string();
        let id = document.id.to_string();
        let body = Body::from(document);
        check_schema(Kind::ContextDocument, &body.encode(), "C-SB-13")?;
        let new = artifact(&id, Kind::ContextDocument, vec![source.clone()], body, stamp);
        if let Some(stored) = view.get(&id) {
            check_replay(stored, &new, "C-SB-22")?;
            continue;
        }
        let outputs = vec![view.reference(&id)];
        let summary = format!("The text of a selected source was stored as {id}.");
        events.add("controller", EventType::ContextSourceStored, vec![source], outputs, summary);
        artifacts.push(new);
    }
    let count = artifacts.len();
    let summary = format!("The context was grounded: {count} sources were stored with {manifest_id}.");
    events.add("controller", row.event, effective.clone(), vec![view.reference(&manifest_id)], summary);
    artifacts.push(artifact(&manifest_id, Kind::ContextManifest, effective, manifest, stamp));
    let events = events.finish();
    check_trace(view, events.len(), false)?;
    Ok(Accepted {
        effect: Effect::Move,
        expected_version: tokens.expected_version,
        run,
        artifacts,
        events,
        warnings,
    })
}

/// Whether a run may be grounded now, to be asked before the repository is read.
///
/// # Errors
/// `stale_version`, `stale_action`, `run_not_running`, `wrong_phase`.
pub fn check_groundable(view: &RunView, tokens: &Tokens) -> Result<(), Refusal> {
    check_tokens(view, tokens)?;
    let run = &view.run;
    require!(run.status == RunStatus::Running, RunNotRunning, "C-SB-10", "the run is {}", run.status);
    require!(
        run.phase == RunPhase::ContextGrounding,
        WrongPhase,
        "C-SB-21",
        "the run was grounded already; it is in {}",
        run.phase.public()
    );
    Ok(())
}

fn artifact(id: &str, kind: Kind, source_refs: Vec<String>, body: Body, stamp: &Stamp) -> NewArtifact {
    NewArtifact {
        id: id.to_owned(),
        kind,
        producer: "controller".to_owned(),
        source_refs,
        redaction: Redaction::None,
        body: Arc::new(body),
        created_at: stamp.now.clone(),
    }
}
