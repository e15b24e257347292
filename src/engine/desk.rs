//! Carries out what the dashboard or the command line asks of one store.

use super::shop::Shop;
use super::{EngineError, judge, publisher};
use crate::controller::Schemas;
use crate::domain::{
    ApprovalChannel, ApprovalDecision, AutonomyLevel, FailureCode, IntentMode, Run, RunArtifact, Source,
    TaskType,
};
use crate::service::ServiceError;
use crate::service::link::{Command, NewTask, Reply};
use crate::service::snapshot::RunKey;
use crate::service::supervision::{Decision, Submitted, TaskDraft};
use crate::service::workflow::Workflow;
use crate::store::{Digest, StoreError};
use std::path::PathBuf;
use std::sync::Arc;

/// How much of a log is sent at once, in bytes.
const LOG_WINDOW: usize = 1 << 20;

/// Carries out a command and says what came of it. Commands on the engine itself are not for a store.
pub(super) fn perform(shop: &Shop, ticket: u64, command: &Command) -> Reply {
    let outcome = match command {
        Command::LoadDiff { key, digest } => load_diff(shop, ticket, key, digest),
        Command::LoadArtifact { key, id } => load_artifact(shop, ticket, key, id),
        Command::LoadLog { key, artifact, from } => load_log(shop, ticket, key, artifact, *from),
        Command::Answer { key, choice, expected_version, .. } => {
            done(ticket, answer(shop, &key.run, choice, *expected_version))
        }
        Command::Cancel { key, expected_version } => done(ticket, cancel(shop, &key.run, *expected_version)),
        Command::Approve {
            key,
            verdict_id,
            patch_digest,
            comment,
            publish,
            acknowledged,
            reviewed_files,
        } => {
            let decision = Decision {
                acknowledged: acknowledged.clone(),
                reviewed_files: reviewed_files.clone(),
                ..spoken(ApprovalDecision::Approved, verdict_id, patch_digest, comment)
            };
            done(ticket, approve(shop, &key.run, &decision, *publish))
        }
        Command::Reject { key, verdict_id, patch_digest, comment } => {
            let decision = spoken(ApprovalDecision::Rejected, verdict_id, patch_digest, comment);
            done(ticket, decide(shop, &key.run, &decision, "rejected"))
        }
        Command::RequestChanges { key, verdict_id, patch_digest, comment } => {
            let decision = spoken(ApprovalDecision::ChangesRequested, verdict_id, patch_digest, comment);
            done(ticket, request_changes(shop, &key.run, &decision))
        }
        Command::Publish { key } => done(ticket, publish(shop, &key.run)),
        Command::SubmitTask(task) => done(ticket, submit(shop, task)),
        Command::DecideToolCall { call, .. } => {
            Err(ServiceError::invalid("call_not_waiting", format!("the call {call} waits for nobody")).into())
        }
        Command::Follow(_) | Command::Unfollow | Command::Refresh | Command::Shutdown => {
            Ok(Reply::Done { request: ticket, text: String::new() })
        }
    };
    outcome.unwrap_or_else(|error| Reply::Refused {
        request: ticket,
        code: error.code().to_owned(),
        text: error.to_string(),
    })
}

fn done(ticket: u64, outcome: Result<String, EngineError>) -> Result<Reply, EngineError> {
    outcome.map(|text| Reply::Done { request: ticket, text })
}

fn spoken(decision: ApprovalDecision, verdict_id: &str, patch_digest: &str, comment: &str) -> Decision {
    Decision {
        decision,
        verdict_id: verdict_id.to_owned(),
        patch_digest: patch_digest.to_owned(),
        comment: comment.to_owned(),
        acknowledged: Vec::new(),
        reviewed_files: Vec::new(),
        channel: ApprovalChannel::Dashboard,
        from_inside_the_run: false,
    }
}

fn load_diff(shop: &Shop, request: u64, key: &RunKey, digest: &str) -> Result<Reply, EngineError> {
    let patch: Arc<[u8]> = shop.supervision.bytes(digest)?.into();
    Ok(Reply::Diff { request, key: key.clone(), digest: digest.to_owned(), patch })
}

fn load_artifact(shop: &Shop, request: u64, key: &RunKey, id: &str) -> Result<Reply, EngineError> {
    let store = shop.store();
    let body: Arc<[u8]> = match store.find_record::<RunArtifact>(id).map_err(ServiceError::from)? {
        Some(artifact) => shop.supervision.bytes(&artifact.sha256)?.into(),
        None => {
            let record = store.artifact(&key.run, id).map_err(ServiceError::from)?;
            store.body_text(&record).map_err(ServiceError::from)?.into_bytes().into()
        }
    };
    Ok(Reply::Artifact { request, key: key.clone(), id: id.to_owned(), body })
}

fn load_log(shop: &Shop, request: u64, key: &RunKey, id: &str, from: u64) -> Result<Reply, EngineError> {
    let artifact: RunArtifact = shop.store().record(id).map_err(ServiceError::from)?;
    let digest = Digest::parse(&artifact.sha256).map_err(ServiceError::from)?;
    let mut blob = shop.store().open_blob(&digest).map_err(ServiceError::from)?;
    let bytes: Arc<[u8]> = blob.range(from, LOG_WINDOW).map_err(ServiceError::from)?.into();
    let (artifact, total) = (id.to_owned(), blob.size());
    Ok(Reply::Log { request, key: key.clone(), artifact, from, bytes, total })
}

