//! `telic schema TYPE`: prints the JSON Schema of an artifact type.

use super::Failure;
use super::output::print_line;
use crate::protocol::Kind;
use clap::Args;
use std::process::ExitCode;

/// Arguments of `telic schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    /// The artifact type, for instance ProblemFrame
    #[arg(value_parser = super::validate::parse_kind)]
    kind: Kind,
}

pub(super) fn run(arguments: &SchemaArguments) -> Result<ExitCode, Failure> {
    let schema = arguments.kind.schema();
    print_line(&serde_json::to_string_pretty(&schema).map_err(|error| Failure::coded("json", error))?);
    Ok(ExitCode::SUCCESS)
}
