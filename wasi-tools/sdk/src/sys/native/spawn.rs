//! Starting programs with fork and exec. The child makes only calls that are safe between the two: everything it needs,
//! strings included, is made before.

use std::{ffi::CString, ptr};

use super::{check, signal};
use crate::{
    Errno, Fd, Pid, Result, Signal,
    fd::OnExec,
    process::{self, Spawn},
    signal::SignalSet,
};

/// A request in the form that the C library takes.
struct Prepared<'a> {
    request: &'a Spawn,
    /// The paths to try, in the order of PATH.
    programs: Vec<CString>,
    argv: Strings,
    env: Strings,
    cwd: Option<CString>,
    /// Descriptors above this number are free for temporary copies.
    scratch: i32,
}

/// A NULL-terminated array of C strings.
struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// What the pointers point at.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(entries: &[Vec<u8>]) -> Result<Self> {
        let owned = entries
            .iter()
            .map(|entry| super::c_path(entry))
            .collect::<Result<Vec<_>>>()?;
        let pointers = owned
            .iter()
            .map(|entry| entry.as_ptr())
            .chain([ptr::null()])
            .collect();
        Ok(Self {
            pointers,
            _owned: owned,
        })
    }
}

impl<'a> Prepared<'a> {
    fn new(request: &'a Spawn) -> Result<Self> {
        let env = request.env.clone().unwrap_or_else(process::environment);
        let targets = request.fds.iter().map(|(child, _)| child.0);
        Ok(Self {
            request,
            programs: programs(request, &env)?,
            argv: Strings::new(&request.args)?,
            env: Strings::new(&env)?,
            cwd: request.cwd.as_deref().map(super::c_path).transpose()?,
            scratch: targets.max().unwrap_or(2).max(2).saturating_add(1),
        })
    }

    /// Applies the request to this process and becomes the program. `keep` survives until then.
    fn run(&self, keep: Option<Fd>) -> Errno {
        if let Err(errno) = self.apply(keep) {
            return errno;
        }
        let mut denied = None;
        for program in &self.programs {
            // SAFETY: a C string and two NULL-terminated arrays of C strings.
            unsafe {
                libc::execve(
                    program.as_ptr(),
                    self.argv.pointers.as_ptr(),
                    self.env.pointers.as_ptr(),
                )
            };
            match Errno::last() {
                Errno::EACCES => denied = Some(Errno::EACCES),
                Errno::ENOENT | Errno::ENOTDIR if self.programs.len() > 1 => {}
                errno => return errno,
            }
        }
        denied.unwrap_or(Errno::ENOENT)
    }

    fn apply(&self, keep: Option<Fd>) -> Result<()> {
        let request = self.request;
        if request.session {
            process::set_session()?;
        }
        if let Some(group) = request.group {
            process::set_group(0, group)?;
        }
        self.map_fds(keep)?;
        if let Some(cwd) = &self.cwd {
            // SAFETY: a C string.
            check(unsafe { libc::chdir(cwd.as_ptr()) })?;
        }
        if let Some(mask) = request.umask {
            super::umask(Some(mask))?;
        }
        if let Some(ignored) = request.ignored {
            for signal in Signal::all().filter(|s| !matches!(*s, Signal::KILL | Signal::STOP)) {
                let handler = if ignored.contains(signal) {
                    libc::SIG_IGN
                } else {
                    libc::SIG_DFL
                };
                // SAFETY: the handler is one of the two constants.
                unsafe { libc::signal(signal::to_host(signal), handler) };
            }
        }
        if let Some(blocked) = request.blocked {
            let set = signal::host_set(blocked);
            // SAFETY: the set is initialised; the old one is not asked for.
            check(unsafe {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut())
            })?;
        }
        Ok(())
    }

    /// Copies every source out of the way first, so that targets may be sources of others.
    fn map_fds(&self, keep: Option<Fd>) -> Result<()> {
        let request = self.request;
        if !request.all_fds {
            close_on_exec_all(keep);
        }
        // No allocation after fork: at most this many copies, and a request with more is refused before.
        let mut copies = [Fd(-1); MAX_MAPPED];
        for (copy, (_, parent)) in copies.iter_mut().zip(&request.fds) {
            *copy = super::dup(*parent, self.scratch, OnExec::Close)?;
        }
        for (copy, (child, _)) in copies.iter().zip(&request.fds) {
            super::dup2(*copy, *child, OnExec::Keep)?;
            super::close(*copy)?;
        }
        Ok(())
    }
}

