//! `env`: runs a program in a changed environment, or shows the environment.

mod split;

use std::ffi::OsString;

use sandbar_guest::{
    Fd, Signal,
    process::{self, Spawn},
    signal::{self, Disposition, MaskHow, SignalSet},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    program,
    quote::{quote, quote_word},
};

static TOOL: Tool = Tool {
    name: "env",
    help: "\
Usage: env [OPTION]... [-] [NAME=VALUE]... [COMMAND [ARG]...]
Sets each NAME to VALUE in the environment and runs COMMAND; without one, shows the environment.

  -i, --ignore-environment  start from an empty environment; so does -
  -0, --null                end each line with NUL, not newline
  -u, --unset=NAME          remove NAME
  -C, --chdir=DIR           run in DIR
  -S, --split-string=S      split S into arguments, for #! lines
      --block-signal[=SIG]    block SIG, or all signals
      --default-signal[=SIG]  give SIG, or all signals, the default action
      --ignore-signal[=SIG]   ignore SIG, or all signals
      --list-signal-handling  show what is not default
  -v, --debug               tell each step
      --help                show this text
      --version             show the version
",
    options: &[
        Opt::flag(b'i', "ignore-environment"),
        Opt::flag(b'0', "null"),
        Opt::value(b'u', "unset"),
        Opt::value(b'C', "chdir"),
        Opt::optional(0, "default-signal"),
        Opt::optional(0, "ignore-signal"),
        Opt::optional(0, "block-signal"),
        Opt::flag(0, "list-signal-handling"),
        Opt::flag(b'v', "debug"),
        Opt::value(b'S', "split-string"),
        // A #! line with a space passes it in front of the first option.
        Opt::letter(b' ', Takes::Nothing, "space"),
    ],
    order: Order::OptionsFirst,
    usage_status: 125,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

#[derive(Default)]
struct Request {
    empty: bool,
    null: bool,
    unset: Vec<Vec<u8>>,
    cwd: Option<Vec<u8>>,
    debug: bool,
    list_signals: bool,
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut request = Request::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "ignore-environment" => request.empty = true,
            "null" => request.null = true,
            "unset" => request.unset.extend(value),
            "chdir" => request.cwd = value,
            "debug" => request.debug = true,
            "list-signal-handling" => request.list_signals = true,
            "split-string" => {
                let value = value.unwrap_or_default();
                let words = split::split(&value).map_err(|text| TOOL.fail(125, text))?;
                if request.debug {
                    tell_split(&value, &words);
                }
                parser.prepend(words);
            }
            "space" => {
                TOOL.warn("invalid option -- ' '");
                TOOL.warn("use -[v]S to pass options in shebang lines");
                return Err(TOOL.try_help());
            }
            signals => set_signals(signals, value.as_deref())?,
        }
    }
    let mut operands = parser.operands();
    if operands.first().is_some_and(|word| word == b"-") {
        request.empty = true;
        operands.remove(0);
    }
    let environment = request.environment(&mut operands)?;
    if operands.is_empty() {
        if request.cwd.is_some() {
            return Err(TOOL.usage("must specify command with --chdir (-C)"));
        }
        return Ok(show(&environment, request.null));
    }
    if request.null {
        return Err(TOOL.usage("cannot specify --null (-0) with command"));
    }
    Err(request.exec(&operands, &environment))
}

fn show(environment: &[Vec<u8>], null: bool) -> i32 {
    let mut out = Output::new();
    for entry in environment {
        out.bytes(entry);
        out.bytes(if null { b"\0" } else { b"\n" });
    }
    out.finish(&TOOL, 0)
}

/// Says on standard error what is done, as `--debug` asks.
fn tell(text: &str) {
    let _unwritable = Fd::STDERR.write_all(text.as_bytes());
}

fn tell_split(value: &[u8], words: &[Vec<u8>]) {
    tell(&format!("split -S:  {}\n", quote_word(value)));
    for (index, word) in words.iter().enumerate() {
        tell(&format!(
            "{}{}\n",
            if index == 0 {
                " into:    "
            } else {
                "     &    "
            },
            quote_word(word)
        ));
    }
}

