//! `telic artifact RUN ID`: one artifact with its body.

use super::Failure;
use super::output::{print_json, print_text};
use super::place::PlaceArguments;
use super::stores::{self, Access};
use crate::domain::RunArtifact;
use crate::service::ServiceError;
use crate::store::Digest;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// The most of a log or patch that is printed, in bytes.
const PRINTED: usize = 64 << 20;

/// Arguments of `telic artifact`.
#[derive(Debug, Args)]
pub(super) struct ArtifactArguments {
    /// The run's id, or how it alone begins
    run: String,
    /// The artifact's id
    artifact: String,
}

pub(super) fn run(arguments: &ArtifactArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let (queries, row) = stores::find(place, Access::Read, &arguments.run)?;
    let store = queries.views().store();
    if let Some(artifact) =
        store.find_record::<RunArtifact>(&arguments.artifact).map_err(ServiceError::from)?
    {
        return of_supervision(&artifact, store, place);
    }
    let record = store.artifact(&row.key.run, &arguments.artifact).map_err(ServiceError::from)?;
    let body = store.body(&record).map_err(ServiceError::from)?;
    if place.json {
        let artifact = json!({ "id": record.artifact_id, "runId": record.run_id, "type": record.kind,
            "schemaVersion": record.schema_version, "producer": record.producer, "sha256": record.sha256,
            "sourceRefs": record.source_refs, "redaction": record.redaction, "createdAt": record.created_at,
            "body": *body });
        print_json(&json!({ "ok": true, "artifact": artifact }))?;
    } else {
        print_text(&serde_json::to_string_pretty(&*body).map_err(|error| Failure::coded("json", error))?);
    }
    Ok(ExitCode::SUCCESS)
}

fn of_supervision(
    artifact: &RunArtifact,
    store: &crate::store::Store,
    place: &PlaceArguments,
) -> Result<ExitCode, Failure> {
    let digest = Digest::parse(&artifact.sha256).map_err(ServiceError::from)?;
    let mut blob = store.open_blob(&digest).map_err(ServiceError::from)?;
    let bytes = blob.range(0, PRINTED).map_err(ServiceError::from)?;
    let text = String::from_utf8_lossy(&bytes);
    if place.json {
        print_json(&json!({ "ok": true, "artifact": artifact, "content": text }))?;
    } else {
        print_text(text.trim_end_matches('\n'));
    }
    Ok(ExitCode::SUCCESS)
}
