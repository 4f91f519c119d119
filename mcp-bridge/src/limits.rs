//! What the bridge limits by itself; what a guest may use is limited by the engine (`sandbar::Limits`).

use std::time::Duration;

/// Characters of one tool answer. Default of `--max-output`. Source: what common MCP clients show a model of one answer.
pub(crate) const MAX_OUTPUT_CHARS: usize = 30_000;
/// Characters of one answer at least: below, the closing line alone would not fit.
pub(crate) const MIN_OUTPUT_CHARS: usize = 1_000;
/// Sandboxes of one session.
pub(crate) const MAX_INSTANCES: usize = 4;
/// Bytes of a sandbox's name: a DNS label.
pub(crate) const NAME_BYTES: usize = 63;

/// Time limit of a `Bash` command when the caller gives none.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_mins(2);
/// The longest time limit of a `Bash` command.
pub(crate) const COMMAND_TIMEOUT_MAX: Duration = Duration::from_mins(10);
/// How long `Bash` waits for a command before the command goes on in the background.
pub(crate) const FOREGROUND: Duration = Duration::from_secs(50);
/// The longest wait of one `BashOutput` call.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(50);
/// Background commands that one sandbox remembers; the oldest finished one is forgotten first.
pub(crate) const BACKGROUND_COMMANDS: usize = 32;

/// Bytes of a serialised shell between two calls.
pub(crate) const SHELL_STATE_BYTES: usize = 8 << 20;
/// Bytes of one command's output that are kept in a file of its sandbox.
pub(crate) const SPOOL_BYTES: u64 = 64 << 20;
/// Output files that one sandbox keeps; the oldest goes first.
pub(crate) const SPOOL_FILES: u64 = 20;

/// Lines of one `Read` when the caller gives no limit.
pub(crate) const READ_LINES: u64 = 2_000;
/// Characters of a line that `Read` shows.
pub(crate) const LINE_CHARS: usize = 2_000;
/// Bytes of a text file that `Edit` changes, and up to which changes are noticed by content and not only by time and size.
pub(crate) const EDIT_BYTES: u64 = 16 << 20;
/// Bytes of an image that `Read` shows.
pub(crate) const IMAGE_BYTES: u64 = 5 << 20;
/// Files whose last seen state one sandbox remembers.
pub(crate) const SEEN_FILES: usize = 10_000;
/// Bytes of one line of the protocol.
pub(crate) const LINE_BYTES: usize = 32 << 20;
