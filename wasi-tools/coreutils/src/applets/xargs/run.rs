//! Runs the command lines, several at a time if asked for, and keeps what became of them.

use sandbar_guest::{
    Errno, Fd, Pid,
    file::{self, OpenFlags},
    process::{self, Wait, WaitStatus},
};

use super::{DEFAULT_CHARS, Options, TOOL, no_input};
use crate::applets::{cli::Stop, program, quote::quote_for_shell};

pub(super) struct Runner {
    command: Vec<Vec<u8>>,
    pending: Vec<Vec<u8>>,
    /// Bytes of the command line so far, a NUL for each argument included.
    size: usize,
    max_chars: usize,
    max_procs: usize,
    exit_if_long: bool,
    verbose: bool,
    /// Where answers are read from, with `-p`.
    terminal: Option<Fd>,
    /// What commands get as standard input; `None` is the caller's.
    stdin: Option<Fd>,
    slot_variable: Option<String>,
    running: Vec<Option<Pid>>,
    has_run: bool,
    status: i32,
}

fn size_of(words: &[Vec<u8>]) -> usize {
    words.iter().map(|word| word.len() + 1).sum()
}

impl Runner {
    pub(super) fn new(
        options: &Options,
        command: Vec<Vec<u8>>,
        own_input: bool,
    ) -> Result<Self, Stop> {
        let max_chars = options.max_chars.unwrap_or(DEFAULT_CHARS);
        let size = size_of(&command);
        if size > max_chars {
            return Err(TOOL.fail(
                1,
                "cannot fit single argument within argument list size limit",
            ));
        }
        let terminal = options
            .interactive
            .then(|| file::open(b"/dev/tty", OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0));
        let terminal = terminal.transpose().map_err(|errno| {
            TOOL.fail(1, format!("failed to open /dev/tty for reading: {errno}"))
        })?;
        let stdin = (own_input || options.open_tty)
            .then(|| no_input(options.open_tty))
            .transpose()?;
        Ok(Self {
            command,
            pending: Vec::new(),
            size,
            max_chars,
            max_procs: options.max_procs,
            exit_if_long: options.exit_if_long || options.max_lines.is_some(),
            verbose: options.verbose,
            terminal,
            stdin,
            slot_variable: options.slot_variable.clone(),
            running: Vec::new(),
            has_run: false,
            status: 0,
        })
    }

    /// How many arguments wait.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether a command was run.
    pub(super) fn has_run(&self) -> bool {
        self.has_run
    }

    pub(super) fn status(&self) -> i32 {
        self.status
    }

    /// Adds an argument; runs those that wait first when it does not fit.
    pub(super) fn push(&mut self, argument: Vec<u8>) -> Result<(), Stop> {
        let len = argument.len() + 1;
        if self.size + len > self.max_chars {
            if self.pending.is_empty() || self.exit_if_long {
                let text = if self.pending.is_empty() {
                    "argument line too long"
                } else {
                    "argument list too long"
                };
                return Err(TOOL.fail(1, text));
            }
            self.run_pending()?;
            if self.size + len > self.max_chars {
                return Err(TOOL.fail(1, "argument line too long"));
            }
        }
        self.size += len;
        self.pending.push(argument);
        Ok(())
    }

    /// Runs the command with the arguments that wait.
    pub(super) fn run_pending(&mut self) -> Result<(), Stop> {
        let mut words = self.command.clone();
        words.append(&mut self.pending);
        self.size = size_of(&self.command);
        self.run(&words)
    }

    /// Runs the command with `line` in place of each `pattern` in its arguments; the program itself stays.
    pub(super) fn run_replaced(&mut self, pattern: &[u8], line: &[u8]) -> Result<(), Stop> {
        let mut words = self.command.iter();
        let mut replaced: Vec<_> = words.next().cloned().into_iter().collect();
        let mut size = size_of(&replaced);
        for word in words {
            let word = replace(word, pattern, line, self.max_chars);
            size += word.len() + 1;
            if size > self.max_chars {
                return Err(TOOL.fail(1, "argument list too long"));
            }
            replaced.push(word);
        }
        self.run(&replaced)
    }

