//! Processes: programs, pipelines, subshells, substitutions and background jobs.
//!
//! The kernel has no `fork`. What bash forks runs here in one of three ways: a program is spawned; a subshell in the
//! foreground runs in this process on a copy of the state, which is put back afterwards; what has to run beside the shell
//! is this program again, with the state handed over (`handover`).

use std::rc::Rc;

use crate::ast::{
    AndOr, Bytes, Command, CommandSub, Kind, Pipeline, ProcessSub, RedirOp, Script, Simple,
};
use crate::options::{opt, shopt};
use crate::parser::Parser;
use crate::shell::{Capture, Exec, Flow, Shell, TrapKind};
use crate::simple::Target;
use crate::sys::{self, Errno, Fd, PollFd, Signal, Spawn, Wait, WaitStatus};
use crate::vars::Var;
use crate::{handover, printer};

/// A started child and the pipes through which it writes to captures.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    pipes: Vec<(i32, usize)>,
}

/// Output of a builtin up to this size fits into a pipe before anybody reads.
const PIPE_CAPACITY: usize = 1 << 16;
/// Bytes that a command substitution may produce.
const MAX_CAPTURE: usize = 256 << 20;

impl Shell {
    /// Starts a program; descriptors that stand for captures become pipes.
    pub(crate) fn spawn(&mut self, mut spawn: Spawn) -> sys::Sys<Child> {
        let mut pipes: Vec<(i32, i32, usize)> = Vec::new();
        for &(fd, capture) in &self.sinks {
            let write =
                if let Some((_, write, _)) = pipes.iter().find(|(.., have)| *have == capture) {
                    *write
                } else {
                    let (read, write) = sys::private_pipe()?;
                    pipes.push((read, write, capture));
                    write
                };
            spawn.fd(Fd(fd), Fd(write));
        }
        let result = spawn.spawn();
        for (read, write, _) in &pipes {
            sys::close(*write);
            if result.is_err() {
                sys::close(*read);
            }
        }
        Ok(Child {
            pid: result?.0,
            pipes: pipes
                .into_iter()
                .map(|(read, _, capture)| (read, capture))
                .collect(),
        })
    }

