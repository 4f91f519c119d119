//! The tools that a client can call, one a file: name, schema, description, handler.

mod arguments;
mod bash;
mod bash_output;
mod closing;
mod edit;
mod kill_shell;
mod paths;
mod read;
mod write;

use std::sync::Arc;

use rmcp::model::{ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use self::arguments::Arguments;
use crate::error::{ToolError, ToolResult};
use crate::session::{Reached, Session};

/// What a tool does to its surroundings, as the protocol's four hints say it.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// It changes nothing.
    Reads,
    /// It changes files of the sandbox, and of the host where those are given for writing.
    Changes,
    /// The second call does nothing more than the first.
    Ends,
}

/// The tools of a session.
pub(crate) fn list(session: &Session) -> Vec<Tool> {
    vec![
        bash::definition(session),
        bash_output::definition(session),
        kill_shell::definition(session),
        read::definition(session),
        write::definition(session),
        edit::definition(session),
    ]
}

/// Whether there is a tool of this name.
pub(crate) fn is_known(name: &str) -> bool {
    [
        bash::NAME,
        bash_output::NAME,
        kill_shell::NAME,
        read::NAME,
        write::NAME,
        edit::NAME,
    ]
    .contains(&name)
}

/// Calls a tool. When the future is dropped, a command that it waits for is ended.
pub(crate) async fn call(session: &Arc<Session>, name: &str, arguments: JsonObject) -> ToolResult {
    let mut arguments = Arguments::new(arguments);
    match name {
        bash::NAME => bash::call(session, &mut arguments).await,
        bash_output::NAME => bash_output::call(session, &mut arguments).await,
        kill_shell::NAME => kill_shell::call(session, &mut arguments).await,
        read::NAME => read::call(session, &mut arguments).await,
        write::NAME => write::call(session, &mut arguments).await,
        edit::NAME => edit::call(session, &mut arguments).await,
        _ => Err(ToolError::new(
            format!("there is no tool `{name}`"),
            "list the tools",
        )),
    }
}

/// A tool's definition. `properties` are its arguments besides `sandbox`.
fn tool(
    session: &Session,
    name: &'static str,
    description: &str,
    mut properties: Value,
    required: &[&str],
    effect: Effect,
) -> Tool {
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            "sandbox".into(),
            json!({
                "type": "string",
                "description": format!(
                    "Name of the sandbox. A new name opens another sandbox, which shares no file, process or variable with the \
                     others; at most {}. Default: the one called default.",
                    session.config().max_instances
                ),
            }),
        );
    }
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else {
        return Tool::default();
    };
    let hints = ToolAnnotations::with_title(name)
        .read_only(matches!(effect, Effect::Reads))
        .destructive(matches!(effect, Effect::Changes) && session.changes_host())
        .idempotent(!matches!(effect, Effect::Changes))
        .open_world(false);
    Tool::new(name, description.to_owned(), schema).with_annotations(hints)
}

/// The sandbox that a call is about.
fn reach(session: &Session, arguments: &mut Arguments) -> Result<Reached, ToolError> {
    session.reach(arguments.optional_string("sandbox")?.as_deref())
}

/// An answer of one text, behind what is said about a sandbox that was opened.
fn answer(opened: Option<String>, text: String) -> Vec<ContentBlock> {
    opened
        .into_iter()
        .chain([text])
        .map(ContentBlock::text)
        .collect()
}

/// Runs file calls where they hold up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "a tool failed");
            Err(ToolError::new(
                "the tool itself failed",
                "this is a fault of the server; its log says more",
            ))
        }
    }
}
