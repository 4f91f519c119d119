//! Files.

use std::{ffi::CStr, mem::MaybeUninit};

use super::{c_path, check, check_size, fd::FLAGS, time};
use crate::{
    Errno, Fd, Result,
    file::{
        Access, DirEntry, FileSystem, FileType, Follow, OpenFlags, RenameTarget, SetTime, Stat,
    },
};

fn dirfd(dir: Option<Fd>) -> libc::c_int {
    dir.map_or(libc::AT_FDCWD, |dir| dir.0)
}

fn nofollow(follow: Follow) -> libc::c_int {
    match follow {
        Follow::Follow => 0,
        Follow::NoFollow => libc::AT_SYMLINK_NOFOLLOW,
    }
}

fn mode_t(mode: u32) -> libc::mode_t {
    libc::mode_t::try_from(mode & 0o7777).unwrap_or(0)
}

pub(crate) fn open(dir: Option<Fd>, path: &[u8], flags: OpenFlags, mode: u32) -> Result<Fd> {
    let access = match flags & OpenFlags::ACCMODE {
        OpenFlags::WRONLY => libc::O_WRONLY,
        OpenFlags::RDWR => libc::O_RDWR,
        _ => libc::O_RDONLY,
    };
    let host = FLAGS
        .iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .fold(access, |all, (_, bit)| all | bit);
    let path = c_path(path)?;
    // SAFETY: a C string; so is every path below.
    check(unsafe {
        libc::openat(
            dirfd(dir),
            path.as_ptr(),
            host,
            libc::c_uint::from(mode_t(mode)),
        )
    })
    .map(Fd)
}

#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "the types differ by host")
)]
fn stat_from(host: &libc::stat) -> Stat {
    let nanoseconds = |tv_sec, tv_nsec| time::nanoseconds(&libc::timespec { tv_sec, tv_nsec });
    Stat {
        mode: u32::from(host.st_mode),
        dev: u64::try_from(host.st_dev).unwrap_or(0),
        ino: host.st_ino,
        nlink: u64::from(host.st_nlink),
        uid: host.st_uid,
        gid: host.st_gid,
        rdev: u64::try_from(host.st_rdev).unwrap_or(0),
        len: u64::try_from(host.st_size).unwrap_or(0),
        blocks: u64::try_from(host.st_blocks).unwrap_or(0),
        block_size: u32::try_from(host.st_blksize).unwrap_or(4096),
        accessed_ns: nanoseconds(host.st_atime, host.st_atime_nsec),
        modified_ns: nanoseconds(host.st_mtime, host.st_mtime_nsec),
        changed_ns: nanoseconds(host.st_ctime, host.st_ctime_nsec),
    }
}

pub(crate) fn stat(dir: Option<Fd>, path: &[u8], follow: Follow) -> Result<Stat> {
    let path = c_path(path)?;
    let mut host = MaybeUninit::zeroed();
    // SAFETY: as in `open`; the call writes one `stat`.
    check(unsafe {
        libc::fstatat(
            dirfd(dir),
            path.as_ptr(),
            host.as_mut_ptr(),
            nofollow(follow),
        )
    })?;
    // SAFETY: filled by the call.
    Ok(stat_from(&unsafe { host.assume_init() }))
}

pub(crate) fn stat_fd(fd: Fd) -> Result<Stat> {
    let mut host = MaybeUninit::zeroed();
    // SAFETY: the call writes one `stat`.
    check(unsafe { libc::fstat(fd.0, host.as_mut_ptr()) })?;
    // SAFETY: filled by the call.
    Ok(stat_from(&unsafe { host.assume_init() }))
}

pub(crate) fn make_dir(path: &[u8], mode: u32) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    check(unsafe { libc::mkdir(path.as_ptr(), mode_t(mode)) }).map(drop)
}

pub(crate) fn make_fifo(path: &[u8], mode: u32) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    check(unsafe { libc::mkfifo(path.as_ptr(), mode_t(mode)) }).map(drop)
}

pub(crate) fn set_mode(path: &[u8], mode: u32) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    check(unsafe { libc::chmod(path.as_ptr(), mode_t(mode)) }).map(drop)
}

pub(crate) fn set_mode_fd(fd: Fd, mode: u32) -> Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::fchmod(fd.0, mode_t(mode)) }).map(drop)
}

pub(crate) fn set_owner(
    path: &[u8],
    uid: Option<u32>,
    gid: Option<u32>,
    follow: Follow,
) -> Result<()> {
    let path = c_path(path)?;
    let (uid, gid) = (uid.unwrap_or(u32::MAX), gid.unwrap_or(u32::MAX));
    // SAFETY: as in `open`.
    check(unsafe { libc::fchownat(libc::AT_FDCWD, path.as_ptr(), uid, gid, nofollow(follow)) })
        .map(drop)
}

pub(crate) fn access(path: &[u8], mode: Access) -> Result<()> {
    let path = c_path(path)?;
    // The three bits have the same values everywhere.
    let mode = (mode.0 & 7).cast_signed();
    // SAFETY: as in `open`.
    check(unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) })
        .map(drop)
}

pub(crate) fn rename(from: &[u8], to: &[u8], target: RenameTarget) -> Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    match target {
        // SAFETY: as in `open`.
        RenameTarget::Replace => {
            check(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) }).map(drop)
        }
        RenameTarget::Keep => rename_flags(&from, &to, NO_REPLACE),
        RenameTarget::Exchange => rename_flags(&from, &to, EXCHANGE),
    }
}

