//! The form of a script: one JSON file, unknown fields refused.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest script file, in bytes.
const SCRIPT_LIMIT: u64 = 4 << 20;

/// A recorded workflow with the edits that go with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A name for people.
    pub name: String,
    /// Starts a run; not needed for a run that exists already.
    #[serde(default)]
    pub start: Option<Value>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// One step of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Prints a line.
    Say(String),
    /// Waits, in milliseconds.
    Wait(u64),
    /// Grounds the run, with further arguments of `telic_ground_context`.
    Ground(serde_json::Map<String, Value>),
    /// Submits an artifact.
    Submit(Submit),
    /// Writes a file.
    Write(Write),
    /// Replaces a passage of a file.
    Replace(Replace),
    /// Deletes a file.
    Delete(PathBuf),
    /// Runs a program without a shell and keeps what it printed.
    Execute(Execute),
    /// Further steps, only when a person answered the question of the run with this choice.
    WhenAnswered(WhenAnswered),
}

/// Steps that depend on an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhenAnswered {
    /// The id of the choice.
    pub choice: String,
    /// What to do then.
    pub steps: Vec<Step>,
}

/// An artifact to submit; `schemaVersion` and `runId` are filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Its type.
    pub artifact_type: String,
    /// Its body, with placeholders.
    pub body: serde_json::Map<String, Value>,
    /// Further references.
    #[serde(default)]
    pub source_refs: Vec<String>,
}

/// A file to write, with its parent folders.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What it holds.
    pub content: String,
    /// Whether it may be executed.
    #[serde(default)]
    pub executable: bool,
}

/// A passage to replace; it must occur once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What stands there.
    pub find: String,
    /// What shall stand there.
    pub with: String,
}

/// A program to run in the workspace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execute {
    /// The name under which its output is kept: `${output:NAME}`, `${exit:NAME}`.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Further environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Why a script could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large to be a script.
    #[error("{}: more than {SCRIPT_LIMIT} bytes is no script", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is no script.
    #[error("{}: line {line}, column {column}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Where.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

impl Script {
    /// Reads a script file.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is no script; the place is named.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let unreadable = |source| ScriptError::Unreadable { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(unreadable)?.len() > SCRIPT_LIMIT {
            return Err(ScriptError::TooLarge { path: path.to_owned() });
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(path, &text)
    }

    /// Reads a script from its text; `path` is named in errors.
    ///
    /// # Errors
    /// The text is no script.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(|error| ScriptError::Malformed {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_script_is_refused_with_its_place() {
        let path = Path::new("bad.json");
        for (text, line, word) in [
            ("{\n \"name\": \"x\",\n \"steps\": [ { \"fly\": 1 } ]\n}", 3, "fly"),
            ("{\"name\": \"x\", \"steps\": [], \"more\": 1}", 1, "more"),
            ("{\"name\": \"x\"", 1, "EOF"),
            ("{\"name\": \"x\", \"steps\": [{\"write\": {\"path\": \"a\"}}]}", 1, "content"),
        ] {
            match Script::parse(path, text) {
                Err(ScriptError::Malformed { line: at, message, .. }) => {
                    assert_eq!(at, line, "{text}");
                    assert!(message.contains(word), "{message:?} does not name {word:?}");
                }
                other => panic!("{text} gave {other:?}"),
            }
        }
    }
}
