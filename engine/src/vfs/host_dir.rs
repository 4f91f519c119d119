//! A directory of the host.
//!
//! Owns: which of the host's inodes a guest can reach, what they cost its quota, and how few descriptors that takes. Every host call
//! is in [`os`]: one name, in one open directory, never following a link. Links are read here and resolved in the namespace.
//!
//! Invariants
//! - A directory is entered only on the root's own device (unless told otherwise), never when it is protected, never when it
//!   shows the host's kernel ([`os::shows_kernel`]).
//! - A directory that is opened again by its name is the one that was looked up, by device and inode number.
//! - Only regular files are opened. Owners, set-user-id and sticky bits of the host neither come in nor go out.
//! - Lock order: the accounts, then the directories, then what one inode keeps. A removal holds the accounts' lock from before it looks
//!   at what it removes until that is booked.
//!
//! SECURITY[SB-FS-003]: a mount of a parent, a link or a bind mount does not lead into Sandbar's own directories or the host's
//! kernel, because every directory is compared with those when it is entered.

mod descriptors;
mod file;
mod inode;
mod listing;
mod os;

use std::collections::HashSet;
use std::sync::Arc;

use cap_std::fs::Dir;
use parking_lot::Mutex;

pub use self::descriptors::HostDescriptors;
use self::file::Account;
use self::inode::HostInode;
use self::os::{HostId, HostStat};
use super::interned::Interned;
use super::{FileSystem, FileType, Inode, MemoryFs, Name, Quota, StatFs};
use crate::errno::{Errno, SysResult};

/// How a host directory is shown.
///
/// Defaults: changes are allowed (the mount decides), no other device is entered, nothing is protected, growth is counted without
/// a limit, and a budget of 256 host descriptors of its own.
#[derive(Clone, Debug)]
pub struct HostDirOptions {
    /// Refuse every change, however it is mounted.
    pub read_only: bool,
    /// Enter directories of other devices, too, where they do not show the host's kernel.
    pub cross_devices: bool,
    /// Host directories that are never entered, by device and inode number: see [`HostDir::identity`].
    pub protected: HashSet<(u64, u64)>,
    /// What growth is charged to.
    pub quota: Arc<Quota>,
    /// The budget of host descriptors, shared by all of an engine.
    pub descriptors: Arc<HostDescriptors>,
}

impl Default for HostDirOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            cross_devices: false,
            protected: HashSet::new(),
            quota: Quota::on_disk(None, u64::MAX, u64::MAX),
            descriptors: HostDescriptors::new(256),
        }
    }
}

/// A directory of the host.
#[derive(Debug)]
pub struct HostDir {
    root: Arc<HostInode>,
    shared: Arc<Shared>,
}

/// How the root is opened.
#[derive(Debug)]
enum Root {
    /// It is held open.
    Held(Arc<Dir>),
    /// It is a directory of one that is held open, by many.
    Child(Arc<Dir>, Box<[u8]>),
}

/// What the inodes of one host directory share.
#[derive(Debug)]
struct Shared {
    root: Root,
    root_dev: u64,
    options: HostDirOptions,
    /// Directories that somebody holds, so that each is one inode that learns where it was moved.
    directories: Mutex<Interned<HostId, HostInode>>,
    /// Files that are open, with what they are charged.
    accounts: Mutex<Interned<HostId, Account>>,
    /// Other devices, by the order they were met in: their inode numbers must not meet the root's.
    devices: Mutex<Vec<u64>>,
}

impl HostDir {
    /// Shows a directory that is held open.
    ///
    /// # Errors
    /// `Access` when it is protected, lies below a protected directory or shows the host's kernel; `NotDirectory`; `Io`.
    pub fn new(dir: Dir, options: HostDirOptions) -> SysResult<Arc<Self>> {
        Self::build(Root::Held(Arc::new(dir)), options)
    }

    /// Shows the directory `name` of `parent`, which many may share: nothing is held open for this one while it is idle.
    ///
    /// # Errors
    /// As [`HostDir::new`]; `Invalid` when `name` is not one plain name, `NotFound`.
    pub fn in_directory(
        parent: Arc<Dir>,
        name: &[u8],
        options: HostDirOptions,
    ) -> SysResult<Arc<Self>> {
        let name = Name::new(name)?.as_bytes().into();
        Self::build(Root::Child(parent, name), options)
    }

