//! `BashOutput`: what a background command has written.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Tool;
use serde_json::json;

use super::arguments::Arguments;
use super::{Effect, answer, closing, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::limits;
use crate::session::{Instance, Running, Session};
use crate::text::grouped;

pub(super) const NAME: &str = "BashOutput";

const ARGUMENTS: [&str; 3] = ["shell_id", "wait_seconds", "offset"];
/// Characters of an answer that are not output.
const FRAME_CHARS: usize = 500;

pub(super) fn definition(session: &Session) -> Tool {
    let description = "Shows what a background command has written since it was last asked. The last line of the answer, in \
                       brackets, says whether the command runs, or its exit code, and the offset where the next call goes on.";
    let properties = json!({
        "shell_id": {"type": "string", "description": "The command's name, such as bash_3, which Bash gave."},
        "wait_seconds": {
            "type": "number", "minimum": 0, "maximum": limits::WAIT_MAX.as_secs(), "default": 0,
            "description": "Seconds to wait for the command's end.",
        },
        "offset": {
            "type": "integer", "minimum": 0,
            "description": "Byte of the output to start at, to read something again. Default: where the last call ended.",
        },
    });
    tool(
        session,
        NAME,
        description,
        properties,
        &["shell_id"],
        Effect::Reads,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&ARGUMENTS)?;
    let shell_id = arguments.string("shell_id")?;
    let wait = arguments
        .seconds("wait_seconds", 0.0, limits::WAIT_MAX)?
        .unwrap_or(Duration::ZERO);
    let offset = arguments.whole("offset", 0, u64::MAX)?;
    let reached = reach(session, arguments)?;
    let running = find(&reached.instance, &shell_id)?;
    if !wait.is_zero() {
        // At its end there is something to tell either way.
        tokio::time::timeout(wait, running.wait()).await.ok();
    }
    let finished = running.finished();
    if finished.is_some() {
        // What it left in the background is no longer under its time limit, as with a command that was waited for.
        running.let_go();
    }
    let chars = session
        .config()
        .max_output_chars
        .saturating_sub(FRAME_CHARS);
    let (text, start, end) = running.read_on(offset, chars)?;
    let total = running.output_bytes();
    let state = match &finished {
        Some(finished) => closing::end(finished, running.limit()),
        None => closing::running(&running),
    };
    let range = format!(
        "bytes {} to {} of {}",
        grouped(start),
        grouped(end),
        grouped(total)
    );
    let more =
        (end < total && !text.is_empty()).then(|| format!("call again for more, offset {end}"));
    Ok(answer(
        reached.opened,
        closing::close(text, [state, range].into_iter().chain(more)),
    ))
}

/// The background command of a name.
pub(super) fn find(instance: &Instance, shell_id: &str) -> Result<Arc<Running>, ToolError> {
    instance.in_background(shell_id).ok_or_else(|| {
        let known = instance.background_ids();
        let hint = if known.is_empty() {
            "this sandbox has no background command; Bash starts one with `foreground`: 0"
                .to_owned()
        } else {
            format!("this sandbox has {}", known.join(", "))
        };
        ToolError::new(
            format!("argument `shell_id`: there is no background command `{shell_id}`"),
            hint,
        )
    })
}
