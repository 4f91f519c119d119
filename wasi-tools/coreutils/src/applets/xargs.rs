//! `xargs`: builds command lines from standard input and runs them.

mod input;
mod run;

use std::ffi::OsString;

use sandbar_guest::{
    Fd,
    fd::OnExec,
    file::{self, OpenFlags},
};

use super::{
    cli::{self, Opt, Order, Outcome, Parser, Stop, Takes, Tool},
    quote::{quote, quote_word},
};
use input::{Input, Separator};
use run::Runner;

static TOOL: Tool = Tool {
    name: "xargs",
    help: "\
Usage: xargs [OPTION]... COMMAND [INITIAL-ARG]...
Runs COMMAND (default echo) with INITIAL-ARGs and arguments read from standard input, as often as it takes.

  -0, --null              arguments end with NUL; quotes and blanks are ordinary
  -a, --arg-file=FILE     read arguments from FILE
  -d, --delimiter=C       arguments end with C
  -E END, -e, --eof[=END]  a line END ends the input
  -I R, -i, --replace[=R]  one command a line, which takes the place of R (default {}) in INITIAL-ARGs
  -L, -l, --max-lines[=N]  at most N lines a command (default 1)
  -n, --max-args=N        at most N arguments a command
  -o, --open-tty          give COMMAND the terminal as standard input
  -P, --max-procs=N       up to N commands at a time, 0 for no limit
  -p, --interactive       ask before each command
      --process-slot-var=VAR  set VAR in COMMAND's environment to the number of its slot
  -r, --no-run-if-empty   run nothing without arguments
  -s, --max-chars=N       at most N bytes a command line
  -t, --verbose           show each command
  -x, --exit              end when a command line is too long
      --help              show this text
      --version           show the version

Exit status: 123 when a command failed, 124 when one exited with 255, 125 when a signal ended one, 126 when COMMAND can't be
run, 127 when there is none, 1 for other failures.
",
    options: &[
        Opt::flag(b'0', "null"),
        Opt::value(b'a', "arg-file"),
        Opt::value(b'd', "delimiter"),
        Opt::letter(b'E', Takes::Value, "eof"),
        Opt::optional(b'e', "eof"),
        Opt::letter(b'I', Takes::Value, "replace"),
        Opt::optional(b'i', "replace"),
        Opt::letter(b'L', Takes::Value, "-L"),
        Opt::optional(b'l', "max-lines"),
        Opt::value(b'n', "max-args"),
        Opt::flag(b'o', "open-tty"),
        Opt::value(b'P', "max-procs"),
        Opt::flag(b'p', "interactive"),
        Opt::value(0, "process-slot-var"),
        Opt::flag(b'r', "no-run-if-empty"),
        Opt::value(b's', "max-chars"),
        Opt::flag(b't', "verbose"),
        Opt::flag(b'x', "exit"),
    ],
    order: Order::OptionsFirst,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// Bytes that a command line may have: what GNU takes by default. The kernel's limit is larger.
const DEFAULT_CHARS: usize = 128 * 1024;

/// What the command line asked for.
#[derive(Default)]
struct Options {
    separator: Separator,
    file: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    replace: Option<Vec<u8>>,
    max_lines: Option<usize>,
    max_args: Option<usize>,
    max_chars: Option<usize>,
    max_procs: usize,
    slot_variable: Option<String>,
    open_tty: bool,
    interactive: bool,
    verbose: bool,
    skip_empty: bool,
    exit_if_long: bool,
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut options = Options {
        max_procs: 1,
        ..Options::default()
    };
    let mut parser = TOOL.parse(args);
    options.read(&mut parser)?;
    let mut command = parser.operands();
    if command.is_empty() {
        command.push(b"echo".to_vec());
    }
    if options.replace.is_some() {
        options.exit_if_long = true;
    }
    let source = match options.file.as_deref() {
        None | Some(b"-") => Fd::STDIN,
        Some(path) => {
            file::open(path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0).map_err(|errno| {
                TOOL.fail(
                    1,
                    format!("Cannot open input file {}: {errno}", quote(path)),
                )
            })?
        }
    };
    let own_input = source == Fd::STDIN;
    let mut input = Input::new(source, options.separator, options.end.clone());
    let mut runner = Runner::new(&options, command, own_input)?;
    let finished = feed(&mut input, &options, &mut runner);
    let waited = runner.wait_all();
    finished?;
    waited?;
    Ok(runner.status())
}

/// Hands the input to the runner, in the portions that were asked for.
fn feed(input: &mut Input, options: &Options, runner: &mut Runner) -> Result<(), Stop> {
    let fail = |text: String| TOOL.fail(1, text);
    if let Some(pattern) = &options.replace {
        while let Some(line) = input.next_line().map_err(fail)? {
            runner.run_replaced(pattern, &line)?;
        }
        return Ok(());
    }
    let mut lines = 0;
    while let Some(argument) = input.next_argument().map_err(fail)? {
        runner.push(argument.text)?;
        lines += usize::from(argument.ends_line);
        let full_lines = argument.ends_line && options.max_lines.is_some_and(|max| lines >= max);
        if full_lines || options.max_args.is_some_and(|max| runner.pending() >= max) {
            lines = 0;
            runner.run_pending()?;
        }
    }
    if runner.pending() > 0 || (!runner.has_run() && !options.skip_empty) {
        runner.run_pending()?;
    }
    Ok(())
}

impl Options {
    fn read(&mut self, parser: &mut Parser) -> Result<(), Stop> {
        while let Some((option, value)) = parser.next()? {
            match (option, value) {
                ("null", _) => self.separator = Separator::Byte(0),
                ("delimiter", Some(text)) => self.separator = Separator::Byte(delimiter(&text)?),
                ("arg-file", file) => self.file = file,
                ("eof", end) => self.end = end.filter(|end| !end.is_empty()),
                ("replace", pattern) => {
                    ignore_previous("--max-lines", "--replace/-I/-i", self.max_lines.is_some());
                    ignore_previous("--max-args", "--replace/-I/-i", self.max_args.is_some());
                    (self.max_lines, self.max_args) = (None, None);
                    self.replace = Some(pattern.unwrap_or_else(|| b"{}".to_vec()));
                }
                ("max-lines" | "-L", number) => {
                    let new = if option == "-L" {
                        "-L"
                    } else {
                        "--max-lines/-l"
                    };
                    ignore_previous("--max-args", new, self.max_args.is_some());
                    ignore_previous("--replace", new, self.replace.is_some());
                    (self.replace, self.max_args) = (None, None);
                    let number = number.map(|number| count(&number, "L", 1)).transpose()?;
                    self.max_lines = Some(number.unwrap_or(1));
                }
                ("max-args", Some(number)) => {
                    let number = count(&number, "n", 1)?;
                    ignore_previous("--max-lines", "--max-args/-n", self.max_lines.is_some());
                    self.max_lines = None;
                    if self.replace.is_some() && number == 1 {
                        // NOTE: `-I{} -n1` is so common that it is no contradiction.
                        continue;
                    }
                    ignore_previous("--replace", "--max-args/-n", self.replace.is_some());
                    self.replace = None;
                    self.max_args = Some(number);
                }
                ("max-chars", Some(number)) => self.max_chars = Some(max_chars(&number)?),
                ("max-procs", Some(number)) => self.max_procs = count(&number, "P", 0)?,
                ("process-slot-var", Some(name)) => {
                    self.slot_variable = Some(slot_variable(&name)?);
                }
                ("open-tty", _) => self.open_tty = true,
                ("interactive", _) => (self.interactive, self.verbose) = (true, true),
                ("verbose", _) => self.verbose = true,
                ("no-run-if-empty", _) => self.skip_empty = true,
                ("exit", _) => self.exit_if_long = true,
                _ => {}
            }
        }
        Ok(())
    }
}

fn ignore_previous(previous: &str, new: &str, given: bool) {
    if given {
        TOOL.warn(format!(
            "warning: options {previous} and {new} are mutually exclusive, ignoring previous {previous} value"
        ));
    }
}

/// NOTE: unlike other numbers 0 is only told of; nothing fits into it then.
fn max_chars(text: &[u8]) -> Result<usize, Stop> {
    if text == b"0" {
        TOOL.warn("value 0 for -s option should be >= 1");
        return Ok(1);
    }
    count(text, "s", 1)
}

fn slot_variable(name: &[u8]) -> Result<String, Stop> {
    if name.contains(&b'=') {
        return Err(TOOL.fail(
            1,
            "option --process-slot-var may not be set to a value which includes '='",
        ));
    }
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn count(text: &[u8], option: &str, least: usize) -> Result<usize, Stop> {
    let shown = String::from_utf8_lossy(text).into_owned();
    let number: i64 = shown
        .trim_ascii_start()
        .parse()
        .map_err(|_| TOOL.usage(format!("invalid number \"{shown}\" for -{option} option")))?;
    match usize::try_from(number) {
        Ok(number) if number >= least => Ok(number),
        _ => Err(TOOL.usage(format!(
            "value {shown} for -{option} option should be >= {least}"
        ))),
    }
}

/// One character, or an escape for one.
fn delimiter(text: &[u8]) -> Result<u8, Stop> {
    match text {
        [byte] => return Ok(*byte),
        [b'\\', rest @ ..] => {
            if let Some((byte, [])) = super::format::escape(rest) {
                return Ok(byte);
            }
            let shown = String::from_utf8_lossy(text);
            return Err(TOOL.fail(
                1,
                format!("Invalid escape sequence {shown} in input delimiter specification."),
            ));
        }
        _ => {}
    }
    let shown = String::from_utf8_lossy(text);
    Err(TOOL.fail(
        1,
        format!(
            "Invalid input delimiter specification {shown}: the delimiter must be either a single character or an escape \
             sequence starting with \\."
        ),
    ))
}

/// A descriptor that gives nothing, for commands whose standard input is the arguments' source.
fn no_input(open_tty: bool) -> Result<Fd, Stop> {
    let path: &[u8] = if open_tty { b"/dev/tty" } else { b"/dev/null" };
    let opened = file::open(path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0);
    // The number must not be one that the commands know.
    let moved = opened.and_then(|fd| {
        let high = fd.dup(10, OnExec::Close)?;
        fd.close()?;
        Ok(high)
    });
    moved.map_err(|errno| TOOL.fail(1, format!("cannot open {}: {errno}", quote_word(path))))
}
