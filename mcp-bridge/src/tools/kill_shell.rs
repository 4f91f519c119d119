//! `KillShell`: ends a background command.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Tool;
use serde_json::json;

use super::arguments::Arguments;
use super::bash_output::find;
use super::{Effect, answer, closing, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::session::Session;

pub(super) const NAME: &str = "KillShell";

/// A killed command ends at the next tick, or when a long call into the host returns.
const END_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn definition(session: &Session) -> Tool {
    let description = "Ends a background command with everything it started. What it has written can still be read with BashOutput.";
    let properties = json!({
        "shell_id": {"type": "string", "description": "The command's name, such as bash_3, which Bash gave."},
    });
    tool(
        session,
        NAME,
        description,
        properties,
        &["shell_id"],
        Effect::Ends,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&["shell_id"])?;
    let shell_id = arguments.string("shell_id")?;
    let reached = reach(session, arguments)?;
    let running = find(&reached.instance, &shell_id)?;
    let already = running.finished().is_some();
    running.kill();
    let Ok(finished) = tokio::time::timeout(END_WITHIN, running.wait()).await else {
        let text = format!(
            "`{shell_id}` has not ended within {} seconds",
            END_WITHIN.as_secs()
        );
        return Err(ToolError::new(text, "ask again with BashOutput"));
    };
    let what = if already {
        "had already ended"
    } else {
        "was ended"
    };
    let text = format!("{shell_id} {what}: {}", running.command());
    Ok(answer(
        reached.opened,
        closing::close(text, [closing::end(&finished, running.limit())]),
    ))
}
