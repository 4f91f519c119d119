//! The host's calls: the one file that makes them, each with one name in one open directory and never following a link.
//!
//! `cap_std::fs::Dir` is the handle, and no path string ever reaches the host: a [`Name`] has no slash and is not `..`. cap-std's own
//! methods are not used for the steps themselves: they resolve whole paths, which takes two to four host calls for a single
//! name, and they lack permission-preserving opens, `renameat2`, `utimensat` without following, and appending writes. What
//! is different on macOS is in here, too.
//!
//! SECURITY[SB-FS-001]: a link that is swapped in while a path is walked leads nowhere, because no call here follows one.
//! SECURITY[SB-FS-008]: no set-user-id, set-group-id or sticky bit reaches the host.

use cap_std::fs::{Dir, File};
use rustix::fs::{
    AtFlags, FileType as HostType, Mode, OFlags, RawMode, RenameFlags as HostRename, Stat,
    Timespec, Timestamps,
};
use rustix::io::Errno as HostErrno;

use super::super::{
    AccessMode, FileStat, FileType, Name, RenameFlags, SetAttributes, StatFs, SyncScope, Timestamp,
};
use crate::errno::{Errno, SysResult};

/// What identifies an inode on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HostId {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

/// What the host tells of an inode.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostStat {
    pub(super) id: HostId,
    /// As a guest sees it, but for the inode number.
    pub(super) stat: FileStat,
}

impl HostStat {
    /// Storage in bytes.
    pub(super) fn stored(&self) -> u64 {
        self.stat.blocks.saturating_mul(512)
    }
}

/// Flags of every open: nothing follows a link, waits for a pipe, takes a terminal or leaks into a child.
const GUARDED: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// How a directory is held: Linux can do so without permission to read it.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::RDONLY;

/// The error that a guest gets for a host's.
pub(super) fn error(host: HostErrno) -> Errno {
    match host {
        HostErrno::ACCESS => Errno::Access,
        HostErrno::AGAIN => Errno::Again,
        HostErrno::BUSY => Errno::Busy,
        HostErrno::DQUOT => Errno::Quota,
        HostErrno::EXIST => Errno::Exists,
        HostErrno::FBIG => Errno::FileTooBig,
        HostErrno::ILSEQ => Errno::IllegalBytes,
        HostErrno::INTR => Errno::Interrupted,
        HostErrno::INVAL => Errno::Invalid,
        HostErrno::ISDIR => Errno::IsDirectory,
        HostErrno::LOOP => Errno::Loop,
        HostErrno::MFILE | HostErrno::NFILE => Errno::SystemFiles,
        HostErrno::MLINK => Errno::TooManyLinks,
        HostErrno::NAMETOOLONG => Errno::NameTooLong,
        HostErrno::NODEV => Errno::NoDevice,
        HostErrno::NOENT => Errno::NotFound,
        HostErrno::NOMEM => Errno::NoMemory,
        HostErrno::NOSPC => Errno::NoSpace,
        HostErrno::NOTDIR => Errno::NotDirectory,
        HostErrno::NOTEMPTY => Errno::NotEmpty,
        HostErrno::NOTSUP => Errno::NotSupported,
        HostErrno::NXIO => Errno::NoDeviceOrAddress,
        HostErrno::OVERFLOW => Errno::Overflow,
        HostErrno::PERM => Errno::NotPermitted,
        HostErrno::ROFS => Errno::ReadOnly,
        HostErrno::STALE => Errno::Stale,
        HostErrno::TXTBSY => Errno::TextBusy,
        HostErrno::XDEV => Errno::CrossDevice,
        _ => Errno::Io,
    }
}

/// Makes a call until no signal of the embedder's interrupts it.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> SysResult<T> {
    loop {
        match call() {
            Err(HostErrno::INTR) => {}
            result => return result.map_err(error),
        }
    }
}

/// The fields of `stat` have other types on other platforms.
fn unsigned(field: impl TryInto<u64>) -> u64 {
    field.try_into().unwrap_or(0)
}

fn nanoseconds(seconds: impl TryInto<i64>, fraction: impl TryInto<i64>) -> Timestamp {
    let seconds = seconds
        .try_into()
        .unwrap_or(0)
        .saturating_mul(1_000_000_000);
    seconds.saturating_add(fraction.try_into().unwrap_or(0))
}

