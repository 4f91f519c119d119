//! Processes: starting, waiting, killing, and the attributes that children inherit.

mod spawn;

pub use spawn::Spawn;

use std::time::Duration;

use crate::{Result, Signal, sys};

/// A process's number, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub i32);

/// What became of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStatus {
    /// It ended with this exit code.
    Exited(u8),
    /// A signal ended it.
    Signaled(Signal),
    /// A signal stopped it.
    Stopped(Signal),
    /// It goes on after a stop.
    Continued,
}

impl WaitStatus {
    /// Reads Linux's encoding (code << 8 | signal; stopped: signal << 8 | 0x7f; continued: 0xffff).
    #[cfg_attr(
        not(target_os = "wasi"),
        expect(dead_code, reason = "the native back end asks the C library")
    )]
    pub(crate) fn from_linux(status: u32) -> Option<Self> {
        let high = (status >> 8) & 0xff;
        match status & 0x7f {
            _ if status == 0xffff => Some(Self::Continued),
            0 => u8::try_from(high).ok().map(Self::Exited),
            0x7f => Signal::from_number(high).map(Self::Stopped),
            signal => Signal::from_number(signal).map(Self::Signaled),
        }
    }

    /// The code that a shell shows as `$?`: the exit code, or 128 + the signal's number.
    pub fn shell_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) | Self::Stopped(signal) => {
                128 + u8::try_from(signal.number()).unwrap_or(0)
            }
            Self::Continued => 0,
        }
    }
}

/// What [`wait`] reports besides ended children, and whether it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Returns `None` instead of waiting (`WNOHANG`).
    pub no_hang: bool,
    /// Reports stopped children (`WUNTRACED`).
    pub stopped: bool,
    /// Reports children that go on (`WCONTINUED`).
    pub continued: bool,
}

impl Wait {
    /// Waits for the end of a child.
    pub const BLOCK: Self = Self {
        no_hang: false,
        stopped: false,
        continued: false,
    };
    /// Asks for ended children without waiting.
    pub const POLL: Self = Self {
        no_hang: true,
        stopped: false,
        continued: false,
    };
}

/// A child that [`wait`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Which child.
    pub pid: Pid,
    /// What became of it.
    pub status: WaitStatus,
    /// CPU time of the child and of those it waited for.
    pub cpu: Duration,
    /// Its largest memory, in bytes.
    pub max_rss: u64,
}

/// Waits for a child: `pid` > 0 that one, -1 any, 0 any of the caller's group, < -1 any of group `-pid` (`waitpid(2)`).
/// `None` when [`Wait::no_hang`] found nothing.
///
/// # Errors
/// `ECHILD` without such a child, `EINTR` when a handled signal arrives, `EINVAL`.
pub fn wait(pid: i32, options: Wait) -> Result<Option<Waited>> {
    sys::wait(pid, options)
}

/// Sends a signal: `pid` > 0 to that process, 0 to the caller's group, -1 to all others, < -1 to group `-pid` (`kill(2)`).
/// `None` only checks that there is one.
///
/// # Errors
/// `ESRCH` without such a process, `EPERM`.
pub fn kill(pid: i32, signal: Option<Signal>) -> Result<()> {
    sys::kill(pid, signal)
}

/// Numbers of a process and of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// The process.
    pub pid: Pid,
    /// Its parent.
    pub ppid: Pid,
    /// Its group.
    pub pgid: Pid,
    /// Its session.
    pub sid: Pid,
    /// Its user.
    pub uid: u32,
    /// Its user's group.
    pub gid: u32,
}

/// The ids of a process; `None` is the caller.
///
/// # Errors
/// `ESRCH`.
pub fn ids(pid: Option<Pid>) -> Result<Ids> {
    sys::ids(pid)
}

/// The caller's own number.
pub fn id() -> Pid {
    // Asking for oneself has no failure; 1 would be the only process of a broken kernel.
    ids(None).map_or(Pid(1), |ids| ids.pid)
}

/// Moves a process (0: the caller) to a group (0: its own number), as `setpgid(2)`.
///
/// # Errors
/// `ESRCH`, `EPERM`, `EACCES` after the child's `exec`, `EINVAL`.
pub fn set_group(pid: i32, group: i32) -> Result<()> {
    sys::set_group(pid, group)
}

/// Starts a new session and group led by the caller and returns its number.
///
/// # Errors
/// `EPERM` when the caller leads a group.
pub fn set_session() -> Result<Pid> {
    sys::set_session()
}

/// Sets which mode bits new files do not get (0o777 at most) and returns the mask before.
///
/// # Errors
/// None on a working system.
pub fn set_umask(mask: u32) -> Result<u32> {
    sys::umask(Some(mask & 0o777))
}

/// Which mode bits new files do not get.
///
/// # Errors
/// None on a working system.
pub fn umask() -> Result<u32> {
    sys::umask(None)
}

/// Changes the current directory.
///
/// # Errors
/// `ENOENT`, `ENOTDIR`, `EACCES`, `ELOOP`, `ENAMETOOLONG`.
pub fn chdir(path: &[u8]) -> Result<()> {
    sys::chdir(path)
}

/// The current directory's absolute path.
///
/// # Errors
/// `ENOENT` when it was removed.
pub fn current_dir() -> Result<Vec<u8>> {
    sys::current_dir()
}

/// Resources that processes have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in the program.
    pub user: Duration,
    /// CPU time in system calls.
    pub system: Duration,
    /// Largest memory, in bytes.
    pub max_rss: u64,
}

/// Whose resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The caller.
    Caller,
    /// The children it has waited for.
    Children,
}

/// What `who` has used.
///
/// # Errors
/// None on a working system.
pub fn usage(who: Who) -> Result<Usage> {
    sys::usage(who)
}

/// A resource with a limit; the numbers are Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Resource {
    /// CPU time, in seconds.
    Cpu = 0,
    /// Size of a file, in bytes.
    FileSize = 1,
    /// Data segment, in bytes.
    Data = 2,
    /// Stack, in bytes.
    Stack = 3,
    /// Size of a core file, in bytes.
    Core = 4,
    /// Processes of the user.
    Processes = 6,
    /// One more than the highest descriptor.
    OpenFiles = 7,
    /// Memory, in bytes.
    Memory = 9,
}

/// A soft limit and the hard limit up to which it can be raised; [`Limit::UNLIMITED`] is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in force.
    pub soft: u64,
    /// How far it can be raised.
    pub hard: u64,
}

impl Limit {
    /// No limit.
    pub const UNLIMITED: u64 = u64::MAX;
}

/// The limits of a resource.
///
/// # Errors
/// `EINVAL` when the system does not know it.
pub fn limit(resource: Resource) -> Result<Limit> {
    sys::limit(resource)
}

/// Sets the limits of a resource.
///
/// # Errors
/// `EPERM` above the hard limit, `EINVAL` when soft is above hard.
pub fn set_limit(resource: Resource, limit: Limit) -> Result<()> {
    sys::set_limit(resource, limit)
}

/// The environment as `NAME=value` entries: the caller's at its start and what `std::env::set_var` changed since.
pub fn environment() -> Vec<Vec<u8>> {
    std::env::vars_os()
        .map(|(name, value)| [name.as_encoded_bytes(), b"=", value.as_encoded_bytes()].concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_show_signals_from_128() {
        assert_eq!(WaitStatus::Signaled(Signal::KILL).shell_code(), 137);
        assert_eq!(WaitStatus::Exited(255).shell_code(), 255);
    }
}
