//! Placeholders of a script: what only the server, the work tree or a command could say.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What the placeholders stand for at one moment.
pub(super) struct Values<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// Metadata of the artifacts of the run, in order, as the server lists them.
    pub artifacts: &'a [Value],
    /// Output and exit code by name of the command.
    pub outputs: &'a HashMap<String, (String, i32)>,
    /// Reads from the work tree: what (`hash`, `base`, `diff`, `source`) and the path.
    pub file: &'a dyn Fn(&str, &str) -> Result<String, String>,
    /// The time, in UTC.
    pub now: &'a str,
}

impl Values<'_> {
    /// Fills in every placeholder of a value.
    ///
    /// # Errors
    /// A placeholder that is unknown or has nothing to stand for, named.
    pub(super) fn fill(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(entries) => entries.iter().map(|entry| self.fill(entry)).collect(),
            Value::Object(object) => match object.get("$permissions") {
                Some(Value::Object(granted)) if object.len() == 1 => permissions(granted),
                _ => self.fill_object(object).map(Value::Object),
            },
            other => Ok(other.clone()),
        }
    }

    /// Fills in every placeholder of an object's values.
    pub(super) fn fill_object(&self, object: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        object.iter().map(|(key, entry)| Ok((key.clone(), self.fill(entry)?))).collect()
    }

    /// A text that is one placeholder may become a number; within other text it is written out.
    fn fill_text(&self, text: &str) -> Result<Value, String> {
        if let Some(name) = text.strip_prefix("${exit:").and_then(|rest| rest.strip_suffix('}')) {
            return Ok(json!(self.output(name)?.1));
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            filled.push_str(&rest[..at]);
            let end = rest[at..].find('}').ok_or_else(|| format!("unclosed placeholder in {text:?}"))?;
            filled.push_str(&self.look_up(&rest[at + 2..at + end])?);
            rest = &rest[at + end + 1..];
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn look_up(&self, name: &str) -> Result<String, String> {
        match name.split_once(':') {
            None => match name {
                "run" => Ok(self.run.to_owned()),
                "now" => Ok(self.now.to_owned()),
                "request" => self.artifact("UserMessage", false),
                "answer" => self.artifact("UserMessage", true),
                "question" => self.artifact("ClarificationRequest", true),
                "context" => self.artifact("ContextManifest", true),
                _ => Err(format!("unknown placeholder ${{{name}}}")),
            },
            Some(("art", id)) => Ok(format!("artifact://{}/{id}", self.run)),
            Some(("latest", kind)) => self.artifact(kind, true),
            Some(("output", name)) => Ok(self.output(name)?.0.clone()),
            Some((what @ ("hash" | "base" | "diff" | "source"), path)) => (self.file)(what, path),
            Some(_) => Err(format!("unknown placeholder ${{{name}}}")),
        }
    }

    fn output(&self, name: &str) -> Result<&(String, i32), String> {
        self.outputs.get(name).ok_or_else(|| format!("no command named {name:?} has run yet"))
    }

    fn artifact(&self, kind: &str, latest: bool) -> Result<String, String> {
        let mut of_kind = self.artifacts.iter().filter(|artifact| artifact["type"] == kind);
        let found = if latest { of_kind.next_back() } else { of_kind.next() };
        let id = found.and_then(|artifact| artifact["id"].as_str());
        id.map(|id| format!("artifact://{}/{id}", self.run))
            .ok_or_else(|| format!("the run has no {kind} yet"))
    }
}

/// `{"repository.write": ["src/**"], "shell.inspect": true}` as a whole permission set.
fn permissions(granted: &Map<String, Value>) -> Result<Value, String> {
    let mut set = crate::protocol::Wire::encode(&crate::protocol::PermissionSet::empty());
    for (name, value) in granted {
        let slot = name.split_once('.').and_then(|(group, field)| set.get_mut(group)?.get_mut(field));
        *slot.ok_or_else(|| format!("unknown permission {name:?}"))? = value.clone();
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(value: &Value) -> Result<Value, String> {
        let artifacts = [
            json!({"type": "UserMessage", "id": "m1"}),
            json!({"type": "ClarificationRequest", "id": "c1"}),
            json!({"type": "UserMessage", "id": "m2"}),
        ];
        let outputs = HashMap::from([("check".to_owned(), ("ok\n".to_owned(), 3))]);
        let values = Values {
            run: "r",
            artifacts: &artifacts,
            outputs: &outputs,
            file: &|what, path| Ok(format!("{what} of {path}")),
            now: "2026-01-01T00:00:00.000Z",
        };
        values.fill(value)
    }

    #[test]
    fn placeholders_stand_for_what_the_run_holds() {
        let filled = fill(&json!({
            "request": "${request}", "answer": "${answer}", "question": "${question}", "art": "${art:x}",
            "hash": "${hash:a/b}", "text": "it said: ${output:check}", "exit": "${exit:check}", "n": 1
        }));
        assert_eq!(
            filled,
            Ok(json!({
                "request": "artifact://r/m1", "answer": "artifact://r/m2", "question": "artifact://r/c1",
                "art": "artifact://r/x", "hash": "hash of a/b", "text": "it said: ok\n", "exit": 3, "n": 1
            }))
        );
    }

    #[test]
    fn a_placeholder_with_nothing_to_stand_for_is_named() {
        for (text, word) in [
            ("${nothing}", "nothing"),
            ("${context}", "ContextManifest"),
            ("${output:x}", "\"x\""),
            ("${run", "unclosed"),
        ] {
            let error = fill(&json!(text)).unwrap_err();
            assert!(error.contains(word), "{error:?} does not name {word:?}");
        }
    }

    #[test]
    fn permissions_are_written_in_short() {
        let set =
            fill(&json!({"$permissions": {"repository.write": ["lib/**"], "shell.inspect": true}})).unwrap();
        assert_eq!(set["repository"]["write"], json!(["lib/**"]));
        assert_eq!(set["shell"], json!({"inspect": true, "executeAllowlist": []}));
        assert!(crate::protocol::wire::read::<crate::protocol::PermissionSet>(&set).is_ok());
        assert!(fill(&json!({"$permissions": {"repository.fly": true}})).unwrap_err().contains("fly"));
    }
}