fn workflow(shop: &Shop) -> Workflow {
    Workflow::new(Arc::clone(shop.supervision.views()), PathBuf::new(), Schemas::Compact)
}

/// Answers the open question of a run, at the version that was shown.
pub(super) fn answer(shop: &Shop, run_id: &str, choice: &str, version: u64) -> Result<String, EngineError> {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let answer = workflow(shop).answer(run_id, choice, version)?;
    shop.supervision.answered(run_id, choice)?;
    Ok(format!("answered {choice}; the run is {}", answer.run.status))
}

/// Cancels a run: its workflow where it is open, and the supervision of it.
pub(super) fn cancel(shop: &Shop, run_id: &str, version: u64) -> Result<String, EngineError> {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    match shop.supervision.views().view(run_id) {
        Ok(view) if !view.run.status.is_terminal() => {
            workflow(shop).cancel_at(run_id, version)?;
        }
        Ok(_) => {}
        Err(ServiceError::Store(StoreError::RunNotFound(_))) => {}
        Err(error) => return Err(error.into()),
    }
    let Ok(run) = shop.supervision.run(run_id) else { return Ok("cancelled".to_owned()) };
    if run.status.is_terminal() {
        return Ok(format!("the run was {} already", run.status));
    }
    let spec = shop.supervision.spec(&run)?;
    let view = shop.supervision.views().view(run_id).ok();
    let basis = judge::Basis {
        view: view.as_deref(),
        patch: None,
        verification: None,
        judge: None,
        infrastructure: None,
        budget: None,
        cancelled: true,
    };
    let verdict = judge::verdict(shop, &run, &spec, &basis)?;
    shop.supervision.cancelled(&run, &verdict)?;
    Ok("cancelled".to_owned())
}

/// Ends a run whose worker was lost with its last attempt.
pub(super) fn lost(shop: &Shop, run: &Run) -> Result<(), EngineError> {
    let spec = shop.supervision.spec(run)?;
    let view = shop.supervision.views().view(run.id.as_str()).ok();
    let basis = judge::Basis {
        view: view.as_deref(),
        patch: None,
        verification: None,
        judge: None,
        infrastructure: Some(FailureCode::WorkerLost),
        budget: None,
        cancelled: false,
    };
    let verdict = judge::verdict(shop, run, &spec, &basis)?;
    shop.supervision.lost(run, &verdict)?;
    Ok(())
}

fn decide(shop: &Shop, run_id: &str, decision: &Decision, word: &str) -> Result<String, EngineError> {
    shop.supervision.decide(run_id, decision)?;
    Ok(word.to_owned())
}

/// Records an approval and publishes when that was asked for.
pub(super) fn approve(
    shop: &Shop,
    run_id: &str,
    decision: &Decision,
    publish_too: bool,
) -> Result<String, EngineError> {
    shop.supervision.decide(run_id, decision)?;
    if publish_too { publish(shop, run_id) } else { Ok("approved; not published".to_owned()) }
}

fn request_changes(shop: &Shop, run_id: &str, decision: &Decision) -> Result<String, EngineError> {
    let approval = shop.supervision.decide(run_id, decision)?;
    let run = shop.supervision.run(run_id)?;
    let next = shop.supervision.run_again(run.task_id.as_str(), &shop.user_policy)?;
    Ok(format!("changes requested by {}; the task runs again as {}", approval.actor, next.id))
}

fn publish(shop: &Shop, run_id: &str) -> Result<String, EngineError> {
    let run = publisher::publish(shop, run_id)?;
    let words = run.publication.as_ref().map(crate::service::publication::words);
    let next = run.publication.iter().flat_map(|publication| &publication.next_commands).next();
    let next = next.map_or_else(String::new, |command| format!("; next: {command}"));
    Ok(format!("{}{next}", words.unwrap_or_default()))
}

fn submit(shop: &Shop, task: &NewTask) -> Result<String, EngineError> {
    let malformed =
        |what: &str, value: &str| ServiceError::invalid("task_malformed", format!("{value:?} is no {what}"));
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let draft = TaskDraft {
        repository: PathBuf::from(&task.repository),
        base_ref: given(&task.base_ref),
        task_type: task.kind.parse::<TaskType>().map_err(|_| malformed("task type", &task.kind))?,
        mode: match given(&task.mode) {
            Some(mode) => Some(mode.parse::<IntentMode>().map_err(|_| malformed("mode", &task.mode))?),
            None => None,
        },
        title: given(&task.title),
        instruction: task.instruction.clone(),
        allowed_paths: task.allowed_paths.clone(),
        forbidden_paths: task.forbidden_paths.clone(),
        verification: task.verification.clone(),
        autonomy_level: match given(&task.autonomy) {
            Some(level) => level.parse::<AutonomyLevel>().map_err(|_| malformed("autonomy level", &level))?,
            None => AutonomyLevel::SupervisedPr,
        },
        agent: given(&task.agent),
        source: Source::Tui,
    };
    match shop.supervision.submit(draft, &shop.user_policy)? {
        Submitted::Queued { run, .. } => Ok(format!("queued as {}", run.id)),
        Submitted::Denied(task) => {
            let why = task.denial_reasons.first().map_or("", |reason| reason.text.as_str());
            Err(ServiceError::invalid("policy_denied", format!("policy denies the task: {why}")).into())
        }
    }
}
