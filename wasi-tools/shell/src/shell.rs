//! The shell's state, and what every part of it needs: messages, output, positions.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::ast::{Bytes, FunctionDef};
use crate::job::Jobs;
use crate::options::{SHOPT_DEFAULT, opt, shopt};
use crate::parser::{Context, Parser};
use crate::sys;
use crate::vars::{NameMap, Vars};

/// Why execution does not go on with the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// `break`, with the number of loops that are still to be left.
    Break(u32),
    /// `continue`, likewise.
    Continue(u32),
    Return(i32),
    Exit(i32),
    /// An error that ends the current top-level command but not the shell.
    Discard(i32),
}

/// A status, or the reason to stop.
pub(crate) type Exec = Result<i32, Flow>;

/// A function. One that came from another shell is parsed when it is first called.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) parsed: OnceCell<Rc<FunctionDef>>,
    pub(crate) text: OnceCell<Bytes>,
    /// The file it was read from.
    pub(crate) source: Bytes,
    pub(crate) line: u32,
}

impl Function {
    /// The syntax tree; `None` when the text is damaged.
    pub(crate) fn def(&self) -> Option<Rc<FunctionDef>> {
        if let Some(def) = self.parsed.get() {
            return Some(Rc::clone(def));
        }
        let text = self.text.get()?;
        let script = Parser::of_text(text, Context::plain(), self.line)
            .whole()
            .ok()?;
        let command = script
            .items
            .into_iter()
            .next()?
            .and_or
            .first
            .stages
            .into_iter()
            .next()?;
        let crate::ast::Kind::Function(def) = command.kind else {
            return None;
        };
        Some(Rc::clone(self.parsed.get_or_init(|| def)))
    }
}

/// Attributes of functions, kept by name.
#[derive(Debug, Clone)]
pub(crate) struct FunctionEntry {
    pub(crate) function: Rc<Function>,
    pub(crate) export: bool,
    pub(crate) readonly: bool,
    pub(crate) trace: bool,
}

/// What opened a frame of the call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Function,
    Source,
}

/// A frame of the call stack.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) name: Bytes,
    pub(crate) source: Bytes,
    /// The line of the call.
    pub(crate) line: u32,
}

/// A condition that a trap waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TrapKind {
    Exit,
    Signal(u8),
    Debug,
    Err,
    Return,
}

/// Everything that a subshell has its own copy of.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) vars: Vars,
    pub(crate) functions: Rc<NameMap<FunctionEntry>>,
    pub(crate) aliases: Rc<BTreeMap<Bytes, Bytes>>,
    pub(crate) set: u32,
    pub(crate) shopt: u64,
    /// `$1…`
    pub(crate) params: Rc<Vec<Bytes>>,
    /// `$0`
    pub(crate) name: Bytes,
    pub(crate) frames: Vec<Frame>,
    pub(crate) status: i32,
    pub(crate) pipestatus: Vec<i32>,
    /// `$!`, 0 for none.
    pub(crate) last_background: i32,
    /// `$_`
    pub(crate) last_arg: Bytes,
    pub(crate) traps: BTreeMap<TrapKind, Bytes>,
    /// How many functions deep a trap was set.
    pub(crate) trap_levels: BTreeMap<TrapKind, usize>,
    /// The traps are the parent's: shown by `trap`, not in force.
    pub(crate) traps_shown_only: bool,
    /// `$BASH_SUBSHELL`
    pub(crate) subshell: u32,
    /// `pushd`'s stack without the current directory.
    pub(crate) dirs: Vec<Bytes>,
    /// `$PWD` as the shell keeps it.
    pub(crate) cwd: Bytes,
    pub(crate) line: u32,
    /// Position of `getopts` inside a bundle of options.
    pub(crate) getopts_at: usize,
    pub(crate) getopts_index: i64,
    pub(crate) random: u32,
    /// Offset of `$SECONDS` from the shell's start.
    pub(crate) seconds: i64,
    /// Remembered paths of commands.
    pub(crate) hashed: Rc<BTreeMap<Bytes, (Bytes, u32)>>,
    /// The umask that was set.
    pub(crate) umask: Option<u32>,
    /// Builtins switched off with `enable -n`.
    pub(crate) disabled: Vec<Bytes>,
    /// Special variables that were unset and so lost their meaning.
    pub(crate) plain: Vec<Bytes>,
}

impl State {
    /// How many functions deep a trap was set.
    pub(crate) fn traps_depth(&self, kind: TrapKind) -> usize {
        self.trap_levels.get(&kind).copied().unwrap_or(0)
    }
}

