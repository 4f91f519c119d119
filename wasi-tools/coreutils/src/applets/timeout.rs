//! `timeout`: runs a program and ends it when it takes too long.

use std::{ffi::OsString, time::Duration};

use sandbar_guest::{
    Pid, Signal,
    process::{self, Wait, WaitStatus},
    signal::{self, Disposition},
};

use super::{
    cli::{self, Opt, Order, Outcome, Stop, Tool},
    duration, program,
    quote::quote_word,
};

static TOOL: Tool = Tool {
    name: "timeout",
    help: "\
Usage: timeout [OPTION] DURATION COMMAND [ARG]...
Runs COMMAND and ends it when it still runs after DURATION: a number with a fraction and s (default), m, h or d; 0 is none.

      --preserve-status  exit as COMMAND does even when its time was up
      --foreground       let COMMAND use the terminal; its children are not ended
  -k, --kill-after=DUR   send KILL too when it still runs DUR later
  -s, --signal=SIGNAL    send this instead of TERM
  -v, --verbose          tell which signal is sent
      --help             show this text
      --version          show the version

Exit status: 124 when the time was up, 125 when timeout fails itself, 126 when COMMAND can't be run, 127 when there is none,
137 when KILL was sent, else COMMAND's.
",
    options: &[
        Opt::value(b'k', "kill-after"),
        Opt::value(b's', "signal"),
        Opt::flag(b'v', "verbose"),
        Opt::flag(0, "foreground"),
        Opt::flag(0, "preserve-status"),
    ],
    order: Order::OptionsFirst,
    usage_status: 125,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

struct Timeout {
    signal: Signal,
    kill_after: Option<Duration>,
    foreground: bool,
    preserve_status: bool,
    verbose: bool,
    command: Vec<u8>,
    timed_out: bool,
}

fn interval(text: &[u8]) -> Result<Duration, Stop> {
    duration::parse(text)
        .ok_or_else(|| TOOL.usage(format!("invalid time interval {}", quote_word(text))))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut timeout = Timeout {
        signal: Signal::TERM,
        kill_after: None,
        foreground: false,
        preserve_status: false,
        verbose: false,
        command: Vec::new(),
        timed_out: false,
    };
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        let value = value.unwrap_or_default();
        match option {
            "kill-after" => {
                timeout.kill_after = Some(interval(&value)?).filter(|after| !after.is_zero());
            }
            "signal" => {
                let signal = Signal::parse(&value);
                timeout.signal = signal
                    .ok_or_else(|| TOOL.usage(format!("{}: invalid signal", quote_word(&value))))?;
            }
            "verbose" => timeout.verbose = true,
            "foreground" => timeout.foreground = true,
            _ => timeout.preserve_status = true,
        }
    }
    let mut words = parser.operands();
    if words.len() < 2 {
        return Err(TOOL.try_help());
    }
    let limit = interval(&words.remove(0))?;
    timeout.command = words.first().cloned().unwrap_or_default();
    if !timeout.foreground {
        // A group of its own, so that a signal reaches everything the command starts. It fails for a session's leader, who
        // has one already.
        let _leader = process::set_group(0, 0);
    }
    for signal in [
        Signal::ALRM,
        Signal::CHLD,
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
    ] {
        handle(signal)?;
    }
    let child = program::command(&words)
        .spawn()
        .map_err(|errno| program::failed(&TOOL, &words, errno))?;
    set_alarm(limit)?;
    timeout.watch(child)
}

fn handle(signal: Signal) -> Result<(), Stop> {
    let failure = |errno| {
        TOOL.fail(
            125,
            format!("cannot handle signal {}: {errno}", signal.name()),
        )
    };
    match signal::action(signal, Disposition::Handle) {
        // What the caller ignores (nohup) stays ignored.
        Ok(Disposition::Ignore) if !matches!(signal, Signal::ALRM | Signal::CHLD) => {
            signal::action(signal, Disposition::Ignore)
                .map(drop)
                .map_err(failure)
        }
        Ok(_) => Ok(()),
        Err(errno) => Err(failure(errno)),
    }
}

fn set_alarm(limit: Duration) -> Result<(), Stop> {
    let limit = (!limit.is_zero() && limit != Duration::MAX).then_some(limit);
    signal::alarm(limit)
        .map(drop)
        .map_err(|errno| TOOL.fail(125, format!("cannot set the timer: {errno}")))
}

impl Timeout {
    /// Waits for the child, and for the signals that are passed on to it.
    fn watch(&mut self, child: Pid) -> Outcome {
        loop {
            signal::pause();
            let arrived = signal::take();
            match process::wait(child.0, Wait::POLL) {
                Ok(Some(waited)) => return Ok(self.status(waited.status)),
                Ok(None) => {}
                Err(errno) => {
                    return Err(TOOL.fail(125, format!("error waiting for command: {errno}")));
                }
            }
            for signal in arrived.iter().filter(|signal| *signal != Signal::CHLD) {
                self.end(child, signal)?;
            }
        }
    }

    /// Sends the child what arrived, or on `ALRM` what ends it.
    fn end(&mut self, child: Pid, arrived: Signal) -> Result<(), Stop> {
        let signal = if arrived == Signal::ALRM {
            self.timed_out = true;
            self.signal
        } else {
            arrived
        };
        if let Some(after) = self.kill_after.take() {
            self.signal = Signal::KILL;
            set_alarm(after)?;
        }
        if self.verbose {
            TOOL.warn(format!(
                "sending signal {} to command {}",
                signal.name(),
                quote_word(&self.command)
            ));
        }
        self.send(child, signal);
        if !matches!(signal, Signal::KILL | Signal::CONT) {
            // A stopped program ends only when it goes on.
            self.send(child, Signal::CONT);
        }
        Ok(())
    }

    fn send(&self, child: Pid, signal: Signal) {
        // It may have ended meanwhile.
        let _gone = process::kill(child.0, Some(signal));
        if !self.foreground {
            // This process is in the group too. KILL can't be ignored: then this ends as the command does, with 137.
            let _kill = signal::action(signal, Disposition::Ignore);
            let _gone = process::kill(0, Some(signal));
        }
    }

    fn status(&self, status: WaitStatus) -> i32 {
        let killed = self.timed_out && status == WaitStatus::Signaled(Signal::KILL);
        if self.timed_out && !self.preserve_status && !killed {
            return 124;
        }
        if let WaitStatus::Signaled(signal) = status
            && !self.timed_out
        {
            // Ends in the same way, so that a shell sees what happened. It comes back only when the signal is blocked.
            let _blocked = signal::raise_default(signal);
        }
        status.shell_code().into()
    }
}
