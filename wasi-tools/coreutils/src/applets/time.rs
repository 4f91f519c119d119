//! `time`: runs a program and shows what it took.

use std::{ffi::OsString, time::Duration};

use sandbar_guest::{
    Errno, Fd, Signal,
    file::{self, OpenFlags},
    process::{self, Usage, Wait, WaitStatus, Who},
    signal::{self, Disposition},
    time,
};

use super::{
    cli::{self, Opt, Order, Outcome, Takes, Tool},
    format::escape,
    program,
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "time",
    help: "\
Usage: time [OPTION]... COMMAND [ARG]...
Runs COMMAND and shows the time and memory that it took, on standard error.

  -a, --append         append to the file of -o
  -f, --format=FORMAT  show this: %e %E elapsed (seconds, clock), %U %S CPU seconds in the program and in calls, %P share of
                       the CPU, %M largest memory in KiB, %x exit status, %C command; \\n \\t
  -o, --output=FILE    write to FILE
  -p, --portability    in the format of POSIX
  -q, --quiet          say nothing about failures of COMMAND
  -v, --verbose        everything that is known, one a line
      --help           show this text
      --version        show the version
",
    options: &[
        Opt::flag(b'a', "append"),
        Opt::value(b'f', "format"),
        Opt::value(b'o', "output"),
        Opt::flag(b'p', "portability"),
        Opt::flag(b'q', "quiet"),
        Opt::flag(b'v', "verbose"),
        Opt::letter(b'V', Takes::Nothing, "version"),
    ],
    order: Order::OptionsFirst,
    usage_status: 125,
};

const DEFAULT: &str = "%Uuser %Ssystem %Eelapsed %PCPU (%Xavgtext+%Davgdata %Mmaxresident)k\n\
                       %Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps";
const POSIX: &str = "real %e\nuser %U\nsys %S";
const VERBOSE: &str = "\tCommand being timed: \"%C\"\n\tUser time (seconds): %U\n\tSystem time (seconds): %S\n\
                       \tPercent of CPU this job got: %P\n\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n\
                       \tMaximum resident set size (kbytes): %M\n\tExit status: %x";

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What a run took.
struct Taken {
    elapsed: Duration,
    usage: Usage,
    status: WaitStatus,
    command: Vec<Vec<u8>>,
}

fn run(args: Vec<OsString>) -> Outcome {
    let variable = std::env::var_os("TIME").map(OsString::into_encoded_bytes);
    let mut format = variable.unwrap_or_else(|| DEFAULT.into());
    let (mut append, mut quiet, mut output) = (false, false, None);
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "append" => append = true,
            "format" => format = value.unwrap_or_default(),
            "output" => output = value,
            "portability" => format = POSIX.into(),
            "quiet" => quiet = true,
            _ => format = VERBOSE.into(),
        }
    }
    let command = parser.operands();
    if command.is_empty() {
        return Err(TOOL.usage("missing program to run"));
    }
    let out = match output {
        None => Fd::STDERR,
        Some(path) => {
            let how = if append {
                OpenFlags::APPEND
            } else {
                OpenFlags::TRUNC
            };
            let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::CLOEXEC | how;
            file::open(&path, flags, 0o666)
                .map_err(|errno| TOOL.fail(125, format!("cannot open {}: {errno}", quote(&path))))?
        }
    };
    let taken = measure(command)?;
    let mut text = Vec::new();
    if !quiet {
        match taken.status {
            WaitStatus::Exited(0) | WaitStatus::Continued => {}
            WaitStatus::Exited(code) => {
                text = format!("Command exited with non-zero status {code}\n").into_bytes();
            }
            WaitStatus::Signaled(signal) => {
                text = format!("Command terminated by signal {}\n", signal.number()).into_bytes();
            }
            WaitStatus::Stopped(signal) => {
                text = format!("Command stopped by signal {}\n", signal.number()).into_bytes();
            }
        }
    }
    text.extend(taken.show(&format));
    text.push(b'\n');
    out.write_all(&text)
        .map_err(|errno| TOOL.fail(125, format!("write error: {errno}")))?;
    Ok(taken.status.shell_code().into())
}

