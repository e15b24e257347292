//! One attempt of a run, from the lease to the pause, the retry or the verdict.

use super::EngineError;
use super::agent::{self, Brief};
use super::consent::Question;
use super::evidence::Findings;
use super::judge::{self, Basis};
use super::process::{self, End, Ran, StartError, Stop};
use super::shop::Shop;
use super::verifier;
use crate::config::Agent;
use crate::controller::authority::default_grants;
use crate::controller::{RunStatus as WorkflowStatus, RunView, Schemas, StartInput};
use crate::domain::{
    AgentProcess, BudgetKind, FailureCode, Patch, PatchId, RepoPath, Run, RunArtifact, RunArtifactType,
    StepStatus, StepType, Visibility, WorkerPlace,
};
use crate::git::{Capture, CheckoutState, Diff, Repository, Worktree};
use crate::protocol::ActionCapability;
use crate::service::clock::{fresh, now};
use crate::service::supervision::Held;
use crate::service::workflow::Workflow;
use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The fact under which the worktree of a run is remembered.
fn worktree_fact(run: &Run) -> String {
    format!("worktree:{}", run.id)
}

/// Works on a leased run until it pauses, is given back, or is decided.
///
/// # Errors
/// The lease was lost or the store failed; what was recorded stays, and the next engine goes on from it.
pub(super) fn work(shop: &Shop, mut held: Held, stop: &Stop) -> Result<(), EngineError> {
    let repository = Repository::discover(Path::new(&held.run.repository))?;
    held.preparing()?;
    let worktree = match prepare(shop, &mut held, &repository) {
        Ok(worktree) => worktree,
        Err(error) if error.is_lease_lost() => return Err(error),
        Err(error) => {
            return infrastructure(shop, held, FailureCode::WorkspaceFailed, None, &error.to_string());
        }
    };
    let before = repository.checkout_state()?;
    let view = begin_workflow(shop, &held, &worktree)?;
    held.running(WorkerPlace {
        host: shop.worker.clone(),
        workspace: worktree.path().display().to_string(),
        workspace_is_ours: true,
    })?;
    let outcome = if view.run.status == WorkflowStatus::Running {
        run_agent(shop, &mut held, &worktree, stop)?
    } else {
        Ok(None)
    };
    let view = shop.supervision.views().view(held.run.id.as_str())?;
    record_phases(shop, &mut held)?;
    if held.cancelled()? {
        return Ok(held.abandon()?);
    }
    let exit_code = outcome.as_ref().ok().and_then(|ran| ran.as_ref()).and_then(|ran| match ran.end {
        End::Exited(code) => Some(code),
        _ => None,
    });
    let timed_out = matches!(&outcome, Ok(Some(ran)) if ran.end == End::TimedOut);
    let budget = (timed_out && held.time_left().is_zero()).then_some(BudgetKind::WallClock);
    match (view.run.status, outcome) {
        (WorkflowStatus::AwaitingClarification, _) => Ok(held.pause(exit_code)?),
        (_, Err(failure)) => infrastructure(shop, held, failure.code, None, &failure.text),
        (WorkflowStatus::Running, Ok(ran)) => {
            let code = match ran.map(|ran| ran.end) {
                Some(End::TimedOut) => FailureCode::AgentTimeout,
                // This engine was told to stop; the next one goes on.
                Some(End::Stopped) => FailureCode::WorkerLost,
                Some(End::Signalled(_)) => FailureCode::AgentCrashed,
                Some(End::Exited(code)) if code != 0 => FailureCode::AgentCrashed,
                _ => FailureCode::AgentExitedEarly,
            };
            // Time that is spent is not spent again by another attempt.
            if budget.is_none() && held.fail_attempt(code, exit_code)? {
                return Ok(());
            }
            conclude(shop, held, &repository, &worktree, &before, &view, exit_code, budget, stop)
        }
        _ => conclude(shop, held, &repository, &worktree, &before, &view, exit_code, budget, stop),
    }
}

/// What went wrong with the agent's process.
struct AgentFailure {
    code: FailureCode,
    text: String,
}

