//! The file system of a sandbox: inodes, mounts, the namespace, and what a back end has to offer.
//!
//! Owns: path resolution, permission, quotas and the back ends. Knows nothing of processes beyond the two questions that
//! `/proc` and `/dev/fd` ask ([`ProcessView`]), and nothing of WebAssembly.
//!
//! Invariants
//! - Every path goes through [`resolve`]; a back end is only ever asked for one name in one directory, never for a path.
//! - Every change needs a [`Writable`], and only [`permission`] makes one: a read-only mount or a missing owner bit cannot be
//!   forgotten by a back end or a call.
//! - Byte and file quotas are charged by the back end *before* it grows ([`quota`]).
//! - Lock order: namespace mount table, then a directory, then a file. Two directories (rename) are locked by ascending inode
//!   number.
//! - Nothing here waits: calls that can block on another process (pipes, FIFOs) are `crate::process`'s.

mod clock;
mod devices;
mod host_dir;
mod image;
mod interned;
mod memory;
mod mounts;
mod namespace;
mod overlay;
mod path;
pub(crate) mod permission;
mod place;
mod procfs;
mod quota;
mod resolve;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub use self::devices::DeviceFs;
pub use self::host_dir::{HostDescriptors, HostDir, HostDirOptions};
pub use self::image::{ImageFile, ImageFs, ImageFsBuilder, ImageHostFile, ImageSource};
pub use self::memory::MemoryFs;
pub use self::mounts::{Mount, MountFlags};
pub use self::namespace::{
    Access, AccessMode, At, Caller, Namespace, OpenFlags, Opened, RenameFlags, StatFs, StatTarget,
};
pub use self::overlay::OverlayFs;
pub use self::path::{NAME_MAX, Name, PATH_MAX};
pub use self::permission::Writable;
pub use self::place::Place;
pub use self::procfs::{
    OS_RELEASE, OS_TYPE, PID_MAX, ProcFs, ProcessLimit, ProcessSummary, ProcessView,
};
pub use self::quota::{Charge, Quota};
pub use self::resolve::{Confine, Follow};

use crate::errno::{Errno, SysResult};

/// Nanoseconds since the Unix epoch, negative before it.
pub type Timestamp = i64;

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A character device: `/dev/null` and its like, terminals.
    CharDevice,
    /// A named pipe, or an end of an unnamed one.
    Fifo,
    /// A socket. No back end makes one; a host directory may hold one.
    Socket,
    /// A block device. No back end makes one; a host directory may hold one.
    BlockDevice,
}

/// What `stat` tells of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// The mount's virtual device number, never the host's. Back ends leave it 0; the namespace fills it in.
    pub dev: u64,
    /// Inode number: stable while the inode lives, unique within `dev`.
    pub ino: u64,
    /// What it is.
    pub file_type: FileType,
    /// Permission bits, `07777`.
    pub mode: u32,
    /// Names of this inode.
    pub nlink: u64,
    /// Length in bytes; of a symbolic link, of its target.
    pub size: u64,
    /// Storage in units of 512 bytes.
    pub blocks: u64,
    /// Device number of a device inode: Linux's `major << 8 | minor`, else 0.
    pub rdev: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the contents.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
}

/// A change to an inode's attributes; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Permission bits, `07777`.
    pub mode: Option<u32>,
    /// Access time.
    pub atime: Option<Timestamp>,
    /// Modification time.
    pub mtime: Option<Timestamp>,
}

/// What [`Inode::create`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewInode<'a> {
    /// An empty regular file with these permission bits.
    File(u32),
    /// An empty directory with these permission bits.
    Directory(u32),
    /// A symbolic link to these bytes, kept as they are.
    Symlink(&'a [u8]),
    /// A named pipe with these permission bits.
    Fifo(u32),
}

/// A link that no path describes: what it leads to depends on who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicLink {
    /// `/proc/self`: the asking process's directory.
    OwnProcess,
    /// `/proc/PID/fd/N`, `/dev/fd/N`, `/dev/stdin`: an open descriptor; `None` is the asking process.
    Descriptor(Option<u32>, u32),
    /// `/proc/PID/cwd`.
    WorkingDirectory(u32),
    /// `/proc/PID/root`.
    Root,
}

/// One entry of a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name's bytes.
    pub name: Box<[u8]>,
    /// Inode number.
    pub ino: u64,
    /// What it is.
    pub file_type: FileType,
}