/// Runs the command. Interrupts are the command's to answer.
fn measure(command: Vec<Vec<u8>>) -> Result<Taken, cli::Stop> {
    let before = process::usage(Who::Children).ok();
    let start = time::monotonic();
    let child = program::command(&command).spawn().map_err(|errno| {
        let name = String::from_utf8_lossy(command.first().map(Vec::as_slice).unwrap_or_default())
            .into_owned();
        TOOL.fail(
            program::failure_status(errno),
            format!("cannot run {name}: {errno}"),
        )
    })?;
    let _ignored =
        [Signal::INT, Signal::QUIT].map(|signal| signal::action(signal, Disposition::Ignore));
    let waited = loop {
        match process::wait(child.0, Wait::BLOCK) {
            Ok(Some(waited)) => break waited,
            Ok(None) | Err(Errno::EINTR) => {}
            Err(errno) => {
                return Err(TOOL.fail(125, format!("error waiting for child process: {errno}")));
            }
        }
    };
    let elapsed = time::monotonic().saturating_sub(start);
    let before = before.map_or((Duration::ZERO, Duration::ZERO), |usage| {
        (usage.user, usage.system)
    });
    let mut usage = process::usage(Who::Children).unwrap_or(Usage {
        user: waited.cpu,
        system: Duration::ZERO,
        max_rss: waited.max_rss,
    });
    usage.user = usage.user.saturating_sub(before.0);
    usage.system = usage.system.saturating_sub(before.1);
    usage.max_rss = waited.max_rss;
    Ok(Taken {
        elapsed,
        usage,
        status: waited.status,
        command,
    })
}

fn seconds(duration: Duration) -> String {
    format!(
        "{}.{:02}",
        duration.as_secs(),
        duration.subsec_millis() / 10
    )
}

impl Taken {
    fn show(&self, format: &[u8]) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut rest = format;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'%' => match after.split_first() {
                    Some((letter, after)) => {
                        rest = after;
                        shown.extend(self.value(*letter));
                    }
                    None => shown.push(b'?'),
                },
                b'\\' => {
                    match escape(after).filter(|(byte, _)| matches!(byte, b'\n' | b'\t' | b'\\')) {
                        Some((byte, after)) => {
                            rest = after;
                            shown.push(byte);
                        }
                        None => shown.extend(b"?\\"),
                    }
                }
                byte => shown.push(*byte),
            }
        }
        shown
    }

    fn value(&self, letter: u8) -> Vec<u8> {
        let cpu = self.usage.user + self.usage.system;
        let text = match letter {
            b'%' => String::from("%"),
            b'C' => return self.command.join(b" ".as_slice()),
            b'e' => seconds(self.elapsed),
            b'E' => {
                let whole = self.elapsed.as_secs();
                let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
                if hours > 0 {
                    format!("{hours}:{minutes:02}:{rest:02}")
                } else {
                    format!(
                        "{minutes}:{rest:02}.{:02}",
                        self.elapsed.subsec_millis() / 10
                    )
                }
            }
            b'U' => seconds(self.usage.user),
            b'S' => seconds(self.usage.system),
            b'P' => match self.elapsed.as_millis() {
                0 => String::from("?%"),
                elapsed => format!("{}%", cpu.as_millis() * 100 / elapsed),
            },
            b'M' => (self.usage.max_rss / 1024).to_string(),
            b'x' => match self.status {
                WaitStatus::Exited(code) => code.to_string(),
                _ => String::from("0"),
            },
            b'Z' => String::from("65536"),
            // What a sandbox does not count: page faults, blocks, switches, averages of memory.
            b'c' | b'D' | b'F' | b'I' | b'k' | b'K' | b'O' | b'p' | b'r' | b'R' | b's' | b't'
            | b'w' | b'W' | b'X' => String::from("0"),
            other => format!("?{}", char::from(other)),
        };
        text.into_bytes()
    }
}
