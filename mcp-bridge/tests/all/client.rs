//! A real MCP client on a real server process.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResult, Tool};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;

/// A connected client.
pub(crate) struct Client {
    service: RunningService<RoleClient, ()>,
}

/// What a tool answered.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answer {
    pub(crate) result: CallToolResult,
    pub(crate) took: Duration,
}

impl Answer {
    /// All text of the answer.
    pub(crate) fn text(&self) -> String {
        let texts = self
            .result
            .content
            .iter()
            .filter_map(|content| content.as_text());
        texts
            .map(|text| text.text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The output in front of the closing line.
    pub(crate) fn output(&self) -> String {
        let text = self.text();
        text.rsplit_once('[')
            .map_or(String::new(), |(output, _)| output.to_owned())
    }

    /// The closing line.
    pub(crate) fn closing(&self) -> String {
        self.text().lines().last().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.result.is_error == Some(true)
    }
}

impl Client {
    /// Starts `sandbar mcp` with arguments and greets it.
    pub(crate) async fn start(args: &[&str]) -> Self {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_sandbar"));
        command.arg("mcp").args(args);
        Self::of(command).await.expect("a server")
    }

    /// Starts a server from a command.
    pub(crate) async fn of(command: tokio::process::Command) -> Result<Self, String> {
        let (transport, _) = TokioChildProcess::builder(command)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let service = ().serve(transport).await.map_err(|error| error.to_string())?;
        Ok(Self { service })
    }

    pub(crate) fn service(&self) -> &RunningService<RoleClient, ()> {
        &self.service
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.service.list_all_tools().await.expect("tools")
    }

    /// Calls a tool with an object of arguments.
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Answer {
        let started = Instant::now();
        let arguments = arguments.as_object().expect("arguments are an object");
        let request = CallToolRequestParams::new(tool).with_arguments(arguments.clone());
        let result = self.service.call_tool(request).await.expect("an answer");
        Answer {
            result,
            took: started.elapsed(),
        }
    }

    /// Runs a command in the default sandbox.
    pub(crate) async fn bash(&self, command: &str) -> Answer {
        self.call("Bash", serde_json::json!({"command": command}))
            .await
    }

    /// Runs a command in a sandbox.
    pub(crate) async fn bash_in(&self, sandbox: &str, command: &str) -> Answer {
        self.call(
            "Bash",
            serde_json::json!({"command": command, "sandbox": sandbox}),
        )
        .await
    }

    /// Ends the server by closing its input.
    pub(crate) async fn stop(self) {
        self.service.cancel().await.expect("it ends");
    }
}
