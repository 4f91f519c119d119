//! Starting programs: how a path becomes a program, and what a new process inherits.
//!
//! Source: execve(2) and execvp(3): `#!` lines run their interpreter, a name without `/` is looked up on PATH.

use std::pin::Pin;
use std::sync::Arc;

use super::description::Description;
use super::fd_table::{Fd, FdTable};
use super::signal::SignalSet;
use super::task::ProgramFuture;
use super::{ExitStatus, Process};
use crate::errno::{Errno, SysResult};
use crate::vfs::{
    AccessMode, At, Caller, Confine, Inode, MountFlags, OpenFile, OpenFlags, Opened, Place,
    permission,
};

/// Bytes of arguments and environment together. Source: Linux `ARG_MAX` on common machines, <limits.h>.
pub const ARG_MAX: usize = 2 * 1024 * 1024;
/// Interpreters of interpreters. Source: Linux `BINPRM_MAX_RECURSION`.
const INTERPRETER_DEPTH: usize = 4;
/// Bytes of a `#!` line that are read. Source: Linux `BINPRM_BUF_SIZE`.
const LINE_MAX: usize = 256;
/// Where programs are looked for without a PATH. Source: bash's `DEFAULT_PATH_VALUE`, less what an image does not have.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";
/// First line of a file that stands for a host command.
pub(crate) const HOST_COMMAND_LINE: &str = "#!sandbar:";

/// An embedder's function that runs as a program.
pub trait HostCommand: Send + Sync + std::fmt::Debug {
    /// Runs it; the process's descriptors 0–2 are its streams. Dropping the future is how it is killed.
    fn run(&self, process: HostProcess) -> Pin<Box<dyn Future<Output = ExitStatus> + Send>>;
}

/// What a host command sees of the process it runs as.
#[derive(Clone, Debug)]
pub struct HostProcess {
    /// The process.
    pub process: Arc<Process>,
}

/// A program that was found.
#[derive(Clone, Debug)]
pub enum Program {
    /// A WebAssembly module.
    Module {
        /// Its inode: the key of compiled code is its contents.
        inode: Arc<dyn Inode>,
        /// Its contents.
        file: Arc<dyn OpenFile>,
        /// Its path in the namespace.
        path: Arc<[u8]>,
    },
    /// A function of the embedder's.
    Host(Arc<dyn HostCommand>),
}

/// Runs programs. Implemented by `crate::runtime`.
pub trait Loader: Send + Sync + std::fmt::Debug {
    /// The future that runs `program` as `process` to its end; started lazily, at its first poll.
    fn start(&self, program: Program, process: Arc<Process>) -> ProgramFuture;

    /// Has the executor drive a process with [`Process::poll`] until it is ready.
    fn schedule(&self, process: Arc<Process>);

    /// Calls [`Process::alarm_due`] at a time. Dropping what it returns gives that up, and whatever it takes: a guest may set its alarm
    /// as often as it likes.
    fn alarm(&self, process: &Arc<Process>, at: std::time::Instant) -> Box<dyn Send>;
}

/// Which descriptors a new process gets.
#[derive(Clone, Debug)]
pub enum FdPlan {
    /// Exactly these: the child's number and the description.
    Exactly(Vec<(Fd, Arc<Description>)>),
    /// All of the parent's that are not close-on-exec, then these on top.
    InheritAnd(Vec<(Fd, Arc<Description>)>),
}

/// What to start, and what differs from the parent.
#[derive(Clone, Debug)]
pub struct SpawnRequest {
    /// The program: a path, or with `search` a name.
    pub path: Vec<u8>,
    /// Whether a path without `/` is looked up on PATH.
    pub search: bool,
    /// Arguments, `argv[0]` first.
    pub args: Vec<Vec<u8>>,
    /// Environment; `None` is the parent's.
    pub env: Option<Vec<Vec<u8>>>,
    /// Descriptors.
    pub fds: FdPlan,
    /// Current directory; `None` is the parent's.
    pub cwd: Option<Place>,
    /// Process group: `Some(0)` is the child's own; `None` is the parent's.
    pub pgid: Option<u32>,
    /// Start a new session.
    pub new_session: bool,
    /// Umask; `None` is the parent's.
    pub umask: Option<u32>,
    /// Blocked signals; `None` is the parent's.
    pub blocked: Option<SignalSet>,
    /// Ignored signals; `None` is the parent's.
    pub ignored: Option<SignalSet>,
}

/// A program with the arguments it is started with.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) program: Program,
    pub(super) args: Vec<Vec<u8>>,
    pub(super) exe: Arc<[u8]>,
}

/// A file that may be executed, open.
struct ProgramFile {
    inode: Arc<dyn Inode>,
    file: Arc<dyn OpenFile>,
    /// Its path in the namespace.
    path: Arc<[u8]>,
}

/// Where a search starts from.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) table: &'a super::ProcessTable,
    pub(super) caller: Caller,
    pub(super) cwd: &'a Place,
}