    fn run(&mut self, words: &[Vec<u8>]) -> Result<(), Stop> {
        self.has_run = true;
        if self.verbose && !self.show(words)? {
            return Ok(());
        }
        while self.max_procs > 0 && self.running.iter().flatten().count() >= self.max_procs {
            self.wait_one()?;
        }
        let slot = self
            .running
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.running.len());
        let mut spawn = program::command(words);
        if let Some(stdin) = self.stdin {
            spawn.fd(Fd::STDIN, stdin);
        }
        if let Some(name) = &self.slot_variable {
            let entry = format!("{name}={slot}").into_bytes();
            let prefix = format!("{name}=").into_bytes();
            let mut environment = process::environment();
            environment.retain(|entry| !entry.starts_with(&prefix));
            environment.push(entry);
            spawn.env(environment);
        }
        let pid = loop {
            match spawn.spawn() {
                // At the limit of processes one has to end first.
                Err(Errno::EAGAIN) if self.running.iter().any(Option::is_some) => {
                    self.wait_one()?;
                }
                Err(errno) => {
                    let name = String::from_utf8_lossy(
                        words.first().map(Vec::as_slice).unwrap_or_default(),
                    )
                    .into_owned();
                    return Err(
                        TOOL.fail(program::failure_status(errno), format!("{name}: {errno}"))
                    );
                }
                Ok(pid) => break pid,
            }
        };
        match self.running.get_mut(slot) {
            Some(place) => *place = Some(pid),
            None => self.running.push(Some(pid)),
        }
        if self.max_procs == 1 {
            self.wait_one()?;
        }
        Ok(())
    }

    /// Shows a command; whether it is to be run.
    fn show(&self, words: &[Vec<u8>]) -> Result<bool, Stop> {
        let text = words
            .iter()
            .map(|word| quote_for_shell(word))
            .collect::<Vec<_>>()
            .join(" ");
        let end = if self.terminal.is_some() {
            "?..."
        } else {
            "\n"
        };
        let _unwritable = Fd::STDERR.write_all(format!("{text}{end}").as_bytes());
        let Some(terminal) = self.terminal else {
            return Ok(true);
        };
        let mut answer = Vec::new();
        let mut byte = [0];
        loop {
            match terminal.read(&mut byte) {
                Ok(0) => break,
                Ok(_) if byte == *b"\n" => break,
                Ok(_) if answer.is_empty() => answer.extend(byte),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(TOOL.fail(1, format!("/dev/tty: {errno}"))),
            }
        }
        Ok(matches!(answer.first(), Some(b'y' | b'Y')))
    }

    fn wait_one(&mut self) -> Result<(), Stop> {
        let waited = loop {
            match process::wait(-1, Wait::BLOCK) {
                Err(Errno::EINTR) => {}
                Err(errno) => {
                    return Err(TOOL.fail(1, format!("error waiting for child process: {errno}")));
                }
                Ok(waited) => break waited,
            }
        };
        let Some(waited) = waited else { return Ok(()) };
        // A child of whoever was this process before exec is none of ours.
        let Some(place) = self
            .running
            .iter_mut()
            .find(|place| **place == Some(waited.pid))
        else {
            return Ok(());
        };
        *place = None;
        let name =
            String::from_utf8_lossy(self.command.first().map(Vec::as_slice).unwrap_or_default())
                .into_owned();
        match waited.status {
            WaitStatus::Exited(0) | WaitStatus::Continued => Ok(()),
            WaitStatus::Exited(255) => {
                Err(TOOL.fail(124, format!("{name}: exited with status 255; aborting")))
            }
            WaitStatus::Exited(_) => {
                self.status = 123;
                Ok(())
            }
            WaitStatus::Signaled(signal) => Err(TOOL.fail(
                125,
                format!("{name}: terminated by signal {}", signal.number()),
            )),
            WaitStatus::Stopped(signal) => Err(TOOL.fail(
                125,
                format!("{name}: stopped by signal {}", signal.number()),
            )),
        }
    }

    /// Waits for all commands; the first failure counts.
    pub(super) fn wait_all(&mut self) -> Result<(), Stop> {
        let mut outcome = Ok(());
        while self.running.iter().any(Option::is_some) {
            let waited = self.wait_one();
            // Without children there is nobody left to wait for.
            if matches!(waited, Err(Stop(1))) {
                return waited;
            }
            outcome = outcome.and(waited);
        }
        outcome
    }
}

/// `word` with each `pattern` replaced; longer than `limit` it is cut, which the caller refuses.
fn replace(word: &[u8], pattern: &[u8], line: &[u8], limit: usize) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        if replaced.len() > limit {
            break;
        }
        match rest.strip_prefix(pattern) {
            Some(after) if !pattern.is_empty() => {
                replaced.extend_from_slice(line);
                rest = after;
            }
            _ => {
                replaced.push(*first);
                rest = after;
            }
        }
    }
    replaced
}
