//! Running another program, for the applets that do.

use sandbar_guest::{Errno, process::Spawn};

use super::{
    cli::{Stop, Tool},
    quote::quote_word,
};

/// The exit status of a program that could not be run: 127 when there is none, 126 otherwise.
pub(super) fn failure_status(errno: Errno) -> i32 {
    if errno == Errno::ENOENT { 127 } else { 126 }
}

/// A request to run `words` with the caller's descriptors, the program looked up on `PATH`.
pub(super) fn command(words: &[Vec<u8>]) -> Spawn {
    let program = words.first().map(Vec::as_slice).unwrap_or_default();
    let mut spawn = Spawn::new(program);
    // The environment is passed because `std::env` may have changed it since the start.
    spawn
        .search(true)
        .args(words)
        .all_fds(true)
        .env(sandbar_guest::process::environment());
    spawn
}

/// Says that `words` can't be run.
pub(super) fn failed(tool: &Tool, words: &[Vec<u8>], errno: Errno) -> Stop {
    let name = quote_word(words.first().map(Vec::as_slice).unwrap_or_default());
    tool.fail(
        failure_status(errno),
        format!("failed to run command {name}: {errno}"),
    )
}
