//! `telic completions SHELL`: prints a completion script.

use super::Failure;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use std::process::ExitCode;

/// Arguments of `telic completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "telic", &mut script);
    super::output::print_line(String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
