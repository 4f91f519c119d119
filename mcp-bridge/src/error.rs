//! Failures, and how they reach a person (standard error) or a model (a tool result), each with what to do about it.

use rmcp::model::{CallToolResult, ContentBlock};
use sandbar::{Errno, ErrorKind};

/// Why a command of the command line failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] sandbar::Error),
    /// An argument makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A call of the operating system failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The other side of the protocol failed.
    #[error("{0}")]
    Protocol(String),
}

impl Failure {
    /// A call of the operating system that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => hint(error),
            _ => None,
        }
    }

    /// The whole text: the failure and its causes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Engine(error) => with_causes(error),
            other => other.to_string(),
        }
    }

    /// The exit code that a shell would use for it; 125 where it is Sandbar's own.
    pub(crate) fn exit_code(&self) -> u8 {
        let Self::Engine(error) = self else {
            return 125;
        };
        match error.kind() {
            ErrorKind::Spawn {
                errno: Errno::NotFound,
                ..
            } => 127,
            ErrorKind::Spawn {
                errno: Errno::Access | Errno::NoExec | Errno::IsDirectory,
                ..
            } => 126,
            _ => 125,
        }
    }
}

/// An engine error with its causes in one line.
fn with_causes(error: &sandbar::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What to do about an engine error.
fn hint(error: &sandbar::Error) -> Option<String> {
    let text = match error.kind() {
        ErrorKind::File { errno, .. } => return file_hint(*errno).map(str::to_owned),
        ErrorKind::Spawn {
            errno: Errno::NotFound,
            ..
        } => {
            "only programs of the tools image (`ls /usr/bin`) and WebAssembly modules run in a sandbox"
        }
        ErrorKind::Spawn {
            errno: Errno::NoExec,
            ..
        } => {
            "a program is a WebAssembly module of WASI preview 1 or a script that starts with `#!`"
        }
        ErrorKind::Spawn {
            errno: Errno::Access,
            ..
        } => "make it executable with `chmod +x`",
        ErrorKind::Spawn {
            errno: Errno::Again,
            ..
        } => "too many processes run in the sandbox; end some (`ps`, `kill`)",
        ErrorKind::Ceiling { .. } => {
            "end something else that runs in this engine, or start a second server"
        }
        ErrorKind::Image { .. } => {
            "`make image` builds the tools image; SANDBAR_IMAGE names the folder of one"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

fn file_hint(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::NotFound => "check the path with `ls`; relative paths start at /data/workspace",
        Errno::IsDirectory => "it is a directory; list it with `ls`",
        Errno::NotDirectory => "a part of the path is a file; check it with `ls`",
        Errno::ReadOnly => "this place cannot be changed; write below /data/workspace or /tmp",
        Errno::Access | Errno::NotPermitted => "look at its permissions with `ls -l`",
        Errno::Quota | Errno::NoSpace => {
            "the sandbox's space is used up; remove files that are not needed (`du -a /data /tmp`)"
        }
        Errno::FileTooBig => {
            "read a part of it, with `offset` and `limit` or with `head`, `tail`, `grep`"
        }
        Errno::Loop => "its links lead in a circle; look at them with `ls -l`",
        _ => return None,
    })
}

/// Why a tool call failed, for a model to read.
#[derive(Debug)]
pub(crate) struct ToolError {
    text: String,
    hint: Option<String>,
    /// What the call said or did before it failed, in front of the failure.
    before: Vec<String>,
}

/// The contents of an answer.
pub(crate) type ToolResult = Result<Vec<ContentBlock>, ToolError>;

impl ToolError {
    /// A failure with the way out of it.
    pub(crate) fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            text: sentence(&text.into()),
            hint: Some(hint.into()),
            before: Vec::new(),
        }
    }

    /// An answer that is complete and yet no success: a command that was stopped.
    pub(crate) fn output(opened: Option<String>, text: String) -> Self {
        Self {
            text,
            hint: None,
            before: opened.into_iter().collect(),
        }
    }

    /// What a model reads.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\n{hint}", self.text),
            None => self.text.clone(),
        }
    }

    /// The answer of the protocol: a result that says it is an error, so that the model sees it.
    pub(crate) fn into_result(self) -> CallToolResult {
        let text = self.text();
        CallToolResult::error(
            self.before
                .into_iter()
                .chain([text])
                .map(ContentBlock::text)
                .collect(),
        )
    }
}

fn sentence(text: &str) -> String {
    format!("Error: {text}.")
}

impl From<sandbar::Error> for ToolError {
    fn from(error: sandbar::Error) -> Self {
        Self {
            hint: hint(&error),
            text: sentence(&with_causes(&error)),
            before: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(errno: Errno) -> sandbar::Error {
        ErrorKind::File {
            operation: "read",
            path: "notes.txt".into(),
            errno,
        }
        .into()
    }

    #[test]
    fn a_model_reads_what_failed_and_the_way_out() {
        let error = ToolError::from(file(Errno::NotFound));
        assert_eq!(
            error.text(),
            "Error: read `notes.txt`: No such file or directory.\ncheck the path with `ls`; relative paths start at /data/workspace"
        );
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let spawn = |errno| {
            Failure::from(sandbar::Error::from(ErrorKind::Spawn {
                program: "x".into(),
                errno,
            }))
        };
        assert_eq!(spawn(Errno::NotFound).exit_code(), 127);
        assert_eq!(spawn(Errno::Access).exit_code(), 126);
        assert_eq!(spawn(Errno::NoExec).exit_code(), 126);
        assert_eq!(spawn(Errno::Again).exit_code(), 125);
        assert_eq!(Failure::from(file(Errno::NotFound)).exit_code(), 125);
        assert_eq!(Failure::Usage("x".into()).exit_code(), 125);
    }
}
