//! The namespace of one sandbox: the calls that take paths.

use std::sync::Arc;

use super::{
    Confine, FileStat, FileSystem, Follow, Inode, Mount, MountFlags, OpenFile, Place, SetAttributes,
};
use crate::errno::SysResult;

bitflags::bitflags! {
    /// Flags of `open` beyond the access mode.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// Make the file when it is not there.
        const CREATE = 1;
        /// Fail when it is there (with `CREATE`).
        const EXCLUSIVE = 1 << 1;
        /// Cut it to length 0.
        const TRUNCATE = 1 << 2;
        /// Fail unless it is a directory.
        const DIRECTORY = 1 << 3;
        /// Fail with `Loop` when the last component is a symbolic link.
        const NO_FOLLOW = 1 << 4;
    }

    /// Flags of `renameat2`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// Fail with `Exists` when the target is there.
        const NO_REPLACE = 1;
        /// Swap the two.
        const EXCHANGE = 1 << 1;
    }

    /// What `access` asks for; empty asks only whether the file is there.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Access: u32 {
        /// Execute, or search a directory.
        const EXECUTE = 1;
        /// Write.
        const WRITE = 1 << 1;
        /// Read.
        const READ = 1 << 2;
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// `O_RDONLY`
    Read,
    /// `O_WRONLY`
    Write,
    /// `O_RDWR`
    ReadWrite,
}

impl AccessMode {
    /// Whether reading is allowed.
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether writing is allowed.
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether everything that `wanted` needs is allowed.
    pub fn allows(self, wanted: Self) -> bool {
        (self.reads() || !wanted.reads()) && (self.writes() || !wanted.writes())
    }
}

/// Space and files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatFs {
    /// Bytes in a block.
    pub block_size: u64,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks still free.
    pub blocks_free: u64,
    /// Inodes in all.
    pub files: u64,
    /// Inodes still free.
    pub files_free: u64,
    /// Whether nothing can be changed.
    pub read_only: bool,
    /// The mount's device number.
    pub fs_id: u64,
}

/// Who asks: what magic links and `/proc/self` mean.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The asking process; 0 for the host's own file calls, for which `/proc/self` is `NotFound`.
    pub pid: u32,
}

/// One path argument: where it starts and how far it may reach.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// Who asks.
    pub caller: Caller,
    /// The directory that a relative path starts in.
    pub base: &'a Place,
    /// The path's bytes. Empty is `NotFound`, an embedded NUL `Invalid`.
    pub path: &'a [u8],
    /// The wall.
    pub confine: Confine,
}

/// What `open` found.
#[derive(Clone, Debug)]
pub enum Opened {
    /// A regular file or device.
    File {
        /// Its contents.
        file: Arc<dyn OpenFile>,
        /// Its inode.
        inode: Arc<dyn Inode>,
        /// The mount it was reached through: what later writes are checked against.
        mount: Arc<Mount>,
        /// The name it was opened by, for `/proc/self/fd`: absolute, as the namespace saw it.
        path: Arc<[u8]>,
    },
    /// A directory.
    Directory(Place),
    /// `/dev/fd/N`, `/dev/stdin`, `/proc/PID/fd/N`: this descriptor of process `pid`; what that means is the process
    /// layer's to say.
    Descriptor {
        /// Whose.
        pid: u32,
        /// Its number.
        fd: u32,
    },
    /// A named pipe; the process layer keeps the pipe behind it, by `(dev, ino)`.
    Fifo {
        /// Its inode.
        inode: Arc<dyn Inode>,
        /// The mount.
        mount: Arc<Mount>,
        /// As in `File`.
        path: Arc<[u8]>,
    },
}

/// The tree of mounts that the processes of one sandbox see. Cheap to share; every method may be called from any thread.
#[derive(Debug)]
pub struct Namespace {
    // the vfs part's own
}

impl Namespace {
    /// A namespace whose `/` is this file system.
    pub fn new(root: Arc<dyn FileSystem>, flags: MountFlags) -> Arc<Self> {
        let _ = (root, flags);
        unimplemented!()
    }

    /// Its root directory, where absolute paths start.
    pub fn root(&self) -> Place {
        unimplemented!()
    }

    /// Mounts a file system on the directory `at` (absolute; made with its parents when it is missing and can be made).
    ///
    /// # Errors
    /// `NotDirectory`, `NotFound`, `Busy` when something is mounted there.
    pub fn mount(&self, at: &[u8], fs: Arc<dyn FileSystem>, flags: MountFlags) -> SysResult<()> {
        let _ = (at, fs, flags);
        unimplemented!()
    }