/// How many descriptors one request can map; a shell's command has a handful.
const MAX_MAPPED: usize = 64;

/// Marks every descriptor close-on-exec.
fn close_on_exec_all(keep: Option<Fd>) {
    // SAFETY: no pointers.
    let limit = i32::try_from(unsafe { libc::sysconf(libc::_SC_OPEN_MAX) })
        .unwrap_or(1024)
        .clamp(64, 65_536);
    for number in (0..limit).filter(|number| Some(Fd(*number)) != keep) {
        // Numbers that are not open answer EBADF, which is as good.
        let _closed = super::set_on_exec(Fd(number), OnExec::Close);
    }
}

/// The paths that a request can mean.
fn programs(request: &Spawn, env: &[Vec<u8>]) -> Result<Vec<CString>> {
    if request.program.is_empty() {
        return Err(Errno::ENOENT);
    }
    if request.fds.len() > MAX_MAPPED {
        return Err(Errno::EINVAL);
    }
    if !request.search || request.program.contains(&b'/') {
        return Ok(vec![super::c_path(&request.program)?]);
    }
    let path = env.iter().find_map(|entry| entry.strip_prefix(b"PATH="));
    let path = path.unwrap_or(b"/bin:/usr/bin");
    let join = |dir: &[u8]| match dir {
        b"" => super::c_path(&request.program),
        dir => super::c_path(&[dir, b"/", &request.program].concat()),
    };
    path.split(|byte| *byte == b':').map(join).collect()
}

pub(crate) fn spawn(request: &Spawn) -> Result<Pid> {
    let prepared = Prepared::new(request)?;
    let (answer, report) = super::pipe(OnExec::Close)?;
    // The report must not lie where a mapped descriptor goes.
    let report = match super::dup(
        report,
        prepared.scratch.saturating_add(MAX_MAPPED_I32),
        OnExec::Close,
    ) {
        Ok(high) => {
            super::close(report)?;
            high
        }
        Err(_) => report,
    };
    let blocked = super::sig_mask(crate::signal::MaskHow::Set, SignalSet::FULL)?;
    // SAFETY: the child only makes async-signal-safe calls on what was prepared, and ends in exec or _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _restored = super::sig_mask(crate::signal::MaskHow::Set, blocked);
        let errno = prepared.run(Some(report));
        let _sent = report.write(&errno.raw().to_ne_bytes());
        // SAFETY: ends the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(127) };
    }
    let forked = check(pid);
    super::sig_mask(crate::signal::MaskHow::Set, blocked)?;
    super::close(report)?;
    let failure = forked.and_then(|pid| Ok((pid, read_report(answer)?)));
    super::close(answer)?;
    match failure? {
        (pid, None) => Ok(Pid(pid)),
        (pid, Some(errno)) => {
            // SAFETY: no status is asked for.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            Err(errno)
        }
    }
}

/// [`MAX_MAPPED`] as a descriptor number.
const MAX_MAPPED_I32: i32 = 64;

/// What the child reports before it fails; nothing once it has become the program.
fn read_report(answer: Fd) -> Result<Option<Errno>> {
    let mut number = [0; 4];
    loop {
        match answer.read(&mut number) {
            Ok(4) => return Ok(Some(Errno::from_raw(i32::from_ne_bytes(number)))),
            Ok(_) => return Ok(None),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

pub(crate) fn exec(request: &Spawn) -> Errno {
    let mut request = request.clone();
    request.all_fds = true;
    match Prepared::new(&request) {
        // A program that can't be found leaves the descriptors as they are.
        Ok(prepared) if !prepared.programs.iter().any(is_there) => Errno::ENOENT,
        Ok(prepared) => prepared.run(None),
        Err(errno) => errno,
    }
}

fn is_there(program: &CString) -> bool {
    // SAFETY: a C string.
    unsafe { libc::access(program.as_ptr(), libc::F_OK) == 0 }
}
