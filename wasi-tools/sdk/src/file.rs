//! Files by path, with modes. Relative paths start at the current directory.

mod stat;

pub use stat::{FileSystem, FileType, Stat};

use std::ops::{BitAnd, BitOr, BitOrAssign};

use crate::{Fd, Result, sys};

/// How [`open`] opens; the values are Linux's on x86-64, whatever the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// Reading only.
    pub const RDONLY: Self = Self(0);
    /// Writing only.
    pub const WRONLY: Self = Self(1);
    /// Both.
    pub const RDWR: Self = Self(2);
    /// The bits of the three above.
    pub const ACCMODE: Self = Self(3);
    /// Makes the file when there is none.
    pub const CREAT: Self = Self(0o100);
    /// With `CREAT`: fails when there is one.
    pub const EXCL: Self = Self(0o200);
    /// Empties it.
    pub const TRUNC: Self = Self(0o1000);
    /// Each write goes to the end.
    pub const APPEND: Self = Self(0o2000);
    /// Never waits.
    pub const NONBLOCK: Self = Self(0o4000);
    /// Fails unless it is a directory.
    pub const DIRECTORY: Self = Self(0o200_000);
    /// Fails when the last component is a symbolic link.
    pub const NOFOLLOW: Self = Self(0o400_000);
    /// Closed on `exec`.
    pub const CLOEXEC: Self = Self(0o2_000_000);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it reads.
    pub const fn reads(self) -> bool {
        matches!(self.0 & 3, 0 | 2)
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        matches!(self.0 & 3, 1 | 2)
    }
}

impl BitOr for OpenFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for OpenFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for OpenFlags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Whether a symbolic link as the last component is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The file it points to.
    Follow,
    /// The link itself.
    NoFollow,
}

/// What [`access`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(pub u32);

impl Access {
    /// Whether there is one.
    pub const EXISTS: Self = Self(0);
    /// Executing, or searching a directory.
    pub const EXECUTE: Self = Self(1);
    /// Writing.
    pub const WRITE: Self = Self(2);
    /// Reading.
    pub const READ: Self = Self(4);
}

/// A time to set with [`set_times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// Leaves it as it is.
    Omit,
    /// The current time.
    Now,
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    At(i64),
}

/// What [`rename_with`] does with an existing target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameTarget {
    /// It is replaced.
    Replace,
    /// The call fails with `EEXIST`.
    Keep,
    /// The two change places.
    Exchange,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without `/`.
    pub name: Vec<u8>,
    /// Its inode number; 0 when the system does not say.
    pub ino: u64,
    /// Its type; [`FileType::Unknown`] when the system does not say without `stat`.
    pub file_type: FileType,
}

/// Opens a file; a new one gets `mode` minus the umask.
///
/// # Errors
/// As `open(2)`: `ENOENT`, `EACCES`, `EEXIST`, `EISDIR`, `ENOTDIR`, `ELOOP`, `EMFILE`, `ENXIO`, `EROFS`, `ENOSPC`, `EINVAL` for a NUL.
pub fn open(path: &[u8], flags: OpenFlags, mode: u32) -> Result<Fd> {
    sys::open(None, path, flags, mode)
}

/// As [`open`], a relative path starting at the directory `dir`.
///
/// # Errors
/// Those of [`open`], `EBADF`, `ENOTDIR`.
pub fn open_at(dir: Fd, path: &[u8], flags: OpenFlags, mode: u32) -> Result<Fd> {
    sys::open(Some(dir), path, flags, mode)
}

/// What there is at `path`.
///
/// # Errors
/// `ENOENT`, `ENOTDIR`, `EACCES`, `ELOOP`, `ENAMETOOLONG`.
pub fn stat(path: &[u8], follow: Follow) -> Result<Stat> {
    sys::stat(None, path, follow)
}

/// As [`stat`], a relative path starting at the directory `dir`.
///
/// # Errors
/// Those of [`stat`], `EBADF`.
pub fn stat_at(dir: Fd, path: &[u8], follow: Follow) -> Result<Stat> {
    sys::stat(Some(dir), path, follow)
}

/// What a descriptor points at.
///
/// # Errors
/// `EBADF`.
pub fn stat_fd(fd: Fd) -> Result<Stat> {
    sys::stat_fd(fd)
}

/// Makes a directory with `mode` minus the umask.
///
/// # Errors
/// `EEXIST`, `ENOENT`, `ENOTDIR`, `EACCES`, `ENOSPC`, `EROFS`.
pub fn make_dir(path: &[u8], mode: u32) -> Result<()> {
    sys::make_dir(path, mode)
}