    /// All mounts with their mount points, for `/proc/mounts` and `df`.
    pub fn mounts(&self) -> Vec<(Vec<u8>, Arc<Mount>)> {
        unimplemented!()
    }

    /// Opens or makes a file; `mode` (already masked) is the permission bits of a new one.
    ///
    /// # Errors
    /// As `open(2)`: `NotFound`, `NotDirectory`, `Loop`, `Access`, `ReadOnly`, `IsDirectory` (writing a directory),
    /// `Exists`, `NameTooLong`, `NotCapable` (left the directory it is confined to).
    pub fn open(
        &self,
        at: At<'_>,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
    ) -> SysResult<Opened> {
        let _ = (at, access, flags, mode);
        unimplemented!()
    }

    /// Resolves to a directory: for `chdir` and for a base of later calls. Needs search permission on it.
    ///
    /// # Errors
    /// `NotDirectory` and those of resolution.
    pub fn directory(&self, at: At<'_>) -> SysResult<Place> {
        let _ = at;
        unimplemented!()
    }

    /// Attributes of what a path names. A magic descriptor link that is followed answers `Err(..)` through
    /// [`Namespace::open`]; here it is reported as [`StatTarget::Descriptor`].
    ///
    /// # Errors
    /// Those of resolution.
    pub fn stat(&self, at: At<'_>, follow: Follow) -> SysResult<StatTarget> {
        let _ = (at, follow);
        unimplemented!()
    }

    /// # Errors
    /// `Exists`, `NoSpace`, `Quota`, `ReadOnly`, `Access` and those of resolution.
    pub fn make_directory(&self, at: At<'_>, mode: u32) -> SysResult<()> {
        let _ = (at, mode);
        unimplemented!()
    }

    /// # Errors
    /// As [`Namespace::make_directory`].
    pub fn make_fifo(&self, at: At<'_>, mode: u32) -> SysResult<()> {
        let _ = (at, mode);
        unimplemented!()
    }

    /// # Errors
    /// As [`Namespace::make_directory`]; with `Confine::Dirfd` an absolute target is `NotCapable`.
    pub fn symlink(&self, target: &[u8], at: At<'_>) -> SysResult<()> {
        let _ = (target, at);
        unimplemented!()
    }

    /// # Errors
    /// `NotPermitted` for a directory, `CrossDevice`, `Exists` and those of resolution.
    pub fn link(&self, from: At<'_>, follow: Follow, to: At<'_>) -> SysResult<()> {
        let _ = (from, follow, to);
        unimplemented!()
    }

    /// # Errors
    /// `IsDirectory`, `NotFound`, `ReadOnly`, `Access` and those of resolution.
    pub fn unlink(&self, at: At<'_>) -> SysResult<()> {
        let _ = at;
        unimplemented!()
    }

    /// # Errors
    /// `NotDirectory`, `NotEmpty`, `Busy` for a mount point or `/`, `Invalid` for `.`.
    pub fn remove_directory(&self, at: At<'_>) -> SysResult<()> {
        let _ = at;
        unimplemented!()
    }

    /// # Errors
    /// As `renameat2(2)`.
    pub fn rename(&self, from: At<'_>, to: At<'_>, flags: RenameFlags) -> SysResult<()> {
        let _ = (from, to, flags);
        unimplemented!()
    }

    /// The target of a symbolic link; of a magic one the text that Linux shows.
    ///
    /// # Errors
    /// `Invalid` when it is none.
    pub fn read_link(&self, at: At<'_>) -> SysResult<Vec<u8>> {
        let _ = at;
        unimplemented!()
    }

    /// `chmod` and `utimensat`.
    ///
    /// # Errors
    /// `ReadOnly`, `NotSupported` for the mode of a symbolic link.
    pub fn set_attributes(
        &self,
        at: At<'_>,
        follow: Follow,
        change: &SetAttributes,
    ) -> SysResult<()> {
        let _ = (at, follow, change);
        unimplemented!()
    }

    /// `access(2)`.
    ///
    /// # Errors
    /// `Access`, `ReadOnly` and those of resolution.
    pub fn access(&self, at: At<'_>, follow: Follow, wanted: Access) -> SysResult<()> {
        let _ = (at, follow, wanted);
        unimplemented!()
    }

    /// # Errors
    /// Those of resolution.
    pub fn statfs(&self, at: At<'_>) -> SysResult<StatFs> {
        let _ = at;
        unimplemented!()
    }
}

/// What a path's attributes are asked of.
#[derive(Clone, Debug)]
pub enum StatTarget {
    /// An inode's attributes, `dev` filled in.
    Inode(FileStat),
    /// A descriptor: the process layer's `fstat`.
    Descriptor {
        /// Whose.
        pid: u32,
        /// Its number.
        fd: u32,
    },
}
