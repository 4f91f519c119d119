//! The demo's MCP client: calls tools, shows calls and answers, counts checks.

use std::path::Path;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;

use crate::printer::{Printer, Style};
use crate::text::{grouped, newlines, shown_line};

/// Lines of an answer that are shown.
const ANSWER_LINES: usize = 12;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 110;
/// The longest time for an answer; compiling the tools for the first time takes seconds.
const ANSWER_TIME: Duration = Duration::from_mins(2);

/// An agent at work.
pub(super) struct Agent {
    client: RunningService<RoleClient, ()>,
    printer: Printer,
    step: String,
    checks: usize,
}

/// What a tool answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) is_error: bool,
    pub(super) took: Duration,
}

impl Agent {
    /// Starts a server and greets it.
    pub(super) async fn start(server: &Path, printer: Printer) -> Result<Self, String> {
        let shown = server.display();
        let mut command = tokio::process::Command::new(server);
        command.arg("mcp");
        let transport = TokioChildProcess::new(command).map_err(|error| {
            format!("step “start the server”: `{shown} mcp` cannot be started: {error}")
        })?;
        let client = ().serve(transport).await.map_err(|error| {
            format!(
                "step “start the server”: `{shown} mcp` did not answer as an MCP server: {error}"
            )
        })?;
        let mut agent = Self {
            client,
            printer,
            step: String::new(),
            checks: 0,
        };
        agent.begin("start the server");
        if let Some(info) = agent.client.peer_info()
            && let Some(server) = &info.server_info
        {
            agent.show(&format!(
                "{} {}, MCP {}",
                server.name, server.version, info.protocol_version
            ));
        }
        Ok(agent)
    }

    /// Ends the server by closing its input.
    pub(super) async fn stop(self) {
        if let Err(error) = self.client.cancel().await {
            tracing::debug!(%error, "the server's end");
        }
    }

    /// The step that is under way.
    pub(super) fn step(&self) -> &str {
        &self.step
    }

    /// Checks that were made.
    pub(super) fn checks(&self) -> usize {
        self.checks
    }

    /// Says what is done next.
    pub(super) fn begin(&mut self, step: &str) {
        step.clone_into(&mut self.step);
        self.printer.line("");
        self.printer
            .line(&self.printer.styled(Style::Bold, &format!("■ {step}")));
    }

    fn show(&self, text: &str) {
        let lines = text.lines().count();
        for line in text.lines().take(ANSWER_LINES) {
            self.printer
                .line(&format!("  │ {}", shown_line(line.as_bytes(), LINE_CHARS)));
        }
        if lines > ANSWER_LINES {
            let text = format!("  │ … {} more lines", lines - ANSWER_LINES);
            self.printer.line(&self.printer.styled(Style::Dim, &text));
        }
    }

    /// The names of the server's tools.
    pub(super) async fn tools(&self) -> Result<Vec<String>, String> {
        let tools = self
            .client
            .list_all_tools()
            .await
            .map_err(|error| error.to_string())?;
        for tool in &tools {
            let description = tool.description.as_deref().unwrap_or_default();
            let first = description
                .split_inclusive(['.', ';'])
                .next()
                .unwrap_or_default();
            self.show(&format!("{:11} {first}", tool.name));
        }
        Ok(tools
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect())
    }

    /// Calls a tool. `arguments` is an object.
    pub(super) async fn call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Answer, String> {
        let Value::Object(arguments) = arguments else {
            return Err("arguments are no object".into());
        };
        let call = self.printer.styled(Style::Bold, &format!("▶ {tool}"));
        self.printer
            .line(&format!("  {call} {}", summary(&arguments)));
        let started = Instant::now();
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = tokio::time::timeout(ANSWER_TIME, self.client.call_tool(request)).await;
        let result = result
            .map_err(|_| format!("{tool} did not answer within {} s", ANSWER_TIME.as_secs()))?
            .map_err(|error| format!("{tool}: {error}"))?;
        let texts: Vec<&str> = result
            .content
            .iter()
            .filter_map(|content| content.as_text().map(|text| text.text.as_str()))
            .collect();
        let text = texts.join("\n");
        self.show(&text);
        Ok(Answer {
            text,
            is_error: result.is_error == Some(true),
            took: started.elapsed(),
        })
    }

    /// Checks something; `what` says what should be.
    pub(super) fn check(&mut self, right: bool, what: &str) -> Result<(), String> {
        if !right {
            return Err(format!("expected {what}"));
        }
        self.checks += 1;
        self.printer
            .line(&self.printer.styled(Style::Good, &format!("  ✓ {what}")));
        Ok(())
    }
}

/// Arguments as they are shown: long texts by their size.
fn summary(arguments: &JsonObject) -> String {
    let parts: Vec<String> = arguments
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) if text.len() > 300 => {
                format!(
                    "{name}=<{} lines, {} bytes>",
                    newlines(text.as_bytes()),
                    grouped(text.len() as u64)
                )
            }
            Value::String(text) if text.contains('\n') => format!("{name}=⏎\n{}", indented(text)),
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    parts.join("  ")
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("      {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_arguments_are_shown_by_their_size() {
        let arguments = |value: Value| match value {
            Value::Object(arguments) => arguments,
            _ => JsonObject::new(),
        };
        let shown = summary(&arguments(
            json!({"path": "a", "content": "x\n".repeat(1000), "n": 1}),
        ));
        assert_eq!(shown, "path=a  content=<1000 lines, 2,000 bytes>  n=1");
    }
}
