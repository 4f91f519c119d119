//! The commands that `find` runs.

use sandbar_guest::{
    Errno, Fd,
    process::{self, Wait, WaitStatus},
};

use super::{Item, TOOL, Walk, expression::Expression};
use crate::applets::{cli::Output, program, quote::quote};

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For each item, whose path takes the place of `{}` (`;`).
    Each,
    /// For many at a time, whose paths come last (`+`).
    Many,
}

/// `-exec` and its relatives.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) words: Vec<Vec<u8>>,
    pub(super) mode: Mode,
    /// It runs in the item's directory.
    pub(super) in_dir: bool,
    /// It is asked for first.
    pub(super) ask: bool,
    /// Paths that wait, and the directory that they are in.
    waiting: Vec<Vec<u8>>,
    waiting_dir: Option<Vec<u8>>,
    size: usize,
}

/// Bytes of a command line with many paths.
const MAX_SIZE: usize = 128 * 1024;

impl Command {
    pub(super) const fn new(words: Vec<Vec<u8>>, mode: Mode, in_dir: bool, ask: bool) -> Self {
        Self {
            words,
            mode,
            in_dir,
            ask,
            waiting: Vec::new(),
            waiting_dir: None,
            size: 0,
        }
    }

    /// Runs it for an item, or keeps the item for later; what that means for the expression.
    pub(super) fn run(&mut self, item: &Item, walk: &mut Walk) -> bool {
        let (dir, path) = if self.in_dir {
            split(&item.path)
        } else {
            (None, item.path.clone())
        };
        if self.mode == Mode::Each {
            let words: Vec<_> = self.words.iter().map(|word| replace(word, &path)).collect();
            if self.ask && !asked(&words, &path, walk) {
                return false;
            }
            walk.out.flush();
            return start(&words, dir.as_deref()) == Ended::Well;
        }
        let changes_dir = self.in_dir && self.waiting_dir != dir;
        if changes_dir || self.size + path.len() + 1 > MAX_SIZE {
            walk.failed |= !self.flush(&mut walk.out);
        }
        if self.waiting.is_empty() {
            self.size = self.words.iter().map(|word| word.len() + 1).sum();
            self.waiting_dir = dir;
        }
        self.size += path.len() + 1;
        self.waiting.push(path);
        true
    }

    /// Runs it for what waits; whether it ended well.
    fn flush(&mut self, out: &mut Output) -> bool {
        if self.waiting.is_empty() {
            return true;
        }
        let mut words = self.words.clone();
        words.append(&mut self.waiting);
        out.flush();
        start(&words, self.waiting_dir.as_deref()) == Ended::Well
    }
}

/// Runs what waits in all commands; whether they ended well.
pub(super) fn finish(expression: &mut Expression, out: &mut Output) -> bool {
    let mut well = true;
    expression.each(&mut |part| {
        if let Expression::Exec(command) = part {
            well &= command.flush(out);
        }
    });
    well
}

/// Directory and `./name` of a path.
fn split(path: &[u8]) -> (Option<Vec<u8>>, Vec<u8>) {
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |last| last + 1);
    let trimmed = path.get(..end).unwrap_or(path);
    match trimmed.iter().rposition(|byte| *byte == b'/') {
        None if trimmed.is_empty() => (Some(b"/".to_vec()), b"/".to_vec()),
        None => (None, [b"./", trimmed].concat()),
        Some(at) => {
            let dir = if at == 0 {
                b"/".to_vec()
            } else {
                trimmed.get(..at).unwrap_or_default().to_vec()
            };
            (
                Some(dir),
                [b"./", trimmed.get(at + 1..).unwrap_or_default()].concat(),
            )
        }
    }
}

fn replace(word: &[u8], path: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"{}") {
            replaced.extend_from_slice(path);
            rest = after;
        } else {
            replaced.push(*first);
            rest = after;
        }
    }
    replaced
}

/// Asks on standard error; whether the answer starts with `y`.
fn asked(words: &[Vec<u8>], path: &[u8], walk: &mut Walk) -> bool {
    walk.out.flush();
    let program =
        String::from_utf8_lossy(words.first().map(Vec::as_slice).unwrap_or_default()).into_owned();
    let question = format!("< {program} ... {} > ? ", String::from_utf8_lossy(path));
    let _unwritable = Fd::STDERR.write_all(question.as_bytes());
    let mut first = None;
    let mut byte = [0];
    loop {
        match Fd::STDIN.read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte == *b"\n" => break,
            Ok(_) => first = first.or(byte.first().copied()),
            Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    matches!(first, Some(b'y' | b'Y'))
}

#[derive(PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

fn start(words: &[Vec<u8>], dir: Option<&[u8]>) -> Ended {
    let mut command = program::command(words);
    if let Some(dir) = dir {
        command.cwd(dir);
    }
    let pid = match command.spawn() {
        Ok(pid) => pid,
        Err(errno) => {
            let name = words.first().map(Vec::as_slice).unwrap_or_default();
            TOOL.warn(format!("{}: {errno}", quote(name)));
            return Ended::Badly;
        }
    };
    loop {
        match process::wait(pid.0, Wait::BLOCK) {
            Err(Errno::EINTR) => {}
            Ok(Some(waited)) if waited.status == WaitStatus::Exited(0) => return Ended::Well,
            Ok(Some(waited)) => {
                if let WaitStatus::Signaled(signal) = waited.status {
                    let name = quote(words.first().map(Vec::as_slice).unwrap_or_default());
                    TOOL.warn(format!("{name} terminated by signal {}", signal.number()));
                }
                return Ended::Badly;
            }
            _ => return Ended::Badly,
        }
    }
}
