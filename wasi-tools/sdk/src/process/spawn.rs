//! The request to start or become a program.

use crate::{Errno, Fd, Pid, Result, signal::SignalSet, sys};

/// How to start a program: as a child ([`Spawn::spawn`]) or in place of the caller ([`Spawn::exec`]).
///
/// Defaults, the closed ones first:
/// - descriptors: none, unless mapped with [`Spawn::fd`] or passed with [`Spawn::all_fds`]
/// - program: a path, unless [`Spawn::search`]
/// - arguments: the program's name alone
/// - environment, directory, group, session, blocked and ignored signals, umask: the caller's
#[derive(Clone, Debug)]
pub struct Spawn {
    pub(crate) program: Vec<u8>,
    pub(crate) search: bool,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) env: Option<Vec<Vec<u8>>>,
    /// The child's number and the caller's descriptor that it shares.
    pub(crate) fds: Vec<(Fd, Fd)>,
    pub(crate) all_fds: bool,
    pub(crate) cwd: Option<Vec<u8>>,
    pub(crate) group: Option<i32>,
    pub(crate) session: bool,
    pub(crate) blocked: Option<SignalSet>,
    pub(crate) ignored: Option<SignalSet>,
    pub(crate) umask: Option<u32>,
}

impl Spawn {
    /// A program by its path.
    pub fn new(program: impl AsRef<[u8]>) -> Self {
        Self {
            program: program.as_ref().to_vec(),
            search: false,
            args: Vec::new(),
            env: None,
            fds: Vec::new(),
            all_fds: false,
            cwd: None,
            group: None,
            session: false,
            blocked: None,
            ignored: None,
            umask: None,
        }
    }

    /// Looks a program without `/` up on `PATH`, of the environment given here, else of the caller's own.
    pub fn search(&mut self, search: bool) -> &mut Self {
        self.search = search;
        self
    }

    /// Adds arguments; the first of all is the program's name for itself (`argv[0]`).
    pub fn args<I: IntoIterator<Item: AsRef<[u8]>>>(&mut self, args: I) -> &mut Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_vec()));
        self
    }

    /// Replaces the environment by these `NAME=value` entries.
    pub fn env<I: IntoIterator<Item: AsRef<[u8]>>>(&mut self, env: I) -> &mut Self {
        self.env = Some(
            env.into_iter()
                .map(|entry| entry.as_ref().to_vec())
                .collect(),
        );
        self
    }

    /// Gives the child the caller's descriptor `parent` under the number `child`. Numbers are read before any is changed, so
    /// that two can be swapped; of two entries for one number the last counts.
    pub fn fd(&mut self, child: Fd, parent: Fd) -> &mut Self {
        self.fds.push((child, parent));
        self
    }

    /// Passes every descriptor that is not close-on-exec, before those of [`Spawn::fd`]. [`Spawn::exec`] always does.
    pub fn all_fds(&mut self, all: bool) -> &mut Self {
        self.all_fds = all;
        self
    }

    /// Starts in this directory.
    pub fn cwd(&mut self, path: impl AsRef<[u8]>) -> &mut Self {
        self.cwd = Some(path.as_ref().to_vec());
        self
    }

    /// Puts it in this group; 0 is a new one with its own number.
    pub fn group(&mut self, group: i32) -> &mut Self {
        self.group = Some(group);
        self
    }

    /// Starts a new session.
    pub fn session(&mut self, session: bool) -> &mut Self {
        self.session = session;
        self
    }

    /// Sets the blocked signals.
    pub fn blocked(&mut self, set: SignalSet) -> &mut Self {
        self.blocked = Some(set);
        self
    }

    /// Sets the ignored signals; all others get their default action.
    pub fn ignored(&mut self, set: SignalSet) -> &mut Self {
        self.ignored = Some(set);
        self
    }

    /// Sets the umask.
    pub fn umask(&mut self, mask: u32) -> &mut Self {
        self.umask = Some(mask & 0o777);
        self
    }

    /// Starts the program as a child and returns its number once it is running.
    ///
    /// # Errors
    /// `ENOENT`, `EACCES` when it may not be executed, `ENOEXEC` when it is no program (no shell is tried), `E2BIG`, `EAGAIN` at
    /// the limit of processes, `EBADF` for a mapped descriptor that is not open, `EINVAL` for a NUL byte.
    pub fn spawn(&self) -> Result<Pid> {
        sys::spawn(&self.complete()?)
    }

    /// Becomes the program, keeping number, group and the descriptors that are not close-on-exec. Returns only on failure.
    ///
    /// NOTE: natively the descriptors are changed even if the program then turns out to be none (`ENOEXEC`).
    pub fn exec(&self) -> Errno {
        match self.complete() {
            Ok(request) => sys::exec(&request),
            Err(errno) => errno,
        }
    }

    /// The request with `argv[0]`, free of NUL bytes.
    fn complete(&self) -> Result<Self> {
        let mut request = self.clone();
        if request.args.is_empty() {
            request.args.push(request.program.clone());
        }
        let has_nul = |bytes: &Vec<u8>| bytes.contains(&0);
        let lists = request.args.iter().chain(request.env.iter().flatten());
        if lists
            .chain(&request.cwd)
            .chain([&request.program])
            .any(has_nul)
        {
            return Err(Errno::EINVAL);
        }
        Ok(request)
    }
}