fn convert(host: &Stat) -> HostStat {
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::useless_conversion, reason = "16 bits on macOS")
    )]
    let mode = u32::from(host.st_mode);
    let file_type = match HostType::from_raw_mode(host.st_mode) {
        HostType::RegularFile => FileType::Regular,
        HostType::Directory => FileType::Directory,
        HostType::Symlink => FileType::Symlink,
        HostType::CharacterDevice => FileType::CharDevice,
        HostType::BlockDevice => FileType::BlockDevice,
        HostType::Fifo => FileType::Fifo,
        HostType::Socket | HostType::Unknown => FileType::Socket,
    };
    HostStat {
        id: HostId {
            dev: unsigned(host.st_dev),
            ino: unsigned(host.st_ino),
        },
        stat: FileStat {
            dev: 0,
            ino: unsigned(host.st_ino),
            file_type,
            // No set-user-id or sticky bit comes in or goes out.
            mode: mode & 0o777,
            nlink: unsigned(host.st_nlink),
            size: unsigned(host.st_size),
            blocks: unsigned(host.st_blocks),
            rdev: 0,
            atime: nanoseconds(host.st_atime, host.st_atime_nsec),
            mtime: nanoseconds(host.st_mtime, host.st_mtime_nsec),
            ctime: nanoseconds(host.st_ctime, host.st_ctime_nsec),
        },
    }
}

fn permissions(mode: u32) -> Mode {
    Mode::from_bits_truncate(RawMode::try_from(mode & 0o777).unwrap_or(0))
}

pub(super) fn stat(dir: &Dir, name: Name<'_>) -> SysResult<HostStat> {
    retry(|| rustix::fs::statat(dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW))
        .map(|host| convert(&host))
}

pub(super) fn stat_directory(dir: &Dir) -> SysResult<HostStat> {
    retry(|| rustix::fs::fstat(dir)).map(|host| convert(&host))
}

pub(super) fn stat_file(file: &File) -> SysResult<HostStat> {
    retry(|| rustix::fs::fstat(file)).map(|host| convert(&host))
}

pub(super) fn open_directory(dir: &Dir, name: Name<'_>) -> SysResult<Dir> {
    let flags = GUARDED | HOLD | OFlags::DIRECTORY;
    retry(|| rustix::fs::openat(dir, name.as_bytes(), flags, Mode::empty())).map(Dir::from)
}

/// The directory above, which only the host's own set-up looks at, never a guest.
pub(super) fn open_above(dir: &Dir) -> SysResult<Dir> {
    let flags = GUARDED | HOLD | OFlags::DIRECTORY;
    retry(|| rustix::fs::openat(dir, "..", flags, Mode::empty())).map(Dir::from)
}

pub(super) fn open_file(dir: &Dir, name: Name<'_>, access: AccessMode) -> SysResult<File> {
    let mode = match access {
        AccessMode::Read => OFlags::RDONLY,
        AccessMode::Write => OFlags::WRONLY,
        AccessMode::ReadWrite => OFlags::RDWR,
    };
    retry(|| rustix::fs::openat(dir, name.as_bytes(), GUARDED | mode, Mode::empty()))
        .map(|fd| File::from_std(fd.into()))
}

/// Makes a file that was not there, open for reading and writing.
pub(super) fn create_file(dir: &Dir, name: Name<'_>, mode: u32) -> SysResult<File> {
    let flags = GUARDED | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    let fd = retry(|| rustix::fs::openat(dir, name.as_bytes(), flags, permissions(mode)))?;
    let file = File::from_std(fd.into());
    // The embedder's umask is not the guest's.
    if stat_file(&file)?.stat.mode != mode & 0o777 {
        retry(|| rustix::fs::fchmod(&file, permissions(mode)))?;
    }
    Ok(file)
}

pub(super) fn create_directory(dir: &Dir, name: Name<'_>, mode: u32) -> SysResult<HostStat> {
    retry(|| rustix::fs::mkdirat(dir, name.as_bytes(), permissions(mode)))?;
    let made = stat(dir, name)?;
    if made.stat.mode == mode & 0o777 {
        return Ok(made);
    }
    set_mode(dir, name, mode)?;
    stat(dir, name)
}

pub(super) fn create_symlink(dir: &Dir, name: Name<'_>, target: &[u8]) -> SysResult<()> {
    retry(|| rustix::fs::symlinkat(target, dir, name.as_bytes()))
}

pub(super) fn read_link(dir: &Dir, name: Name<'_>) -> SysResult<Vec<u8>> {
    retry(|| rustix::fs::readlinkat(dir, name.as_bytes(), Vec::new()))
        .map(std::ffi::CString::into_bytes)
}

pub(super) fn link(from: &Dir, old: Name<'_>, to: &Dir, new: Name<'_>) -> SysResult<()> {
    retry(|| rustix::fs::linkat(from, old.as_bytes(), to, new.as_bytes(), AtFlags::empty()))
}

pub(super) fn unlink(dir: &Dir, name: Name<'_>) -> SysResult<()> {
    retry(|| rustix::fs::unlinkat(dir, name.as_bytes(), AtFlags::empty()))
}

pub(super) fn remove_directory(dir: &Dir, name: Name<'_>) -> SysResult<()> {
    retry(|| rustix::fs::unlinkat(dir, name.as_bytes(), AtFlags::REMOVEDIR))
}

