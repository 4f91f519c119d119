//! Running the binary.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The binary, with nothing of the tests' own streams.
pub(crate) fn sandbar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbar"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A finished run.
#[derive(Debug)]
#[must_use]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// Runs `sandbar` with arguments.
pub(crate) fn run(args: &[&str]) -> Finished {
    run_with(args, "", |command| command)
}

/// Runs `sandbar` with arguments, an input and changes to the command.
pub(crate) fn run_with(
    args: &[&str],
    input: &str,
    change: impl FnOnce(&mut Command) -> &mut Command,
) -> Finished {
    let started = Instant::now();
    let mut command = sandbar();
    let mut child = change(command.args(args).stdin(Stdio::piped()))
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    // A program may end without reading its input.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer does not panic");
    Finished {
        code: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        took: started.elapsed(),
    }
}

/// Asserts on exit code and standard output; standard error is shown when they differ.
#[track_caller]
pub(crate) fn assert_run(args: &[&str], code: i32, stdout: &str) {
    let finished = run(args);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(code), stdout),
        "standard error: {}",
        finished.stderr
    );
}
