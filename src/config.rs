//! The user's configuration: `config.toml` in the configuration folder.
//!
//! A key that is not known is an error that names it and its line; nothing is ignored silently.

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest configuration file, in bytes.
const LIMIT: u64 = 1 << 20;

/// Everything a user can set; every key is optional.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The name under which decisions are recorded (AP-5); without it git's `user.email`, then the login name.
    pub actor: Option<String>,
    /// The theme of the dashboard.
    pub theme: Option<String>,
    /// `unicode` or `ascii`.
    pub glyphs: Option<Glyphs>,
    /// How many runs are worked on at once.
    pub workers: Option<u8>,
    /// The agent of a task that names none.
    pub agent: Option<String>,
    /// Agents by name.
    pub agents: BTreeMap<String, Agent>,
    /// Keys of the dashboard: per screen, per action, one or more keys.
    pub keys: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Which characters the dashboard draws with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Glyphs {
    /// Lines, arrows and marks.
    Unicode,
    /// Plain ASCII.
    Ascii,
}

/// How an agent is started (`execution.md`, Agents).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Program and arguments with the placeholders `{prompt}`, `{prompt_file}`, `{workspace}`, `{run_id}`,
    /// `{mcp_config}`, `{mcp_command}`.
    pub command: Vec<String>,
    /// Further variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What is written to its standard input.
    #[serde(default)]
    pub stdin: AgentInput,
    /// The most time one attempt may take, in seconds.
    #[serde(default = "default_timeout")]
    pub timeout: u64,
}

/// What an agent reads from its standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentInput {
    /// Nothing.
    #[default]
    Null,
    /// The prompt.
    Prompt,
}

fn default_timeout() -> u64 {
    3600
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what a configuration looks like; the message names key and line.
    #[error("{}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
}

impl ConfigError {
    /// A stable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "config_unreadable",
            Self::Malformed { .. } => "config_malformed",
        }
    }
}

impl Config {
    /// Reads a configuration file; a file that is not there is the empty configuration.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
            Ok(found) if found.len() > LIMIT => {
                let message = format!("more than {LIMIT} bytes is no configuration");
                return Err(ConfigError::Malformed { path: path.to_owned(), message });
            }
            Ok(_) => {}
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(path, &text)
    }

    /// Reads a configuration from its text; `path` is named in errors.
    ///
    /// # Errors
    /// The text is not a configuration.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let malformed = |message: String| ConfigError::Malformed { path: path.to_owned(), message };
        let config: Self = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        for (name, agent) in &config.agents {
            if agent.command.is_empty() {
                return Err(malformed(format!("agents.{name}.command must name a program")));
            }
        }
        Ok(config)
    }

    /// The JSON Schema of the file, for editors that complete and check it.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// The configuration file of this user.
    ///
    /// `TELIC_CONFIG`, else `$XDG_CONFIG_HOME/telic/config.toml`, else `~/.config/telic/config.toml`.
    #[must_use]
    pub fn path() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("TELIC_CONFIG").or_else(|| {
            let base = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
            base.map(|base| base.join("telic").join("config.toml"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_the_empty_configuration() {
        assert_eq!(Config::read(Path::new("/no/such/config.toml")).unwrap(), Config::default());
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = Config::parse(Path::new("c.toml"), "theme = \"dark\"\nthem = \"x\"\n").unwrap_err();
        assert_eq!(error.code(), "config_malformed");
        let text = error.to_string();
        assert!(text.contains("line 2") && text.contains("them"), "{text}");
    }

    #[test]
    fn the_schema_knows_every_key_and_no_other() {
        let schema = Config::schema();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["actor", "theme", "glyphs", "workers", "agent", "agents", "keys"]);
        assert_eq!(schema["additionalProperties"], false);
        let agent = &schema["$defs"]["Agent"];
        assert_eq!(agent["required"], serde_json::json!(["command"]));
        assert_eq!(agent["properties"]["timeout"]["default"], 3600);
    }

    #[test]
    fn an_agent_needs_a_program() {
        let error = Config::parse(Path::new("c.toml"), "[agents.x]\ncommand = []\n").unwrap_err();
        assert!(error.to_string().contains("agents.x.command"), "{error}");
    }

    #[test]
    fn agents_and_keys_are_read() {
        let text = "actor = \"ann\"\n[agents.x]\ncommand = [\"x\", \"{prompt}\"]\nstdin = \"prompt\"\n\
                    [keys.diff]\nnext_hunk = [\"n\", \"J\"]\n";
        let config = Config::parse(Path::new("c.toml"), text).unwrap();
        assert_eq!(config.agents["x"].stdin, AgentInput::Prompt);
        assert_eq!(config.agents["x"].timeout, 3600);
        assert_eq!(config.keys["diff"]["next_hunk"], ["n", "J"]);
    }
}