/// Output collected in memory instead of going to a descriptor.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    pub(crate) data: Bytes,
    /// Pipes of background jobs that still write here.
    pub(crate) pipes: Vec<i32>,
}

/// A running shell.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) st: State,
    pub(crate) jobs: Jobs,
    /// `$$`: the number of the shell that a person started.
    pub(crate) pid: i32,
    pub(crate) interactive: bool,
    /// `bash -c`: messages about syntax say so.
    pub(crate) command_string: bool,
    pub(crate) reads_stdin: bool,
    /// This process is a subshell of another one.
    pub(crate) handed_over: bool,
    /// What builtins have printed and not yet written.
    pub(crate) out: Bytes,
    pub(crate) captures: Vec<Capture>,
    /// Descriptors that stand for a capture: (descriptor, index of the capture).
    pub(crate) sinks: Vec<(i32, usize)>,
    /// Commands whose failure is looked at: `set -e` and the ERR trap are off.
    pub(crate) guarded: u32,
    pub(crate) loops: u32,
    pub(crate) depth: u32,
    /// Address of a local of `main`, from which the depth of the stack is measured.
    pub(crate) stack_base: usize,
    /// The status of the last command substitution, which a command of assignments alone takes.
    pub(crate) substituted: Option<i32>,
    /// Saved descriptors of the redirections in force, innermost last.
    pub(crate) saved_fds: Vec<crate::redirect::Saved>,
    /// A trap's command is running.
    pub(crate) trapping: u32,
    /// `$?` when the running trap began.
    pub(crate) trap_status: Option<i32>,
    /// Text of the command that runs, for `$BASH_COMMAND`.
    pub(crate) command_text: Bytes,
    /// The builtin that runs, for messages.
    pub(crate) builtin: Option<&'static str>,
    /// Monotonic time at the start.
    pub(crate) started: Duration,
    /// Descriptors of process substitutions to be closed after the command.
    pub(crate) process_fds: Vec<i32>,
    /// What syntax errors are introduced with besides `-c`, e.g. `eval`.
    pub(crate) parsing: Option<&'static str>,
    /// Nothing runs after the current command: it may take the process over.
    pub(crate) last_command: bool,
    pub(crate) nested_arith: u32,
    /// A nameref that leads to itself was just followed.
    pub(crate) circular: bool,
    /// The redirections of a compound command have just failed, which `set -e` looks at.
    pub(crate) redirect_failed_now: bool,
    /// Per subshell that runs in this process: what `exec` with redirections changed.
    pub(crate) subshell_saves: Vec<Vec<crate::redirect::Saved>>,
    /// Array assignments among the arguments of a declaration builtin, by argument.
    pub(crate) array_args: Vec<(usize, Rc<crate::ast::Assign>)>,
    /// The umask before the first change.
    pub(crate) first_umask: Option<u32>,
    /// Where the state goes at the end, for a sandbox that keeps it between calls.
    pub(crate) state_out: Option<i32>,
    /// The program to start for a subshell that needs its own process.
    pub(crate) program: Bytes,
}

impl Shell {
    /// A shell without variables.
    pub(crate) fn new(name: Bytes) -> Self {
        let pid = sys::pid();
        let base = 0_u8;
        Self {
            st: State {
                vars: Vars::default(),
                functions: Rc::default(),
                aliases: Rc::default(),
                set: opt::DEFAULT,
                shopt: SHOPT_DEFAULT,
                params: Rc::default(),
                name,
                frames: Vec::new(),
                status: 0,
                pipestatus: vec![0],
                last_background: 0,
                last_arg: Bytes::new(),
                traps: BTreeMap::new(),
                trap_levels: BTreeMap::new(),
                traps_shown_only: false,
                subshell: 0,
                dirs: Vec::new(),
                cwd: Bytes::new(),
                line: 0,
                getopts_at: 0,
                getopts_index: 1,
                random: 0,
                seconds: 0,
                hashed: Rc::default(),
                umask: None,
                disabled: Vec::new(),
                plain: Vec::new(),
            },
            jobs: Jobs::default(),
            pid,
            interactive: false,
            command_string: false,
            reads_stdin: false,
            handed_over: false,
            out: Bytes::new(),
            captures: Vec::new(),
            sinks: Vec::new(),
            guarded: 0,
            loops: 0,
            depth: 0,
            stack_base: std::ptr::from_ref(&base).addr(),
            substituted: None,
            saved_fds: Vec::new(),
            trapping: 0,
            trap_status: None,
            command_text: Bytes::new(),
            builtin: None,
            started: sandbar_guest::time::monotonic(),
            process_fds: Vec::new(),
            parsing: None,
            last_command: false,
            nested_arith: 0,
            circular: false,
            redirect_failed_now: false,
            subshell_saves: Vec::new(),
            array_args: Vec::new(),
            first_umask: None,
            state_out: None,
            program: Bytes::new(),
        }
    }

