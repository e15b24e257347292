//! `telic schema TYPE`: prints the JSON Schema of an artifact type, or of the configuration file.

use super::Failure;
use super::output::print_line;
use crate::config::Config;
use crate::protocol::Kind;
use clap::Args;
use std::process::ExitCode;

/// Arguments of `telic schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    /// The artifact type, for instance ProblemFrame, or `config` for the configuration file
    #[arg(value_parser = parse_subject, value_name = "TYPE")]
    subject: Subject,
}

/// What has a schema.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Artifact(Kind),
    Config,
}

fn parse_subject(given: &str) -> Result<Subject, String> {
    if given == "config" {
        return Ok(Subject::Config);
    }
    super::validate::parse_kind(given).map(Subject::Artifact)
}

pub(super) fn run(arguments: &SchemaArguments) -> Result<ExitCode, Failure> {
    let schema = match arguments.subject {
        Subject::Artifact(kind) => kind.schema(),
        Subject::Config => Config::schema(),
    };
    print_line(&serde_json::to_string_pretty(&schema).map_err(|error| Failure::coded("json", error))?);
    Ok(ExitCode::SUCCESS)
}
