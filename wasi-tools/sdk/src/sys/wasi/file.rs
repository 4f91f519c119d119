//! Files.

use super::{abi, len};
use crate::{
    Errno, Fd, Result,
    file::{
        Access, DirEntry, FileSystem, FileType, Follow, OpenFlags, RenameTarget, SetTime, Stat,
    },
};

const fn dirfd(dir: Option<Fd>) -> i32 {
    match dir {
        Some(dir) => dir.0,
        None => abi::CWD_FD,
    }
}

const fn nofollow(follow: Follow) -> u32 {
    match follow {
        Follow::Follow => 0,
        Follow::NoFollow => abi::AT_SYMLINK_NOFOLLOW,
    }
}

pub(crate) fn open(dir: Option<Fd>, path: &[u8], flags: OpenFlags, mode: u32) -> Result<Fd> {
    let mut fd = -1;
    // SAFETY: pointer and length are those of `path`; the same holds for every path below.
    Errno::check(unsafe {
        abi::path_open(
            dirfd(dir),
            path.as_ptr(),
            len(path)?,
            flags.0,
            mode,
            &mut fd,
        )
    })?;
    Ok(Fd(fd))
}

fn stat_from(result: &abi::StatResult) -> Stat {
    Stat {
        mode: result.mode,
        dev: result.dev,
        ino: result.ino,
        nlink: result.nlink,
        uid: result.uid,
        gid: result.gid,
        rdev: result.rdev,
        len: result.length,
        blocks: result.blocks,
        block_size: result.blksize,
        accessed_ns: result.atime_ns,
        modified_ns: result.mtime_ns,
        changed_ns: result.ctime_ns,
    }
}

fn empty_stat() -> abi::StatResult {
    abi::StatResult {
        size: abi::size_of::<abi::StatResult>(),
        ..Default::default()
    }
}

pub(crate) fn stat(dir: Option<Fd>, path: &[u8], follow: Follow) -> Result<Stat> {
    let mut result = empty_stat();
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_stat(
            dirfd(dir),
            nofollow(follow),
            path.as_ptr(),
            len(path)?,
            &mut result,
        )
    })?;
    Ok(stat_from(&result))
}

pub(crate) fn stat_fd(fd: Fd) -> Result<Stat> {
    let mut result = empty_stat();
    Errno::check(abi::fd_stat(fd.0, &mut result))?;
    Ok(stat_from(&result))
}

pub(crate) fn make_dir(path: &[u8], mode: u32) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_mkdir(abi::CWD_FD, path.as_ptr(), len(path)?, mode) })
}

pub(crate) fn make_fifo(path: &[u8], mode: u32) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_mkfifo(abi::CWD_FD, path.as_ptr(), len(path)?, mode) })
}

pub(crate) fn set_mode(path: &[u8], mode: u32) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_chmod(abi::CWD_FD, 0, path.as_ptr(), len(path)?, mode) })
}

pub(crate) fn set_mode_fd(fd: Fd, mode: u32) -> Result<()> {
    Errno::check(abi::fd_chmod(fd.0, mode))
}

pub(crate) fn set_owner(
    path: &[u8],
    uid: Option<u32>,
    gid: Option<u32>,
    follow: Follow,
) -> Result<()> {
    let (uid, gid) = (uid.unwrap_or(u32::MAX), gid.unwrap_or(u32::MAX));
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_chown(
            abi::CWD_FD,
            nofollow(follow),
            path.as_ptr(),
            len(path)?,
            uid,
            gid,
        )
    })
}

pub(crate) fn access(path: &[u8], mode: Access) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_access(abi::CWD_FD, 0, path.as_ptr(), len(path)?, mode.0) })
}

pub(crate) fn rename(from: &[u8], to: &[u8], target: RenameTarget) -> Result<()> {
    let flags = match target {
        RenameTarget::Replace => 0,
        RenameTarget::Keep => 1,
        RenameTarget::Exchange => 2,
    };
    let (from_len, to_len) = (len(from)?, len(to)?);
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_rename(
            abi::CWD_FD,
            from.as_ptr(),
            from_len,
            abi::CWD_FD,
            to.as_ptr(),
            to_len,
            flags,
        )
    })
}

pub(crate) fn unlink(path: &[u8]) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_unlink_file(abi::CWD_FD, path.as_ptr(), len(path)?) })
}

pub(crate) fn remove_dir(path: &[u8]) -> Result<()> {
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_remove_directory(abi::CWD_FD, path.as_ptr(), len(path)?) })
}

pub(crate) fn symlink(target: &[u8], path: &[u8]) -> Result<()> {
    let target_len = len(target)?;
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_symlink(
            target.as_ptr(),
            target_len,
            abi::CWD_FD,
            path.as_ptr(),
            len(path)?,
        )
    })
}