pub(super) fn rename(
    from: &Dir,
    old: Name<'_>,
    to: &Dir,
    new: Name<'_>,
    flags: RenameFlags,
) -> SysResult<()> {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    if flags.is_empty() {
        return retry(|| rustix::fs::renameat(from, old, to, new));
    }
    let mut host = HostRename::empty();
    host.set(
        HostRename::NOREPLACE,
        flags.contains(RenameFlags::NO_REPLACE),
    );
    host.set(HostRename::EXCHANGE, flags.contains(RenameFlags::EXCHANGE));
    retry(|| rustix::fs::renameat_with(from, old, to, new, host))
}

/// Changes the permission bits of a regular file or directory.
///
/// It is opened, never named, because `fchmodat` follows a link that is put in its place. A file that its owner may neither
/// read nor write is reached through its `O_PATH` descriptor, as the C library does it.
pub(super) fn set_mode(dir: &Dir, name: Name<'_>, mode: u32) -> SysResult<()> {
    let open = |flags| retry(|| rustix::fs::openat(dir, name.as_bytes(), flags, Mode::empty()));
    match open(GUARDED | OFlags::RDONLY) {
        Ok(fd) => retry(|| rustix::fs::fchmod(&fd, permissions(mode))),
        #[cfg(target_os = "linux")]
        Err(Errno::Access) => {
            use std::os::fd::AsRawFd as _;
            let fd = open(GUARDED | OFlags::PATH)?;
            let host = retry(|| rustix::fs::fstat(&fd))?;
            if HostType::from_raw_mode(host.st_mode) == HostType::Symlink {
                return Err(Errno::NotSupported);
            }
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            retry(|| rustix::fs::chmod(&*link, permissions(mode)))
        }
        Err(error) => Err(error),
    }
}

pub(super) fn set_file_mode(file: &File, mode: u32) -> SysResult<()> {
    retry(|| rustix::fs::fchmod(file, permissions(mode)))
}

/// A directory's own descriptor for reading, with a position of its own: a held one may be good for names only.
fn open_itself(dir: &Dir) -> SysResult<std::os::fd::OwnedFd> {
    let flags = GUARDED | OFlags::RDONLY | OFlags::DIRECTORY;
    retry(|| rustix::fs::openat(dir, ".", flags, Mode::empty()))
}

/// Changes the attributes of a directory that has no name: the root.
pub(super) fn set_directory_attributes(dir: &Dir, change: &SetAttributes) -> SysResult<()> {
    let fd = open_itself(dir)?;
    if let Some(mode) = change.mode {
        retry(|| rustix::fs::fchmod(&fd, permissions(mode)))?;
    }
    match timestamps(change) {
        Some(times) => retry(|| rustix::fs::futimens(&fd, &times)),
        None => Ok(()),
    }
}

fn timestamps(change: &SetAttributes) -> Option<Timestamps> {
    if change.atime.is_none() && change.mtime.is_none() {
        return None;
    }
    let convert = |time: Option<Timestamp>| match time {
        Some(time) => Timespec {
            tv_sec: time.div_euclid(1_000_000_000),
            tv_nsec: time.rem_euclid(1_000_000_000),
        },
        None => Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        },
    };
    Some(Timestamps {
        last_access: convert(change.atime),
        last_modification: convert(change.mtime),
    })
}

pub(super) fn set_times(dir: &Dir, name: Name<'_>, change: &SetAttributes) -> SysResult<()> {
    let Some(times) = timestamps(change) else {
        return Ok(());
    };
    retry(|| rustix::fs::utimensat(dir, name.as_bytes(), &times, AtFlags::SYMLINK_NOFOLLOW))
}

pub(super) fn set_file_times(file: &File, change: &SetAttributes) -> SysResult<()> {
    let Some(times) = timestamps(change) else {
        return Ok(());
    };
    retry(|| rustix::fs::futimens(file, &times))
}

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
    retry(|| rustix::io::pread(file, &mut *buffer, offset))
}

pub(super) fn write_at(file: &File, buffer: &[u8], offset: u64) -> SysResult<usize> {
    retry(|| rustix::io::pwrite(file, buffer, offset))
}

/// Appends; returns the count and the offset behind it. The caller keeps other appends of this descriptor away.
#[cfg(target_os = "linux")]
pub(super) fn append(file: &File, buffer: &[u8]) -> SysResult<(usize, u64)> {
    use rustix::io::ReadWriteFlags;
    let slices = [std::io::IoSlice::new(buffer)];
    // With the offset -1 the descriptor's own position is moved behind what was written: nothing else here uses it.
    let count = retry(|| rustix::io::pwritev2(file, &slices, u64::MAX, ReadWriteFlags::APPEND))?;
    let end = retry(|| rustix::fs::tell(file))?;
    Ok((count, end))
}

