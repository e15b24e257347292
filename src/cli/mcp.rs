//! `telic mcp`: the MCP server on standard input and output.

use super::place::PlaceArguments;
use crate::controller::Schemas;
use crate::mcp::{Settings, say, serve};
use clap::{Args, ValueEnum};
use std::path::Path;
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

/// Serves until the end of input. A start that fails is told in one line (`mcp.md` 1.3).
pub(super) fn run(arguments: &McpArguments, place: &PlaceArguments) -> ExitCode {
    let schemas = match arguments.schemas {
        SchemaForm::Compact => Schemas::Compact,
        SchemaForm::Full => Schemas::Full,
    };
    match start(schemas, place.repo.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn start(schemas: Schemas, repo: Option<&Path>) -> Result<(), String> {
    let settings = Settings::of_process(schemas, repo)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let outcome = runtime.block_on(serve(settings));
    // A blocked read of the standard input must not hold the process.
    runtime.shutdown_background();
    outcome
}
