//! How many of the host's descriptors host directories may hold.
//!
//! Owns: the count of open files, and the directories that are kept open because they were used lately. One budget serves all host
//! directories of an engine: a thousand idle sandboxes hold no descriptor each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap_std::fs::Dir;
use parking_lot::Mutex;

use crate::errno::{Errno, SysResult};

/// Directories that are kept open at most.
const KEPT_MAX: usize = 256;

/// A host directory, by the address of what its inodes share.
pub(super) type Owner = usize;

/// A budget of host descriptors.
#[derive(Debug)]
pub struct HostDescriptors {
    files: AtomicUsize,
    files_max: usize,
    /// Oldest first, with whose they are. A directory that falls out is closed when its last user is done.
    kept: Mutex<VecDeque<(Owner, Arc<Dir>)>>,
    kept_max: usize,
}

impl HostDescriptors {
    /// A budget of `max` descriptors, at least 16: a quarter (at most 256) for directories, the rest for open files.
    pub fn new(max: usize) -> Arc<Self> {
        let max = max.max(16);
        let kept_max = (max / 4).min(KEPT_MAX);
        Arc::new(Self {
            files: AtomicUsize::new(0),
            files_max: max - kept_max,
            kept: Mutex::new(VecDeque::new()),
            kept_max,
        })
    }

    /// Files that are open.
    pub fn files_open(&self) -> usize {
        self.files.load(Ordering::Relaxed)
    }

    /// Files that may be open.
    pub fn files_max(&self) -> usize {
        self.files_max
    }

    /// Takes the right to hold one more file open.
    ///
    /// # Errors
    /// `SystemFiles`.
    pub(super) fn file(self: &Arc<Self>) -> SysResult<FilePermit> {
        let taken = self
            .files
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
                (open < self.files_max).then_some(open + 1)
            });
        match taken {
            Ok(_) => Ok(FilePermit(Arc::clone(self))),
            Err(_) => Err(Errno::SystemFiles),
        }
    }

    /// Keeps a directory open for a while.
    pub(super) fn keep(&self, owner: Owner, dir: &Arc<Dir>) {
        let mut kept = self.kept.lock();
        let oldest = if kept.len() >= self.kept_max {
            kept.pop_front()
        } else {
            None
        };
        kept.push_back((owner, Arc::clone(dir)));
        drop(kept);
        // Closing is a host call: not under the lock.
        drop(oldest);
    }

    /// Closes the directories of one that is gone.
    pub(super) fn forget(&self, owner: Owner) {
        let mut kept = self.kept.lock();
        let (gone, staying) = kept
            .drain(..)
            .partition::<Vec<_>, _>(|(own, _)| *own == owner);
        kept.extend(staying);
        drop(kept);
        drop(gone);
    }

    /// Directories that are kept open.
    pub fn directories_open(&self) -> usize {
        self.kept.lock().len()
    }

    /// Closes all directories that nobody is using.
    pub fn close_idle(&self) {
        let kept = std::mem::take(&mut *self.kept.lock());
        drop(kept);
    }
}

/// The right to hold one file open.
#[derive(Debug)]
pub(super) struct FilePermit(Arc<HostDescriptors>);

impl Drop for FilePermit {
    fn drop(&mut self) {
        self.0.files.fetch_sub(1, Ordering::Relaxed);
    }
}