    /// Reads what a child writes to captures until the last writer is gone.
    pub(crate) fn drain(&mut self, child: &mut Child) {
        let mut buffer = vec![0; if child.pipes.is_empty() { 0 } else { 1 << 14 }];
        while !child.pipes.is_empty() {
            let ready = if child.pipes.len() == 1 {
                0
            } else {
                let mut fds: Vec<PollFd> = child
                    .pipes
                    .iter()
                    .map(|(fd, _)| PollFd::reading(Fd(*fd)))
                    .collect();
                if sandbar_guest::fd::poll(&mut fds, None).is_err() {
                    continue;
                }
                fds.iter().position(PollFd::is_ready).unwrap_or(0)
            };
            let (fd, capture) = child.pipes[ready];
            let count = match Fd(fd).read(&mut buffer) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(_) => 0,
            };
            let data = &mut self.captures[capture].data;
            if count == 0 || data.len() + count > MAX_CAPTURE {
                sys::close(fd);
                child.pipes.remove(ready);
            } else {
                data.extend_from_slice(&buffer[..count]);
            }
        }
    }

    /// Waits for a foreground child; the status as `$?` shows it.
    pub(crate) fn wait_foreground(&mut self, mut child: Child) -> Exec {
        self.drain(&mut child);
        let status = self.wait_pid(child.pid)?;
        Ok(self.foreground_status(child.pid, status))
    }

    fn foreground_status(&mut self, pid: i32, status: WaitStatus) -> i32 {
        if let WaitStatus::Signaled(signal) = status
            && !matches!(signal, Signal::INT | Signal::PIPE)
            && !self.interactive
        {
            let name = self.message_name();
            let text = format!(": line {}: {pid:>5} {}", self.st.line, signal.description());
            let command = self.command_text.clone();
            let mut line = [name.as_slice(), text.as_bytes()].concat();
            if !command.is_empty() {
                line.extend(
                    format!(
                        "{:width$}",
                        "",
                        width = 27_usize.saturating_sub(signal.description().len() + 1)
                    )
                    .bytes(),
                );
                line.extend_from_slice(&command);
            }
            line.push(b'\n');
            self.print_error(&line);
        }
        i32::from(status.shell_code())
    }

    /// Waits for one child; signals with traps are handled meanwhile.
    pub(crate) fn wait_pid(&mut self, pid: i32) -> Result<WaitStatus, Flow> {
        loop {
            let options = Wait {
                stopped: self.on(opt::MONITOR),
                ..Wait::BLOCK
            };
            match sandbar_guest::process::wait(pid, options) {
                Ok(Some(waited)) => return Ok(waited.status),
                Err(Errno::EINTR) | Ok(None) => {}
                // Somebody else has waited for it: nothing is known.
                Err(_) => return Ok(WaitStatus::Exited(127)),
            }
        }
    }

    // ---- subshells in this process -----------------------------------------------------------------------------

    /// Runs something on a copy of the state, as a subshell would; the status it ends with.
    pub(crate) fn in_subshell(&mut self, run: impl FnOnce(&mut Self) -> Exec) -> i32 {
        let saved = self.st.clone();
        let mark = self.saved_fds.len();
        self.subshell_saves.push(Vec::new());
        let jobs = std::mem::take(&mut self.jobs);
        let loops = std::mem::take(&mut self.loops);
        let last = std::mem::take(&mut self.last_command);
        let sinks = self.sinks.clone();
        self.st.subshell += 1;
        self.st.traps_shown_only = true;
        let result = run(self);
        let mut status = match result {
            Ok(status) | Err(Flow::Exit(status) | Flow::Return(status) | Flow::Discard(status)) => {
                status
            }
            Err(Flow::Break(_) | Flow::Continue(_)) => 0,
        };
        if self.st.traps.contains_key(&TrapKind::Exit) {
            status = self.exit_trap(status);
        }
        self.flush();
        self.restore_fds(mark);
        for kept in self.subshell_saves.pop().unwrap_or_default().iter().rev() {
            self.restore(kept);
        }
        self.sinks = sinks;
        self.jobs = jobs;
        self.loops = loops;
        self.last_command = last;
        if self.st.cwd != saved.cwd {
            let _back = sys::chdir(&saved.cwd);
        }
        if self.st.umask != saved.umask
            && let Some(mask) = saved.umask.or(self.first_umask)
        {
            sys::set_umask(mask);
        }
        if !self.st.traps_shown_only {
            self.restore_signals(&saved.traps);
        }
        self.st = saved;
        status
    }

    /// `( … )`
    pub(crate) fn subshell(&mut self, body: &Script) -> Exec {
        if body.own_process {
            let text = printer::script_text(body);
            let child = self.spawn_self(&text, &[])?;
            return self.wait_foreground(child);
        }
        let guarded = self.guarded;
        let status = self.in_subshell(|shell| shell.list(body));
        self.guarded = guarded;
        Ok(status)
    }

    /// The output of `$(…)` without its trailing newlines.
    pub(crate) fn command_output(&mut self, sub: &CommandSub) -> Result<Bytes, Flow> {
        let body = if let Some(body) = sub.body.get() {
            Rc::clone(body)
        } else {
            let mut parser = Parser::of_text(&sub.text, self.parse_context(), sub.line);
            match parser.whole() {
                Ok(script) => {
                    let script = Rc::new(script);
                    // Aliases may differ the next time; everything else about the text stays.
                    Rc::clone(sub.body.get_or_init(|| script))
                }
                Err(error) => {
                    let outer = self.parsing.replace("command substitution");
                    self.report_syntax(&error);
                    self.parsing = outer;
                    self.substituted = Some(2);
                    return Ok(Bytes::new());
                }
            }
        };
        if let Some(text) = self.file_substitution(&body)? {
            return Ok(text);
        }
        let line = self.st.line;
        self.captures.push(Capture::default());
        let capture = self.captures.len() - 1;
        let sinks = self.sinks.clone();
        self.sinks.retain(|(fd, _)| *fd != 1);
        self.sinks.push((1, capture));
        let out = std::mem::take(&mut self.out);
        let builtin = self.builtin.take();
        let guarded = self.guarded;
        let status = if body.own_process {
            let text = printer::script_text(&body);
            match self.spawn_self(&text, &[]) {
                Ok(child) => self.wait_foreground(child).unwrap_or(1),
                Err(_) => 1,
            }
        } else {
            self.in_subshell(|shell| {
                if !shell.shopt(shopt::INHERIT_ERREXIT) && !shell.on(opt::POSIX) {
                    shell.st.set &= !opt::ERREXIT;
                }
                shell.list(&body)
            })
        };
        self.guarded = guarded;
        self.builtin = builtin;
        self.out = out;
        let pipes = std::mem::take(&mut self.captures[capture].pipes);
        let mut rest = Child {
            pid: 0,
            pipes: pipes.into_iter().map(|fd| (fd, capture)).collect(),
        };
        self.drain(&mut rest);
        self.sinks = sinks;
        self.st.line = line;
        let mut data = self.captures.pop().unwrap_or_default().data;
        while data.last() == Some(&b'\n') {
            data.pop();
        }
        if data.contains(&0) {
            self.error(b"warning: command substitution: ignored null byte in input");
            data.retain(|b| *b != 0);
        }
        self.substituted = Some(status);
        self.st.status = status;
        Ok(data)
    }

    /// `$(<file)`
    fn file_substitution(&mut self, body: &Script) -> Result<Option<Bytes>, Flow> {
        let [item] = body.items.as_slice() else {
            return Ok(None);
        };
        let [command] = item.and_or.first.stages.as_slice() else {
            return Ok(None);
        };
        let (Kind::Simple(simple), [redir]) = (&command.kind, command.redirs.as_slice()) else {
            return Ok(None);
        };
        if !simple.words.is_empty()
            || !simple.assigns.is_empty()
            || redir.op != RedirOp::Read
            || !item.and_or.rest.is_empty()
            || item.background
        {
            return Ok(None);
        }
        let mark = self.saved_fds.len();
        let result = self.redirect(&command.redirs);
        let text = match result {
            Ok(()) => sys::read_to_end(0).unwrap_or_default(),
            Err(Flow::Discard(status)) => {
                self.restore_fds(mark);
                self.substituted = Some(status);
                return Ok(Some(Bytes::new()));
            }
            Err(flow) => return Err(flow),
        };
        self.restore_fds(mark);
        self.substituted = Some(0);
        let mut text = text;
        text.retain(|b| *b != 0);
        while text.last() == Some(&b'\n') {
            text.pop();
        }
        Ok(Some(text))
    }

    // ---- processes beside the shell ----------------------------------------------------------------------------

    /// Starts this program with the state handed over, to run `text`.
    pub(crate) fn spawn_self(&mut self, text: &[u8], fds: &[(i32, i32)]) -> Result<Child, Flow> {
        self.spawn_self_in(text, fds, None)
    }

    fn spawn_self_in(
        &mut self,
        text: &[u8],
        fds: &[(i32, i32)],
        group: Option<i32>,
    ) -> Result<Child, Flow> {
        let state = handover::encode(self, text);
        let fail = |shell: &mut Self, error: Errno| {
            shell.error(&[b"fork: ", sys::message(error).as_bytes()].concat());
            Flow::Discard(254)
        };
        let (read, write) = sys::private_pipe().map_err(|error| fail(self, error))?;
        let number = handover::state_fd();
        let option = format!("--sandbar-subshell={number}");
        let mut spawn = Spawn::new(self.own_program());
        spawn
            .args([b"bash".as_slice(), option.as_bytes()])
            .env(self.environment(b"/usr/bin/bash"))
            .all_fds(true)
            .fd(Fd(number), Fd(read));
        for (child, parent) in fds {
            spawn.fd(Fd(*child), Fd(*parent));
        }
        if let Some(group) = group {
            spawn.group(group);
        }
        // What fits into the pipe is there before the child starts; the rest follows while it reads.
        let first = state.len().min(PIPE_CAPACITY);
        let written = sys::write_all(write, &state[..first]);
        let sinks = self.sinks.clone();
        self.sinks
            .retain(|(fd, _)| !fds.iter().any(|(child, _)| child == fd));
        let child = self.spawn(spawn);
        self.sinks = sinks;
        sys::close(read);
        let result = match (child, written) {
            (Ok(child), Ok(())) => {
                if first < state.len() {
                    let ignored = sandbar_guest::signal::action(
                        Signal::PIPE,
                        sandbar_guest::signal::Disposition::Ignore,
                    );
                    // A child that died says so by its status.
                    let _partial = sys::write_all(write, &state[first..]);
                    if let Ok(old) = ignored {
                        let _restored = sandbar_guest::signal::action(Signal::PIPE, old);
                    }
                }
                Ok(child)
            }
            (Err(error), _) | (_, Err(error)) => Err(fail(self, error)),
        };
        sys::close(write);
        result
    }

    /// Starts one command of a pipeline or a background job with its standard streams in place.
    fn start_command(
        &mut self,
        command: &Command,
        input: Option<i32>,
        output: Option<i32>,
        group: Option<i32>,
    ) -> Result<Child, Flow> {
        let mut fds = Vec::new();
        fds.extend(input.map(|fd| (0, fd)));
        fds.extend(output.map(|fd| (1, fd)));
        if let Kind::Simple(simple) = &command.kind
            && let Some(child) = self.start_program(simple, command, &fds, group)
        {
            return Ok(child);
        }
        let text = printer::command_text(command);
        self.spawn_self_in(&text, &fds, group)
    }

    /// Starts a simple command directly if it is a program; its expansions have no effect on this shell.
    fn start_program(
        &mut self,
        simple: &Simple,
        command: &Command,
        fds: &[(i32, i32)],
        group: Option<i32>,
    ) -> Option<Child> {
        // Only a name that is known without expansion can be told to be a program beforehand.
        let name = simple.words.first().and_then(crate::ast::Word::as_static)?;
        if !matches!(self.target(&name), Target::Program)
            || self.st.traps.contains_key(&TrapKind::Debug)
            || self.on(opt::XTRACE)
            || self
                .st
                .functions
                .contains_key(b"command_not_found_handle".as_slice())
            || self.find_program(&name).is_none()
            || simple.words.iter().any(|word| {
                word.parts
                    .iter()
                    .any(|part| matches!(part, crate::ast::Part::Process(_)))
            })
        {
            return None;
        }
        let mut child = None;
        self.in_subshell(|shell| {
            // The streams first, then the command's own redirections.
            for &(fd, source) in fds {
                shell.save_fd(fd);
                if let Err(error) = shell.point_fd(fd, source) {
                    shell.error(sys::message(error).as_bytes());
                    return Ok(1);
                }
            }
            shell.st.line = command.line;
            let args = shell.expand_words(&simple.words)?;
            shell.redirect(&command.redirs)?;
            for assign in &simple.assigns {
                shell.perform(assign)?;
                if let Some(var) = shell.st.vars.get_mut(&assign.name) {
                    var.attrs |= crate::vars::attr::EXPORT;
                }
            }
            let mut spawn = match shell.prepare_program(&args) {
                Ok(spawn) => spawn,
                Err(status) => return Ok(status),
            };
            if let Some(group) = group {
                spawn.group(group);
            }
            match shell.spawn(spawn) {
                Ok(started) => child = Some(started),
                // A script without `#!`: the copy of this shell finds out and runs it.
                Err(Errno::ENOEXEC) => {}
                Err(error) => return Ok(shell.spawn_failed(&args[0], error)),
            }
            Ok(0)
        });
        child
    }

    /// Whether a stage only prints something short and needs no process: `echo`, `printf`, `:` and the like.
    fn prints_only(&self, command: &Command) -> bool {
        let Kind::Simple(simple) = &command.kind else {
            return false;
        };
        let Some(name) = simple.words.first().and_then(crate::ast::Word::as_lit) else {
            return false;
        };
        matches!(
            name,
            b"echo" | b"printf" | b":" | b"true" | b"false" | b"pwd" | b"type" | b"dirs"
        ) && command.redirs.is_empty()
            && matches!(self.target(name), Target::Builtin(_))
    }

    pub(crate) fn run_pipeline(&mut self, stages: &[Command]) -> Exec {
        let job_control = self.on(opt::MONITOR);
        let mut group = job_control.then_some(0);
        let mut input: Option<i32> = None;
        let mut children: Vec<Option<Child>> = Vec::new();
        let mut statuses: Vec<i32> = vec![0; stages.len()];
        let Some((last, before)) = stages.split_last() else {
            return Ok(0);
        };
        for (at, stage) in before.iter().enumerate() {
            let (read, write) = match sys::private_pipe() {
                Ok(ends) => ends,
                Err(error) => {
                    self.error(&[b"pipe error: ", sys::message(error).as_bytes()].concat());
                    return Ok(1);
                }
            };
            let child = if self.prints_only(stage) {
                self.print_stage(stage, write, &mut statuses[at], input)
            } else {
                self.start_command(stage, input, Some(write), group)
                    .map(Some)
            };
            sys::close(write);
            if let Some(fd) = input.replace(read) {
                sys::close(fd);
            }
            match child {
                Ok(child) => {
                    if let Some(child) = &child
                        && group == Some(0)
                    {
                        group = Some(child.pid);
                    }
                    children.push(child);
                }
                Err(flow) => {
                    statuses[at] = flow_status(flow);
                    children.push(None);
                }
            }
        }
        let last_status = self.last_stage(last, input, group)?;
        statuses[before.len()] = last_status;
        for (at, child) in children.iter_mut().enumerate() {
            if let Some(child) = child {
                self.drain(child);
                let status = self.wait_pid(child.pid)?;
                statuses[at] = self.foreground_status(child.pid, status);
            }
        }
        let failed = statuses.iter().rev().find(|status| **status != 0).copied();
        self.st.pipestatus = statuses;
        Ok(if self.on(opt::PIPEFAIL) {
            failed.unwrap_or(0)
        } else {
            last_status
        })
    }

    /// The last stage: a program, or a subshell in this process (with `lastpipe`, not even that).
    fn last_stage(&mut self, last: &Command, input: Option<i32>, group: Option<i32>) -> Exec {
        let lastpipe = self.shopt(shopt::LASTPIPE) && !self.on(opt::MONITOR);
        let own = !lastpipe && (self.on(opt::MONITOR) || needs_process(last));
        if !lastpipe && (own || matches!(last.kind, Kind::Simple(_))) {
            let is_program = match &last.kind {
                Kind::Simple(simple) => simple
                    .words
                    .first()
                    .and_then(crate::ast::Word::as_static)
                    .is_some_and(|name| matches!(self.target(&name), Target::Program)),
                _ => false,
            };
            if own || is_program {
                let child = self.start_command(last, input, None, group);
                if let Some(fd) = input {
                    sys::close(fd);
                }
                return match child {
                    Ok(child) => self.wait_foreground(child),
                    Err(flow) => Ok(flow_status(flow)),
                };
            }
        }
        let mark = self.saved_fds.len();
        if let Some(fd) = input {
            self.save_fd(0);
            let _pointed = self.point_fd(0, fd);
            sys::close(fd);
        }
        let guarded = self.guarded;
        let result = if lastpipe {
            self.command(last)
        } else {
            Ok(self.in_subshell(|shell| shell.command(last)))
        };
        self.guarded = guarded;
        self.flush();
        self.restore_fds(mark);
        result
    }

    /// Runs a stage that only prints, and puts its output into the pipe; what is too long is left to a process.
    fn print_stage(
        &mut self,
        stage: &Command,
        write: i32,
        status: &mut i32,
        input: Option<i32>,
    ) -> Result<Option<Child>, Flow> {
        self.captures.push(Capture::default());
        let capture = self.captures.len() - 1;
        let sinks = self.sinks.clone();
        self.sinks.retain(|(fd, _)| *fd != 1);
        self.sinks.push((1, capture));
        let out = std::mem::take(&mut self.out);
        let guarded = self.guarded;
        let code = self.in_subshell(|shell| shell.command(stage));
        self.guarded = guarded;
        self.out = out;
        self.sinks = sinks;
        let data = self.captures.pop().unwrap_or_default().data;
        if data.len() > PIPE_CAPACITY {
            // Everything was expanded; the process only has to write it.
            let mut text = b"printf %s ".to_vec();
            text.extend(crate::escape::single_quote(&data));
            let fds: Vec<(i32, i32)> = input
                .map(|fd| (0, fd))
                .into_iter()
                .chain([(1, write)])
                .collect();
            return self.spawn_self(&text, &fds).map(Some);
        }
        let _reader_gone = sys::write_all(write, &data);
        *status = code;
        Ok(None)
    }

    /// `command &`
    pub(crate) fn background(&mut self, and_or: &AndOr) -> Exec {
        let group = self.on(opt::MONITOR).then_some(0);
        let text = printer::and_or_text(and_or);
        let mark = self.saved_fds.len();
        // Without job control a background command does not read the terminal or the script.
        if !self.on(opt::MONITOR) && !and_or.first.stages.first().is_some_and(reads_elsewhere) {
            self.save_fd(0);
            if let Ok(null) = sys::open(
                b"/dev/null",
                sys::OpenFlags::RDONLY | sys::OpenFlags::CLOEXEC,
                0,
            ) {
                let _pointed = self.point_fd(0, null);
                sys::close(null);
            }
        }
        let started = match single_command(and_or) {
            Some(command) => self.start_command(command, None, None, group),
            None => self.spawn_self_in(&text, &[], group),
        };
        self.restore_fds(mark);
        let child = match started {
            Ok(child) => child,
            Err(flow @ (Flow::Exit(_) | Flow::Discard(_))) => return Ok(flow_status(flow)),
            Err(flow) => return Err(flow),
        };
        for (fd, capture) in child.pipes {
            self.captures[capture].pipes.push(fd);
        }
        self.st.last_background = child.pid;
        let number = self.jobs.add(
            &[child.pid],
            group.map(|_| child.pid),
            printer::and_or_shown(and_or),
        );
        if self.interactive {
            let line = format!("[{number}] {}\n", child.pid);
            self.print_error(line.as_bytes());
        }
        Ok(0)
    }

    /// `<(…)` and `>(…)`: a path that leads to the pipe.
    pub(crate) fn process_substitution(&mut self, sub: &ProcessSub) -> Result<Bytes, Flow> {
        let (read, write) = match sys::private_pipe() {
            Ok(ends) => ends,
            Err(error) => {
                self.error(&[b"process substitution: ", sys::message(error).as_bytes()].concat());
                return Err(Flow::Discard(1));
            }
        };
        let (mine, theirs) = if sub.input {
            (read, write)
        } else {
            (write, read)
        };
        let stream = if sub.input {
            (None, Some(theirs))
        } else {
            (Some(theirs), None)
        };
        let single = match sub.body.items.as_slice() {
            [item] if !item.background => single_command(&item.and_or),
            _ => None,
        };
        let started = if let Some(command) = single {
            self.start_command(command, stream.0, stream.1, None)
        } else {
            let text = printer::script_text(&sub.body);
            let fds = if sub.input {
                [(1, theirs)]
            } else {
                [(0, theirs)]
            };
            self.spawn_self(&text, &fds)
        };
        sys::close(theirs);
        let child = match started {
            Ok(child) => child,
            Err(flow) => {
                sys::close(mine);
                return Err(flow);
            }
        };
        for (fd, capture) in child.pipes {
            self.captures[capture].pipes.push(fd);
        }
        self.st.last_background = child.pid;
        // Programs inherit it, above the numbers that scripts use; it is closed after the command.
        let number = (20..=63)
            .rev()
            .find(|fd| !sys::is_open(*fd))
            .unwrap_or(mine);
        if number != mine {
            let moved = sys::dup2(mine, number);
            sys::close(mine);
            if let Err(error) = moved {
                self.error(&[b"process substitution: ", sys::message(error).as_bytes()].concat());
                return Err(Flow::Discard(1));
            }
        }
        self.process_fds.push(number);
        Ok(format!("/dev/fd/{number}").into_bytes())
    }

    /// `coproc NAME command`
    pub(crate) fn coproc(&mut self, name: Option<&[u8]>, body: &Command) -> Exec {
        let name = name.unwrap_or(b"COPROC");
        let ends = sys::private_pipe().and_then(|a| sys::private_pipe().map(|b| (a, b)));
        let ((in_read, in_write), (out_read, out_write)) = match ends {
            Ok(ends) => ends,
            Err(error) => {
                self.error(&[b"coproc: ", sys::message(error).as_bytes()].concat());
                return Ok(1);
            }
        };
        let started = self.start_command(body, Some(in_read), Some(out_write), None);
        sys::close(in_read);
        sys::close(out_write);
        let child = match started {
            Ok(child) => child,
            Err(flow) => return Ok(flow_status(flow)),
        };
        // Close-on-exec keeps the ends out of other programs, so that closing them here is seen.
        let high = |fd: i32| {
            let copy = sys::dup_private(fd, 60).unwrap_or(fd);
            if copy != fd {
                sys::close(fd);
            }
            copy.to_string().into_bytes()
        };
        let values = vec![high(out_read), high(in_write)];
        self.set_array(name, values)?;
        self.st.vars.insert(
            &[name, b"_PID"].concat(),
            Var::string(child.pid.to_string().into_bytes()),
        );
        self.st.last_background = child.pid;
        let text = [
            b"coproc ".as_slice(),
            name,
            b" ",
            &printer::command_text(body),
        ]
        .concat();
        self.jobs.add(&[child.pid], None, text);
        Ok(0)
    }
}

/// Whether the command, as a subshell, needs a process of its own.
fn needs_process(command: &Command) -> bool {
    match &command.kind {
        Kind::Group(body)
        | Kind::Subshell(body)
        | Kind::While { body, .. }
        | Kind::For { body, .. } => body.own_process,
        _ => false,
    }
}

fn reads_elsewhere(command: &Command) -> bool {
    command.redirs.iter().any(|redir| {
        matches!(
            redir.op,
            RedirOp::Read | RedirOp::HereDoc | RedirOp::HereString | RedirOp::DupIn
        )
    })
}

fn single_command(and_or: &AndOr) -> Option<&Command> {
    match (&and_or.first, and_or.rest.as_slice()) {
        (
            Pipeline {
                negate: false,
                time: None,
                stages,
            },
            [],
        ) => match stages.as_slice() {
            [only] => Some(only),
            _ => None,
        },
        _ => None,
    }
}

fn flow_status(flow: Flow) -> i32 {
    match flow {
        Flow::Exit(status) | Flow::Discard(status) | Flow::Return(status) => status,
        Flow::Break(_) | Flow::Continue(_) => 0,
    }
}
