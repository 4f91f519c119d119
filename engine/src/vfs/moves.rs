//! Where directories went that were renamed while somebody stood in them.
//!
//! A [`Place`] keeps the chain of parents it was reached through, so that no back end is ever asked for `..`. A rename makes
//! such a chain old; this table says what is true now, so that `..` and `getcwd` answer as on Linux. A confined walk
//! (`Confine::Dirfd`) never looks here: its wall is the chain it walked itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::path::Name;
use super::resolve::{Parent, Place};
use super::{Inode, Mount};

/// Moves that are remembered; when there are more all are forgotten, and a directory that was moved before is again where
/// its holder found it.
const MOVES_MAX: usize = 1024;

/// Directories by device and inode number, with their present parent and name.
#[derive(Debug, Default)]
pub(super) struct Moves {
    any: AtomicBool,
    table: Mutex<HashMap<(u64, u64), Arc<Parent>>>,
}

impl Moves {
    /// Notes that a directory is now `name` in `parent`.
    pub(super) fn moved(&self, mount: &Mount, inode: &dyn Inode, parent: &Place, name: Name<'_>) {
        let Ok(ino) = inode.ino() else { return };
        let mut table = self.table.lock();
        if table.len() >= MOVES_MAX {
            table.clear();
        }
        table.insert(
            (mount.dev(), ino),
            Parent::new(parent.clone(), name.as_bytes()),
        );
        self.any.store(true, Ordering::Release);
    }

    /// Forgets a directory that was removed: its number may be used again.
    pub(super) fn removed(&self, mount: &Mount, inode: &dyn Inode) {
        if self.any.load(Ordering::Acquire)
            && let Ok(ino) = inode.ino()
        {
            let entry = self.table.lock().remove(&(mount.dev(), ino));
            drop(entry);
        }
    }

    /// The present parent of a directory, when it was moved and is still there.
    pub(super) fn parent_of(&self, place: &Place) -> Option<Arc<Parent>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let ino = place.inode.ino().ok()?;
        let parent = self.table.lock().get(&(place.mount.dev(), ino)).cloned()?;
        let name = Name::new(parent.name()).ok()?;
        let there = parent.place().inode.lookup(name).ok()?;
        (there.ino().ok()? == ino).then_some(parent)
    }
}