pub(crate) fn link(from: &[u8], to: &[u8]) -> Result<()> {
    let (from_len, to_len) = (len(from)?, len(to)?);
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_link(
            abi::CWD_FD,
            0,
            from.as_ptr(),
            from_len,
            abi::CWD_FD,
            to.as_ptr(),
            to_len,
        )
    })
}

pub(crate) fn read_link(path: &[u8]) -> Result<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        let (mut used, size) = (0, len(&buffer)?);
        // SAFETY: as in `open`; the other pair is that of `buffer`.
        Errno::check(unsafe {
            abi::path_readlink(
                abi::CWD_FD,
                path.as_ptr(),
                len(path)?,
                buffer.as_mut_ptr(),
                size,
                &mut used,
            )
        })?;
        if used < size {
            buffer.truncate(used as usize);
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
    // Preview 1 `fstflags`: 1 atim, 2 atim_now, 4 mtim, 8 mtim_now; `lookupflags`: 1 follows.
    let parts = |time, shift| match time {
        SetTime::Omit => (0, 0),
        SetTime::Now => (0, 2_u32 << shift),
        SetTime::At(ns) => (i64::cast_unsigned(ns), 1_u32 << shift),
    };
    let (accessed, accessed_flag) = parts(accessed, 0);
    let (modified, modified_flag) = parts(modified, 2);
    let which = accessed_flag | modified_flag;
    let lookup = u32::from(follow == Follow::Follow);
    // SAFETY: as in `open`.
    Errno::check(unsafe {
        abi::path_filestat_set_times(
            abi::CWD_FD,
            lookup,
            path.as_ptr(),
            len(path)?,
            accessed,
            modified,
            which,
        )
    })
}

/// Preview 1 `dirent`: cookie of the next entry, inode, length of the name that follows, type.
const DIRENT: usize = 24;

pub(crate) fn read_dir(path: &[u8]) -> Result<Vec<DirEntry>> {
    let dir = open(None, path, OpenFlags::DIRECTORY | OpenFlags::CLOEXEC, 0)?;
    let entries = read_entries(dir);
    super::close(dir)?;
    entries
}

fn read_entries(dir: Fd) -> Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    let mut cookie = 0;
    loop {
        let (mut used, size) = (0, len(&buffer)?);
        // SAFETY: pointer and length are those of `buffer`.
        Errno::check(unsafe {
            abi::fd_readdir(dir.0, buffer.as_mut_ptr(), size, cookie, &mut used)
        })?;
        let mut rest = buffer.get(..used as usize).unwrap_or_default();
        let before = entries.len();
        while let Some((entry, next, tail)) = split_entry(rest) {
            entries.push(entry);
            (cookie, rest) = (next, tail);
        }
        if used < size {
            return Ok(entries);
        }
        if entries.len() == before {
            // Not even one name fits; names have a limit, so this ends.
            buffer.resize(buffer.len() * 2, 0);
        }
    }
}

/// The first whole entry of a buffer, the next one's cookie and what follows.
fn split_entry(buffer: &[u8]) -> Option<(DirEntry, u64, &[u8])> {
    let (cookie, rest) = buffer.split_first_chunk()?;
    let (ino, rest) = rest.split_first_chunk()?;
    let (name_len, rest) = rest.split_first_chunk()?;
    let kind = *rest.first()?;
    let names = buffer.get(DIRENT..)?;
    let (name, tail) = names.split_at_checked(u32::from_le_bytes(*name_len) as usize)?;
    // Preview 1 `filetype`.
    let file_type = match kind {
        1 => FileType::BlockDevice,
        2 => FileType::CharDevice,
        3 => FileType::Directory,
        4 => FileType::Regular,
        7 => FileType::Symlink,
        // Sockets, and FIFOs, for which preview 1 has no type: `stat` tells.
        _ => FileType::Unknown,
    };
    let entry = DirEntry {
        name: name.to_vec(),
        ino: u64::from_le_bytes(*ino),
        file_type,
    };
    Some((entry, u64::from_le_bytes(*cookie), tail))
}

pub(crate) fn file_system(path: &[u8]) -> Result<FileSystem> {
    let mut result = abi::StatfsResult {
        size: abi::size_of::<abi::StatfsResult>(),
        ..Default::default()
    };
    // SAFETY: as in `open`.
    Errno::check(unsafe { abi::path_statfs(abi::CWD_FD, path.as_ptr(), len(path)?, &mut result) })?;
    Ok(FileSystem {
        read_only: result.flags & 1 != 0,
        block_size: result.block_size,
        blocks: result.blocks,
        blocks_free: result.blocks_free,
        files: result.files,
        files_free: result.files_free,
        name_max: result.name_max,
        id: result.fs_id,
    })
}
