//! Descriptors.

use std::{mem::MaybeUninit, time::Duration};

use super::{check, check_size};
use crate::{
    Errno, Fd, Result,
    fd::{Blocking, Lock, OnExec, PollFd, Whence, WindowSize},
    file::OpenFlags,
};

pub(crate) fn read(fd: Fd, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: pointer and length are those of `buffer`.
    check_size(unsafe { libc::read(fd.0, buffer.as_mut_ptr().cast(), buffer.len()) })
}

pub(crate) fn write(fd: Fd, bytes: &[u8]) -> Result<usize> {
    // SAFETY: pointer and length are those of `bytes`.
    check_size(unsafe { libc::write(fd.0, bytes.as_ptr().cast(), bytes.len()) })
}

pub(crate) fn close(fd: Fd) -> Result<()> {
    // SAFETY: descriptors are plain numbers here, as in a shell; nobody's memory depends on them.
    check(unsafe { libc::close(fd.0) }).map(drop)
}

pub(crate) fn seek(fd: Fd, offset: i64, whence: Whence) -> Result<u64> {
    let whence = match whence {
        Whence::Start => libc::SEEK_SET,
        Whence::Current => libc::SEEK_CUR,
        Whence::End => libc::SEEK_END,
    };
    // SAFETY: no pointers.
    let position = unsafe { libc::lseek(fd.0, offset, whence) };
    u64::try_from(position).map_err(|_| Errno::last())
}

pub(crate) fn truncate(fd: Fd, size: u64) -> Result<()> {
    let size = libc::off_t::try_from(size).map_err(|_| Errno::EFBIG)?;
    // SAFETY: no pointers.
    check(unsafe { libc::ftruncate(fd.0, size) }).map(drop)
}

pub(crate) fn sync(fd: Fd) -> Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::fsync(fd.0) }).map(drop)
}

pub(crate) fn dup(fd: Fd, min: i32, on_exec: OnExec) -> Result<Fd> {
    let command = match on_exec {
        OnExec::Close => libc::F_DUPFD_CLOEXEC,
        OnExec::Keep => libc::F_DUPFD,
    };
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(fd.0, command, min) }).map(Fd)
}

pub(crate) fn dup2(from: Fd, to: Fd, on_exec: OnExec) -> Result<()> {
    // SAFETY: no pointers; the target is closed as `dup2` says.
    check(unsafe { libc::dup2(from.0, to.0) })?;
    set_on_exec(to, on_exec)
}

pub(crate) fn pipe(on_exec: OnExec) -> Result<(Fd, Fd)> {
    let mut ends = [-1; 2];
    // SAFETY: the array has the two places that are written.
    check(unsafe { libc::pipe(ends.as_mut_ptr()) })?;
    let [read_end, write_end] = ends.map(Fd);
    set_on_exec(read_end, on_exec)?;
    set_on_exec(write_end, on_exec)?;
    Ok((read_end, write_end))
}

pub(crate) fn on_exec(fd: Fd) -> Result<OnExec> {
    // SAFETY: no pointers.
    let flags = check(unsafe { libc::fcntl(fd.0, libc::F_GETFD) })?;
    Ok(if flags & libc::FD_CLOEXEC == 0 {
        OnExec::Keep
    } else {
        OnExec::Close
    })
}

pub(crate) fn set_on_exec(fd: Fd, on_exec: OnExec) -> Result<()> {
    let flags = match on_exec {
        OnExec::Close => libc::FD_CLOEXEC,
        OnExec::Keep => 0,
    };
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(fd.0, libc::F_SETFD, flags) }).map(drop)
}

/// Our flags (Linux x86-64) and the host's.
pub(super) const FLAGS: [(OpenFlags, libc::c_int); 8] = [
    (OpenFlags::CREAT, libc::O_CREAT),
    (OpenFlags::EXCL, libc::O_EXCL),
    (OpenFlags::TRUNC, libc::O_TRUNC),
    (OpenFlags::APPEND, libc::O_APPEND),
    (OpenFlags::NONBLOCK, libc::O_NONBLOCK),
    (OpenFlags::DIRECTORY, libc::O_DIRECTORY),
    (OpenFlags::NOFOLLOW, libc::O_NOFOLLOW),
    (OpenFlags::CLOEXEC, libc::O_CLOEXEC),
];

