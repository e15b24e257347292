//! How an agent is started: its command with the placeholders filled in, and the prompt.

use super::process::Job;
use crate::config::{Agent, AgentInput};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the placeholders of an agent's command stand for.
#[derive(Clone, Debug)]
pub(super) struct Brief<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The folder the agent works in.
    pub workspace: &'a Path,
    /// The store of the run.
    pub state_dir: &'a Path,
    /// This program.
    pub program: &'a Path,
    /// A folder for the prompt and the MCP configuration.
    pub folder: &'a Path,
    /// What is left of the wall-clock budget.
    pub time_left: Duration,
    /// The most output that is kept.
    pub output_limit: u64,
}

/// What an agent is told: which run to continue and how.
pub(super) fn prompt(run_id: &str) -> String {
    format!(
        "A telic run is waiting for you: {run_id}. Use the MCP server `telic`. Call telic_get_next_action with \
         this run id, do what the action asks, hand in the artifact it requires with telic_submit_artifact, and \
         repeat until the action is terminal or asks a question. Do not start another run. Do not answer a \
         question for the user; stop when one is open. Stay inside the permissions that each action names. Work \
         only in the current folder, and do not commit."
    )
}

/// The job that starts an agent.
///
/// # Errors
/// The prompt or the MCP configuration cannot be written.
pub(super) fn job(agent: &Agent, brief: &Brief<'_>) -> std::io::Result<Job> {
    let prompt = prompt(brief.run_id);
    let prompt_file = brief.folder.join("prompt.txt");
    std::fs::write(&prompt_file, &prompt)?;
    let mcp_config = brief.folder.join("mcp.json");
    std::fs::write(&mcp_config, mcp_configuration(brief))?;
    let mcp_command = format!("{} mcp", brief.program.display());
    let values: [(&str, OsString); 7] = [
        ("{prompt}", prompt.clone().into()),
        ("{prompt_file}", prompt_file.into()),
        ("{workspace}", brief.workspace.into()),
        ("{run_id}", brief.run_id.into()),
        ("{mcp_config}", mcp_config.into()),
        ("{mcp_command}", mcp_command.into()),
        ("{telic}", brief.program.into()),
    ];
    let environment = environment(agent, brief);
    Ok(Job {
        command: agent.command.iter().map(|word| fill(word, &values)).collect(),
        directory: brief.workspace.to_owned(),
        environment,
        pass: Vec::new(),
        limit: Duration::from_secs(agent.timeout).min(brief.time_left),
        output_limit: brief.output_limit,
        input: (agent.stdin == AgentInput::Prompt).then(|| prompt.into_bytes()),
    })
}

fn environment(agent: &Agent, brief: &Brief<'_>) -> BTreeMap<String, OsString> {
    let mut environment: BTreeMap<String, OsString> =
        agent.env.iter().map(|(name, value)| (name.clone(), value.into())).collect();
    environment.insert("TELIC_RUN_ID".into(), brief.run_id.into());
    environment.insert("TELIC_STATE_DIR".into(), brief.state_dir.into());
    environment.insert("TELIC_REPOSITORY_ROOT".into(), brief.workspace.into());
    environment
}

/// The MCP configuration that most hosts read: one server, this program.
fn mcp_configuration(brief: &Brief<'_>) -> String {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    serde_json::json!({ "mcpServers": { "telic": {
        "command": text(brief.program),
        "args": ["mcp"],
        "env": { "TELIC_REPOSITORY_ROOT": text(brief.workspace), "TELIC_STATE_DIR": text(brief.state_dir) },
    } } })
    .to_string()
}

/// Fills in placeholders; what a value holds is never looked at again.
fn fill(word: &str, values: &[(&str, OsString)]) -> OsString {
    let mut filled = OsString::new();
    let mut rest = word;
    'outer: while !rest.is_empty() {
        for (name, value) in values {
            if let Some(after) = rest.strip_prefix(name) {
                filled.push(value);
                rest = after;
                continue 'outer;
            }
        }
        let end = rest.char_indices().nth(1).map_or(rest.len(), |(at, _)| at);
        filled.push(&rest[..end]);
        rest = &rest[end..];
    }
    filled
}

/// Where the prompt and the logs of an attempt are kept while it runs.
pub(super) fn folder(logs: &Path, attempt_id: &str) -> std::io::Result<PathBuf> {
    let folder = logs.join(attempt_id);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_like_a_placeholder_is_not_filled_in_again() {
        let values = [("{a}", OsString::from("{b}")), ("{b}", OsString::from("x"))];
        assert_eq!(fill("1{a}2{b}3{c}", &values), OsString::from("1{b}2x3{c}"));
        assert_eq!(fill("é{a}", &values), OsString::from("é{b}"));
    }

    #[test]
    fn an_agent_is_told_its_run_store_and_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent {
            command: vec!["agent".into(), "--run={run_id}".into(), "{workspace}".into()],
            env: BTreeMap::new(),
            stdin: AgentInput::Prompt,
            timeout: 7,
        };
        let brief = Brief {
            run_id: "run_1",
            workspace: Path::new("/w"),
            state_dir: Path::new("/s"),
            program: Path::new("/bin/telic"),
            folder: folder.path(),
            time_left: Duration::from_secs(5),
            output_limit: 10,
        };
        let job = job(&agent, &brief).unwrap();
        assert_eq!(job.command, ["agent", "--run=run_1", "/w"].map(OsString::from));
        assert_eq!(job.environment["TELIC_STATE_DIR"], "/s");
        assert!(String::from_utf8(job.input.unwrap()).unwrap().contains("run_1"));
        let config: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.path().join("mcp.json")).unwrap()).unwrap();
        assert_eq!(config["mcpServers"]["telic"]["command"], "/bin/telic");
    }
}
