//! The MCP side of the scripted agent: starts a server as a child process and calls its tools.

use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value};
use std::path::Path;

/// A connection to one server.
pub(super) struct Client {
    service: RunningService<RoleClient, ()>,
}

impl Client {
    /// Starts `command` for a repository and performs the handshake.
    ///
    /// # Errors
    /// The program cannot be started, or does not answer as an MCP server.
    pub(super) async fn start(command: &[String], repository: &Path) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("no server command was given")?;
        let mut child = tokio::process::Command::new(program);
        child.args(arguments).env("TELIC_REPOSITORY_ROOT", repository).current_dir(repository);
        let transport = TokioChildProcess::new(child).map_err(|error| format!("{program}: {error}"))?;
        let service = ().serve(transport).await.map_err(|error| format!("{program}: {error}"))?;
        Ok(Self { service })
    }

    /// Calls a tool and returns what it answered, or the reason of its refusal.
    ///
    /// # Errors
    /// The server is gone, or refused; then the text names the code.
    pub(super) async fn call(
        &self,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<Value, String> {
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.service.call_tool(request).await.map_err(|error| format!("{tool}: {error}"))?;
        let answer = result.structured_content.unwrap_or(Value::Null);
        if result.is_error == Some(true) || answer["ok"] != Value::Bool(true) {
            let code = answer["code"].as_str().unwrap_or("refused");
            let rule = answer["rule"].as_str().map_or_else(String::new, |rule| format!(" [{rule}]"));
            let error = answer["error"].as_str().unwrap_or("no reason was given");
            return Err(format!("{tool}: {code}{rule}: {error}"));
        }
        Ok(answer)
    }

    /// Ends the connection and the server.
    pub(super) async fn close(self) {
        // A server that is gone already has nothing left to be told.
        let _ = self.service.cancel().await;
    }
}
