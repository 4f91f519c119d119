//! The mount table.

use std::sync::Arc;

use super::interned::IdentityMap;
use super::place::Here;
use super::{FileSystem, Inode, Place};
use crate::errno::SysResult;

bitflags::bitflags! {
    /// How a file system is mounted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MountFlags: u32 {
        /// Nothing can be changed through it.
        const READ_ONLY = 1;
        /// No file of it runs as a program.
        const NO_EXEC = 1 << 1;
    }
}

/// A mounted file system.
#[derive(Debug)]
pub struct Mount {
    fs: Arc<dyn FileSystem>,
    root: Arc<dyn Inode>,
    flags: MountFlags,
    dev: u64,
}

impl Mount {
    pub(super) fn new(fs: Arc<dyn FileSystem>, mut flags: MountFlags, dev: u64) -> Arc<Self> {
        let root = fs.root();
        // A file system that takes no changes says so itself; the error is then the same as for any read-only mount.
        flags.set(
            MountFlags::READ_ONLY,
            flags.contains(MountFlags::READ_ONLY) || fs.is_read_only(),
        );
        Arc::new(Self {
            fs,
            root,
            flags,
            dev,
        })
    }

    /// The file system.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// How it is mounted.
    pub fn flags(&self) -> MountFlags {
        self.flags
    }

    /// Its virtual device number.
    pub fn dev(&self) -> u64 {
        self.dev
    }

    pub(super) fn root(&self) -> &Arc<dyn Inode> {
        &self.root
    }
}

/// What is mounted where. Never changed: a new mount makes a new table, so that a resolution sees one state throughout.
#[derive(Clone, Debug, Default)]
pub(super) struct MountTable {
    /// By the directory that is covered: device and inode number.
    covered: IdentityMap<(u64, u64), Arc<Mount>>,
    /// In the order of mounting, the root first; the place is the covered directory's.
    all: Vec<(Place, Arc<Mount>)>,
}

impl MountTable {
    /// A table of one mount, which is `/`.
    pub(super) fn of_root(root: &Place) -> Self {
        Self {
            covered: IdentityMap::default(),
            all: vec![(root.clone(), Arc::clone(&root.mount))],
        }
    }

    /// Puts `mount` on the directory `at`.
    pub(super) fn with(&self, at: Place, mount: &Arc<Mount>) -> SysResult<Self> {
        let mut table = self.clone();
        table
            .covered
            .insert((at.mount.dev(), at.inode.ino()?), Arc::clone(mount));
        table.all.push((at, Arc::clone(mount)));
        Ok(table)
    }

    /// All of them with the directories they cover.
    pub(super) fn all(&self) -> &[(Place, Arc<Mount>)] {
        &self.all
    }

    /// Whether something is mounted on this directory.
    pub(super) fn covers(&self, mount: &Mount, inode: &dyn Inode) -> SysResult<bool> {
        Ok(!self.covered.is_empty() && self.covered.contains_key(&(mount.dev(), inode.ino()?)))
    }

    /// The topmost root that covers a directory, or the directory itself.
    pub(super) fn enter(&self, mut here: Here) -> SysResult<Here> {
        if self.covered.is_empty() {
            return Ok(here);
        }
        while let Some(mount) = self.covered.get(&(here.mount.dev(), here.inode.ino()?)) {
            here.inode = Arc::clone(mount.root());
            here.mount = Arc::clone(mount);
        }
        Ok(here)
    }
}