/// Makes the worktree of the run, or finds the one that an earlier attempt made.
fn prepare(shop: &Shop, held: &mut Held, repository: &Repository) -> Result<Worktree, EngineError> {
    let base =
        held.spec.base_commit.clone().ok_or_else(|| EngineError::missing(&held.run.id, "base commit"))?;
    let step = held.begin(StepType::PrepareWorkspace, "prepare the workspace")?;
    let known = shop.store().fact(&worktree_fact(&held.run)).map_err(crate::service::ServiceError::from)?;
    let known = known.and_then(|text| serde_json::from_str::<Worktree>(&text).ok());
    if let Some(worktree) = known.filter(|worktree| worktree.check_ours().is_ok()) {
        held.end(step, StepStatus::Succeeded, None, &[])?;
        return Ok(worktree);
    }
    let root = shop.store().workspaces_dir().map_err(crate::service::ServiceError::from)?;
    // A kill in the middle of making it leaves a half-made folder that no record vouches for; it is let be.
    let taken = root.join(held.run.id.as_str()).symlink_metadata().is_ok();
    let name = if taken { format!("{}-{}", held.run.id, held.attempt.id) } else { held.run.id.to_string() };
    match Worktree::create(repository, &root, &name, &base) {
        Ok(worktree) => {
            held.remember(&worktree_fact(&held.run), &worktree)?;
            held.end(step, StepStatus::Succeeded, None, &[])?;
            Ok(worktree)
        }
        Err(error) => {
            held.end(step, StepStatus::Failed, Some("workspace_failed"), &[])?;
            Err(error.into())
        }
    }
}

/// Opens the workflow of the run, or reads the one that an earlier attempt opened.
fn begin_workflow(shop: &Shop, held: &Held, worktree: &Worktree) -> Result<Arc<RunView>, EngineError> {
    match shop.supervision.views().view(held.run.id.as_str()) {
        Ok(view) => return Ok(view),
        Err(error) if error.code() == "run_not_found" => {}
        Err(error) => return Err(error.into()),
    }
    open_workflow(shop, held, worktree.path())?;
    Ok(shop.supervision.views().view(held.run.id.as_str())?)
}

/// Starts the workflow under the run's own id, with the authority that policy and mode leave.
fn open_workflow(shop: &Shop, held: &Held, workspace: &Path) -> Result<(), EngineError> {
    let views = Arc::clone(shop.supervision.views());
    let workflow = Workflow::new(views, workspace.to_owned(), Schemas::Compact);
    let mode = held.spec.mode;
    let mut granted: Vec<ActionCapability> = default_grants(mode).to_vec();
    let commands = held.spec.tool_policy.shell_execute.clone().unwrap_or_default();
    let executes = crate::domain::mutates(mode) && !commands.is_empty();
    if executes {
        granted.push(ActionCapability::ShellExecute);
    }
    let granted: Vec<String> = held
        .spec
        .tool_policy
        .narrow_grants(&granted)
        .iter()
        .map(|capability| capability.as_str().to_owned())
        .collect();
    let mut input = StartInput::new(held.task.instruction.clone(), mode, workspace.to_string_lossy());
    input.host_name = held.run.agent.clone().unwrap_or_else(|| "telic".to_owned());
    input.host_capabilities.clone_from(&granted);
    if granted.iter().any(|capability| capability == ActionCapability::ShellExecute.as_str()) {
        input.shell_execute_allowlist = commands;
    }
    input.granted = Some(granted);
    workflow.start_as(&input, held.run.id.as_str())?;
    Ok(())
}

/// Starts the agent and waits for it. Its output becomes an artifact.
fn run_agent(
    shop: &Shop,
    held: &mut Held,
    worktree: &Worktree,
    stop: &Stop,
) -> Result<Result<Option<Ran>, AgentFailure>, EngineError> {
    let step = held.begin(StepType::ModelPlanning, "run the agent")?;
    let agent = match agent_of(shop, held) {
        Ok(agent) => agent,
        Err(text) => {
            held.end(step, StepStatus::Failed, Some(FailureCode::AgentNotFound.as_str()), &[])?;
            return Ok(Err(AgentFailure { code: FailureCode::AgentNotFound, text }));
        }
    };
    let logs = shop.store().logs_dir().map_err(crate::service::ServiceError::from)?;
    let folder = agent::folder(&logs, held.attempt.id.as_str()).map_err(EngineError::io("make", &logs))?;
    let brief = Brief {
        run_id: held.run.id.as_str(),
        workspace: worktree.path(),
        state_dir: shop.state_dir(),
        program: &shop.program,
        folder: &folder,
        time_left: held.time_left(),
        output_limit: held.spec.budget.output_bytes,
    };
    let job = agent::job(&agent, &brief).map_err(EngineError::io("write into", &folder))?;
    let log = folder.join("agent.log");
    let (ran, trouble) = supervise(held, &job, &log, stop);
    if let Some(error) = trouble {
        return Err(error);
    }
    let artifact = keep_log(held, &log, &step)?;
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            let code = match error {
                StartError::NotFound { .. } => FailureCode::AgentNotFound,
                StartError::Failed { .. } => FailureCode::AgentStartFailed,
            };
            held.end(step, StepStatus::Failed, Some(code.as_str()), &[])?;
            return Ok(Err(AgentFailure { code, text: error.to_string() }));
        }
    };
    let artifacts: Vec<_> = artifact.iter().map(|artifact| artifact.id.clone()).collect();
    match ran.end {
        End::Exited(0) => held.end(step, StepStatus::Succeeded, None, &artifacts)?,
        End::TimedOut => held.end(step, StepStatus::TimedOut, None, &artifacts)?,
        _ => held.end(step, StepStatus::Failed, Some("agent_failed"), &artifacts)?,
    }
    Ok(Ok(Some(ran)))
}