impl Request {
    /// The new environment; takes the assignments from the front of the operands.
    fn environment(&self, operands: &mut Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Stop> {
        let mut entries = if self.empty {
            Vec::new()
        } else {
            process::environment()
        };
        if self.empty && self.debug {
            tell("cleaning environ\n");
        }
        let is_named = |entry: &[u8], name: &[u8]| {
            entry
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(b"="))
        };
        for name in &self.unset {
            if name.is_empty() || name.contains(&b'=') {
                return Err(TOOL.fail(
                    125,
                    format!("cannot unset {}: Invalid argument", quote_word(name)),
                ));
            }
            if self.debug && !self.empty {
                tell(&format!("unset:    {}\n", String::from_utf8_lossy(name)));
            }
            entries.retain(|entry| !is_named(entry, name));
        }
        let count = operands
            .iter()
            .take_while(|word| word.contains(&b'='))
            .count();
        for entry in operands.drain(..count) {
            let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
            if self.debug {
                tell(&format!("setenv:   {}\n", String::from_utf8_lossy(&entry)));
            }
            match entries.iter_mut().find(|old| is_named(old, name)) {
                Some(old) => *old = entry,
                None => entries.push(entry),
            }
        }
        Ok(entries)
    }

    fn exec(&self, words: &[Vec<u8>], environment: &[Vec<u8>]) -> Stop {
        if let Some(cwd) = &self.cwd {
            if self.debug {
                tell(&format!("chdir:    {}\n", quote(cwd)));
            }
            if let Err(errno) = process::chdir(cwd) {
                return TOOL.fail(
                    125,
                    format!("cannot change directory to {}: {errno}", quote(cwd)),
                );
            }
        }
        if self.list_signals {
            list_signals();
        }
        let program = words.first().map(Vec::as_slice).unwrap_or_default();
        if self.debug {
            tell(&format!(
                "executing: {}\n",
                String::from_utf8_lossy(program)
            ));
            for (index, word) in words.iter().enumerate() {
                tell(&format!("   arg[{index}]= {}\n", quote_word(word)));
            }
        }
        let errno = Spawn::new(program)
            .search(true)
            .args(words)
            .all_fds(true)
            .env(environment)
            .exec();
        let status = program::failure_status(errno);
        TOOL.warn(format!("{}: {errno}", quote_word(program)));
        if status == 127 && program.contains(&b' ') {
            TOOL.warn("use -[v]S to pass options in shebang lines");
        }
        Stop(status)
    }
}

/// Applies one of the signal options. Signals that can't be changed are an error only when they are named.
fn set_signals(option: &str, value: Option<&[u8]>) -> Result<(), Stop> {
    let named = value.map(|value| {
        let words = value.split(|byte| *byte == b',');
        let signals = words.map(|word| {
            Signal::parse(word)
                .ok_or_else(|| TOOL.usage(format!("{}: invalid signal", quote_word(word))))
        });
        signals.collect::<Result<Vec<_>, _>>()
    });
    let named = named.transpose()?;
    let signals = named.clone().unwrap_or_else(|| Signal::all().collect());
    if option == "block-signal" {
        let set: SignalSet = signals.into_iter().collect();
        return signal::mask(MaskHow::Block, set)
            .map(drop)
            .map_err(|errno| TOOL.fail(125, format!("failed to set signal mask: {errno}")));
    }
    let disposition = if option == "ignore-signal" {
        Disposition::Ignore
    } else {
        Disposition::Default
    };
    for signal in signals {
        if let Err(errno) = signal::action(signal, disposition)
            && named.is_some()
        {
            return Err(TOOL.fail(
                125,
                format!(
                    "failed to set signal action for signal {}: {errno}",
                    signal.number()
                ),
            ));
        }
    }
    Ok(())
}

fn list_signals() {
    let blocked = signal::mask(MaskHow::Read, SignalSet::EMPTY).unwrap_or_default();
    for signal in Signal::all() {
        // Asking is setting and setting back.
        let ignored = match signal::action(signal, Disposition::Ignore) {
            Ok(previous) => {
                let _restored = signal::action(signal, previous);
                previous == Disposition::Ignore
            }
            Err(_) => false,
        };
        let text = match (blocked.contains(signal), ignored) {
            (true, true) => "BLOCK,IGNORE",
            (true, false) => "BLOCK",
            (false, true) => "IGNORE",
            (false, false) => continue,
        };
        tell(&format!(
            "{:<10} ({:2}): {text}\n",
            signal.name(),
            signal.number()
        ));
    }
}
