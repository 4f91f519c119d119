//! `tee`: copies standard input to standard output and to files.

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd, Signal,
    file::{self, OpenFlags},
    signal::{self, Disposition},
};

use super::{
    cli::{self, Opt, Order, Outcome, Stop, Takes, Tool},
    quote::{quote_for_shell, quote_word},
};

static TOOL: Tool = Tool {
    name: "tee",
    help: "\
Usage: tee [OPTION]... [FILE]...
Copies standard input to each FILE, and to standard output.

  -a, --append             append to the files
  -i, --ignore-interrupts  ignore INT
  -p                       go on when a pipe is closed; see --output-error
      --output-error[=MODE]  what a failed write does: warn (the default of this option), warn-nopipe (that of -p),
                           exit, exit-nopipe; -nopipe: not for closed pipes
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::flag(b'a', "append"),
        Opt::flag(b'i', "ignore-interrupts"),
        Opt::letter(b'p', Takes::Nothing, "-p"),
        Opt::optional(0, "output-error"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What a failed write does.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct OnError {
    /// Nothing is said about a closed pipe.
    quiet_pipe: bool,
    exit: bool,
    /// PIPE is ignored; otherwise a closed pipe ends the program.
    ignore_signal: bool,
}

const MODES: [(&str, OnError); 4] = [
    (
        "warn",
        OnError {
            quiet_pipe: false,
            exit: false,
            ignore_signal: true,
        },
    ),
    (
        "warn-nopipe",
        OnError {
            quiet_pipe: true,
            exit: false,
            ignore_signal: true,
        },
    ),
    (
        "exit",
        OnError {
            quiet_pipe: false,
            exit: true,
            ignore_signal: true,
        },
    ),
    (
        "exit-nopipe",
        OnError {
            quiet_pipe: true,
            exit: true,
            ignore_signal: true,
        },
    ),
];

struct Target {
    fd: Fd,
    name: String,
    open: bool,
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut append, mut ignore_interrupts, mut on_error) = (false, false, OnError::default());
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "append" => append = true,
            "ignore-interrupts" => ignore_interrupts = true,
            _ => on_error = mode(value.as_deref())?,
        }
    }
    if ignore_interrupts {
        let _always_possible = signal::action(Signal::INT, Disposition::Ignore);
    }
    if on_error.ignore_signal {
        let _always_possible = signal::action(Signal::PIPE, Disposition::Ignore);
    }
    let mut targets = vec![Target {
        fd: Fd::STDOUT,
        name: String::from("'standard output'"),
        open: true,
    }];
    let mut failed = false;
    let how = if append {
        OpenFlags::APPEND
    } else {
        OpenFlags::TRUNC
    };
    let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::CLOEXEC | how;
    for path in parser.operands() {
        let name = quote_for_shell(&path);
        match file::open(&path, flags, 0o666) {
            Ok(fd) => targets.push(Target {
                fd,
                name,
                open: true,
            }),
            Err(errno) => {
                failed = true;
                TOOL.warn(format!("{name}: {errno}"));
                if on_error.exit {
                    return Err(Stop(1));
                }
            }
        }
    }
    copy(&mut targets, on_error).map(|copied| i32::from(failed || !copied))
}

fn mode(value: Option<&[u8]>) -> Result<OnError, Stop> {
    let Some(value) = value else {
        return Ok(MODES[1].1);
    };
    let text = String::from_utf8_lossy(value).into_owned();
    let matches: Vec<_> = MODES
        .iter()
        .filter(|(name, _)| name.starts_with(&text))
        .collect();
    if let Some((_, mode)) =
        MODES
            .iter()
            .find(|(name, _)| *name == text)
            .or(match matches.as_slice() {
                [only] => Some(only),
                _ => None,
            })
    {
        return Ok(*mode);
    }
    let problem = if matches.is_empty() {
        "invalid"
    } else {
        "ambiguous"
    };
    let list = MODES
        .iter()
        .map(|(name, _)| format!("  - '{name}'"))
        .collect::<Vec<_>>()
        .join("\n");
    let word = quote_word(value);
    Err(TOOL.usage(format!(
        "{problem} argument {word} for '--output-error'\nValid arguments are:\n{list}"
    )))
}

const BUFFER: usize = 64 * 1024;

/// Copies to the end of the input; whether everything was written.
fn copy(targets: &mut [Target], on_error: OnError) -> Result<bool, Stop> {
    let mut buffer = vec![0; BUFFER];
    let mut complete = true;
    while targets.iter().any(|target| target.open) {
        let count = match Fd::STDIN.read(&mut buffer) {
            Err(Errno::EINTR) => continue,
            Err(errno) => {
                TOOL.warn(format!("read error: {errno}"));
                return Ok(false);
            }
            Ok(0) => break,
            Ok(count) => count,
        };
        let bytes = buffer.get(..count).unwrap_or(&buffer);
        for target in targets.iter_mut().filter(|target| target.open) {
            let Err(errno) = target.fd.write_all(bytes) else {
                continue;
            };
            target.open = false;
            let quiet = errno == Errno::EPIPE && on_error.quiet_pipe;
            if !quiet {
                complete = false;
                TOOL.warn(format!("{}: {errno}", target.name));
                if on_error.exit {
                    return Err(Stop(1));
                }
            }
        }
    }
    Ok(complete)
}