/// Appends; returns the count and the offset behind it. Atomic against appends through this engine only: the caller holds
/// the file's lock.
#[cfg(not(target_os = "linux"))]
pub(super) fn append(file: &File, buffer: &[u8]) -> SysResult<(usize, u64)> {
    let end = stat_file(file)?.stat.size;
    let count = write_at(file, buffer, end)?;
    Ok((count, end + count as u64))
}

pub(super) fn set_len(file: &File, len: u64) -> SysResult<()> {
    retry(|| rustix::fs::ftruncate(file, len))
}

pub(super) fn allocate(file: &File, offset: u64, len: u64) -> SysResult<()> {
    retry(|| rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), offset, len))
}

pub(super) fn sync(file: &File, scope: SyncScope) -> SysResult<()> {
    match scope {
        #[cfg(not(target_vendor = "apple"))]
        SyncScope::Data => retry(|| rustix::fs::fdatasync(file)),
        _ => retry(|| rustix::fs::fsync(file)),
    }
}

/// Makes a directory's entries durable.
pub(super) fn sync_directory(dir: &Dir) -> SysResult<()> {
    let fd = open_itself(dir)?;
    retry(|| rustix::fs::fsync(&fd))
}

/// Makes a whole file system durable.
pub(super) fn sync_all(dir: &Dir) -> SysResult<()> {
    let fd = open_itself(dir)?;
    #[cfg(target_os = "linux")]
    return retry(|| rustix::fs::syncfs(&fd));
    #[cfg(not(target_os = "linux"))]
    retry(|| rustix::fs::fsync(&fd))
}

/// Space of the host's file system.
pub(super) fn statfs(dir: &Dir) -> SysResult<StatFs> {
    let host = retry(|| rustix::fs::fstatvfs(dir))?;
    Ok(StatFs {
        block_size: host.f_frsize.max(1),
        blocks: host.f_blocks,
        blocks_free: host.f_bavail,
        files: host.f_files,
        files_free: host.f_favail,
        read_only: false,
        fs_id: 0,
    })
}

/// Whether a directory belongs to a file system that shows the host's kernel or processes.
#[cfg(target_os = "linux")]
pub(super) fn shows_kernel(dir: &Dir) -> SysResult<bool> {
    // Source: Linux `include/uapi/linux/magic.h`: proc, sysfs, cgroup, cgroup2, tracefs, debugfs, securityfs, devpts, bpf, pstore,
    // efivarfs, configfs, mqueue, hugetlbfs, selinux, nsfs.
    const MAGICS: [u64; 16] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x7472_6163,
        0x6462_6720,
        0x7363_6673,
        0x1cd1,
        0xcafe_4a11,
        0x6165_676c,
        0xde5e_81e4,
        0x6265_6570,
        0x1980_0202,
        0x9584_58f6,
        0xf97c_ff8c,
        0x6e73_6673,
    ];
    let host = retry(|| rustix::fs::fstatfs(dir))?;
    // The magic numbers are 32 bits that some platforms extend with their sign.
    Ok(MAGICS.contains(&(unsigned(i128::from(host.f_type) & 0xffff_ffff))))
}

/// Whether a directory belongs to a file system that shows the host's kernel or processes: elsewhere none does.
#[cfg(not(target_os = "linux"))]
pub(super) fn shows_kernel(_: &Dir) -> SysResult<bool> {
    Ok(false)
}

/// Name, inode number and type.
pub(super) type HostEntry = (Box<[u8]>, u64, FileType);

/// Reads a whole directory: names, inode numbers and types, in the host's order; at most `max` entries.
pub(super) fn read_directory(dir: &Dir, max: usize) -> SysResult<Vec<HostEntry>> {
    let mut entries = Vec::new();
    let fd = open_itself(dir)?;
    for entry in rustix::fs::Dir::new(fd).map_err(error)? {
        let entry = entry.map_err(error)?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let Ok(name) = Name::new(bytes) else { continue };
        let file_type = match entry.file_type() {
            HostType::RegularFile => FileType::Regular,
            HostType::Directory => FileType::Directory,
            HostType::Symlink => FileType::Symlink,
            HostType::CharacterDevice => FileType::CharDevice,
            HostType::BlockDevice => FileType::BlockDevice,
            HostType::Fifo => FileType::Fifo,
            HostType::Socket => FileType::Socket,
            // The file system does not tell in listings; a file that is gone by now needs no listing.
            HostType::Unknown => match stat(dir, name) {
                Ok(host) => host.stat.file_type,
                Err(Errno::NotFound) => continue,
                Err(error) => return Err(error),
            },
        };
        if entries.len() >= max {
            return Err(Errno::NoMemory);
        }
        entries.push((bytes.into(), entry.ino(), file_type));
    }
    Ok(entries)
}