    pub(crate) fn on(&self, bit: u32) -> bool {
        self.st.set & bit != 0
    }

    pub(crate) fn shopt(&self, bit: u64) -> bool {
        self.st.shopt & bit != 0
    }

    // ---- output ------------------------------------------------------------------------------------------------

    /// Writes to a descriptor, or to the capture it stands for.
    pub(crate) fn write_fd(&mut self, fd: i32, bytes: &[u8]) -> sys::Sys<()> {
        match self.sink(fd) {
            Some(capture) => {
                self.captures[capture].data.extend_from_slice(bytes);
                Ok(())
            }
            None => sys::write_all(fd, bytes),
        }
    }

    /// The capture that a descriptor stands for.
    pub(crate) fn sink(&self, fd: i32) -> Option<usize> {
        self.sinks
            .iter()
            .find(|(number, _)| *number == fd)
            .map(|(_, capture)| *capture)
    }

    /// Writes what builtins have printed; the message and status of a failure are bash's.
    pub(crate) fn flush(&mut self) -> i32 {
        if self.out.is_empty() {
            return 0;
        }
        let out = std::mem::take(&mut self.out);
        let result = self.write_fd(1, &out);
        // The buffer is kept for the next builtin.
        self.out = out;
        self.out.clear();
        if self.out.capacity() > 1 << 16 {
            self.out = Bytes::new();
        }
        match result {
            Ok(()) => 0,
            Err(error) => {
                self.complain(&[b"write error: ", sys::message(error).as_bytes()].concat());
                1
            }
        }
    }

    pub(crate) fn print(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        if self.out.len() > 1 << 16 {
            self.flush();
        }
    }

    /// The name that messages start with: the script, or the file of the function that runs.
    pub(crate) fn message_name(&self) -> Bytes {
        match self.st.frames.last() {
            Some(frame) if !frame.source.is_empty() && !self.interactive => frame.source.clone(),
            _ => self.st.name.clone(),
        }
    }

    /// Prints `name: line N: text`.
    pub(crate) fn error(&mut self, text: &[u8]) {
        let mut line = self.message_name();
        if !self.interactive {
            line.extend(format!(": line {}", self.st.line).bytes());
        }
        line.extend(b": ");
        line.extend_from_slice(text);
        line.push(b'\n');
        self.print_error(&line);
    }

    /// [`Shell::error`] with the name of the running builtin in front.
    pub(crate) fn complain(&mut self, text: &[u8]) {
        match self.builtin {
            Some(name) => self.error(&[name.as_bytes(), b": ", text].concat()),
            None => self.error(text),
        }
    }

    /// `subject: reason`
    pub(crate) fn complain_about(&mut self, subject: &[u8], reason: &str) {
        self.complain(&[subject, b": ", reason.as_bytes()].concat());
    }

    /// Writes to standard error; a failure has nobody to be told to.
    pub(crate) fn print_error(&mut self, line: &[u8]) {
        let _unreported = self.write_fd(2, line);
    }

    /// The program to start for a shell of its own.
    pub(crate) fn own_program(&mut self) -> Bytes {
        if self.program.is_empty() {
            self.program = sandbar_guest::file::read_link(b"/proc/self/exe")
                .unwrap_or_else(|_| b"/usr/bin/bash".to_vec());
        }
        self.program.clone()
    }

    // ---- functions ---------------------------------------------------------------------------------------------

    pub(crate) fn function(&self, name: &[u8]) -> Option<Rc<Function>> {
        self.st
            .functions
            .get(name)
            .map(|entry| Rc::clone(&entry.function))
    }

    /// What the parser has to know for the next command.
    pub(crate) fn parse_context(&self) -> Context {
        Context {
            aliases: self
                .shopt(shopt::EXPAND_ALIASES)
                .then(|| Rc::clone(&self.st.aliases)),
            extglob: self.shopt(shopt::EXTGLOB),
            posix: self.on(opt::POSIX),
            verbose: self.on(opt::VERBOSE),
        }
    }

    /// The file whose commands are running, for `BASH_SOURCE`.
    pub(crate) fn current_source(&self) -> Bytes {
        match self.st.frames.last() {
            Some(frame) => frame.source.clone(),
            None if self.command_string => b"environment".to_vec(),
            None if self.reads_stdin => b"main".to_vec(),
            None => self.st.name.clone(),
        }
    }
}
