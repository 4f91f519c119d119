//! `sandbar_v1`: descriptors.

use super::call::Call;
use super::context::Context;
use super::memory::Writer;
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::{Description, LockKind, LockRange, Object, RecordLock, WindowSize, pipe_in};
use crate::vfs::AccessMode;

/// `SANDBAR_FD_CLOEXEC`.
const CLOSE_ON_EXEC: u32 = 1;

/// Linux's `O_*` on x86-64, which `sandbar_v1` uses.
pub(super) mod open_flags {
    pub(in super::super) const ACCESS_MODE: u32 = 3;
    pub(in super::super) const CREAT: u32 = 0o100;
    pub(in super::super) const EXCL: u32 = 0o200;
    pub(in super::super) const TRUNC: u32 = 0o1000;
    pub(in super::super) const APPEND: u32 = 0o2000;
    pub(in super::super) const NONBLOCK: u32 = 0o4000;
    pub(in super::super) const DIRECTORY: u32 = 0o200_000;
    pub(in super::super) const NOFOLLOW: u32 = 0o400_000;
    pub(in super::super) const CLOEXEC: u32 = 0o2_000_000;
}

fn close_on_exec(flags: u32) -> SysResult<bool> {
    match flags {
        0 => Ok(false),
        CLOSE_ON_EXEC => Ok(true),
        _ => Err(Errno::Invalid),
    }
}

/// POSIX `fcntl(F_DUPFD)`.
pub(super) fn fd_dup(
    call: &mut Call<'_>,
    fd: i32,
    min: i32,
    flags: u32,
    result: u32,
) -> SysResult<()> {
    call.memory.check(result, 4)?;
    let min = u32::try_from(min).map_err(|_| Errno::Invalid)?;
    let close_on_exec = close_on_exec(flags)?;
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let new = call
        .context
        .process()
        .insert_fd(description, min, close_on_exec)?;
    call.memory.write_u32(result, new)
}

/// Linux `dup3`, but that equal numbers are allowed.
pub(super) fn fd_dup2(call: &mut Call<'_>, from: i32, to: i32, flags: u32) -> SysResult<()> {
    let close_on_exec = close_on_exec(flags)?;
    let description = call
        .context
        .description(Context::fd(from)?, Rights::empty())?;
    let to = Context::fd(to)?;
    call.context
        .process()
        .place_fd(to, description, close_on_exec)
}

/// Linux `pipe2`.
pub(super) fn fd_pipe(
    call: &mut Call<'_>,
    flags: u32,
    read_end: u32,
    write_end: u32,
) -> SysResult<()> {
    call.memory.check(read_end, 4)?;
    call.memory.check(write_end, 4)?;
    if flags & !(CLOSE_ON_EXEC | open_flags::NONBLOCK) != 0 {
        return Err(Errno::Invalid);
    }
    let close_on_exec = flags & CLOSE_ON_EXEC != 0;
    let nonblocking = flags & open_flags::NONBLOCK != 0;
    let table = call.context.process().table()?;
    let (reader, writer) = pipe_in(table.memory_account())?;
    let reader = Description::stream(std::sync::Arc::new(reader), AccessMode::Read);
    let writer = Description::stream(std::sync::Arc::new(writer), AccessMode::Write);
    reader.set_flags(false, nonblocking);
    writer.set_flags(false, nonblocking);
    let process = call.context.process();
    let read_fd = process.insert_fd(reader, 0, close_on_exec)?;
    let write_fd = match process.insert_fd(writer, 0, close_on_exec) {
        Ok(fd) => fd,
        Err(error) => {
            process.close_fd(read_fd)?;
            return Err(error);
        }
    };
    call.memory.write_u32(read_end, read_fd)?;
    call.memory.write_u32(write_end, write_fd)
}

/// POSIX `fcntl(F_GETFD)`.
pub(super) fn fd_getfd(call: &mut Call<'_>, fd: i32, result: u32) -> SysResult<()> {
    let fd = Context::fd(fd)?;
    let on = !call.context.is_reserved(fd) && call.context.process().close_on_exec(fd)?;
    call.memory.write_u32(result, u32::from(on))
}

