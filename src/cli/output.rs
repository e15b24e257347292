//! How commands print: text for people, one line of JSON for programs, errors on the error stream.

use crate::text::visible;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// The command failed.
const FAILED: u8 = 1;
/// The command was called wrongly.
const USAGE: u8 = 2;
/// A person must decide first.
pub(super) const NEEDS_PERSON: u8 = 3;
/// The run may not be approved or published.
pub(super) const NOT_ELIGIBLE: u8 = 4;

/// Why a command failed, and the exit code that says so.
#[derive(Debug)]
pub struct Failure {
    exit: u8,
    code: String,
    message: String,
    /// On the heap, so that a result is no larger than its common case.
    details: Box<Map<String, Value>>,
}

impl Failure {
    /// The command was called wrongly.
    pub(super) fn usage(message: impl Display) -> Self {
        Self { exit: USAGE, code: "usage".into(), message: message.to_string(), details: Box::default() }
    }

    /// The command failed with a stable code.
    pub(super) fn coded(code: impl Into<String>, message: impl Display) -> Self {
        Self { exit: FAILED, code: code.into(), message: message.to_string(), details: Box::default() }
    }

    /// The same failure with another exit code.
    pub(super) fn exiting(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    /// Adds a fact for programs.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Prints the failure and gives the exit code.
    pub(super) fn report(&self, as_json: bool) -> ExitCode {
        if as_json {
            let mut answer = json!({ "ok": false, "code": self.code, "error": self.message });
            if let Some(object) = answer.as_object_mut() {
                object.extend((*self.details).clone());
            }
            print_line(&answer.to_string());
        }
        // Nothing can be done about an error stream that is closed.
        let _ = writeln!(io::stderr(), "telic: {}", visible(&self.message));
        ExitCode::from(self.exit)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<crate::service::ServiceError> for Failure {
    fn from(error: crate::service::ServiceError) -> Self {
        Self::coded(error.code(), &error)
    }
}

/// Prints a line; a reader that has gone away ends the program quietly.
pub(super) fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::coded("json", error))?;
    print_line(&text);
    Ok(())
}

/// Prints outside text, made safe, line by line.
pub(super) fn print_text(text: &str) {
    for line in crate::text::visible_lines(text) {
        print_line(&line);
    }
}
