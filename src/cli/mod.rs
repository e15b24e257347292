//! The command line: one file per subcommand, and what each prints.
//!
//! Every command works without a terminal and takes `--json`, which prints one line. Exit codes: 0 done,
//! 1 failed, 2 usage, 3 a person is needed, 4 not eligible.

mod agent;
mod artifact;
mod completions;
mod dashboard;
mod decide;
mod demo;
mod doctor;
mod mcp;
mod output;
mod place;
mod render;
mod rules;
mod runs;
mod schema;
mod session;
mod show;
mod stores;
mod task;
mod validate;

pub use output::Failure;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Supervise coding agents: typed workflow, checked evidence, deterministic verdicts.
#[derive(Debug, Parser)]
#[command(name = "telic", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    place: place::PlaceArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the runs of the local stores
    Runs(runs::RunsArguments),
    /// Show where a run stands
    Show(show::OneRun),
    /// Show how a run came there, event by event
    Trace(show::OneRun),
    /// Show one artifact of a run
    Artifact(artifact::ArtifactArguments),
    /// Tasks that the engine turns into runs
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Work on queued runs without a terminal
    Engine,
    /// Consent to the commands that a repository's policy runs on this machine
    Trust(task::TrustArguments),
    /// Answer the question of a run
    Answer(decide::AnswerArguments),
    /// Approve the verdict of a run
    Approve(decide::ApproveArguments),
    /// Reject the verdict of a run
    Reject(decide::RefuseArguments),
    /// Ask for changes; the task runs again
    RequestChanges(decide::RefuseArguments),
    /// Cancel a run
    Cancel(decide::PlainArguments),
    /// Publish an approved run
    Pr(decide::PlainArguments),
    /// Check that everything telic needs is there; creates nothing
    Doctor,
    /// See telic at work: three scripted agents on a small repository
    Demo(demo::DemoArguments),
    /// Draw one frame of a screen
    Render(render::RenderArguments),
    /// Serve the workflow to an MCP host on standard input and output
    Mcp(mcp::McpArguments),
    /// Scripted agents
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Check the body of an artifact against its type
    Validate(validate::ValidateArguments),
    /// Print the JSON Schema of an artifact type or of the configuration
    Schema(schema::SchemaArguments),
    /// List the rules that the controller checks
    Rules(rules::RulesArguments),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArguments),
}

/// Runs the program on the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.place.json;
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Some(Command::Runs(given)) => runs::run(given, &arguments.place),
        Some(Command::Show(given)) => show::show(given, &arguments.place),
        Some(Command::Trace(given)) => show::trace(given, &arguments.place),
        Some(Command::Artifact(given)) => artifact::run(given, &arguments.place),
        Some(Command::Task(command)) => task::task(command, &arguments.place),
        Some(Command::Engine) => task::engine(&arguments.place),
        Some(Command::Trust(given)) => task::trust(given, &arguments.place),
        Some(Command::Answer(given)) => decide::answer(given, &arguments.place),
        Some(Command::Approve(given)) => decide::approve(given, &arguments.place),
        Some(Command::Reject(given)) => decide::reject(given, &arguments.place),
        Some(Command::RequestChanges(given)) => decide::request_changes(given, &arguments.place),
        Some(Command::Cancel(given)) => decide::cancel(given, &arguments.place),
        Some(Command::Pr(given)) => decide::publish(given, &arguments.place),
        Some(Command::Demo(given)) => demo::run(given, arguments.place.json),
        Some(Command::Render(given)) => render::run(given, &arguments.place),
        Some(Command::Doctor) => doctor::run(&arguments.place),
        Some(Command::Mcp(given)) => Ok(mcp::run(given, &arguments.place)),
        Some(Command::Agent(command)) => agent::run(command),
        Some(Command::Validate(given)) => validate::run(given, arguments.place.json),
        Some(Command::Schema(given)) => schema::run(given),
        Some(Command::Rules(given)) => rules::run(given, arguments.place.json),
        Some(Command::Completions(given)) => completions::run(given),
        None => dashboard::run(&arguments.place),
    }
}
