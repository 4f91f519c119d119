//! Files in memory.
//!
//! Owns: the tree that `/tmp` is, and that an overlay writes to ([`super::OverlayFs`] is this tree with a directory of another
//! back end below its root: see [`directory::Lower`]).
//!
//! Invariants
//! - Every byte and inode is charged before it is allocated ([`Quota`]); dropping an inode gives its charge back.
//! - Whoever holds two directory locks at a time holds `structure` too, so that no order between directories is needed. A file's
//!   lock is taken last, and nothing is taken below it.
//! - A tree is dropped in a loop: its depth is the guest's choice.

mod content;
mod directory;
mod node;
mod rename;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use self::node::Node;
use super::{FileSystem, Inode, Quota, StatFs};
use crate::errno::SysResult;

/// The unit that `statfs` counts in, in bytes.
const BLOCK: u64 = 4096;

/// A file system in memory.
#[derive(Debug)]
pub struct MemoryFs {
    shared: Arc<Shared>,
    root: Arc<Node>,
    kind: &'static str,
}

/// What the inodes of one file system share.
#[derive(Debug)]
struct Shared {
    quota: Arc<Quota>,
    next_ino: AtomicU64,
    /// Held by whoever changes the shape of the tree: rename, and the removal of a directory.
    structure: Mutex<()>,
}

impl Shared {
    fn new_ino(&self) -> u64 {
        self.next_ino.fetch_add(1, Ordering::Relaxed)
    }
}

impl MemoryFs {
    /// An empty one whose root directory has the permission bits `mode`. Everything in it is charged to `quota`.
    pub fn new(quota: Arc<Quota>, mode: u32) -> Arc<Self> {
        let shared = Arc::new(Shared {
            quota,
            next_ino: AtomicU64::new(2),
            structure: Mutex::new(()),
        });
        let root = Node::new_root(&shared, mode);
        Arc::new(Self {
            shared,
            root,
            kind: "tmpfs",
        })
    }

    /// One that begins with the contents of `lower`, which it never changes. New inodes are numbered from `first_ino`.
    pub(super) fn over(
        lower: Arc<dyn Inode>,
        quota: Arc<Quota>,
        first_ino: u64,
        kind: &'static str,
    ) -> SysResult<Self> {
        let shared = Arc::new(Shared {
            quota,
            next_ino: AtomicU64::new(first_ino),
            structure: Mutex::new(()),
        });
        let root = Node::over_root(&shared, lower)?;
        Ok(Self { shared, root, kind })
    }

    pub(super) fn statfs_of(quota: &Quota) -> StatFs {
        // A limit of none is shown as a large disk, not as one whose size overflows a program's arithmetic.
        let in_blocks = |bytes: u64| bytes.min(1 << 50) / BLOCK;
        StatFs {
            block_size: BLOCK,
            blocks: in_blocks(quota.bytes_limit()),
            blocks_free: in_blocks(quota.bytes_free()),
            files: quota.files_limit().min(1 << 40),
            files_free: quota.files_free().min(1 << 40),
            read_only: false,
            fs_id: 0,
        }
    }
}

impl FileSystem for MemoryFs {
    fn root(&self) -> Arc<dyn Inode> {
        Arc::clone(&self.root) as Arc<dyn Inode>
    }

    fn statfs(&self) -> SysResult<StatFs> {
        Ok(Self::statfs_of(&self.shared.quota))
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn quota(&self) -> &Arc<Quota> {
        &self.shared.quota
    }
}
