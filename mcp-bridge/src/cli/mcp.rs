//! `sandbar mcp`: the MCP server on standard input and output.

use std::path::PathBuf;

use crate::config::{self, SandboxArgs};
use crate::error::Failure;
use crate::limits;
use crate::session::{Session, SessionConfig};
use crate::transport::stdio;

const EXAMPLES: &str = "\
Examples:
  sandbar mcp
  sandbar mcp --workspace ~/project:rw
  sandbar mcp --session notes
  claude mcp add sandbar -- sandbar mcp --workspace .:rw

Tools: Bash, BashOutput, KillShell, Read, Write, Edit. Each takes a sandbox's name;
a new name opens another sandbox, which has the given directories too. The server
ends with its standard input.";

/// Serve MCP on standard input and output: a bash and files in sandboxes, for any agent.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mcp {
    #[command(flatten)]
    sandbox: SandboxArgs,

    /// Keep the sandboxes' files under this name for a later server with the same name. Without it they are removed at the end
    #[arg(long, value_name = "NAME", env = "SANDBAR_SESSION", value_parser = crate::session::parse_name)]
    session: Option<String>,

    /// Characters of one answer
    #[arg(long, value_name = "CHARACTERS", default_value_t = limits::MAX_OUTPUT_CHARS, value_parser = parse_max_output)]
    max_output: usize,
}

fn parse_max_output(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(chars) if (limits::MIN_OUTPUT_CHARS..=1_000_000).contains(&chars) => Ok(chars),
        _ => Err(format!(
            "`{text}` must be a number from {} to 1000000",
            limits::MIN_OUTPUT_CHARS
        )),
    }
}

impl Mcp {
    pub(super) fn run(self) -> Result<u8, Failure> {
        config::raise_open_files();
        let settings = SessionConfig {
            mounts: self.sandbox.all_mounts(),
            env: self.sandbox.env_pairs(),
            max_output_chars: self.max_output,
            directory: self.session.as_deref().map(session_directory).transpose()?,
            ..SessionConfig::default()
        };
        let session = Session::new(config::engine(crate::limits::MAX_INSTANCES)?, settings)?;
        let runtime = super::runtime()?;
        let result = runtime.block_on(stdio::serve(session));
        // A read of standard input that is under way cannot be cancelled; it must not hold up the end.
        runtime.shutdown_background();
        result
    }
}

/// Where the files of a named session are.
fn session_directory(name: &str) -> Result<PathBuf, Failure> {
    let base = config::state_dir().ok_or_else(|| {
        Failure::Usage("--session needs SANDBAR_STATE_DIR, XDG_STATE_HOME or HOME to be set".into())
    })?;
    Ok(base.join("sessions").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_s_size_has_bounds() {
        assert_eq!(parse_max_output("1000"), Ok(1000));
        for text in ["999", "1000001", "-1", "many"] {
            assert!(parse_max_output(text).is_err(), "{text}");
        }
    }
}
