//! `sandbar_v1`: files, with modes and all of `stat`.

use super::call::Call;
use super::context::Context;
use super::descriptor::open_flags;
use super::layout::FdFlags;
use super::memory::Writer;
use super::path::{self, OpenRequest, PathArgument};
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::{Description, GID, UID};
use crate::vfs::{
    Access, AccessMode, FileStat, FileType, Follow, NAME_MAX, OpenFlags, RenameFlags,
    SetAttributes, StatFs,
};

/// What `st_blksize` says: the unit that programs size their buffers by. Source: Linux, 4096 on every common file system.
const BLOCK_SIZE: u32 = 4096;

fn argument(fd: i32, path: u32, len: u32) -> SysResult<PathArgument> {
    Ok(PathArgument::new(Context::fd(fd)?, path, len))
}

/// `SANDBAR_AT_SYMLINK_NOFOLLOW`.
fn follow(flags: u32) -> SysResult<Follow> {
    match flags {
        0 => Ok(Follow::Yes),
        1 => Ok(Follow::No),
        _ => Err(Errno::Invalid),
    }
}

/// POSIX `openat`. As Linux, flags that mean nothing are ignored.
pub(super) async fn path_open(
    call: &mut Call<'_>,
    fd: i32,
    path: u32,
    len: u32,
    bits: u32,
    mode: u32,
    result: u32,
) -> SysResult<()> {
    let has = |bit: u32| bits & bit != 0;
    let access = match bits & open_flags::ACCESS_MODE {
        0 => AccessMode::Read,
        1 => AccessMode::Write,
        2 => AccessMode::ReadWrite,
        _ => return Err(Errno::Invalid),
    };
    let mut flags = OpenFlags::empty();
    flags.set(OpenFlags::CREATE, has(open_flags::CREAT));
    flags.set(OpenFlags::EXCLUSIVE, has(open_flags::EXCL));
    flags.set(OpenFlags::TRUNCATE, has(open_flags::TRUNC));
    flags.set(OpenFlags::DIRECTORY, has(open_flags::DIRECTORY));
    flags.set(OpenFlags::NO_FOLLOW, has(open_flags::NOFOLLOW));
    let mut fd_flags = FdFlags::empty();
    fd_flags.set(FdFlags::APPEND, has(open_flags::APPEND));
    fd_flags.set(FdFlags::NONBLOCK, has(open_flags::NONBLOCK));
    let request = OpenRequest {
        argument: argument(fd, path, len)?,
        needed: Rights::empty(),
        access,
        flags,
        mode,
        fd_flags,
        close_on_exec: has(open_flags::CLOEXEC),
    };
    path::open(call, &request, result).await?;
    Ok(())
}

/// `S_IFMT` bits as Linux has them.
fn mode_of(stat: &FileStat) -> u32 {
    let kind = match stat.file_type {
        FileType::Fifo => 0o010_000,
        FileType::CharDevice => 0o020_000,
        FileType::Directory => 0o040_000,
        FileType::BlockDevice => 0o060_000,
        FileType::Regular => 0o100_000,
        FileType::Symlink => 0o120_000,
        FileType::Socket => 0o140_000,
    };
    kind | stat.mode & 0o7777
}

fn stat_struct(stat: &FileStat) -> [u8; 96] {
    Writer::<96>::sized()
        .u32(mode_of(stat))
        .u64(stat.dev)
        .u64(stat.ino)
        .u64(stat.nlink)
        .u32(UID)
        .u32(GID)
        .u64(stat.rdev)
        .u64(stat.size)
        .u64(stat.blocks)
        .u32(BLOCK_SIZE)
        .pad::<4>()
        .i64(stat.atime)
        .i64(stat.mtime)
        .i64(stat.ctime)
        .bytes()
}

/// POSIX `fstatat`.
pub(super) fn path_stat(
    call: &mut Call<'_>,
    fd: i32,
    flags: u32,
    path: u32,
    len: u32,
    result: u32,
) -> SysResult<()> {
    call.memory.check_sized::<96>(result)?;
    let stat = path::stat(call, argument(fd, path, len)?, follow(flags)?)?;
    call.memory.write(result, &stat_struct(&stat))
}

/// POSIX `fstat`.
pub(super) fn fd_stat(call: &mut Call<'_>, fd: i32, result: u32) -> SysResult<()> {
    call.memory.check_sized::<96>(result)?;
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let stat = description.stat()?;
    call.memory.write(result, &stat_struct(&stat))
}

