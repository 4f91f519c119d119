//! The `sandbar` program: parses its arguments, runs one command, passes on an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbar_mcp::main(std::env::args_os())
}
