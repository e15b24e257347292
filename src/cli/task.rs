//! `telic task submit`, `telic engine`, `telic trust`: letting telic run agents.

use super::Failure;
use super::output::{NEEDS_PERSON, print_json, print_line};
use super::place::PlaceArguments;
use super::{session, stores};
use crate::domain::{AutonomyLevel, IntentMode, Source, TaskType};
use crate::engine::{self, consent::Question};
use crate::service::supervision::{Submitted, Supervision, TaskDraft};
use crate::service::views::Views;
use crate::store::Store;
use crate::text::visible;
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

/// Tasks for the engine.
#[derive(Debug, Subcommand)]
pub(super) enum TaskCommand {
    /// Submit a task; a run of it waits for an engine
    Submit(SubmitArguments),
}

/// Arguments of `telic task submit`.
#[derive(Debug, Args)]
pub(super) struct SubmitArguments {
    /// What is asked, in full
    #[arg(long)]
    instruction: String,
    /// A short title (default: the first line of the instruction)
    #[arg(long)]
    title: Option<String>,
    /// What kind of task it is
    #[arg(long = "type", default_value = "other", value_parser = parse::<TaskType>)]
    task_type: TaskType,
    /// The workflow's mode (default: by type)
    #[arg(long, value_parser = parse::<IntentMode>)]
    mode: Option<IntentMode>,
    /// The agent, by its name in the configuration
    #[arg(long)]
    agent: Option<String>,
    /// Branch, tag or commit to start from (default: the current branch)
    #[arg(long)]
    base: Option<String>,
    /// Pattern of paths that may change; may be given several times
    #[arg(long, value_name = "GLOB")]
    allow: Vec<String>,
    /// Pattern of paths that must not change; may be given several times
    #[arg(long, value_name = "GLOB")]
    forbid: Vec<String>,
    /// Command that must pass; may be given several times
    #[arg(long, value_name = "COMMAND")]
    verify: Vec<String>,
    /// How far the run may go by itself
    #[arg(long, default_value = "supervised_pr", value_parser = parse::<AutonomyLevel>)]
    autonomy: AutonomyLevel,
}

fn parse<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn task(command: &TaskCommand, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let TaskCommand::Submit(given) = command;
    let here = place.find()?;
    let settings = session::settings(session::configuration()?, &here.repository)?;
    let draft = TaskDraft {
        repository: here.repository.clone(),
        base_ref: given.base.clone(),
        task_type: given.task_type,
        mode: given.mode,
        title: given.title.clone(),
        instruction: given.instruction.clone(),
        allowed_paths: given.allow.clone(),
        forbidden_paths: given.forbid.clone(),
        verification: given.verify.clone(),
        autonomy_level: given.autonomy,
        agent: given.agent.clone(),
        source: Source::Cli,
    };
    let supervision = supervision(place, &settings)?;
    match supervision.submit(draft, &settings.user_policy)? {
        Submitted::Queued { task, run } => {
            if place.json {
                print_json(&json!({ "ok": true, "taskId": task.id, "runId": run.id }))?;
            } else {
                print_line(&format!("queued {} for {}; telic or telic engine works on it", run.id, task.id));
            }
            Ok(ExitCode::SUCCESS)
        }
        Submitted::Denied(task) => {
            let why: Vec<&str> = task.denial_reasons.iter().map(|reason| reason.text.as_str()).collect();
            Err(Failure::coded("policy_denied", format!("policy denies the task: {}", why.join("; "))))
        }
    }
}

fn supervision(place: &PlaceArguments, settings: &engine::Settings) -> Result<Supervision, Failure> {
    let here = place.find()?;
    crate::paths::check_overlap(&here.repository, &here.state_dir)
        .map_err(|error| Failure::coded(error.code(), error))?;
    let store = Store::open(&here.state_dir).map_err(|error| Failure::coded(error.code(), error))?;
    Ok(Supervision::new(Arc::new(Views::new(store)), settings.actor.clone()))
}

/// Works on the queued runs of the local stores until it is interrupted.
pub(super) fn engine(place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let folder = std::env::current_dir().map_err(|error| Failure::coded("working_dir", error))?;
    let settings = session::settings(session::configuration()?, &folder)?;
    let mut opened = Vec::new();
    for dir in stores::folders(place)? {
        let store = Store::open(&dir).map_err(|error| Failure::coded(error.code(), error))?;
        opened.push((stores::store_id(&dir), store));
    }
    if opened.is_empty() {
        return Err(Failure::coded("no_store", "there is no store to work on; submit a task first"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::coded("runtime", error))?;
    let (link, engine) = engine::start(&settings, opened);
    print_line("the engine works; interrupt it to end");
    runtime.block_on(interrupted());
    drop(link);
    engine.join();
    Ok(ExitCode::SUCCESS)
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let streams = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams else { return };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Arguments of `telic trust`.
#[derive(Debug, Args)]
pub(super) struct TrustArguments {
    /// Who consents; needed where there is no terminal
    #[arg(long, value_name = "NAME")]
    yes_i_am: Option<String>,
}

/// Asks for consent to the commands that the repository's policy would run on this machine.
///
/// An agent does not consent to commands of its own repository: a call from inside a run is refused.
pub(super) fn trust(given: &TrustArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    super::decide::refuse_named_run("consent to commands")?;
    let here = place.find()?;
    let mut settings = session::settings(session::configuration()?, &here.repository)?;
    if let Some(name) = &given.yes_i_am {
        settings.actor.clone_from(name);
    }
    let supervision = supervision(place, &settings)?;
    let policy = supervision.policy_at_head(&here.repository)?;
    let root = crate::git::Repository::discover(&here.repository)
        .map_err(|error| Failure::coded(error.code(), error))?
        .root()
        .display()
        .to_string();
    let commands = Question::commands_of(&policy);
    if commands.is_empty() {
        print_line("the repository's policy runs no commands");
        return Ok(ExitCode::SUCCESS);
    }
    let question = Question { repository: root, commands };
    print_line(&visible(&format!("{} would run on this machine:", question.repository)));
    for command in &question.commands {
        print_line(&visible(&format!("  {command}")));
    }
    if given.yes_i_am.is_none() && !confirmed()? {
        return Err(Failure::coded("not_consented", "nothing was consented to").exiting(NEEDS_PERSON));
    }
    supervision.consent(&question.key())?;
    print_line("consented; a changed list asks again");
    Ok(ExitCode::SUCCESS)
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let text = "consent needs a person: use a terminal, or name yourself with --yes-i-am NAME";
        return Err(Failure::coded("person_needed", text).exiting(NEEDS_PERSON));
    }
    let failed = |error: std::io::Error| Failure::coded("terminal", error);
    let mut out = std::io::stdout();
    write!(out, "Let them run? Type yes: ").and_then(|()| out.flush()).map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(answer.trim() == "yes")
}
