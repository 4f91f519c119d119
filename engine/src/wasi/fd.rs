//! Preview 1 calls on one descriptor, but for those that move bytes.

use super::call::Call;
use super::context::Personality;
use super::layout::{self, FdFlags};
use super::memory::Writer;
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::host::blocking;
use crate::process::{Description, Object, SyncFlags, Whence};
use crate::vfs::{Place, SyncScope};

/// Entries asked of a directory at a time.
const READDIR_BATCH: usize = 256;
/// Bytes of a `dirent` without its name.
const DIRENT: u32 = 24;

/// POSIX `posix_fadvise`: checked and, there being no read-ahead of ours, ignored.
pub(super) fn fd_advise(
    call: &mut Call<'_>,
    fd: u32,
    offset: u64,
    len: u64,
    advice: u32,
) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_ADVISE)?;
    if advice > 5 || offset.checked_add(len).is_none() {
        return Err(Errno::Invalid);
    }
    match description.object() {
        Object::Stream(_) => Err(Errno::IllegalSeek),
        Object::File { .. } | Object::Directory(_) => Ok(()),
    }
}

pub(super) fn fd_allocate(call: &mut Call<'_>, fd: u32, offset: u64, len: u64) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_ALLOCATE)?;
    let limit = call.context.process().max_file_size();
    blocking(|| description.allocate(offset, len, limit))
}

pub(super) fn fd_close(call: &mut Call<'_>, fd: u32) -> SysResult<()> {
    call.context.close(fd)
}

pub(super) fn fd_datasync(call: &mut Call<'_>, fd: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_DATASYNC)?;
    blocking(|| description.sync(SyncScope::Data))
}

pub(super) fn fd_sync(call: &mut Call<'_>, fd: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_SYNC)?;
    blocking(|| description.sync(SyncScope::All))
}

/// The flags that a description has.
pub(super) fn flags_of(description: &Description) -> FdFlags {
    let mut flags = FdFlags::empty();
    flags.set(FdFlags::APPEND, description.append());
    flags.set(FdFlags::NONBLOCK, description.nonblocking());
    let sync = description.sync_flags();
    flags.set(FdFlags::DSYNC, sync.contains(SyncFlags::DATA));
    flags.set(FdFlags::SYNC, sync.contains(SyncFlags::ALL));
    flags.set(FdFlags::RSYNC, sync.contains(SyncFlags::READ));
    flags
}

/// Sets the flags of a description.
pub(super) fn set_flags_of(description: &Description, flags: FdFlags) {
    description.set_flags(
        flags.contains(FdFlags::APPEND),
        flags.contains(FdFlags::NONBLOCK),
    );
    let mut sync = SyncFlags::empty();
    sync.set(SyncFlags::DATA, flags.contains(FdFlags::DSYNC));
    sync.set(SyncFlags::ALL, flags.contains(FdFlags::SYNC));
    sync.set(SyncFlags::READ, flags.contains(FdFlags::RSYNC));
    description.set_sync_flags(sync);
}

pub(super) fn fd_fdstat_get(call: &mut Call<'_>, fd: u32, result: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::empty())?;
    let rights = call.context.rights(fd)?;
    let kind = match description.object() {
        Object::Directory(_) => crate::vfs::FileType::Directory,
        Object::Stream(stream) => stream.file_type(),
        Object::File { .. } => description.stat()?.file_type,
    };
    let stat = layout::fdstat(kind, flags_of(&description), rights);
    call.memory.write(result, &stat)
}

pub(super) fn fd_fdstat_set_flags(call: &mut Call<'_>, fd: u32, flags: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_FDSTAT_SET_FLAGS)?;
    set_flags_of(&description, FdFlags::parse(flags)?);
    Ok(())
}

pub(super) fn fd_fdstat_set_rights(
    call: &mut Call<'_>,
    fd: u32,
    base: u64,
    inheriting: u64,
) -> SysResult<()> {
    let description = call.context.description(fd, Rights::empty())?;
    let rights = |bits| Rights::from_bits(bits).ok_or(Errno::NotCapable);
    let to = (rights(base)?, rights(inheriting)?);
    let aware = call.context.personality() == Personality::Aware;
    // POSIX has no rights to give up: an aware guest may only name what it has, and keeps it.
    let mut discarded = super::rights::PlainDescriptors::default();
    let plain = if aware {
        &mut discarded
    } else {
        call.context.plain()
    };
    plain.narrow(fd, &description, to)
}

pub(super) fn fd_filestat_get(call: &mut Call<'_>, fd: u32, result: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_FILESTAT_GET)?;
    let stat = description.stat()?;
    call.memory.write(result, &layout::filestat(&stat))
}

pub(super) fn fd_filestat_set_size(call: &mut Call<'_>, fd: u32, size: u64) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_FILESTAT_SET_SIZE)?;
    if i64::try_from(size).is_err() {
        return Err(Errno::Invalid);
    }
    let limit = call.context.process().max_file_size();
    blocking(|| description.set_len(size, limit))
}

