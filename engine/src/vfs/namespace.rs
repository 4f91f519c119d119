//! The namespace of one sandbox: the calls that take paths.

//!
//! Owns: the order of checks in every call, which is Linux's, so that a guest gets the same error for the same mistake.
//! Changes of the tree are in [`change`], opening is in [`open`].

mod change;
mod open;

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::mounts::MountTable;
use super::place::Parents;
use super::resolve::{Target, Walk, own_process};
use super::{
    Confine, FileStat, FileSystem, FileType, Follow, Inode, MagicLink, Mount, MountFlags, OpenFile,
    Place, SetAttributes, Writable, permission,
};
use crate::errno::{Errno, SysResult};

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
    root: Place,
    mounts: RwLock<Arc<MountTable>>,
    parents: Parents,
    /// Held while a directory is renamed, so that the notes in `parents` are made in the same order.
    moving: Mutex<()>,
}

/// The device number of `/`; later mounts count up from it.
const FIRST_DEV: u64 = 0x20;

impl Namespace {
    /// A namespace whose `/` is this file system.
    pub fn new(root: Arc<dyn FileSystem>, flags: MountFlags) -> Arc<Self> {
        let mount = Mount::new(root, flags, FIRST_DEV);
        let inode = Arc::clone(mount.root());
        let root = Place {
            mount,
            inode,
            parent: None,
        };
        let mounts = RwLock::new(Arc::new(MountTable::of_root(&root)));
        Arc::new(Self {
            root,
            mounts,
            parents: Parents::default(),
            moving: Mutex::new(()),
        })
    }

    /// Its root directory, where absolute paths start.
    pub fn root(&self) -> Place {
        self.root.clone()
    }

    /// Mounts a file system on the directory `at` (absolute; made with its parents when it is missing and can be made).
    ///
    /// # Errors
    /// `NotDirectory`, `NotFound`, `Busy` when something is mounted there.
    pub fn mount(&self, at: &[u8], fs: Arc<dyn FileSystem>, flags: MountFlags) -> SysResult<()> {
        let at = At::of_host(&self.root, at);
        if self
            .mounts
            .read()
            .all()
            .iter()
            .any(|(_, mount)| Arc::ptr_eq(mount.fs(), &fs))
        {
            return Err(Errno::Busy);
        }
        let place = match self.directory(at) {
            Err(Errno::NotFound) => {
                self.make_directories(at.path)?;
                self.directory(at)?
            }
            other => other?,
        };
        let mut mounts = self.mounts.write();
        // A root is either the namespace's or on top of a directory that is covered already.
        if place.parent.is_none() || Arc::ptr_eq(place.mount.root(), &place.inode) {
            return Err(Errno::Busy);
        }
        let dev = FIRST_DEV.saturating_add(mounts.all().len() as u64);
        let mount = Mount::new(fs, flags, dev);
        *mounts = Arc::new(mounts.with(place, &mount)?);
        Ok(())
    }