/// POSIX `fcntl(F_SETFD)`.
pub(super) fn fd_setfd(call: &mut Call<'_>, fd: i32, flags: u32) -> SysResult<()> {
    let on = close_on_exec(flags)?;
    call.context
        .process()
        .set_close_on_exec(Context::fd(fd)?, on)
}

/// POSIX `fcntl(F_GETFL)`.
pub(super) fn fd_getfl(call: &mut Call<'_>, fd: i32, result: u32) -> SysResult<()> {
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let mut flags = match description.access() {
        AccessMode::Read => 0,
        AccessMode::Write => 1,
        AccessMode::ReadWrite => 2,
    };
    if description.append() {
        flags |= open_flags::APPEND;
    }
    if description.nonblocking() {
        flags |= open_flags::NONBLOCK;
    }
    if matches!(description.object(), Object::Directory(_)) {
        flags |= open_flags::DIRECTORY;
    }
    call.memory.write_u32(result, flags)
}

fn window(call: &Call<'_>, fd: i32) -> SysResult<Option<WindowSize>> {
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    Ok(match description.object() {
        Object::Stream(stream) => stream.window(),
        Object::File { .. } | Object::Directory(_) => None,
    })
}

pub(super) fn fd_isatty(call: &mut Call<'_>, fd: i32, result: u32) -> SysResult<()> {
    let window = window(call, fd)?;
    call.memory.write_u32(result, u32::from(window.is_some()))
}

/// `ioctl(TIOCGWINSZ)`.
pub(super) fn fd_winsize(call: &mut Call<'_>, fd: i32, rows: u32, columns: u32) -> SysResult<()> {
    let window = window(call, fd)?.ok_or(Errno::NotTerminal)?;
    call.memory.write_u32(rows, u32::from(window.rows))?;
    call.memory.write_u32(columns, u32::from(window.columns))
}

/// Linux `flock`.
pub(super) async fn fd_flock(call: &mut Call<'_>, fd: i32, operation: u32) -> SysResult<()> {
    const NO_WAIT: u32 = 4;
    let kind = match operation & !NO_WAIT {
        1 => Some(LockKind::Shared),
        2 => Some(LockKind::Exclusive),
        8 => None,
        _ => return Err(Errno::Invalid),
    };
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let wait = operation & NO_WAIT == 0;
    call.context.process().flock(&description, kind, wait).await
}

/// POSIX `fcntl(F_GETLK, F_SETLK, F_SETLKW)`.
pub(super) async fn fd_lock(
    call: &mut Call<'_>,
    fd: i32,
    command: u32,
    lock: u32,
) -> SysResult<()> {
    let mut reader = call.memory.sized::<32>(lock)?;
    let kind = match reader.u32()? {
        0 => Some(LockKind::Shared),
        1 => Some(LockKind::Exclusive),
        2 => None,
        _ => return Err(Errno::Invalid),
    };
    let range = LockRange::new(reader.u64()?, reader.u64()?)?;
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let process = call.context.process();
    match command {
        0 => {
            let kind = kind.ok_or(Errno::Invalid)?;
            let held = process.conflicting_record_lock(&description, kind, range)?;
            let bytes = lock_struct(range, held);
            call.memory.write(lock, &bytes)
        }
        1 | 2 => {
            process
                .set_record_lock(&description, kind, range, command == 2)
                .await
        }
        _ => Err(Errno::Invalid),
    }
}

/// What `F_GETLK` tells: the lock that is in the way, or the question with type "unlock".
fn lock_struct(range: LockRange, held: Option<RecordLock>) -> [u8; 32] {
    let (kind, range, pid) = match held {
        None => (2, range, 0),
        Some(held) => {
            let kind = match held.kind {
                LockKind::Shared => 0,
                LockKind::Exclusive => 1,
            };
            (kind, held.range, held.pid)
        }
    };
    Writer::<32>::sized()
        .u32(kind)
        .u64(range.start())
        .u64(range.len())
        .u32(pid)
        .bytes()
}