pub(super) fn fd_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    atime: u64,
    mtime: u64,
    flags: u32,
) -> SysResult<()> {
    let description = call
        .context
        .description(fd, Rights::FD_FILESTAT_SET_TIMES)?;
    description.set_attributes(&layout::set_times(atime, mtime, flags)?)
}

/// The name that a descriptor was preopened under: to an aware guest that asks, the root's.
fn preopen_name<'a>(call: &'a mut Call<'_>, fd: u32) -> SysResult<&'a [u8]> {
    if call.context.personality() == Personality::Aware && fd == super::context::ROOT_FD {
        return Ok(b"/");
    }
    call.context.plain().preopen(fd).ok_or(Errno::BadFd)
}

pub(super) fn fd_prestat_get(call: &mut Call<'_>, fd: u32, result: u32) -> SysResult<()> {
    let len = preopen_name(call, fd)?.len();
    let len = u32::try_from(len).map_err(|_| Errno::Overflow)?;
    let prestat = Writer::<8>::new().u32(0).u32(len).bytes();
    call.memory.write(result, &prestat)
}

pub(super) fn fd_prestat_dir_name(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> SysResult<()> {
    let name = preopen_name(call, fd)?.to_vec();
    if usize::try_from(len).is_ok_and(|len| len < name.len()) {
        return Err(Errno::NameTooLong);
    }
    call.memory.write(path, &name)
}

/// Lists a directory: whole entries as long as they fit, then as much of the next as there is room for, which tells the guest
/// that it was not the end.
pub(super) fn fd_readdir(
    call: &mut Call<'_>,
    fd: u32,
    buffer: u32,
    len: u32,
    cookie: u64,
    result: u32,
) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_READDIR)?;
    let place = description.place()?;
    call.memory.check(result, 4)?;
    let room = call.memory.bytes_mut(buffer, len)?;
    let used = blocking(|| list(place, room, cookie))?;
    call.memory.write_u32(result, used)
}

fn list(place: &Place, buffer: &mut [u8], mut cookie: u64) -> SysResult<u32> {
    let size = buffer.len();
    let mut room = buffer;
    while !room.is_empty() {
        // No entry is shorter than its header and one byte.
        let fitting = room
            .len()
            .div_ceil(usize::try_from(DIRENT).unwrap_or(1).saturating_add(1));
        let entries = place.read_directory(cookie, fitting.min(READDIR_BATCH))?;
        if entries.is_empty() {
            break;
        }
        for (next, entry) in entries {
            let name_len = u32::try_from(entry.name.len()).map_err(|_| Errno::Overflow)?;
            let header = Writer::<24>::new()
                .u64(next)
                .u64(entry.ino)
                .u32(name_len)
                .u8(layout::file_type(entry.file_type))
                .bytes();
            room = put(room, &header);
            room = put(room, &entry.name);
            cookie = next;
            if room.is_empty() {
                break;
            }
        }
    }
    u32::try_from(size.saturating_sub(room.len())).map_err(|_| Errno::Overflow)
}

/// Copies as much as there is room for and returns the room that is left.
fn put<'a>(room: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let count = bytes.len().min(room.len());
    let (now, later) = room.split_at_mut_checked(count).unwrap_or_default();
    now.copy_from_slice(bytes.get(..count).unwrap_or_default());
    later
}

pub(super) fn fd_renumber(call: &mut Call<'_>, from: u32, to: u32) -> SysResult<()> {
    call.context.process().renumber_fd(from, to)?;
    call.context.plain().renumber(from, to);
    Ok(())
}

pub(super) fn fd_seek(
    call: &mut Call<'_>,
    fd: u32,
    delta: i64,
    whence: u32,
    result: u32,
) -> SysResult<()> {
    let whence = match whence {
        0 => Whence::Start,
        1 => Whence::Current,
        2 => Whence::End,
        _ => return Err(Errno::Invalid),
    };
    // A question for the position is `tell`, which needs less.
    let needed = if whence == Whence::Current && delta == 0 {
        Rights::FD_TELL
    } else {
        Rights::FD_SEEK
    };
    let description = call.context.description(fd, needed)?;
    seek(call, &description, (delta, whence), result)
}

pub(super) fn fd_tell(call: &mut Call<'_>, fd: u32, result: u32) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_TELL)?;
    seek(call, &description, (0, Whence::Current), result)
}

fn seek(
    call: &mut Call<'_>,
    description: &Description,
    (delta, whence): (i64, Whence),
    result: u32,
) -> SysResult<()> {
    // WASI gives directories no position; POSIX does, and `rewinddir` may use it.
    let plain = call.context.personality() == Personality::Plain;
    if plain && matches!(description.object(), Object::Directory(_)) {
        return Err(Errno::IsDirectory);
    }
    call.memory.check(result, 8)?;
    let offset = description.seek(delta, whence)?;
    call.memory.write_u64(result, offset)
}