/// Makes a FIFO with `mode` minus the umask.
///
/// # Errors
/// Those of [`make_dir`], `EPERM` where the file system has none.
pub fn make_fifo(path: &[u8], mode: u32) -> Result<()> {
    sys::make_fifo(path, mode)
}

/// Sets the mode bits (07777) of the file at `path`, following links.
///
/// # Errors
/// Those of [`stat`], `EPERM`, `EROFS`.
pub fn set_mode(path: &[u8], mode: u32) -> Result<()> {
    sys::set_mode(path, mode)
}

/// Sets the mode bits (07777) of an open file.
///
/// # Errors
/// `EBADF`, `EPERM`, `EROFS`.
pub fn set_mode_fd(fd: Fd, mode: u32) -> Result<()> {
    sys::set_mode_fd(fd, mode)
}

/// Sets owner and group; `None` leaves one as it is.
///
/// # Errors
/// Those of [`stat`], `EPERM` for another owner, `EROFS`.
pub fn set_owner(path: &[u8], uid: Option<u32>, gid: Option<u32>, follow: Follow) -> Result<()> {
    sys::set_owner(path, uid, gid, follow)
}

/// Checks what the caller may do with a file.
///
/// # Errors
/// `EACCES` when it may not, `EROFS`, and those of [`stat`].
pub fn access(path: &[u8], mode: Access) -> Result<()> {
    sys::access(path, mode)
}

/// Renames, replacing a target.
///
/// # Errors
/// As `rename(2)`: `ENOENT`, `EACCES`, `EXDEV`, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`, `EINVAL` into itself, `EROFS`.
pub fn rename(from: &[u8], to: &[u8]) -> Result<()> {
    rename_with(from, to, RenameTarget::Replace)
}

/// Renames with a choice of what happens to a target.
///
/// # Errors
/// Those of [`rename`], `EEXIST`, `EINVAL` where the file system can't.
pub fn rename_with(from: &[u8], to: &[u8], target: RenameTarget) -> Result<()> {
    sys::rename(from, to, target)
}

/// Removes a name that is no directory.
///
/// # Errors
/// `ENOENT`, `EISDIR`, `ENOTDIR`, `EACCES`, `EROFS`.
pub fn unlink(path: &[u8]) -> Result<()> {
    sys::unlink(path)
}

/// Removes an empty directory.
///
/// # Errors
/// `ENOTEMPTY`, `ENOENT`, `ENOTDIR`, `EBUSY`, `EACCES`, `EROFS`.
pub fn remove_dir(path: &[u8]) -> Result<()> {
    sys::remove_dir(path)
}

/// Makes `path` a symbolic link to `target`, which may be any text.
///
/// # Errors
/// `EEXIST`, `ENOENT` (also for an empty target), `EACCES`, `EROFS`.
pub fn symlink(target: &[u8], path: &[u8]) -> Result<()> {
    sys::symlink(target, path)
}

/// Gives the file at `from` a second name. A symbolic link is itself linked, not followed.
///
/// # Errors
/// `EEXIST`, `ENOENT`, `EPERM` for a directory, `EXDEV`, `EMLINK`, `EACCES`, `EROFS`.
pub fn link(from: &[u8], to: &[u8]) -> Result<()> {
    sys::link(from, to)
}

/// The text of a symbolic link.
///
/// # Errors
/// `EINVAL` when it is none, and those of [`stat`].
pub fn read_link(path: &[u8]) -> Result<Vec<u8>> {
    sys::read_link(path)
}

/// Sets the times of last access and last change.
///
/// # Errors
/// Those of [`stat`], `EPERM`, `EROFS`.
pub fn set_times(path: &[u8], accessed: SetTime, modified: SetTime, follow: Follow) -> Result<()> {
    sys::set_times(path, accessed, modified, follow)
}

/// The names in a directory in the system's order, without `.` and `..`.
///
/// # Errors
/// `ENOENT`, `ENOTDIR`, `EACCES`, `EMFILE`.
pub fn read_dir(path: &[u8]) -> Result<Vec<DirEntry>> {
    let mut entries = sys::read_dir(path)?;
    entries.retain(|entry| entry.name != b"." && entry.name != b"..");
    Ok(entries)
}

/// The file system that `path` is on.
///
/// # Errors
/// Those of [`stat`].
pub fn file_system(path: &[u8]) -> Result<FileSystem> {
    sys::file_system(path)
}
