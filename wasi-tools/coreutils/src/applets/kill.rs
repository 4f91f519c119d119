//! `kill`: sends signals.

use std::ffi::OsString;

use sandbar_guest::{Signal, process};

use super::{
    cli::{self, Order, Outcome, Output, Stop, Tool},
    quote::quote_word,
};

static TOOL: Tool = Tool {
    name: "kill",
    help: "\
Usage: kill [-s SIGNAL | -SIGNAL] PID...
  or:  kill -l [SIGNAL]...
  or:  kill -L
Sends TERM, or SIGNAL, to each PID: a process; 0 the caller's group; -1 all processes; -N group N. Signal 0 only checks.

  -s, --signal SIGNAL  send this: a name with or without SIG, or a number
  -l, --list           names of all signals, or the name or number of each SIGNAL
  -L, --table          names and numbers
      --help           show this text
      --version        show the version
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// The signal to send; 0 is `None`.
fn parse_signal(text: &[u8]) -> Result<Option<Signal>, Stop> {
    match text {
        b"0" | b"EXIT" => Ok(None),
        text => match Signal::parse(text) {
            Some(signal) => Ok(Some(signal)),
            None => Err(TOOL.usage(format!("unknown signal name {}", quote_word(text)))),
        },
    }
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut words = args
        .into_iter()
        .skip(1)
        .map(OsString::into_encoded_bytes)
        .peekable();
    let mut signal = Some(Signal::TERM);
    // A number with a minus is a signal in front and a group behind, so this command line is no getopt's.
    match words.peek().map(Vec::as_slice).unwrap_or_default() {
        b"-l" | b"--list" => return list(words.skip(1).collect()),
        b"-L" | b"--table" => return Ok(table()),
        b"--help" => {
            return TOOL
                .parse(vec!["kill".into(), "--help".into()])
                .next()
                .map(|_| 0);
        }
        b"--version" => {
            return TOOL
                .parse(vec!["kill".into(), "--version".into()])
                .next()
                .map(|_| 0);
        }
        b"-s" | b"--signal" => {
            let option = words.next().unwrap_or_default();
            let Some(name) = words.next() else {
                let shown = String::from_utf8_lossy(&option).into_owned();
                return Err(match shown.strip_prefix("--") {
                    Some(_) => TOOL.usage(format!("option '{shown}' requires an argument")),
                    None => TOOL.usage("option requires an argument -- 's'"),
                });
            };
            signal = parse_signal(&name)?;
        }
        word => {
            let attached = word
                .strip_prefix(b"--signal=")
                .or_else(|| word.strip_prefix(b"-s"));
            let attached = attached.or_else(|| {
                word.strip_prefix(b"-")
                    .filter(|rest| !rest.is_empty() && *rest != b"-")
            });
            let attached = attached.map(<[u8]>::to_vec);
            if let Some(name) = attached {
                words.next();
                signal = parse_signal(&name)?;
            }
        }
    }
    if words.peek().is_some_and(|word| word == b"--") {
        words.next();
    }
    let targets: Vec<_> = words.collect();
    if targets.is_empty() {
        return Err(TOOL.usage("no process given"));
    }
    let mut failed = false;
    for target in targets {
        failed |= !send(&target, signal)?;
    }
    Ok(i32::from(failed))
}

fn send(target: &[u8], signal: Option<Signal>) -> Result<bool, Stop> {
    let number = std::str::from_utf8(target)
        .ok()
        .and_then(|text| text.parse::<i32>().ok());
    let Some(pid) = number else {
        return Err(TOOL.usage(format!("failed to parse argument: {}", quote_word(target))));
    };
    match process::kill(pid, signal) {
        Ok(()) => Ok(true),
        Err(errno) => {
            TOOL.warn(format!("({pid}): {errno}"));
            Ok(false)
        }
    }
}

/// Names of all signals, sixteen a line, or the other spelling of each operand.
fn list(operands: Vec<Vec<u8>>) -> Outcome {
    let mut out = Output::new();
    if operands.is_empty() {
        let names: Vec<_> = Signal::all().map(Signal::name).collect();
        for line in names.chunks(16) {
            out.text(&line.join(" "));
            out.text("\n");
        }
        return Ok(out.finish(&TOOL, 0));
    }
    for operand in operands {
        let number = std::str::from_utf8(&operand)
            .ok()
            .and_then(|text| text.parse::<u32>().ok());
        let text = match number {
            // NOTE: an exit status above 128 names the signal that caused it, as shells report it.
            Some(number) => Signal::from_number(if number > 128 { number - 128 } else { number })
                .map(|signal| signal.name().to_owned()),
            None => Signal::parse(&operand).map(|signal| signal.number().to_string()),
        };
        let Some(text) = text else {
            out.flush();
            return Err(TOOL.usage(format!("unknown signal name {}", quote_word(&operand))));
        };
        out.text(&(text + "\n"));
    }
    Ok(out.finish(&TOOL, 0))
}

/// Numbers and names, seven a line.
fn table() -> i32 {
    let mut out = Output::new();
    let entries: Vec<_> = Signal::all()
        .map(|signal| format!("{:2} {:<8}", signal.number(), signal.name()))
        .collect();
    for line in entries.chunks(7) {
        let line_text = line.concat();
        // NOTE: procps ends only the last line with the blanks of its columns.
        out.text(if line.len() == 7 {
            line_text.trim_end()
        } else {
            &line_text
        });
        out.text("\n");
    }
    out.finish(&TOOL, 0)
}
