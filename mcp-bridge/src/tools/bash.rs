//! `Bash`: a command in the sandbox's shell, which keeps directory, variables and functions.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Tool;
use sandbar::Ended;
use serde_json::json;

use super::arguments::Arguments;
use super::{Effect, answer, closing, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::limits;
use crate::session::{Instance, Running, Session, Turn};

pub(super) const NAME: &str = "Bash";

const ARGUMENTS: [&str; 4] = ["command", "timeout", "foreground", "description"];

pub(super) fn definition(session: &Session) -> Tool {
    let description = format!(
        "Runs a bash command in a sandbox. The working directory, variables and functions stay from one call to the next. The \
         last line of the answer, in brackets, gives the exit code, the time, what was cut out of the output, and the file in \
         the sandbox that holds all of it.\n\
         Programs are WebAssembly: bash, the coreutils, grep, sed, find, xargs and whatever `ls /usr/bin` shows. No other binary \
         runs; there is no network, no package manager and no sudo. Only files below /data are kept; /tmp is in memory. \
         A command gets no input.\n\
         A command that takes longer than `foreground` seconds goes on in the background: read on with BashOutput, end it with \
         KillShell. What it changes of directory and variables is then lost. At most {} characters of output are shown.",
        session.config().max_output_chars
    );
    let properties = json!({
        "command": {"type": "string", "description": "The command, a line or a whole script."},
        "timeout": {
            "type": "number", "minimum": 0.1, "maximum": limits::COMMAND_TIMEOUT_MAX.as_secs(),
            "default": limits::COMMAND_TIMEOUT.as_secs(),
            "description": "Seconds after which the command is killed, with everything it started.",
        },
        "foreground": {
            "type": "number", "minimum": 0, "maximum": limits::COMMAND_TIMEOUT_MAX.as_secs(),
            "default": limits::FOREGROUND.as_secs(),
            "description": "Seconds to wait for the command's end; 0 starts it in the background.",
        },
        "description": {"type": "string", "description": "What the command is for, in a few words, for whoever watches."},
    });
    tool(
        session,
        NAME,
        &description,
        properties,
        &["command"],
        Effect::Changes,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&ARGUMENTS)?;
    let command = arguments.string("command")?;
    let timeout = arguments.seconds("timeout", 0.1, limits::COMMAND_TIMEOUT_MAX)?;
    let foreground = arguments.seconds("foreground", 0.0, limits::COMMAND_TIMEOUT_MAX)?;
    arguments.optional_string("description")?;
    if command.trim().is_empty() {
        return Err(ToolError::new(
            "argument `command` is empty",
            "give a bash command",
        ));
    }
    let reached = reach(session, arguments)?;
    let instance = &reached.instance;
    let turn = instance.turn().await;
    let limit = timeout.unwrap_or(limits::COMMAND_TIMEOUT);
    let waiting = instance.start(&turn, &command, limit)?;
    let in_time =
        tokio::time::timeout(foreground.unwrap_or(limits::FOREGROUND), waiting.wait()).await;
    let Some(running) = waiting.release() else {
        return Err(ToolError::new("the command was lost", "call again"));
    };
    let chars = session.config().max_output_chars;
    let text = match in_time {
        Ok(()) => return ended(instance, &turn, &running, chars, reached.opened),
        Err(_) => went_on(instance, running, chars),
    };
    Ok(answer(reached.opened, text))
}

/// The answer for a command that has ended.
fn ended(
    instance: &Instance,
    turn: &Turn,
    running: &Running,
    chars: usize,
    opened: Option<String>,
) -> ToolResult {
    instance.keep_state(turn, running);
    let left = running.let_go();
    let excerpt = running.excerpt(chars);
    let finished = running.finished();
    let background = (left > 0).then(|| {
        let (are, file) = (
            if left == 1 {
                "process runs"
            } else {
                "processes run"
            },
            running.output_file(),
        );
        format!("{left} background {are} on, with output in {file}")
    });
    let parts = finished
        .map(|finished| closing::end(&finished, running.limit()))
        .into_iter()
        .chain(closing::left_out(&excerpt))
        .chain(background);
    let text = closing::close(excerpt.text, parts);
    match finished {
        Some(finished) if finished.ended == Ended::TimeLimit => {
            Err(ToolError::output(opened, text))
        }
        _ => Ok(answer(opened, text)),
    }
}

/// The answer for a command that goes on in the background.
fn went_on(instance: &Instance, running: Arc<Running>, chars: usize) -> String {
    let excerpt = running.excerpt(chars);
    let left = running
        .limit()
        .saturating_sub(running.elapsed())
        .max(Duration::ZERO);
    let parts = [closing::running(&running)]
        .into_iter()
        .chain(closing::left_out(&excerpt))
        .chain([
            format!("it will be stopped in {}", closing::seconds(left)),
            "BashOutput reads on, KillShell ends it".to_owned(),
        ]);
    let text = closing::close(excerpt.text, parts);
    running.mark_shown(excerpt.total);
    instance.put_in_background(running);
    text
}