    /// The device and inode number of a directory, as [`HostDirOptions::protected`] wants them.
    ///
    /// # Errors
    /// `Io`.
    pub fn identity(dir: &Dir) -> SysResult<(u64, u64)> {
        let HostId { dev, ino } = os::stat_directory(dir)?.id;
        Ok((dev, ino))
    }

    fn build(root: Root, options: HostDirOptions) -> SysResult<Arc<Self>> {
        let dir = root.open()?;
        let stat = os::stat_directory(&dir)?;
        if stat.stat.file_type != FileType::Directory {
            return Err(Errno::NotDirectory);
        }
        if os::shows_kernel(&dir)? || is_protected(&dir, &options.protected)? {
            return Err(Errno::Access);
        }
        let shared = Arc::new(Shared {
            root,
            root_dev: stat.id.dev,
            options,
            directories: Mutex::default(),
            accounts: Mutex::default(),
            devices: Mutex::default(),
        });
        shared.keep(&dir);
        let root = HostInode::root(&shared, &stat, &dir);
        Ok(Arc::new(Self { root, shared }))
    }
}

impl Root {
    fn open(&self) -> SysResult<Arc<Dir>> {
        match self {
            Self::Held(dir) => Ok(Arc::clone(dir)),
            Self::Child(parent, name) => os::open_directory(parent, Name::new(name)?).map(Arc::new),
        }
    }
}

/// Whether a directory is protected, or lies below one that is.
fn is_protected(dir: &Arc<Dir>, protected: &HashSet<(u64, u64)>) -> SysResult<bool> {
    /// Directories above each other on a host: a bound for the loop, no more.
    const DEPTH_MAX: usize = 4096;
    if protected.is_empty() {
        return Ok(false);
    }
    let mut dir = Arc::clone(dir);
    let mut id = os::stat_directory(&dir)?.id;
    for _ in 0..DEPTH_MAX {
        if protected.contains(&(id.dev, id.ino)) {
            return Ok(true);
        }
        let above = os::open_above(&dir)?;
        let above_id = os::stat_directory(&above)?.id;
        if above_id == id {
            return Ok(false);
        }
        dir = Arc::new(above);
        id = above_id;
    }
    Err(Errno::NameTooLong)
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.options.descriptors.forget(self.owner());
    }
}

impl Shared {
    fn owner(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Keeps a directory open for a while.
    fn keep(&self, dir: &Arc<Dir>) {
        self.options.descriptors.keep(self.owner(), dir);
    }

    /// Whether a directory may be entered at all.
    fn check_enter(&self, stat: &HostStat) -> SysResult<()> {
        let HostId { dev, ino } = stat.id;
        let other = dev != self.root_dev && !self.options.cross_devices;
        if other || self.options.protected.contains(&(dev, ino)) {
            return Err(Errno::Access);
        }
        Ok(())
    }

    /// The inode number that a guest sees: the host's on the root's device, made distinct on others.
    fn ino(&self, id: HostId) -> u64 {
        if id.dev == self.root_dev {
            return id.ino;
        }
        let mut devices = self.devices.lock();
        let index = devices
            .iter()
            .position(|&dev| dev == id.dev)
            .unwrap_or_else(|| {
                devices.push(id.dev);
                devices.len() - 1
            });
        id.ino ^ ((index as u64 + 1) << 48)
    }

    fn quota(&self) -> &Quota {
        &self.options.quota
    }
}

impl FileSystem for HostDir {
    fn root(&self) -> Arc<dyn Inode> {
        Arc::clone(&self.root) as Arc<dyn Inode>
    }

    fn statfs(&self) -> SysResult<StatFs> {
        let host = os::statfs(&*self.root.dir()?)?;
        let quota = MemoryFs::statfs_of(self.shared.quota());
        let scaled = |blocks: u64| blocks.saturating_mul(quota.block_size) / host.block_size;
        Ok(StatFs {
            block_size: host.block_size,
            blocks: host.blocks.min(scaled(quota.blocks)),
            blocks_free: host.blocks_free.min(scaled(quota.blocks_free)),
            files: host.files.min(quota.files),
            files_free: host.files_free.min(quota.files_free),
            read_only: self.shared.options.read_only,
            fs_id: 0,
        })
    }

    fn kind(&self) -> &'static str {
        "hostdir"
    }

    fn is_read_only(&self) -> bool {
        self.shared.options.read_only
    }

    fn quota(&self) -> &Arc<Quota> {
        &self.shared.options.quota
    }

    fn sync(&self) -> SysResult<()> {
        os::sync_all(&*self.root.dir()?)
    }
}
