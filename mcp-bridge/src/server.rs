//! The MCP server: what it says of itself, and the way from a request to a tool.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::error::ToolError;
use crate::session::Session;
use crate::tools;

const INSTRUCTIONS: &str = "\
Sandbar gives you small isolated computers (sandboxes): files, bash and the usual command-line tools, every program WebAssembly.

- Work with Bash for commands and pipelines, Read, Write and Edit for files. Relative paths of the file tools, and the first Bash \
command, start at /data/workspace. Bash keeps its directory, variables and functions between calls.
- Read a file before you Edit or overwrite it. When a file was changed in between, you are told to read it again.
- There is no network, no package manager and no native program; `ls /usr/bin` shows what there is. Your own WebAssembly modules \
(WASI preview 1) run like programs after `chmod +x`.
- Every tool takes the optional `sandbox`: a new name opens a further, empty sandbox that shares nothing with the others. Use \
several only to keep things apart; without a name all calls mean the same one.
- A command is stopped at its time limit. What takes longer than a minute is started with `foreground`: 0 and read with BashOutput.
- The line in brackets at the end of an answer is the tool's, not the command's: exit code, time, what was left out and where all \
of it is.";

/// Serves one session to one client, over any transport of `rmcp`.
#[derive(Clone, Debug)]
pub struct Server {
    session: Arc<Session>,
}

impl Server {
    /// A server of a session.
    pub fn new(session: Session) -> Self {
        Self {
            session: Arc::new(session),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut implementation = Implementation::new("sandbar", env!("CARGO_PKG_VERSION"));
        implementation.title = Some("Sandbar".into());
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions(INSTRUCTIONS);
        info.server_info = implementation;
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(&self.session)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list(&self.session)
            .into_iter()
            .find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !tools::is_known(&request.name) {
            return Err(ErrorData::invalid_params(
                format!("unknown tool: {}", request.name),
                None,
            ));
        }
        let arguments = request.arguments.unwrap_or_default();
        let result = tokio::select! {
            result = tools::call(&self.session, &request.name, arguments) => result,
            // Nobody reads the answer to a cancelled request. The call's future is dropped, which ends its command.
            () = context.ct.cancelled() => Err(ToolError::new("the call was cancelled", "call again")),
            () = self.session.ended() => Err(ToolError::new("the server is ending", "connect again")),
        };
        let result = match result {
            Ok(content) => CallToolResult::success(content),
            Err(error) => error.into_result(),
        };
        Ok(result.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short_enough_to_be_read() {
        assert!(
            INSTRUCTIONS.len() <= 2000,
            "{} characters",
            INSTRUCTIONS.len()
        );
    }
}