/// POSIX `mkdirat`.
pub(super) fn path_mkdir(
    call: &mut Call<'_>,
    fd: i32,
    path: u32,
    len: u32,
    mode: u32,
) -> SysResult<()> {
    path::make_directory(call, argument(fd, path, len)?, mode)
}

/// POSIX `mkfifoat`.
pub(super) fn path_mkfifo(
    call: &mut Call<'_>,
    fd: i32,
    path: u32,
    len: u32,
    mode: u32,
) -> SysResult<()> {
    let place = call.context.directory(Context::fd(fd)?, Rights::empty())?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    let mode = mode & 0o7777 & !call.context.process().umask();
    call.context.namespace().make_fifo(at, mode)
}

fn set_mode(mode: u32) -> SetAttributes {
    SetAttributes {
        mode: Some(mode & 0o7777),
        ..SetAttributes::default()
    }
}

/// POSIX `fchmodat`.
pub(super) fn path_chmod(
    call: &mut Call<'_>,
    fd: i32,
    flags: u32,
    path: u32,
    len: u32,
    mode: u32,
) -> SysResult<()> {
    let follow = follow(flags)?;
    let place = call.context.directory(Context::fd(fd)?, Rights::empty())?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context
        .namespace()
        .set_attributes(at, follow, &set_mode(mode))
}

/// POSIX `fchmod`.
pub(super) fn fd_chmod(call: &mut Call<'_>, fd: i32, mode: u32) -> SysResult<()> {
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    description.set_attributes(&set_mode(mode))
}

/// POSIX `fchownat`: the file has to be there, and its owner stays.
pub(super) fn path_chown(
    call: &mut Call<'_>,
    fd: i32,
    flags: u32,
    path: u32,
    len: u32,
    uid: u32,
    gid: u32,
) -> SysResult<()> {
    path::stat(call, argument(fd, path, len)?, follow(flags)?)?;
    Description::check_owner(uid, gid)
}

/// POSIX `fchown`.
pub(super) fn fd_chown(call: &mut Call<'_>, fd: i32, uid: u32, gid: u32) -> SysResult<()> {
    call.context
        .description(Context::fd(fd)?, Rights::empty())?;
    Description::check_owner(uid, gid)
}

/// POSIX `faccessat`.
pub(super) fn path_access(
    call: &mut Call<'_>,
    fd: i32,
    flags: u32,
    path: u32,
    len: u32,
    mode: u32,
) -> SysResult<()> {
    let follow = follow(flags)?;
    let wanted = Access::from_bits(mode).ok_or(Errno::Invalid)?;
    let place = call.context.directory(Context::fd(fd)?, Rights::empty())?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    call.context.namespace().access(at, follow, wanted)
}

/// Linux `renameat2`.
#[expect(
    clippy::too_many_arguments,
    reason = "the parameters of the import, in its order"
)]
pub(super) fn path_rename(
    call: &mut Call<'_>,
    from_fd: i32,
    from: u32,
    from_len: u32,
    to_fd: i32,
    to: u32,
    to_len: u32,
    flags: u32,
) -> SysResult<()> {
    let flags = RenameFlags::from_bits(flags)
        .filter(|flags| *flags != RenameFlags::all())
        .ok_or(Errno::Invalid)?;
    let from = argument(from_fd, from, from_len)?;
    let to = argument(to_fd, to, to_len)?;
    path::rename(call, from, to, flags)
}

fn statfs_struct(stat: &StatFs) -> [u8; 64] {
    Writer::<64>::sized()
        .u32(u32::from(stat.read_only))
        .u64(stat.block_size)
        .u64(stat.blocks)
        .u64(stat.blocks_free)
        .u64(stat.files)
        .u64(stat.files_free)
        .u64(NAME_MAX as u64)
        .u64(stat.fs_id)
        .bytes()
}

/// POSIX `statvfs`.
pub(super) fn path_statfs(
    call: &mut Call<'_>,
    fd: i32,
    path: u32,
    len: u32,
    result: u32,
) -> SysResult<()> {
    call.memory.check_sized::<64>(result)?;
    let place = call.context.directory(Context::fd(fd)?, Rights::empty())?;
    let at = call.context.at(&place, call.memory.path(path, len)?);
    let stat = call.context.namespace().statfs(at)?;
    call.memory.write(result, &statfs_struct(&stat))
}

/// POSIX `fstatvfs`.
pub(super) fn fd_statfs(call: &mut Call<'_>, fd: i32, result: u32) -> SysResult<()> {
    call.memory.check_sized::<64>(result)?;
    let description = call
        .context
        .description(Context::fd(fd)?, Rights::empty())?;
    let stat = description.statfs()?;
    call.memory.write(result, &statfs_struct(&stat))
}