pub(crate) fn flags(fd: Fd) -> Result<OpenFlags> {
    // SAFETY: no pointers.
    let host = check(unsafe { libc::fcntl(fd.0, libc::F_GETFL) })?;
    let access = match host & libc::O_ACCMODE {
        libc::O_WRONLY => OpenFlags::WRONLY,
        libc::O_RDWR => OpenFlags::RDWR,
        _ => OpenFlags::RDONLY,
    };
    Ok(FLAGS
        .iter()
        .filter(|(_, bit)| host & bit == *bit)
        .fold(access, |all, (flag, _)| all | *flag))
}

pub(crate) fn set_flags(fd: Fd, flags: OpenFlags) -> Result<()> {
    let settable = FLAGS
        .iter()
        .filter(|(flag, _)| matches!(*flag, OpenFlags::APPEND | OpenFlags::NONBLOCK));
    // SAFETY: no pointers.
    let mut host = check(unsafe { libc::fcntl(fd.0, libc::F_GETFL) })?;
    for (flag, bit) in settable {
        host = if flags.contains(*flag) {
            host | bit
        } else {
            host & !bit
        };
    }
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(fd.0, libc::F_SETFL, host) }).map(drop)
}

pub(crate) fn is_terminal(fd: Fd) -> bool {
    // SAFETY: no pointers.
    unsafe { libc::isatty(fd.0) == 1 }
}

pub(crate) fn window_size(fd: Fd) -> Result<WindowSize> {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: the request writes one `winsize`.
    check(unsafe { libc::ioctl(fd.0, libc::TIOCGWINSZ, size.as_mut_ptr()) })?;
    // SAFETY: zeroed is a valid value of it already.
    let size = unsafe { size.assume_init() };
    Ok(WindowSize {
        rows: size.ws_row.into(),
        columns: size.ws_col.into(),
    })
}

pub(crate) fn flock(fd: Fd, lock: Lock, blocking: Blocking) -> Result<()> {
    let operation = match lock {
        Lock::Shared => libc::LOCK_SH,
        Lock::Exclusive => libc::LOCK_EX,
        Lock::Unlock => libc::LOCK_UN,
    };
    let no_wait = if blocking == Blocking::Try {
        libc::LOCK_NB
    } else {
        0
    };
    // SAFETY: no pointers.
    check(unsafe { libc::flock(fd.0, operation | no_wait) }).map(drop)
}

/// Polls, in slices when the timeout is longer than the C call's 24 days.
pub(crate) fn poll(fds: &mut [PollFd], timeout: Option<Duration>) -> Result<()> {
    let mut host: Vec<libc::pollfd> = fds
        .iter()
        .map(|entry| {
            let events = [(entry.read, libc::POLLIN), (entry.write, libc::POLLOUT)];
            let events = events
                .iter()
                .filter(|(wanted, _)| *wanted)
                .fold(0, |all, (_, event)| all | event);
            libc::pollfd {
                fd: entry.fd.0,
                events,
                revents: 0,
            }
        })
        .collect();
    let end = timeout.map(|timeout| super::monotonic().saturating_add(timeout));
    loop {
        let left = end.map(|end| end.saturating_sub(super::monotonic()));
        let slice = left.map_or(-1, |left| {
            libc::c_int::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
        });
        let count = libc::nfds_t::try_from(host.len()).map_err(|_| Errno::EINVAL)?;
        // SAFETY: pointer and length are those of `host`.
        let ready = check(unsafe { libc::poll(host.as_mut_ptr(), count, slice) })?;
        if ready > 0 || end.is_some_and(|end| end <= super::monotonic()) {
            break;
        }
    }
    for (entry, host) in fds.iter_mut().zip(&host) {
        let has = |event| host.revents & event != 0;
        entry.hangup = has(libc::POLLHUP);
        entry.readable = entry.read && (has(libc::POLLIN) || has(libc::POLLHUP));
        entry.writable = entry.write && has(libc::POLLOUT);
        entry.error = match () {
            () if has(libc::POLLNVAL) => Some(Errno::EBADF),
            // The read end of a pipe is gone: Linux says so with POLLERR.
            () if has(libc::POLLERR) => Some(Errno::EPIPE),
            () => None,
        };
    }
    Ok(())
}
