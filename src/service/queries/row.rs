//! One run in a list.

use super::{Queries, Supervised, first_line, phases, repository_name, sentence};
use crate::controller::{RunState, RunStatus};
use crate::protocol::Kind;
use crate::service::ServiceError;
use crate::service::snapshot::{PhaseCell, RunRow, VerdictLine};
use crate::service::views::run_state;
use crate::store::{ArtifactRecord, StoreError};
use crate::text::cut_units;

/// How much of a request stands in a row, in UTF-16 units.
const TITLE: usize = 120;

pub(super) fn row(queries: &Queries, run_id: &str) -> Result<RunRow, ServiceError> {
    let store = queries.store();
    let around = queries.supervised(run_id)?;
    let workflow = match store.run(run_id) {
        Ok(record) => Some(run_state(&record)?),
        // A run that waits for a worker has no workflow yet.
        Err(StoreError::RunNotFound(_)) if around.run.is_some() => None,
        Err(error) => return Err(error.into()),
    };
    let artifacts = if workflow.is_some() { store.artifacts(run_id)? } else { Vec::new() };
    let question = match &workflow {
        Some(run) if run.status == RunStatus::AwaitingClarification => open_question(queries, &artifacts),
        _ => None,
    };
    let words = sentence::words(
        workflow.as_ref(),
        &around,
        question.as_ref().map(|(text, asked)| (text.as_str(), asked.as_str())),
    );
    let request = match &around.task {
        Some(task) => task.instruction.clone(),
        None => request(queries, &artifacts).unwrap_or_default(),
    };
    let request_line = cut_units(&first_line(&request), TITLE).to_owned();
    let kinds: Vec<String> = artifacts.iter().map(|artifact| artifact.kind.clone()).collect();
    Ok(assemble(queries, run_id, workflow.as_ref(), &around, words, request_line, &kinds))
}

fn assemble(
    queries: &Queries,
    run_id: &str,
    workflow: Option<&RunState>,
    around: &Supervised,
    words: sentence::Words,
    request_line: String,
    kinds: &[String],
) -> RunRow {
    let run = around.run.as_ref();
    let root = run.map(|run| run.repository.clone());
    let root = root.or_else(|| workflow.map(|run| run.repository_root.clone())).unwrap_or_default();
    let mode = run.map(|run| run.mode).or(workflow.map(|run| run.mode));
    let changed = [run.map(|run| run.updated_at.to_string()), workflow.map(|run| run.updated_at.clone())];
    let created =
        run.map(|run| run.created_at.to_string()).or_else(|| workflow.map(|run| run.created_at.clone()));
    let ended = run.map_or_else(
        || workflow.is_some_and(|run| run.status.is_terminal()),
        |run| {
            if run.host_driven {
                run.status.is_terminal() || workflow.is_some_and(|w| w.status.is_terminal())
            } else {
                run.status.is_terminal()
            }
        },
    );
    RunRow {
        key: queries.key(run_id),
        task_id: run.map(|run| run.task_id.to_string()),
        title: around.task.as_ref().map_or_else(|| request_line.clone(), |task| task.title.clone()),
        request_line,
        repository: repository_name(&root),
        branch: run.and_then(|run| run.publication.as_ref()).map(|publication| publication.branch.clone()),
        mode: mode.map_or_else(String::new, |mode| mode.as_str().to_owned()),
        workflow_status: workflow.map_or_else(String::new, |run| run.status.as_str().to_owned()),
        phase: workflow.map_or_else(String::new, |run| run.phase.public().as_str().to_owned()),
        supervision_status: run.map(|run| run.status.as_str().to_owned()),
        rail: workflow
            .map_or_else(|| std::array::from_fn(|_| PhaseCell::default()), |run| phases::rail(run, kinds)),
        attempts: run.map_or(0, |run| run.attempts_used),
        need: words.need,
        sentence: words.sentence,
        next: words.next,
        verdict: around.verdict.as_ref().map(|verdict| VerdictLine {
            status: verdict.status.as_str().to_owned(),
            eligibility: verdict.pr_eligibility.as_str().to_owned(),
            approval: around.approval.as_ref().map(|approval| approval.decision.as_str().to_owned()),
            pull_request: run
                .and_then(|run| run.publication.as_ref())
                .and_then(|publication| publication.url.clone()),
        }),
        version: workflow.and_then(|run| u64::try_from(run.version).ok()).unwrap_or(0),
        created_at: created.unwrap_or_default(),
        updated_at: changed.into_iter().flatten().max().unwrap_or_default(),
        ended,
    }
}

/// The request of the run: its first user message.
pub(super) fn request(queries: &Queries, artifacts: &[ArtifactRecord]) -> Option<String> {
    let message = artifacts.iter().find(|artifact| artifact.kind == Kind::UserMessage.as_str())?;
    let body = queries.store().body(message).ok()?;
    body["content"].as_str().map(str::to_owned)
}

fn open_question(queries: &Queries, artifacts: &[ArtifactRecord]) -> Option<(String, String)> {
    let request =
        artifacts.iter().rev().find(|artifact| artifact.kind == Kind::ClarificationRequest.as_str())?;
    let body = queries.store().body(request).ok()?;
    Some((body["question"].as_str()?.to_owned(), request.created_at.clone()))
}
