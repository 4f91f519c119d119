//! The command line: which commands there are, and what an exit code means.

mod compile_module;
mod demo;
mod image;
mod mcp;
mod run;
mod wasm;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::Failure;
use crate::printer::{ColorChoice, Printer};

const EXAMPLES: &str = "\
Examples:
  sandbar run -- bash -c 'seq 5 | sort -rn'
  sandbar run --workspace .:rw --timeout 30s -- grep -rn TODO .
  sandbar mcp --workspace ~/project:rw
  sandbar demo

`sandbar COMMAND --help` shows more. SANDBAR_LOG takes a log filter such as `sandbar=trace`.";

/// Heading of the options that every command has.
const OTHER: &str = "Options of every command";

/// A small computer for AI agents in which every program is WebAssembly.
#[derive(Debug, Parser)]
#[command(name = "sandbar", version, after_help = EXAMPLES)]
struct Cli {
    /// Tell on standard error what happens; twice tells more
    #[arg(
        short,
        long,
        global = true,
        action = clap::ArgAction::Count,
        help_heading = OTHER
    )]
    verbose: u8,

    /// When to use colours: auto, always, never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true,
        help_heading = OTHER
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Wasm(wasm::Wasm),
    Mcp(mcp::Mcp),
    Demo(demo::Demo),
    Image(image::Image),
    CompileModule(compile_module::CompileModule),
}

/// Runs the command line and gives the program's exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = Cli::command()
        .try_get_matches_from(&args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            Printer::new(ColorChoice::Auto).usage(&error);
            return ExitCode::from(usage_code(&error, &args));
        }
    };
    let printer = Printer::new(cli.color);
    start_log(cli.verbose, matches!(cli.command, Command::Mcp(_)));
    let result = match cli.command {
        Command::Run(command) => command.run(printer),
        Command::Wasm(command) => command.run(printer),
        Command::Mcp(command) => command.run(),
        Command::Demo(command) => command.run(printer),
        Command::Image(command) => command.run(printer),
        Command::CompileModule(command) => command.run(printer),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            printer.error(&failure.text(), failure.hint().as_deref());
            ExitCode::from(failure.exit_code())
        }
    }
}

/// A wrong argument ends with 2, as elsewhere; where a guest's exit code is passed on with 125, so that the two differ.
fn usage_code(error: &clap::Error, args: &[OsString]) -> u8 {
    if !error.use_stderr() {
        return 0;
    }
    let passes_on = args
        .iter()
        .skip(1)
        .find(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
    if passes_on.is_some_and(|name| name == "run" || name == "wasm") {
        125
    } else {
        2
    }
}

/// Logs go to standard error. Nothing is set up, and nothing costs time, unless they were asked for or a server runs.
fn start_log(verbose: u8, server: bool) {
    let filter = std::env::var("SANDBAR_LOG")
        .ok()
        .filter(|text| !text.is_empty());
    let default = match (verbose, server) {
        (0, false) if filter.is_none() => return,
        (0, _) => "warn",
        (1, _) => "warn,sandbar=debug,sandbar_mcp=debug",
        _ => "debug,sandbar=trace,sandbar_mcp=trace",
    };
    let filter = filter.unwrap_or_else(|| default.to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(&filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init()
        .ok();
}

/// A runtime of this thread alone: it starts in microseconds, and guests run on the engine's threads anyway.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("start the event loop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(args: &[&str]) -> u8 {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let error = Cli::try_parse_from(&args).expect_err("no valid command line");
        usage_code(&error, &args)
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_arguments_end_with_2_and_with_125_where_a_guest_s_code_is_passed_on() {
        assert_eq!(code(&["sandbar", "no-such-command"]), 2);
        assert_eq!(code(&["sandbar", "mcp", "--no-such-option"]), 2);
        assert_eq!(
            code(&["sandbar", "-v", "run", "--timeout", "never", "--", "true"]),
            125
        );
        assert_eq!(code(&["sandbar", "wasm"]), 125);
        assert_eq!(code(&["sandbar", "--help"]), 0);
        assert_eq!(code(&["sandbar", "--version"]), 0);
    }

    #[test]
    fn what_follows_the_program_belongs_to_the_program() {
        let cli =
            Cli::try_parse_from(["sandbar", "run", "--", "ls", "--color", "-v"]).expect("valid");
        let Command::Run(run) = cli.command else {
            panic!("not run")
        };
        assert_eq!(run.program(), ["ls", "--color", "-v"]);
        assert_eq!(cli.verbose, 0);
        let cli = Cli::try_parse_from(["sandbar", "run", "ls", "--json", "-l"]).expect("valid");
        let Command::Run(run) = cli.command else {
            panic!("not run")
        };
        assert_eq!(run.program(), ["ls", "--json", "-l"]);
    }
}
