//! Processes, apart from starting them.

use std::{mem::MaybeUninit, time::Duration};

use super::{c_path, check, signal};
use crate::{
    Errno, Pid, Result, Signal,
    process::{Ids, Limit, Resource, Usage, Wait, WaitStatus, Waited, Who},
};

pub(super) fn duration(time: &libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u32::try_from(time.tv_usec).unwrap_or(0);
    Duration::new(seconds, micros.saturating_mul(1000))
}

/// `ru_maxrss` in bytes: Linux counts KiB, macOS bytes.
fn max_rss(usage: &libc::rusage) -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss)
        .unwrap_or(0)
        .saturating_mul(unit)
}

fn zeroed_usage() -> libc::rusage {
    // SAFETY: it is a struct of integers.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn status(host: libc::c_int) -> Option<WaitStatus> {
    if libc::WIFEXITED(host) {
        u8::try_from(libc::WEXITSTATUS(host))
            .ok()
            .map(WaitStatus::Exited)
    } else if libc::WIFSIGNALED(host) {
        signal::from_host(libc::WTERMSIG(host)).map(WaitStatus::Signaled)
    } else if libc::WIFSTOPPED(host) {
        signal::from_host(libc::WSTOPSIG(host)).map(WaitStatus::Stopped)
    } else {
        libc::WIFCONTINUED(host).then_some(WaitStatus::Continued)
    }
}

pub(crate) fn wait(pid: i32, options: Wait) -> Result<Option<Waited>> {
    let flags = [
        (options.no_hang, libc::WNOHANG),
        (options.stopped, libc::WUNTRACED),
        (options.continued, libc::WCONTINUED),
    ];
    let flags = flags
        .iter()
        .filter(|(set, _)| *set)
        .fold(0, |all, (_, flag)| all | flag);
    let (mut host, mut usage) = (0, zeroed_usage());
    // SAFETY: the pointers are those of the two locals.
    let pid = check(unsafe { libc::wait4(pid, &raw mut host, flags, &raw mut usage) })?;
    if pid == 0 {
        return Ok(None);
    }
    let cpu = duration(&usage.ru_utime) + duration(&usage.ru_stime);
    let status = status(host).ok_or(Errno::EIO)?;
    Ok(Some(Waited {
        pid: Pid(pid),
        status,
        cpu,
        max_rss: max_rss(&usage),
    }))
}

pub(crate) fn kill(pid: i32, signal: Option<Signal>) -> Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::kill(pid, signal.map_or(0, signal::to_host)) }).map(drop)
}

pub(crate) fn ids(pid: Option<Pid>) -> Result<Ids> {
    // SAFETY: no pointers; as the next three it cannot fail.
    let own = unsafe { libc::getpid() };
    // SAFETY: no pointers.
    let parent = unsafe { libc::getppid() };
    // SAFETY: no pointers.
    let uid = unsafe { libc::geteuid() };
    // SAFETY: no pointers.
    let gid = unsafe { libc::getegid() };
    let number = pid.map_or(own, |pid| pid.0);
    // SAFETY: no pointers.
    let pgid = check(unsafe { libc::getpgid(number) })?;
    // SAFETY: no pointers.
    let sid = check(unsafe { libc::getsid(number) })?;
    let ppid = if number == own {
        parent
    } else {
        parent_of(number)?
    };
    Ok(Ids {
        pid: Pid(number),
        ppid: Pid(ppid),
        pgid: Pid(pgid),
        sid: Pid(sid),
        uid,
        gid,
    })
}

/// The parent of another process, from Linux's `/proc/PID/stat`: "pid (name) state ppid …".
fn parent_of(pid: i32) -> Result<i32> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).map_err(|_| Errno::ESRCH)?;
    let text = String::from_utf8_lossy(&text);
    let after_name = text.rsplit_once(')').map(|(_, rest)| rest);
    after_name
        .and_then(|rest| rest.split_ascii_whitespace().nth(1)?.parse().ok())
        .ok_or(Errno::ESRCH)
}

pub(crate) fn set_group(pid: i32, group: i32) -> Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setpgid(pid, group) }).map(drop)
}

pub(crate) fn set_session() -> Result<Pid> {
    // SAFETY: no pointers.
    check(unsafe { libc::setsid() }).map(Pid)
}

#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "mode_t is u16 on macOS")
)]
#[expect(clippy::unnecessary_wraps, reason = "the guest's back end can fail")]
pub(crate) fn umask(mask: Option<u32>) -> Result<u32> {
    let set = |mask: u32| {
        let mask = libc::mode_t::try_from(mask).unwrap_or(0o777);
        // SAFETY: no pointers, and it cannot fail.
        u32::from(unsafe { libc::umask(mask) })
    };
    let previous = set(mask.unwrap_or(0o077));
    if mask.is_none() {
        set(previous);
    }
    Ok(previous)
}

pub(crate) fn chdir(path: &[u8]) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: a C string.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

pub(crate) fn current_dir() -> Result<Vec<u8>> {
    let path = std::env::current_dir()?;
    Ok(path.into_os_string().into_encoded_bytes())
}

pub(crate) fn usage(who: Who) -> Result<Usage> {
    let who = match who {
        Who::Caller => libc::RUSAGE_SELF,
        Who::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = zeroed_usage();
    // SAFETY: the call writes one `rusage`.
    check(unsafe { libc::getrusage(who, &raw mut usage) })?;
    Ok(Usage {
        user: duration(&usage.ru_utime),
        system: duration(&usage.ru_stime),
        max_rss: max_rss(&usage),
    })
}

macro_rules! host_resource {
    ($resource:expr) => {
        match $resource {
            Resource::Cpu => libc::RLIMIT_CPU,
            Resource::FileSize => libc::RLIMIT_FSIZE,
            Resource::Data => libc::RLIMIT_DATA,
            Resource::Stack => libc::RLIMIT_STACK,
            Resource::Core => libc::RLIMIT_CORE,
            Resource::Processes => libc::RLIMIT_NPROC,
            Resource::OpenFiles => libc::RLIMIT_NOFILE,
            Resource::Memory => libc::RLIMIT_AS,
        }
    };
}

pub(crate) fn limit(resource: Resource) -> Result<Limit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes one `rlimit`.
    check(unsafe { libc::getrlimit(host_resource!(resource), &raw mut limit) })?;
    let number = |value| {
        if value == libc::RLIM_INFINITY {
            Limit::UNLIMITED
        } else {
            value
        }
    };
    Ok(Limit {
        soft: number(limit.rlim_cur),
        hard: number(limit.rlim_max),
    })
}

pub(crate) fn set_limit(resource: Resource, limit: Limit) -> Result<()> {
    let number = |value| {
        if value == Limit::UNLIMITED {
            libc::RLIM_INFINITY
        } else {
            value
        }
    };
    let limit = libc::rlimit {
        rlim_cur: number(limit.soft),
        rlim_max: number(limit.hard),
    };
    // SAFETY: the call reads one `rlimit`.
    check(unsafe { libc::setrlimit(host_resource!(resource), &raw const limit) }).map(drop)
}
