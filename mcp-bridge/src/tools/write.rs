//! `Write`: a whole file.

use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::json;

use super::arguments::Arguments;
use super::{Effect, answer, blocking, paths, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::session::{Instance, Session};
use crate::text::{grouped, newlines};

pub(super) const NAME: &str = "Write";

pub(super) fn definition(session: &Session) -> Tool {
    let description = "Writes a whole file; missing directories are made. A file that exists is only replaced when it was read or \
                       written here before and has not changed since. To change a part of a file use Edit.";
    let properties = json!({
        "file_path": {"type": "string", "description": "Path in the sandbox; a relative one starts at /data/workspace."},
        "content": {"type": "string", "description": "The file's whole text."},
    });
    tool(
        session,
        NAME,
        description,
        properties,
        &["file_path", "content"],
        Effect::Changes,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&["file_path", "content"])?;
    let path = paths::sandbox_path(session, &arguments.string("file_path")?)?;
    let content = arguments.string("content")?;
    let reached = reach(session, arguments)?;
    let instance = Arc::clone(&reached.instance);
    let _editing = reached.instance.edit().await;
    let text = blocking(move || write(&instance, &path, content.as_bytes())).await?;
    Ok(answer(reached.opened, text))
}

fn write(instance: &Instance, path: &str, content: &[u8]) -> Result<String, ToolError> {
    let files = instance.files();
    let before = paths::regular_file(&files, path)?;
    if let Some(metadata) = &before {
        let now = paths::fingerprint(&files, path, metadata)?;
        paths::refuse_unknown(instance, path, &paths::key(&files, path)?, &now)?;
    }
    files.write(path, content)?;
    paths::remember_written(instance, &files, path, content)?;
    let lines = newlines(content) + u64::from(content.last().is_some_and(|byte| *byte != b'\n'));
    let what = if before.is_some() {
        "Replaced"
    } else {
        "Wrote new file"
    };
    Ok(format!(
        "{what} {path}: {} bytes, {} lines",
        grouped(content.len() as u64),
        grouped(lines)
    ))
}