/// An inode: a file, directory, link or device of one back end.
///
/// A handle stays good while it is held, whatever happens to its names (POSIX: an unlinked open file lives on). Methods for
/// another kind of inode answer `NotDirectory` (directory methods) or `Invalid` (`read_link`).
///
/// Back ends check neither permission nor names: the namespace did, and `Writable` proves it. The methods that a file system
/// without changes has no use for have an answer here: `NotPermitted`.
pub trait Inode: Send + Sync + Debug + Any {
    /// Attributes, with `dev` 0.
    ///
    /// # Errors
    /// `Stale` or `NotFound` when the host removed it.
    fn stat(&self) -> SysResult<FileStat>;

    /// A number that identifies the inode within its file system, as in `stat`, without a system call where possible.
    ///
    /// # Errors
    /// As [`Inode::stat`].
    fn ino(&self) -> SysResult<u64> {
        Ok(self.stat()?.ino)
    }

    /// What it is: it never changes, and costs no system call.
    ///
    /// # Errors
    /// As [`Inode::stat`].
    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.stat()?.file_type)
    }

    /// Permission bits for walking through a directory: as [`Inode::stat`] tells them, but they may be a millisecond old.
    ///
    /// # Errors
    /// As [`Inode::stat`].
    fn permission_bits(&self) -> SysResult<u32> {
        Ok(self.stat()?.mode)
    }

    /// Changes mode or times. The size is changed through [`OpenFile::set_len`].
    ///
    /// # Errors
    /// `Io` from a host.
    fn set_attributes(&self, writable: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        let _ = (writable, change);
        Err(Errno::NotPermitted)
    }

    /// Opens the contents of a regular file or a device.
    ///
    /// # Errors
    /// `IsDirectory` of a directory, `NoDeviceOrAddress` of what cannot be opened here.
    fn open(&self, access: AccessMode) -> SysResult<Arc<dyn OpenFile>>;

    /// Whether a named pipe of this back end may be opened; the pipe itself is the process layer's.
    ///
    /// # Errors
    /// `NoDeviceOrAddress`.
    fn open_fifo(&self) -> SysResult<()> {
        Ok(())
    }

    /// The inode of one name. `.` and `..` never get here.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`.
    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        let _ = name;
        Err(Errno::NotDirectory)
    }

    /// Makes a new inode under a free name.
    ///
    /// # Errors
    /// `Exists`, `NoSpace`, `Quota`, `NotFound` when the directory itself was removed.
    fn create(
        &self,
        writable: &Writable<'_>,
        name: Name<'_>,
        new: NewInode<'_>,
    ) -> SysResult<Arc<dyn Inode>> {
        let _ = (writable, name, new);
        Err(Errno::NotPermitted)
    }

    /// Gives `target`, of the same file system, one more name here.
    ///
    /// # Errors
    /// `Exists`, `NotPermitted` for a directory, `CrossDevice`, `TooManyLinks`.
    fn link(
        &self,
        writable: &Writable<'_>,
        name: Name<'_>,
        target: &Arc<dyn Inode>,
    ) -> SysResult<()> {
        let _ = (writable, name, target);
        Err(Errno::NotPermitted)
    }

    /// Removes a name that is not a directory.
    ///
    /// # Errors
    /// `NotFound`, `IsDirectory`.
    fn unlink(&self, writable: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let _ = (writable, name);
        Err(Errno::NotPermitted)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`, `NotEmpty`.
    fn remove_directory(&self, writable: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let _ = (writable, name);
        Err(Errno::NotPermitted)
    }

    /// Renames within one file system; `to_directory` may be `self`. The namespace has excluded that a directory moves into
    /// itself.
    ///
    /// # Errors
    /// As `renameat2`: `NotFound`, `Exists` (with `NOREPLACE`), `NotEmpty`, `IsDirectory`, `NotDirectory`, `CrossDevice`.
    fn rename(
        &self,
        writable: &Writable<'_>,
        from: Name<'_>,
        to_directory: &Arc<dyn Inode>,
        to: Name<'_>,
        flags: RenameFlags,
    ) -> SysResult<()> {
        let _ = (writable, from, to_directory, to, flags);
        Err(Errno::NotPermitted)
    }

    /// Reads a symbolic link's target.
    ///
    /// # Errors
    /// `Invalid` when it is none, `Stale` when it is none any more.
    fn read_link(&self) -> SysResult<Vec<u8>> {
        Err(Errno::Invalid)
    }

    /// The link's meaning where it has no path.
    fn magic(&self) -> Option<MagicLink> {
        None
    }

    /// Lists entries after `cookie` (0 is the beginning), at most `max`, each with the cookie that continues after it.
    ///
    /// `.` and `..` are the namespace's to add. An entry that exists during the whole iteration is told exactly once,
    /// whatever is added or removed meanwhile.
    ///
    /// # Errors
    /// `NotDirectory`, `Io`.
    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let _ = (cookie, max);
        Err(Errno::NotDirectory)
    }

    /// Makes a directory's entries durable. Contents of files are [`OpenFile::sync`]'s.
    ///
    /// # Errors
    /// `Io` from a host.
    fn sync(&self) -> SysResult<()> {
        Ok(())
    }

    /// SHA-256 of the contents where the back end knows it without reading (image files): the key of compiled programs.
    fn content_digest(&self) -> Option<[u8; 32]> {
        None
    }

    /// For downcasts within a back end (`rename`, `link`).
    fn as_any(&self) -> &dyn Any;
}

/// The contents of an open regular file or device. Offsets are the caller's: see `crate::process::Description`.
///
/// No call waits. At most `buffer.len()` bytes move; a short count is not an error. What only files with storage have answers
/// `Invalid` (`NoDevice` for `allocate`) unless it is implemented.
pub trait OpenFile: Send + Sync + Debug {
    /// Reads at `offset`; 0 is the end of the file. Devices ignore the offset.
    ///
    /// # Errors
    /// `Io` from a host.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize>;

    /// Writes at `offset`, growing the file and leaving a hole where it lies behind the end.
    ///
    /// # Errors
    /// `NoSpace`, `Quota`, `FileTooBig`.
    fn write_at(&self, writable: &Writable<'_>, buffer: &[u8], offset: u64) -> SysResult<usize> {
        let _ = (writable, buffer, offset);
        Err(Errno::Invalid)
    }

    /// Writes at the end, atomically against other appends; returns the count and the offset behind it.
    ///
    /// # Errors
    /// As [`OpenFile::write_at`].
    fn append(&self, writable: &Writable<'_>, buffer: &[u8]) -> SysResult<(usize, u64)> {
        let _ = (writable, buffer);
        Err(Errno::Invalid)
    }

    /// Truncates or extends with zeros.
    ///
    /// # Errors
    /// `Invalid` where the file has no length, `FileTooBig`, `Quota`.
    fn set_len(&self, writable: &Writable<'_>, len: u64) -> SysResult<()> {
        let _ = (writable, len);
        Err(Errno::Invalid)
    }

    /// Makes sure that `[offset, offset + len)` has storage, growing the file.
    ///
    /// # Errors
    /// As [`OpenFile::set_len`].
    fn allocate(&self, writable: &Writable<'_>, offset: u64, len: u64) -> SysResult<()> {
        let _ = (writable, offset, len);
        Err(Errno::NoDevice)
    }

    /// Makes contents (and, with [`SyncScope::All`], attributes) durable.
    ///
    /// # Errors
    /// `Io` from a host.
    fn sync(&self, scope: SyncScope) -> SysResult<()> {
        let _ = scope;
        Err(Errno::Invalid)
    }

    /// Attributes of the inode behind it, with `dev` 0.
    ///
    /// # Errors
    /// `Io` from a host.
    fn stat(&self) -> SysResult<FileStat>;

    /// As [`Inode::set_attributes`], also of a file without a name.
    ///
    /// # Errors
    /// `Io` from a host.
    fn set_attributes(&self, writable: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        let _ = (writable, change);
        Err(Errno::NotPermitted)
    }

    /// Whether offsets mean anything: false for devices without a position.
    fn is_seekable(&self) -> bool {
        true
    }
}

/// What [`OpenFile::sync`] makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// The contents and what is needed to read them (`fdatasync`).
    Data,
    /// Everything (`fsync`).
    All,
}

/// A back end.
pub trait FileSystem: Send + Sync + Debug {
    /// Its root directory.
    fn root(&self) -> Arc<dyn Inode>;

    /// Space and files, used and left, as `statfs` shows them.
    ///
    /// # Errors
    /// `Io` from a host.
    fn statfs(&self) -> SysResult<StatFs>;

    /// Its name in `/proc/mounts`: `tmpfs`, `overlay`, `hostdir`, `proc`, `devtmpfs`, `image`.
    fn kind(&self) -> &'static str;

    /// Whether nothing in it can ever be changed: every mount of it is read-only.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Where growth is charged.
    fn quota(&self) -> &Arc<Quota>;

    /// Makes everything written so far durable; used when a sandbox is suspended.
    ///
    /// # Errors
    /// `Io` from a host.
    fn sync(&self) -> SysResult<()> {
        Ok(())
    }
}