    /// Makes a directory with its parents, as `mkdir -p` does.
    fn make_directories(&self, path: &[u8]) -> SysResult<()> {
        let ends = path
            .iter()
            .enumerate()
            .skip(1)
            .filter(|&(_, &byte)| byte == b'/')
            .map(|(end, _)| end);
        for end in ends.chain([path.len()]) {
            match self.make_directory(
                At::of_host(&self.root, path.get(..end).unwrap_or_default()),
                0o755,
            ) {
                Ok(()) | Err(Errno::Exists) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// All mounts with their mount points, for `/proc/mounts` and `df`.
    pub fn mounts(&self) -> Vec<(Vec<u8>, Arc<Mount>)> {
        let mounts = Arc::clone(&self.mounts.read());
        mounts
            .all()
            .iter()
            .map(|(place, mount)| (place.path_text(), Arc::clone(mount)))
            .collect()
    }

    /// Resolves to a directory: for `chdir` and for a base of later calls. Needs search permission on it.
    ///
    /// # Errors
    /// `NotDirectory` and those of resolution.
    pub fn directory(&self, at: At<'_>) -> SysResult<Place> {
        let mut walk = self.walk(&at);
        match walk.whole(at.path, Follow::Yes)? {
            Target::Directory(here) => {
                permission::search(&*here.inode)?;
                walk.place()
            }
            Target::Other { .. } | Target::Descriptor { .. } => Err(Errno::NotDirectory),
        }
    }

    /// Attributes of what a path names. A magic descriptor link that is followed answers `Err(..)` through
    /// [`Namespace::open`]; here it is reported as [`StatTarget::Descriptor`].
    ///
    /// # Errors
    /// Those of resolution.
    pub fn stat(&self, at: At<'_>, follow: Follow) -> SysResult<StatTarget> {
        match self.walk(&at).whole(at.path, follow)? {
            Target::Directory(here) => Ok(StatTarget::Inode(FileStat {
                dev: here.mount.dev(),
                ..here.inode.stat()?
            })),
            Target::Other {
                directory, inode, ..
            } => Ok(StatTarget::Inode(FileStat {
                dev: directory.mount.dev(),
                ..inode.stat()?
            })),
            Target::Descriptor { pid, fd } => Ok(StatTarget::Descriptor { pid, fd }),
        }
    }

    /// The target of a symbolic link; of a magic one the text that Linux shows.
    ///
    /// # Errors
    /// `Invalid` when it is none.
    pub fn read_link(&self, at: At<'_>) -> SysResult<Vec<u8>> {
        match self.walk(&at).whole(at.path, Follow::No)? {
            Target::Other {
                inode,
                file_type: FileType::Symlink,
                ..
            } => match inode.magic() {
                Some(MagicLink::OwnProcess) => own_process(at.caller),
                Some(MagicLink::Root) => Ok(b"/".to_vec()),
                Some(MagicLink::Descriptor(..) | MagicLink::WorkingDirectory(_)) | None => {
                    match inode.read_link() {
                        // Something else took its place since it was looked up.
                        Err(Errno::Stale) => Err(Errno::Invalid),
                        text => text,
                    }
                }
            },
            _ => Err(Errno::Invalid),
        }
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
        let (mount, inode, file_type) = match self.walk(&at).whole(at.path, follow)? {
            Target::Directory(place) => (place.mount, place.inode, FileType::Directory),
            Target::Other {
                directory,
                inode,
                file_type,
                ..
            } => (directory.mount, inode, file_type),
            Target::Descriptor { .. } => return Err(Errno::NotSupported),
        };
        let writable = Writable::of_open_file(&mount)?;
        if file_type == FileType::Symlink && change.mode.is_some() {
            return Err(Errno::NotSupported);
        }
        inode.set_attributes(&writable, change)
    }

    /// `access(2)`.
    ///
    /// # Errors
    /// `Access`, `ReadOnly` and those of resolution.
    pub fn access(&self, at: At<'_>, follow: Follow, wanted: Access) -> SysResult<()> {
        let (mount, inode, file_type) = match self.walk(&at).whole(at.path, follow)? {
            Target::Directory(place) => (place.mount, place.inode, FileType::Directory),
            Target::Other {
                directory,
                inode,
                file_type,
                ..
            } => (directory.mount, inode, file_type),
            // It was found, so it is open; how it was opened is the process layer's to know.
            Target::Descriptor { .. } => return Ok(()),
        };
        // A symbolic link's own bits mean nothing.
        if file_type != FileType::Symlink {
            permission::check(&inode.stat()?, wanted)?;
        }
        if file_type == FileType::Regular
            && wanted.contains(Access::EXECUTE)
            && mount.flags().contains(MountFlags::NO_EXEC)
        {
            return Err(Errno::Access);
        }
        // As on Linux a device or pipe on a read-only mount can be written to.
        if wanted.contains(Access::WRITE)
            && matches!(
                file_type,
                FileType::Regular | FileType::Directory | FileType::Symlink
            )
        {
            Writable::of_open_file(&mount)?;
        }
        Ok(())
    }

    /// # Errors
    /// Those of resolution.
    pub fn statfs(&self, at: At<'_>) -> SysResult<StatFs> {
        let mount = match self.walk(&at).whole(at.path, Follow::Yes)? {
            Target::Directory(place) => place.mount,
            Target::Other { directory, .. } => directory.mount,
            Target::Descriptor { .. } => return Err(Errno::NotSupported),
        };
        mount.statfs()
    }

    fn walk(&self, at: &At<'_>) -> Walk<'_> {
        Walk::new(
            &self.root,
            &self.parents,
            Arc::clone(&self.mounts.read()),
            at,
        )
    }
}

impl<'a> At<'a> {
    /// The host's own use of an absolute path.
    fn of_host(root: &'a Place, path: &'a [u8]) -> Self {
        Self {
            caller: Caller { pid: 0 },
            base: root,
            path,
            confine: Confine::Namespace,
        }
    }
}

impl Mount {
    /// Space and files, with what the mount adds: for `fstatfs`.
    ///
    /// # Errors
    /// As [`FileSystem::statfs`].
    pub fn statfs(&self) -> SysResult<StatFs> {
        let stat = self.fs().statfs()?;
        let read_only = stat.read_only || self.flags().contains(MountFlags::READ_ONLY);
        Ok(StatFs {
            read_only,
            fs_id: self.dev(),
            ..stat
        })
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
