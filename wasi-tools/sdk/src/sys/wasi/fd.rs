//! Descriptors.

use std::time::Duration;

use super::{abi, len};
use crate::{
    Errno, Fd, Result,
    fd::{Blocking, Lock, OnExec, PollFd, Whence, WindowSize},
    file::OpenFlags,
};

const fn cloexec(on_exec: OnExec) -> u32 {
    match on_exec {
        OnExec::Close => abi::FD_CLOEXEC,
        OnExec::Keep => 0,
    }
}

pub(crate) fn read(fd: Fd, buffer: &mut [u8]) -> Result<usize> {
    let vector = abi::IoVec {
        ptr: buffer.as_mut_ptr().cast(),
        len: len(buffer)?,
    };
    let mut count = 0;
    // SAFETY: the vector describes `buffer`, which is borrowed mutably for the call.
    Errno::check(unsafe { abi::fd_read(fd.0, &vector, 1, &mut count) })?;
    Ok(count as usize)
}

pub(crate) fn write(fd: Fd, bytes: &[u8]) -> Result<usize> {
    let vector = abi::IoVec {
        ptr: bytes.as_ptr().cast(),
        len: len(bytes)?,
    };
    let mut count = 0;
    // SAFETY: the vector describes `bytes`, which is only read.
    Errno::check(unsafe { abi::fd_write(fd.0, &vector, 1, &mut count) })?;
    Ok(count as usize)
}

pub(crate) fn close(fd: Fd) -> Result<()> {
    Errno::check(abi::fd_close(fd.0))
}

pub(crate) fn seek(fd: Fd, offset: i64, whence: Whence) -> Result<u64> {
    let whence = match whence {
        Whence::Start => 0,
        Whence::Current => 1,
        Whence::End => 2,
    };
    let mut position = 0;
    Errno::check(abi::fd_seek(fd.0, offset, whence, &mut position))?;
    Ok(position)
}

pub(crate) fn truncate(fd: Fd, size: u64) -> Result<()> {
    Errno::check(abi::fd_filestat_set_size(fd.0, size))
}

pub(crate) fn sync(fd: Fd) -> Result<()> {
    Errno::check(abi::fd_sync(fd.0))
}

pub(crate) fn dup(fd: Fd, min: i32, on_exec: OnExec) -> Result<Fd> {
    let mut result = -1;
    Errno::check(abi::fd_dup(fd.0, min, cloexec(on_exec), &mut result))?;
    Ok(Fd(result))
}

pub(crate) fn dup2(from: Fd, to: Fd, on_exec: OnExec) -> Result<()> {
    Errno::check(abi::fd_dup2(from.0, to.0, cloexec(on_exec)))
}

pub(crate) fn pipe(on_exec: OnExec) -> Result<(Fd, Fd)> {
    let (mut read_end, mut write_end) = (-1, -1);
    Errno::check(abi::fd_pipe(
        cloexec(on_exec),
        &mut read_end,
        &mut write_end,
    ))?;
    Ok((Fd(read_end), Fd(write_end)))
}

pub(crate) fn on_exec(fd: Fd) -> Result<OnExec> {
    let mut flags = 0;
    Errno::check(abi::fd_getfd(fd.0, &mut flags))?;
    Ok(if flags & abi::FD_CLOEXEC == 0 {
        OnExec::Keep
    } else {
        OnExec::Close
    })
}

pub(crate) fn set_on_exec(fd: Fd, on_exec: OnExec) -> Result<()> {
    Errno::check(abi::fd_setfd(fd.0, cloexec(on_exec)))
}

pub(crate) fn flags(fd: Fd) -> Result<OpenFlags> {
    let mut flags = 0;
    Errno::check(abi::fd_getfl(fd.0, &mut flags))?;
    Ok(OpenFlags(flags))
}

pub(crate) fn set_flags(fd: Fd, flags: OpenFlags) -> Result<()> {
    // Preview 1 `fdflags`: append 1, nonblock 4.
    let append = u32::from(flags.contains(OpenFlags::APPEND));
    let nonblock = u32::from(flags.contains(OpenFlags::NONBLOCK)) << 2;
    Errno::check(abi::fd_fdstat_set_flags(fd.0, append | nonblock))
}

pub(crate) fn is_terminal(fd: Fd) -> bool {
    let mut result = 0;
    abi::fd_isatty(fd.0, &mut result) == 0 && result == 1
}

pub(crate) fn window_size(fd: Fd) -> Result<WindowSize> {
    let (mut rows, mut columns) = (0, 0);
    Errno::check(abi::fd_winsize(fd.0, &mut rows, &mut columns))?;
    Ok(WindowSize { rows, columns })
}

pub(crate) fn flock(fd: Fd, lock: Lock, blocking: Blocking) -> Result<()> {
    let operation = match lock {
        Lock::Shared => 1,
        Lock::Exclusive => 2,
        Lock::Unlock => 8,
    };
    let no_wait = if blocking == Blocking::Try { 4 } else { 0 };
    Errno::check(abi::fd_flock(fd.0, operation | no_wait))
}

/// Fills in what is ready; each subscription's `userdata` is the entry's index times two, plus one for writing.
pub(crate) fn poll(fds: &mut [PollFd], timeout: Option<Duration>) -> Result<()> {
    let mut wanted = Vec::with_capacity(fds.len() + 1);
    for (index, entry) in (0_u64..).zip(fds.iter()) {
        let id = u64::from(entry.fd.0.cast_unsigned());
        if entry.read {
            let userdata = index * 2;
            wanted.push(abi::Subscription {
                userdata,
                tag: abi::EVENT_READ,
                id,
                ..Default::default()
            });
        }
        if entry.write {
            let userdata = index * 2 + 1;
            wanted.push(abi::Subscription {
                userdata,
                tag: abi::EVENT_WRITE,
                id,
                ..Default::default()
            });
        }
    }
    if let Some(timeout) = timeout {
        wanted.push(abi::Subscription {
            userdata: u64::MAX,
            tag: abi::EVENT_CLOCK,
            id: abi::CLOCK_MONOTONIC.into(),
            timeout: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            ..Default::default()
        });
    }
    if wanted.is_empty() {
        // Preview 1 has no poll without a subscription; POSIX waits for a signal then.
        return Errno::check(abi::sig_pause());
    }
    let count = u32::try_from(wanted.len()).map_err(|_| Errno::EINVAL)?;
    let mut events = vec![abi::Event::default(); wanted.len()];
    let mut ready = 0;
    // SAFETY: both arrays have `count` entries.
    Errno::check(unsafe {
        abi::poll_oneoff(wanted.as_ptr(), events.as_mut_ptr(), count, &mut ready)
    })?;
    for event in events.iter().take(ready as usize) {
        let index = usize::try_from(event.userdata / 2).unwrap_or(usize::MAX);
        let Some(entry) = fds.get_mut(index) else {
            continue;
        };
        if event.error != 0 {
            entry.error = Some(Errno::from_raw(event.error.into()));
            continue;
        }
        entry.hangup |= event.flags & abi::EVENT_HANGUP != 0;
        entry.readable |= event.userdata % 2 == 0;
        entry.writable |= event.userdata % 2 == 1;
    }
    Ok(())
}
