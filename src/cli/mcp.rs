//! `telic mcp`: the MCP server on standard input and output.

use super::Failure;
use crate::controller::Schemas;
use crate::mcp::{Settings, say, serve};
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// Arguments of `telic mcp`.
#[derive(Debug, Args)]
pub(super) struct McpArguments {
    /// How the schemas inside next actions are written
    #[arg(long, value_enum, default_value = "compact")]
    schemas: SchemaForm,
}

/// How schemas are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaForm {
    /// The required one complete, the others by name
    Compact,
    /// All of them whole
    Full,
}

pub(super) fn run(arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let schemas = match arguments.schemas {
        SchemaForm::Compact => Schemas::Compact,
        SchemaForm::Full => Schemas::Full,
    };
    match start(schemas) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            say(&error);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn start(schemas: Schemas) -> Result<(), String> {
    let settings = Settings::of_process(schemas)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let outcome = runtime.block_on(serve(settings));
    // A blocked read of the standard input must not hold the process.
    runtime.shutdown_background();
    outcome
}