/// Runs the job while the lease is kept alive. A lost lease or a cancellation stops the process.
fn supervise(
    held: &mut Held,
    job: &process::Job,
    log: &Path,
    stop: &Stop,
) -> (Result<Ran, StartError>, Option<EngineError>) {
    let mut trouble: Option<EngineError> = None;
    let identity = Cell::new(None);
    let ran = process::run(job, log, stop, &mut |started| identity.set(Some(started)), &mut || {
        if trouble.is_some() {
            return;
        }
        let mut tend = || -> Result<(), EngineError> {
            if let Some(started) = identity.take() {
                let pid = u32::try_from(started.pid).unwrap_or(0);
                held.agent_started(AgentProcess {
                    pid,
                    process_group: pid,
                    start_mark: started.started.to_string(),
                })?;
            }
            held.heartbeat_when_due()?;
            if held.cancelled()? {
                stop.request();
            }
            Ok(())
        };
        if let Err(error) = tend() {
            stop.request();
            trouble = Some(error);
        }
    });
    (ran, trouble)
}

fn keep_log(
    held: &mut Held,
    log: &Path,
    step: &crate::service::supervision::Stepping,
) -> Result<Option<RunArtifact>, EngineError> {
    let Ok(mut file) = File::open(log) else { return Ok(None) };
    let media = "text/plain; charset=utf-8";
    let visibility = Visibility::VisibleToRequester;
    Ok(Some(held.artifact(RunArtifactType::CommandLog, media, visibility, Some(step), &mut file)?))
}

fn agent_of(shop: &Shop, held: &Held) -> Result<Agent, String> {
    let name = held.run.agent.as_ref().or(shop.config.agent.as_ref());
    let name = name.ok_or("no agent is named, neither by the task nor by the configuration")?;
    let found = shop.config.agents.get(name).cloned();
    found.ok_or_else(|| format!("the configuration has no agent {name:?}"))
}

/// Records the phases that the workflow went through during this attempt as steps.
fn record_phases(shop: &Shop, held: &mut Held) -> Result<(), EngineError> {
    let events =
        shop.store().events(held.run.id.as_str(), 0, 10_000).map_err(crate::service::ServiceError::from)?;
    let began = held.attempt.started_at;
    let mut last = began;
    for event in events {
        let Ok(at) = crate::domain::Timestamp::parse(&event.timestamp) else { continue };
        if at < began || event.event_type != "phase_submitted" {
            continue;
        }
        let grounding = event.phase == "context_grounding";
        let step_type = if grounding { StepType::LoadContext } else { StepType::ModelPlanning };
        held.past_step(step_type, &event.decision_summary, &event.phase, last, at)?;
        last = at;
    }
    Ok(())
}

/// Computes the patch, verifies, judges and decides.
#[expect(clippy::too_many_arguments, reason = "everything that the evidence is made of")]
fn conclude(
    shop: &Shop,
    mut held: Held,
    repository: &Repository,
    worktree: &Worktree,
    before: &CheckoutState,
    view: &RunView,
    exit_code: Option<i32>,
    budget: Option<BudgetKind>,
    stop: &Stop,
) -> Result<(), EngineError> {
    held.verifying()?;
    let logs = shop.store().logs_dir().map_err(crate::service::ServiceError::from)?;
    let folder = agent::folder(&logs, held.attempt.id.as_str()).map_err(EngineError::io("make", &logs))?;
    let captured = collect(&mut held, repository, worktree, before, view, &folder)?;
    let report = match &captured {
        Some(found) if found.patch.boundary_check.passed && !found.capture.is_empty() => {
            check_in_clean_worktree(shop, &mut held, repository, &found.capture, &folder, stop)?
        }
        Some(_) => verifier::not_run(&held, "the patch broke the boundary; its commands are not run"),
        None => verifier::not_run(&held, "there is no patch to verify"),
    };
    if stop.requested() {
        // Checks that were stopped say nothing about the patch; the next attempt runs them again.
        if held.cancelled()? {
            return Ok(held.abandon()?);
        }
        let text = "the engine was stopped while it verified";
        return infrastructure(shop, held, FailureCode::WorkerLost, exit_code, text);
    }
    held.verified(&report)?;
    let patch = captured.as_ref().map(|found| &found.patch);
    let judged = judge::report(&mut held, view, patch, captured.as_ref().map(|found| &found.diff), &report)?;
    let basis = Basis {
        view: Some(view),
        patch,
        verification: Some(&report),
        judge: Some(&judged),
        infrastructure: None,
        budget,
        cancelled: false,
    };
    let verdict = judge::verdict(shop, &held.run, &held.spec, &basis)?;
    held.decide(&verdict, exit_code)?;
    Ok(())
}

