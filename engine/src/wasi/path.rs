//! Preview 1 calls that take a path.

use std::sync::Arc;

use super::call::Call;
use super::context::Personality;
use super::fd::set_flags_of;
use super::layout::{self, FdFlags, OpenBits};
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::Description;
use crate::vfs::{AccessMode, FileStat, Follow, OpenFlags, Opened, RenameFlags, StatTarget};

/// Permission bits of what preview 1 makes, before the umask: it has no mode. Source: kernel-wide rule of POSIX `creat` in C
/// programs, 0666 and 0777.
const FILE_MODE: u32 = 0o666;
const DIRECTORY_MODE: u32 = 0o777;

/// A path argument: its directory, and where its bytes lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathArgument {
    pub(super) fd: u32,
    pub(super) path: u32,
    pub(super) len: u32,
}

impl PathArgument {
    pub(super) fn new(fd: u32, path: u32, len: u32) -> Self {
        Self { fd, path, len }
    }
}

pub(super) fn path_create_directory(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> SysResult<()> {
    let argument = PathArgument::new(fd, path, len);
    make_directory(call, argument, DIRECTORY_MODE)
}

pub(super) fn make_directory(
    call: &mut Call<'_>,
    argument: PathArgument,
    mode: u32,
) -> SysResult<()> {
    let place = call
        .context
        .directory(argument.fd, Rights::PATH_CREATE_DIRECTORY)?;
    let path = call.memory.path(argument.path, argument.len)?;
    let mode = mode & 0o7777 & !call.context.process().umask();
    let at = call.context.at(&place, path);
    call.context.namespace().make_directory(at, mode)
}

pub(super) fn path_filestat_get(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    len: u32,
    result: u32,
) -> SysResult<()> {
    let follow = layout::follow(flags)?;
    let stat = stat(call, PathArgument::new(fd, path, len), follow)?;
    call.memory.write(result, &layout::filestat(&stat))
}

/// `fstatat`, through descriptor links too.
pub(super) fn stat(
    call: &mut Call<'_>,
    argument: PathArgument,
    follow: Follow,
) -> SysResult<FileStat> {
    let place = call
        .context
        .directory(argument.fd, Rights::PATH_FILESTAT_GET)?;
    let path = call.memory.path(argument.path, argument.len)?;
    let at = call.context.at(&place, path);
    match call.context.namespace().stat(at, follow)? {
        StatTarget::Inode(stat) => Ok(stat),
        StatTarget::Descriptor { pid, fd } => call.context.process().linked(pid, fd)?.stat(),
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parameters of the import, in its order"
)]
pub(super) fn path_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    len: u32,
    atime: u64,
    mtime: u64,
    time_flags: u32,
) -> SysResult<()> {
    let follow = layout::follow(flags)?;
    let change = layout::set_times(atime, mtime, time_flags)?;
    let place = call
        .context
        .directory(fd, Rights::PATH_FILESTAT_SET_TIMES)?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context.namespace().set_attributes(at, follow, &change)
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parameters of the import, in its order"
)]
pub(super) fn path_link(
    call: &mut Call<'_>,
    from_fd: u32,
    flags: u32,
    from: u32,
    from_len: u32,
    to_fd: u32,
    to: u32,
    to_len: u32,
) -> SysResult<()> {
    let follow = layout::follow(flags)?;
    let from_place = call.context.directory(from_fd, Rights::PATH_LINK_SOURCE)?;
    let to_place = call.context.directory(to_fd, Rights::PATH_LINK_TARGET)?;
    let from = call
        .context
        .at(&from_place, call.memory.path(from, from_len)?);
    let to = call.context.at(&to_place, call.memory.path(to, to_len)?);
    call.context.namespace().link(from, follow, to)
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parameters of the import, in its order"
)]
pub(super) async fn path_open(
    call: &mut Call<'_>,
    fd: u32,
    lookup: u32,
    path: u32,
    len: u32,
    open_flags: u32,
    rights_base: u64,
    _rights_inheriting: u64,
    fd_flags: u32,
    result: u32,
) -> SysResult<()> {
    let bits = OpenBits::from_bits(open_flags).ok_or(Errno::Invalid)?;
    let fd_flags = FdFlags::parse(fd_flags)?;
    let asked = Rights::from_bits_truncate(rights_base);
    let mut flags = OpenFlags::empty();
    flags.set(OpenFlags::CREATE, bits.contains(OpenBits::CREATE));
    flags.set(OpenFlags::DIRECTORY, bits.contains(OpenBits::DIRECTORY));
    flags.set(OpenFlags::EXCLUSIVE, bits.contains(OpenBits::EXCLUSIVE));
    flags.set(OpenFlags::TRUNCATE, bits.contains(OpenBits::TRUNCATE));
    flags.set(OpenFlags::NO_FOLLOW, layout::follow(lookup)? == Follow::No);
    let access = match (
        asked.contains(Rights::FD_READ),
        asked.contains(Rights::FD_WRITE),
    ) {
        (true, true) => AccessMode::ReadWrite,
        (false, true) => AccessMode::Write,
        (_, false) => AccessMode::Read,
    };
    let mut needed = Rights::PATH_OPEN;
    needed.set(Rights::PATH_CREATE_FILE, flags.contains(OpenFlags::CREATE));
    needed.set(
        Rights::PATH_FILESTAT_SET_SIZE,
        flags.contains(OpenFlags::TRUNCATE),
    );
    let request = OpenRequest {
        argument: PathArgument::new(fd, path, len),
        needed,
        access,
        flags,
        mode: FILE_MODE,
        fd_flags,
        close_on_exec: false,
    };
    let passed_on = call.context.rights(fd)?.1;
    let plain = call.context.personality() == Personality::Plain;
    let reading_or_writing = asked.intersection(Rights::FD_READ | Rights::FD_WRITE);
    if plain
        && !passed_on.contains(reading_or_writing)
        && call.context.directory(fd, needed).is_ok()
    {
        return Err(Errno::NotCapable);
    }
    let (opened, description) = open(call, &request, result).await?;
    if plain {
        call.context
            .plain()
            .opened(opened, &description, asked, passed_on);
    }
    Ok(())
}