#[cfg(target_os = "linux")]
const NO_REPLACE: libc::c_uint = libc::RENAME_NOREPLACE;
#[cfg(target_os = "linux")]
const EXCHANGE: libc::c_uint = libc::RENAME_EXCHANGE;

#[cfg(target_os = "linux")]
fn rename_flags(from: &CStr, to: &CStr, flags: libc::c_uint) -> Result<()> {
    // SAFETY: as in `open`.
    check(unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            flags,
        )
    })
    .map(drop)
}

#[cfg(target_os = "macos")]
const NO_REPLACE: libc::c_uint = libc::RENAME_EXCL;
#[cfg(target_os = "macos")]
const EXCHANGE: libc::c_uint = libc::RENAME_SWAP;

#[cfg(target_os = "macos")]
fn rename_flags(from: &CStr, to: &CStr, flags: libc::c_uint) -> Result<()> {
    // SAFETY: as in `open`.
    check(unsafe { libc::renamex_np(from.as_ptr(), to.as_ptr(), flags) }).map(drop)
}

pub(crate) fn unlink(path: &[u8]) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    check(unsafe { libc::unlink(path.as_ptr()) }).map(drop)
}

pub(crate) fn remove_dir(path: &[u8]) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    check(unsafe { libc::rmdir(path.as_ptr()) }).map(drop)
}

pub(crate) fn symlink(target: &[u8], path: &[u8]) -> Result<()> {
    let (target, path) = (c_path(target)?, c_path(path)?);
    // SAFETY: as in `open`.
    check(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }).map(drop)
}

pub(crate) fn link(from: &[u8], to: &[u8]) -> Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    // SAFETY: as in `open`.
    check(unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            0,
        )
    })
    .map(drop)
}

pub(crate) fn read_link(path: &[u8]) -> Result<Vec<u8>> {
    let path = c_path(path)?;
    let mut buffer = vec![0_u8; 256];
    loop {
        // SAFETY: as in `open`; the other pair is that of `buffer`.
        let used = check_size(unsafe {
            libc::readlink(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
        })?;
        if used < buffer.len() {
            buffer.truncate(used);
            return Ok(buffer);
        }
        // A full buffer may have cut the text short.
        buffer.resize(buffer.len() * 2, 0);
    }
}

pub(crate) fn set_times(
    path: &[u8],
    accessed: SetTime,
    modified: SetTime,
    follow: Follow,
) -> Result<()> {
    let host = |time| match time {
        SetTime::Omit => libc::timespec {
            tv_sec: 0,
            tv_nsec: libc::UTIME_OMIT,
        },
        SetTime::Now => libc::timespec {
            tv_sec: 0,
            tv_nsec: libc::UTIME_NOW,
        },
        SetTime::At(ns) => time::timespec(ns),
    };
    let times = [host(accessed), host(modified)];
    let path = c_path(path)?;
    // SAFETY: as in `open`; the array has the two times that are read.
    check(unsafe {
        libc::utimensat(
            libc::AT_FDCWD,
            path.as_ptr(),
            times.as_ptr(),
            nofollow(follow),
        )
    })
    .map(drop)
}

pub(crate) fn read_dir(path: &[u8]) -> Result<Vec<DirEntry>> {
    let path = c_path(path)?;
    // SAFETY: as in `open`.
    let dir = unsafe { libc::opendir(path.as_ptr()) };
    if dir.is_null() {
        return Err(Errno::last());
    }
    let mut entries = Vec::new();
    loop {
        // SAFETY: `dir` is open, and what it returned before is no longer used.
        let entry = unsafe { libc::readdir(dir) };
        if entry.is_null() {
            break;
        }
        // SAFETY: it points at an entry that lives until the next call.
        let entry = unsafe { &*entry };
        // SAFETY: the name ends in NUL within the entry.
        let name = unsafe { CStr::from_ptr(entry.d_name.as_ptr()) };
        let file_type = match entry.d_type {
            libc::DT_REG => FileType::Regular,
            libc::DT_DIR => FileType::Directory,
            libc::DT_LNK => FileType::Symlink,
            libc::DT_FIFO => FileType::Fifo,
            libc::DT_CHR => FileType::CharDevice,
            libc::DT_BLK => FileType::BlockDevice,
            libc::DT_SOCK => FileType::Socket,
            _ => FileType::Unknown,
        };
        entries.push(DirEntry {
            name: name.to_bytes().to_vec(),
            ino: entry.d_ino,
            file_type,
        });
    }
    // SAFETY: open, and not used afterwards.
    check(unsafe { libc::closedir(dir) })?;
    Ok(entries)
}

#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "the types differ by host")
)]
pub(crate) fn file_system(path: &[u8]) -> Result<FileSystem> {
    let path = c_path(path)?;
    let mut host = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: as in `open`; the call writes one `statvfs`.
    check(unsafe { libc::statvfs(path.as_ptr(), host.as_mut_ptr()) })?;
    // SAFETY: filled by the call.
    let host = unsafe { host.assume_init() };
    Ok(FileSystem {
        read_only: host.f_flag & libc::ST_RDONLY != 0,
        block_size: host.f_frsize,
        blocks: u64::from(host.f_blocks),
        blocks_free: u64::from(host.f_bfree),
        files: u64::from(host.f_files),
        files_free: u64::from(host.f_ffree),
        name_max: host.f_namemax,
        id: host.f_fsid,
    })
}