impl Search<'_> {
    /// Finds the program of a request.
    ///
    /// # Errors
    /// `NotFound`, `Access`, `NoExec`, `TooBig`, `Loop`, those of path resolution.
    pub(super) fn resolve(
        &self,
        path: &[u8],
        search: bool,
        args: &[Vec<u8>],
        env: &[Vec<u8>],
    ) -> SysResult<Resolved> {
        let bytes: usize = args.iter().chain(env).map(|item| item.len() + 1 + 4).sum();
        if bytes > ARG_MAX {
            return Err(Errno::TooBig);
        }
        let (path, file) = if search && !path.contains(&b'/') {
            self.on_path(path, env)?
        } else {
            (path.to_vec(), self.executable(path)?)
        };
        self.follow_interpreters(path, file, args.to_vec())
    }

    fn on_path(&self, name: &[u8], env: &[Vec<u8>]) -> SysResult<(Vec<u8>, ProgramFile)> {
        if name.is_empty() {
            return Err(Errno::NotFound);
        }
        let path = env.iter().find_map(|entry| entry.strip_prefix(b"PATH="));
        let mut denied = false;
        for directory in path.unwrap_or(DEFAULT_PATH).split(|byte| *byte == b':') {
            let mut candidate = if directory.is_empty() {
                b".".to_vec()
            } else {
                directory.to_vec()
            };
            candidate.push(b'/');
            candidate.extend_from_slice(name);
            match self.executable(&candidate) {
                Ok(file) => return Ok((candidate, file)),
                Err(Errno::Access) => denied = true,
                Err(_) => {}
            }
        }
        Err(if denied {
            Errno::Access
        } else {
            Errno::NotFound
        })
    }

    fn at<'a>(&'a self, path: &'a [u8]) -> At<'a> {
        At {
            caller: self.caller,
            base: self.cwd,
            path,
            confine: Confine::Namespace,
        }
    }

    fn executable(&self, path: &[u8]) -> SysResult<ProgramFile> {
        let namespace = self.table.namespace();
        match namespace.open(self.at(path), AccessMode::Read, OpenFlags::empty(), 0)? {
            Opened::File {
                file,
                inode,
                mount,
                path,
            } if file.is_seekable() => {
                permission::execute(&file.stat()?)?;
                if mount.flags().contains(MountFlags::NO_EXEC) {
                    return Err(Errno::Access);
                }
                Ok(ProgramFile { inode, file, path })
            }
            Opened::Descriptor { pid, fd } => {
                let process = self.table.get(pid).ok_or(Errno::NotFound)?;
                match process.fd(fd)?.object() {
                    super::Object::File {
                        file, inode, path, ..
                    } => Ok(ProgramFile {
                        inode: Arc::clone(inode),
                        file: Arc::clone(file),
                        path: Arc::clone(path),
                    }),
                    super::Object::Directory(_) | super::Object::Stream(_) => Err(Errno::Access),
                }
            }
            Opened::File { .. } | Opened::Directory(_) | Opened::Fifo { .. } => Err(Errno::Access),
        }
    }

    fn follow_interpreters(
        &self,
        mut path: Vec<u8>,
        mut found: ProgramFile,
        mut args: Vec<Vec<u8>>,
    ) -> SysResult<Resolved> {
        for _ in 0..=INTERPRETER_DEPTH {
            let ProgramFile {
                inode,
                file,
                path: full_path,
            } = found;
            let mut head = [0; LINE_MAX];
            let count = file.read_at(&mut head, 0)?;
            let head = head.get(..count).unwrap_or_default();
            if head.starts_with(b"\0asm") {
                let program = Program::Module {
                    inode,
                    file,
                    path: Arc::clone(&full_path),
                };
                return Ok(Resolved {
                    program,
                    args,
                    exe: full_path,
                });
            }
            if let Some(rest) = head.strip_prefix(HOST_COMMAND_LINE.as_bytes()) {
                let name = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let command = self.table.host_command(name).ok_or(Errno::NoExec)?;
                return Ok(Resolved {
                    program: Program::Host(command),
                    args,
                    exe: full_path,
                });
            }
            let (interpreter, argument) = interpreter(head).ok_or(Errno::NoExec)?;
            let mut next = vec![interpreter.clone()];
            next.extend(argument);
            next.push(path);
            next.extend(args.drain(..).skip(1));
            args = next;
            path = interpreter;
            found = self.executable(&path)?;
        }
        Err(Errno::Loop)
    }
}

/// The interpreter of a `#!` line and its one argument. Source: execve(2): the rest of the line is a single argument.
fn interpreter(head: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let rest = head.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?;
    let line = line.trim_ascii();
    let end = line
        .iter()
        .position(|byte| matches!(byte, b' ' | b'\t'))
        .unwrap_or(line.len());
    let (interpreter, argument) = line.split_at_checked(end)?;
    if interpreter.is_empty() {
        return None;
    }
    let argument = argument.trim_ascii();
    Some((
        interpreter.to_vec(),
        (!argument.is_empty()).then(|| argument.to_vec()),
    ))
}

impl FdPlan {
    /// The table that it makes, from the parent's.
    pub(super) fn build(self, parent: Option<&FdTable>, limit: u64) -> SysResult<FdTable> {
        let mut table = FdTable::new(limit);
        let explicit = match self {
            Self::Exactly(explicit) => explicit,
            Self::InheritAnd(explicit) => {
                for (fd, description, close_on_exec) in parent.into_iter().flat_map(FdTable::iter) {
                    if !close_on_exec {
                        table.replace(fd, Arc::clone(description), false)?;
                    }
                }
                explicit
            }
        };
        for (fd, description) in explicit {
            table.replace(fd, description, false)?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::interpreter;

    #[test]
    fn a_script_line_has_one_interpreter_and_one_argument() {
        let of = |line: &[u8]| interpreter(line);
        assert_eq!(of(b"#!/bin/sh\necho"), Some((b"/bin/sh".to_vec(), None)));
        assert_eq!(
            of(b"#! /usr/bin/env  python3 -u \n"),
            Some((b"/usr/bin/env".to_vec(), Some(b"python3 -u".to_vec())))
        );
        assert_eq!(of(b"#!\n"), None);
        assert_eq!(of(b"echo"), None);
    }
}