/// What both modules' `path_open` come to.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) argument: PathArgument,
    pub(super) needed: Rights,
    pub(super) access: AccessMode,
    pub(super) flags: OpenFlags,
    pub(super) mode: u32,
    pub(super) fd_flags: FdFlags,
    pub(super) close_on_exec: bool,
}

/// POSIX `openat`: stores the lowest free number at `result`. Waits only for the other side of a named pipe.
pub(super) async fn open(
    call: &mut Call<'_>,
    request: &OpenRequest,
    result: u32,
) -> SysResult<(u32, Arc<Description>)> {
    call.memory.check(result, 4)?;
    let context = &*call.context;
    let process = context.process();
    let place = context.directory(request.argument.fd, request.needed)?;
    let path = call
        .memory
        .path(request.argument.path, request.argument.len)?;
    let mode = request.mode & 0o7777 & !process.umask();
    let opened = context.namespace().open(
        context.at(&place, path),
        request.access,
        request.flags,
        mode,
    )?;
    let nonblocking = request.fd_flags.contains(FdFlags::NONBLOCK);
    let description = match opened {
        Opened::Descriptor { pid, fd } => {
            let description = process.reopen(pid, fd, request.access)?;
            if request.flags.contains(OpenFlags::TRUNCATE) && request.access.writes() {
                truncate_reopened(&description)?;
            }
            description
        }
        Opened::Fifo { inode, mount, path } => {
            process
                .open_fifo(&inode, &mount, path, request.access, nonblocking)
                .await?
        }
        opened @ (Opened::File { .. } | Opened::Directory(_)) => {
            Description::opened(opened, request.access)?
        }
    };
    set_flags_of(&description, request.fd_flags);
    let fd = process.insert_fd(Arc::clone(&description), 0, request.close_on_exec)?;
    call.memory.write_u32(result, fd)?;
    Ok((fd, description))
}

/// `> /dev/stdout`, where that is a file, cuts it as on Linux; a stream has no length and nothing to cut.
fn truncate_reopened(description: &Description) -> SysResult<()> {
    match description.set_len(0, u64::MAX) {
        Ok(()) | Err(Errno::Invalid) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn path_readlink(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    len: u32,
    buffer: u32,
    buffer_len: u32,
    result: u32,
) -> SysResult<()> {
    let place = call.context.directory(fd, Rights::PATH_READLINK)?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    let target = call.context.namespace().read_link(at)?;
    call.memory.check(result, 4)?;
    // As readlink(2): what does not fit is cut off without a word.
    let room = call.memory.bytes_mut(buffer, buffer_len)?;
    let count = target.len().min(room.len());
    if let (Some(room), Some(target)) = (room.get_mut(..count), target.get(..count)) {
        room.copy_from_slice(target);
    }
    let count = u32::try_from(count).map_err(|_| Errno::Overflow)?;
    call.memory.write_u32(result, count)
}

pub(super) fn path_remove_directory(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> SysResult<()> {
    let place = call.context.directory(fd, Rights::PATH_REMOVE_DIRECTORY)?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context.namespace().remove_directory(at)
}

pub(super) fn path_unlink_file(call: &mut Call<'_>, fd: u32, path: u32, len: u32) -> SysResult<()> {
    let place = call.context.directory(fd, Rights::PATH_UNLINK_FILE)?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context.namespace().unlink(at)
}

pub(super) fn path_rename(
    call: &mut Call<'_>,
    from_fd: u32,
    from: u32,
    from_len: u32,
    to_fd: u32,
    to: u32,
    to_len: u32,
) -> SysResult<()> {
    let from = PathArgument::new(from_fd, from, from_len);
    let to = PathArgument::new(to_fd, to, to_len);
    rename(call, from, to, RenameFlags::empty())
}

pub(super) fn rename(
    call: &mut Call<'_>,
    from: PathArgument,
    to: PathArgument,
    flags: RenameFlags,
) -> SysResult<()> {
    let context = &*call.context;
    let from_place = context.directory(from.fd, Rights::PATH_RENAME_SOURCE)?;
    let to_place = context.directory(to.fd, Rights::PATH_RENAME_TARGET)?;
    let from = context.at(&from_place, call.memory.path(from.path, from.len)?);
    let to = context.at(&to_place, call.memory.path(to.path, to.len)?);
    context.namespace().rename(from, to, flags)
}

pub(super) fn path_symlink(
    call: &mut Call<'_>,
    target: u32,
    target_len: u32,
    fd: u32,
    path: u32,
    len: u32,
) -> SysResult<()> {
    let place = call.context.directory(fd, Rights::PATH_SYMLINK)?;
    let target = call.memory.path(target, target_len)?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context.namespace().symlink(target, at)
}
