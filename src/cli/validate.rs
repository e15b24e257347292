//! `telic validate TYPE [FILE|-]`: checks a body against its type.

use super::Failure;
use super::output::{print_json, print_line};
use crate::protocol::{Body, Kind};
use crate::text::visible;
use clap::Args;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most that is read, in bytes: twice the largest body, so that one with white space fits.
const READ_LIMIT: u64 = 8 << 20;

/// Arguments of `telic validate`.
#[derive(Debug, Args)]
pub(super) struct ValidateArguments {
    /// The artifact type, for instance ProblemFrame
    #[arg(value_parser = parse_kind)]
    kind: Kind,
    /// The file that holds the body; - is the standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub(super) fn parse_kind(text: &str) -> Result<Kind, String> {
    text.parse::<Kind>().map_err(|error| {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("{error}; known are {}", known.join(", "))
    })
}

pub(super) fn run(arguments: &ValidateArguments, as_json: bool) -> Result<ExitCode, Failure> {
    let text = read(&arguments.file)?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::coded("not_json", format!("{}: {error}", arguments.file.display())))?;
    let faults = Body::read(arguments.kind, &value).err().unwrap_or_default();
    if as_json {
        print_json(&json!({ "ok": faults.is_empty(), "type": arguments.kind.as_str(), "issues": faults }))?;
    } else if faults.is_empty() {
        print_line(&format!("valid {}", arguments.kind));
    } else {
        for fault in &faults {
            print_line(&visible(&format!("{fault} [{}]", fault.code.as_str())));
        }
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::coded("unreadable", format!("{}: {error}", file.display()));
    let mut source: Box<dyn std::io::Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).map_err(failed)?)
    };
    let mut text = String::new();
    let count = source.by_ref().take(READ_LIMIT + 1).read_to_string(&mut text).map_err(failed)?;
    if count as u64 > READ_LIMIT {
        return Err(Failure::coded("too_large", format!("{}: more than {READ_LIMIT} bytes", file.display())));
    }
    Ok(text)
}
