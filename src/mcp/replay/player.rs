//! Plays a script against a server.

use super::client::Client;
use super::script::{Execute, Replace, Script, Step, Submit, Write};
use super::template::Values;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a script is played.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command that starts the server, `telic mcp` as a rule.
    pub server: Vec<String>,
    /// Where edits are made and commands run.
    pub workspace: PathBuf,
    /// The run to go on with; without one the script starts a run.
    pub run: Option<String>,
    /// Multiplies every wait of the script; 0 leaves them out.
    pub pace: f64,
}

/// Where a played run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run ended with this status.
    Ended(String),
    /// The run waits for the answer of a person.
    Waiting,
    /// The script is over although the run wants more.
    Open(String),
}

/// Plays `script` and says each step through `say`.
///
/// # Errors
/// A step failed; the text names the step and the reason.
pub async fn play(script: &Script, options: &Options, say: &mut dyn FnMut(&str)) -> Result<Ending, String> {
    let client = Client::start(&options.server, &options.workspace).await?;
    let outcome = Player::begin(&client, script, options).await;
    let ending = match outcome {
        Ok(mut player) => player.play(script, say).await,
        Err(error) => Err(error),
    };
    client.close().await;
    ending
}

struct Player<'a> {
    client: &'a Client,
    options: &'a Options,
    run: String,
    action: Value,
    version: i64,
    artifacts: Vec<Value>,
    outputs: HashMap<String, (String, i32)>,
}

impl<'a> Player<'a> {
    async fn begin(client: &'a Client, script: &Script, options: &'a Options) -> Result<Self, String> {
        let run = match (&options.run, &script.start) {
            (Some(run), _) => run.clone(),
            (None, Some(Value::Object(start))) => {
                let answer = client.call("telic_start_run", start.clone()).await?;
                answer["run"]["runId"].as_str().ok_or("telic_start_run: no run id")?.to_owned()
            }
            (None, _) => return Err("the script starts no run; name one with --run".to_owned()),
        };
        let mut player = Self {
            client,
            options,
            run,
            action: Value::Null,
            version: 0,
            artifacts: Vec::new(),
            outputs: HashMap::new(),
        };
        player.refresh().await?;
        Ok(player)
    }

    async fn refresh(&mut self) -> Result<(), String> {
        let mut arguments = Map::new();
        arguments.insert("run_id".into(), json!(self.run));
        let answer = self.client.call("telic_get_run", arguments).await?;
        self.artifacts = answer["artifacts"].as_array().cloned().unwrap_or_default();
        self.take(&answer)
    }

    fn take(&mut self, answer: &Value) -> Result<(), String> {
        self.version = answer["run"]["version"].as_i64().ok_or("the answer has no run version")?;
        self.action = answer["nextAction"].clone();
        Ok(())
    }

    async fn play(&mut self, script: &Script, say: &mut dyn FnMut(&str)) -> Result<Ending, String> {
        let mut waiting: Vec<(usize, &Step)> = script.steps.iter().enumerate().rev().collect();
        while let Some((at, step)) = waiting.pop() {
            if let Some(ending) = self.ending() {
                return Ok(ending);
            }
            if let Step::WhenAnswered(when) = step {
                if self.answer().await?.as_deref() == Some(&*when.choice) {
                    waiting.extend(when.steps.iter().rev().map(|step| (at, step)));
                }
                continue;
            }
            self.perform(step, say).await.map_err(|error| format!("step {}: {error}", at + 1))?;
        }
        Ok(self
            .ending()
            .unwrap_or_else(|| Ending::Open(self.action["phase"].as_str().unwrap_or("?").to_owned())))
    }

    /// Whether the run wants nothing more from an agent.
    fn ending(&self) -> Option<Ending> {
        match self.action["kind"].as_str() {
            Some("terminal") => Some(Ending::Ended(self.action["status"].as_str().unwrap_or("?").to_owned())),
            Some("clarification") => Some(Ending::Waiting),
            _ => None,
        }
    }

    /// The choice that a person made, when the question of this run was answered.
    async fn answer(&self) -> Result<Option<String>, String> {
        let messages = self.artifacts.iter().filter(|artifact| artifact["type"] == "UserMessage");
        let Some(id) = messages.skip(1).last().and_then(|message| message["id"].as_str()) else {
            return Ok(None);
        };
        let arguments =
            Map::from_iter([("run_id".into(), json!(self.run)), ("artifact_id".into(), json!(id))]);
        let answer = self.client.call("telic_get_artifact", arguments).await?;
        Ok(answer["artifact"]["body"]["content"].as_str().map(|text| text.trim().to_owned()))
    }