/// What git says of a workspace.
struct Collected {
    patch: Patch,
    capture: Capture,
    diff: Diff,
}

/// The patch of the workspace with its record; nothing when nothing changed.
fn collect(
    held: &mut Held,
    repository: &Repository,
    worktree: &Worktree,
    before: &CheckoutState,
    view: &RunView,
    folder: &Path,
) -> Result<Option<Collected>, EngineError> {
    let step = held.begin(StepType::CollectArtifacts, "compute the patch")?;
    let capture = worktree.capture(repository)?;
    let outside = outside(repository, before)?;
    if capture.is_empty() && outside.is_empty() {
        held.end(step, StepStatus::Succeeded, None, &[])?;
        return Ok(None);
    }
    let artifact = held.artifact(
        RunArtifactType::PatchUnifiedDiff,
        "text/x-diff",
        Visibility::SafeForPr,
        Some(&step),
        &mut &*capture.diff,
    )?;
    let diff = capture.model()?;
    let patch = Findings {
        id: PatchId::new(fresh()),
        spec: &held.spec.clone(),
        repository,
        capture: &capture,
        diff: &diff,
        artifact: &artifact,
        view,
        outside,
        scratch: folder,
        at: now(),
    }
    .patch()?;
    held.patch(&patch)?;
    held.end(step, StepStatus::Succeeded, None, &[artifact.id])?;
    Ok(Some(Collected { patch, capture, diff }))
}

/// What the run changed in the user's own checkout (P-9).
fn outside(repository: &Repository, before: &CheckoutState) -> Result<Vec<RepoPath>, EngineError> {
    let changes = repository.checkout_state()?.changes_since(before);
    let mut paths = changes.files;
    if changes.head {
        paths.push(RepoPath::from("HEAD"));
    }
    // Remote branches move with the user's own fetches.
    let own = changes.refs.iter().filter(|name| !name.starts_with("refs/remotes/"));
    paths.extend(own.map(|name| RepoPath::from(name.as_str())));
    Ok(paths)
}

fn check_in_clean_worktree(
    shop: &Shop,
    held: &mut Held,
    repository: &Repository,
    capture: &Capture,
    folder: &Path,
    stop: &Stop,
) -> Result<crate::domain::VerificationReport, EngineError> {
    let base =
        held.spec.base_commit.clone().ok_or_else(|| EngineError::missing(&held.run.id, "base commit"))?;
    let root = shop.store().workspaces_dir().map_err(crate::service::ServiceError::from)?;
    let name = format!("{}-verify-{}", held.run.id, held.attempt.attempt_number);
    let clean =
        Worktree::create_with_patch(repository, &root, &name, &base, &capture.diff, Some(&capture.tree))?;
    let consent = consent(shop, held);
    let report = verifier::verify(held, clean.path(), folder, &consent, stop);
    // What the checks left behind is of no use; a folder that stays is found again by the collector.
    if let Err(error) = clean.remove(&root) {
        tracing::warn!(%error, "a verification worktree stays");
    }
    report
}

/// Whether the commands of the plan may run on this machine: those that a repository brings need consent.
fn consent(shop: &Shop, held: &Held) -> Result<(), String> {
    match Question::of(&held.spec) {
        None => Ok(()),
        Some(question) => {
            let given = shop.store().fact(&question.key()).ok().flatten();
            given.map(|_| ()).ok_or_else(|| {
                format!("the commands of {} were never consented to on this machine", held.run.repository)
            })
        }
    }
}

/// Ends an attempt that infrastructure ended: again while attempts are left, else the verdict says so.
fn infrastructure(
    shop: &Shop,
    mut held: Held,
    code: FailureCode,
    exit_code: Option<i32>,
    text: &str,
) -> Result<(), EngineError> {
    tracing::warn!(run = %held.run.id, code = code.as_str(), text, "an attempt failed");
    if held.fail_attempt(code, exit_code)? {
        return Ok(());
    }
    let view = shop.supervision.views().view(held.run.id.as_str()).ok();
    let basis = Basis {
        view: view.as_deref(),
        patch: None,
        verification: None,
        judge: None,
        infrastructure: Some(code),
        budget: None,
        cancelled: false,
    };
    let verdict = judge::verdict(shop, &held.run, &held.spec, &basis)?;
    held.decide(&verdict, exit_code)?;
    Ok(())
}
