//! `telic agent replay FILE`: a scripted agent.

use super::Failure;
use super::output::{print_line, print_text};
use crate::mcp::replay::{Ending, Options, Script, play};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Scripted agents.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// Play a recorded workflow as a real MCP client, with real edits
    Replay(ReplayArguments),
}

/// Arguments of `telic agent replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// The script
    file: PathBuf,
    /// Go on with this run instead of starting one
    #[arg(long, env = "TELIC_RUN_ID")]
    run: Option<String>,
    /// Where edits are made (default: the working directory)
    #[arg(long, value_name = "PATH")]
    workspace: Option<PathBuf>,
    /// Multiply every wait of the script; 0 leaves them out
    #[arg(long, default_value_t = 1.0)]
    pace: f64,
    /// The command of the MCP server (default: this program's `mcp`)
    #[arg(last = true)]
    server: Vec<String>,
}

pub(super) fn run(command: &AgentCommand) -> Result<ExitCode, Failure> {
    let AgentCommand::Replay(arguments) = command;
    if !(arguments.pace.is_finite() && (0.0..=100.0).contains(&arguments.pace)) {
        return Err(Failure::usage("--pace must be from 0 to 100"));
    }
    let script = Script::read(&arguments.file).map_err(|error| Failure::coded("script_malformed", error))?;
    let workspace = match &arguments.workspace {
        Some(path) => path.clone(),
        None => std::env::current_dir().map_err(|error| Failure::coded("working_dir", error))?,
    };
    let server = if arguments.server.is_empty() { own_server()? } else { arguments.server.clone() };
    let options = Options { server, workspace, run: arguments.run.clone(), pace: arguments.pace };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::coded("runtime", error))?;
    let ending = runtime.block_on(play(&script, &options, &mut |line| print_text(line)));
    match ending
        .map_err(|error| Failure::coded("replay_failed", format!("{}: {error}", arguments.file.display())))?
    {
        Ending::Ended(status) => print_line(&format!("the run ended: {status}")),
        Ending::Waiting => print_line("the run waits for an answer"),
        Ending::Open(phase) => print_line(&format!("the script is over; the run stands at {phase}")),
    }
    Ok(ExitCode::SUCCESS)
}

fn own_server() -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::coded("own_program", error))?;
    let program = program.into_os_string().into_string();
    let program =
        program.map_err(|path| Failure::coded("own_program", format!("{} is no text", path.display())))?;
    Ok(vec![program, "mcp".into()])
}