    async fn perform(&mut self, step: &Step, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        match step {
            Step::Say(text) => say(text),
            Step::Wait(milliseconds) => {
                let paced =
                    std::time::Duration::from_millis(*milliseconds).mul_f64(self.options.pace.max(0.0));
                tokio::time::sleep(paced).await;
            }
            Step::Ground(further) => self.ground(further, say).await?,
            Step::Submit(submit) => self.submit(submit, say).await?,
            Step::Write(write) => self.write(write, say)?,
            Step::Replace(replace) => self.replace(replace, say)?,
            Step::Delete(path) => {
                let path = self.options.workspace.join(path);
                if path.exists() {
                    std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                    say(&format!("deleted {}", path.display()));
                }
            }
            Step::Execute(execute) => self.execute(execute, say)?,
            // Taken apart by the loop, since steps do not nest futures.
            Step::WhenAnswered(_) => {}
        }
        Ok(())
    }

    fn tokens(&self) -> Map<String, Value> {
        Map::from_iter([
            ("run_id".into(), json!(self.run)),
            ("action_id".into(), self.action["id"].clone()),
            ("expected_run_version".into(), json!(self.version)),
        ])
    }

    async fn ground(
        &mut self,
        further: &Map<String, Value>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        if self.action["phase"] != "context_discovery" {
            return Ok(());
        }
        let mut arguments = self.tokens();
        arguments.extend(further.clone());
        self.client.call("telic_ground_context", arguments).await?;
        self.refresh().await?;
        say("grounded the run");
        Ok(())
    }

    async fn submit(&mut self, submit: &Submit, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let id = submit.body.get("id").and_then(Value::as_str).ok_or("the body has no id")?;
        if self.artifacts.iter().any(|artifact| artifact["id"] == *id) {
            return Ok(());
        }
        let now = now();
        let workspace = &self.options.workspace;
        let file = |what: &str, path: &str| read_file(workspace, what, path);
        let values = Values {
            run: &self.run,
            artifacts: &self.artifacts,
            outputs: &self.outputs,
            file: &file,
            now: &now,
        };
        let mut body =
            Map::from_iter([("schemaVersion".into(), json!("1.0")), ("runId".into(), json!(self.run))]);
        body.extend(values.fill_object(&submit.body)?);
        let references: Vec<Value> =
            submit.source_refs.iter().map(|text| values.fill(&json!(text))).collect::<Result<_, _>>()?;
        let mut arguments = self.tokens();
        arguments.insert("artifact_type".into(), json!(submit.artifact_type));
        arguments.insert("body".into(), Value::Object(body));
        arguments.insert("source_refs".into(), Value::Array(references));
        self.client.call("telic_submit_artifact", arguments).await?;
        self.refresh().await?;
        say(&format!("submitted {} {id}", submit.artifact_type));
        Ok(())
    }

    fn write(&self, write: &Write, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.options.workspace.join(&write.path);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&path, &write.content).map_err(failed)?;
        if write.executable {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
        say(&format!("wrote {}", write.path.display()));
        Ok(())
    }

    fn replace(&self, replace: &Replace, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let path = self.options.workspace.join(&replace.path);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        match text.matches(&replace.find).count() {
            1 => std::fs::write(&path, text.replacen(&replace.find, &replace.with, 1)).map_err(failed)?,
            // An attempt that was cut off may have made the edit already.
            0 if text.contains(&replace.with) => return Ok(()),
            count => return Err(format!("{}: the passage occurs {count} times, not once", path.display())),
        }
        say(&format!("edited {}", replace.path.display()));
        Ok(())
    }

    fn execute(&mut self, execute: &Execute, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let (program, arguments) = execute.command.split_first().ok_or("a command needs a program")?;
        let output = Command::new(program)
            .args(arguments)
            .envs(&execute.env)
            .current_dir(&self.options.workspace)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        if text.is_empty() {
            "(no output)".clone_into(&mut text);
        }
        let code = output.status.code().unwrap_or(255);
        say(&format!("ran {} (exit {code})", execute.command.join(" ")));
        self.outputs.insert(execute.name.clone(), (text, code));
        Ok(())
    }
}

/// What a script may ask about a file: its reference, its digest now and at the base, its diff.
fn read_file(workspace: &Path, what: &str, path: &str) -> Result<String, String> {
    let git = |arguments: &[&str]| -> Result<Vec<u8>, String> {
        let output = Command::new("git")
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(workspace)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("git: {error}"))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    };
    match what {
        "source" => Ok(format!("repo://{path}")),
        "hash" => {
            let bytes = std::fs::read(workspace.join(path)).map_err(|error| format!("{path}: {error}"))?;
            Ok(digest(&bytes))
        }
        "base" => git(&["cat-file", "blob", &format!("HEAD:{path}")]).map(|bytes| digest(&bytes)),
        _ => {
            git(&["add", "--intent-to-add", "--", path])?;
            let bytes = git(&["diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", path])?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.is_empty() { Err(format!("{path}: nothing changed")) } else { Ok(text) }
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
