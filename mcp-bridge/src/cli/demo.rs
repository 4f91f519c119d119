//! `sandbar demo`: an agent's job over MCP, every answer checked.

mod agent;
mod job;
mod sales;

use std::path::PathBuf;
use std::time::Instant;

use sandbar::Progress;

use self::agent::Agent;
use crate::config;
use crate::error::Failure;
use crate::printer::{Printer, Style};

const EXAMPLES: &str = "\
Examples:
  sandbar demo
  sandbar demo --server ./my-build/sandbar

Exit codes: 0 when every answer was right, 1 when one was wrong (its step is named).";

/// Start an MCP server and work with it as an agent would, checking every answer.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demo {
    /// The program to start as `PROGRAM mcp`; this program otherwise
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
}

impl Demo {
    pub(super) fn run(self, printer: Printer) -> Result<u8, Failure> {
        let own = std::env::current_exe().map_err(Failure::io("find this program"))?;
        let runtime = super::runtime()?;
        if self.server.is_none() {
            runtime.block_on(prepare(printer))?;
        }
        let server = self.server.unwrap_or_else(|| own.clone());
        let started = Instant::now();
        let outcome = runtime.block_on(async {
            let mut agent = Agent::start(&server, printer).await?;
            let outcome = job::run(&mut agent).await;
            let step = agent.step().to_owned();
            agent.stop().await;
            outcome.map_err(|wrong| format!("step “{step}”: {wrong}"))
        });
        match outcome {
            Ok(checks) => {
                let seconds = started.elapsed().as_secs_f64();
                printer.line("");
                let text = format!("All {checks} checks passed in {seconds:.1} s.");
                printer.line(&printer.styled(Style::Good, &text));
                printer.line(&registration(&own.display().to_string()));
                Ok(0)
            }
            Err(wrong) => {
                printer.error(&wrong, None);
                Ok(1)
            }
        }
    }
}

/// Compiles the tools, which takes seconds the first time, and shows how far it is.
async fn prepare(printer: Printer) -> Result<(), Failure> {
    printer.line(&printer.styled(
        Style::Bold,
        "■ get the tools ready (compiled once, then kept)",
    ));
    config::engine(1)?
        .prepare(|progress| {
            let Progress {
                done,
                total,
                program,
            } = progress;
            printer.line(&format!("  │ {done} of {total}  {program}"));
        })
        .await?;
    Ok(())
}

/// How the server is made known to common clients.
fn registration(program: &str) -> String {
    let json = serde_json::json!(program);
    format!(
        "
To give an agent these tools, for the project in the current directory (`:rw` lets it change files there):

  Claude Code
    claude mcp add sandbar -- {program} mcp --workspace \"$PWD:rw\"

  Claude Desktop (claude_desktop_config.json), Cursor (.cursor/mcp.json)
    {{\"mcpServers\": {{\"sandbar\": {{\"command\": {json}, \"args\": [\"mcp\", \"--workspace\", \"/path/to/project:rw\"]}}}}}}

  VS Code (.vscode/mcp.json)
    {{\"servers\": {{\"sandbar\": {{\"type\": \"stdio\", \"command\": {json}, \"args\": [\"mcp\", \"--workspace\", \"${{workspaceFolder}}:rw\"]}}}}}}

Without --workspace the sandboxes are empty and nothing of this machine can be seen."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_for_clients_are_json() {
        let text = registration("/opt/a \"b\"/sandbar");
        let objects: Vec<serde_json::Value> = text
            .lines()
            .filter(|line| line.trim_start().starts_with('{'))
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(objects.len(), 2);
        assert_eq!(
            objects[0]["mcpServers"]["sandbar"]["command"],
            "/opt/a \"b\"/sandbar"
        );
        assert_eq!(
            objects[1]["servers"]["sandbar"]["args"][2],
            "${workspaceFolder}:rw"
        );
    }
}
