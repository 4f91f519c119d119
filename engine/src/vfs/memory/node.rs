//! An inode in memory: what it holds, and how it is made and ends.

mod operations;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{RwLock, RwLockWriteGuard};

use super::super::{AccessMode, DirEntry, FileStat, FileType, Inode, Name, Timestamp};
use super::Shared;
use super::content::Content;
use super::directory::{Directory, Lower};
use crate::errno::{Errno, SysResult};
use crate::host::realtime_ns as now;

/// Bytes that `stat` tells of a directory.
const DIRECTORY_SIZE: u64 = 4096;
/// Time after which a read updates the access time in any case. Source: `mount(8)`, relatime.
const ATIME_MAX_AGE: Timestamp = 24 * 3600 * 1_000_000_000;

/// An inode: what `stat` tells, and its contents.
#[derive(Debug)]
pub(super) struct Node {
    this: Weak<Self>,
    shared: Arc<Shared>,
    ino: u64,
    mode: AtomicU32,
    nlink: AtomicU64,
    atime: AtomicI64,
    mtime: AtomicI64,
    ctime: AtomicI64,
    /// Inodes charged to the quota for it: 0 for what came from a lower file system.
    charged_files: u64,
    below: Option<Below>,
    kind: Kind,
}

/// What an inode holds.
#[derive(Debug)]
pub(super) enum Kind {
    File(RwLock<Content>),
    Directory(RwLock<Directory>),
    Symlink(Box<[u8]>),
    Fifo,
    /// Something of a lower file system that is passed on as it is: a device.
    Lower(FileType),
}

/// The inode of a lower file system that this one began as.
#[derive(Debug)]
struct Below {
    inode: Arc<dyn Inode>,
    /// Where it was found, unless it is a directory: those are entries already.
    found: Option<(Weak<Node>, Box<[u8]>)>,
    /// Whether it is an entry of its directory, or has nothing to do with it any more.
    pinned: AtomicBool,
    /// Whether the contents are still the lower ones.
    unchanged: AtomicBool,
}

impl Node {
    pub(super) fn new_root(shared: &Arc<Shared>, mode: u32) -> Arc<Self> {
        Arc::new_cyclic(|this| {
            let directory = Directory::new(Weak::new(), None);
            Self::build(
                this.clone(),
                shared,
                1,
                mode,
                Kind::Directory(RwLock::new(directory)),
                [now(); 3],
            )
        })
    }

    /// The root of a file system that begins as another one's.
    pub(super) fn over_root(shared: &Arc<Shared>, lower: Arc<dyn Inode>) -> SysResult<Arc<Self>> {
        let stat = lower.stat()?;
        Self::over_stat(shared, Weak::new(), None, lower, &stat)
    }

    /// The inode of a lower inode that was found as `name` in `owner`.
    pub(super) fn over(owner: &Self, name: &[u8], below: Arc<dyn Inode>) -> SysResult<Arc<Self>> {
        let stat = below.stat()?;
        Self::over_stat(&owner.shared, owner.this.clone(), Some(name), below, &stat)
    }

    fn over_stat(
        shared: &Arc<Shared>,
        parent: Weak<Self>,
        name: Option<&[u8]>,
        inode: Arc<dyn Inode>,
        stat: &FileStat,
    ) -> SysResult<Arc<Self>> {
        let mut found = name.map(|name| (parent.clone(), name.into()));
        let kind = match stat.file_type {
            FileType::Directory => {
                found = None;
                let lower = Lower::new(Arc::clone(&inode));
                Kind::Directory(RwLock::new(Directory::new(parent, Some(lower))))
            }
            FileType::Regular => {
                let content = Content::over(inode.open(AccessMode::Read)?, stat.size);
                Kind::File(RwLock::new(content))
            }
            FileType::Symlink => Kind::Symlink(inode.read_link()?.into()),
            other => Kind::Lower(other),
        };
        Ok(Arc::new_cyclic(|this| {
            let times = [stat.atime, stat.mtime, stat.ctime];
            let mut node = Self::build(this.clone(), shared, stat.ino, stat.mode, kind, times);
            node.below = Some(Below {
                inode,
                pinned: AtomicBool::new(found.is_none()),
                found,
                unchanged: AtomicBool::new(true),
            });
            node.nlink = AtomicU64::new(stat.nlink);
            node
        }))
    }

    fn build(
        this: Weak<Self>,
        shared: &Arc<Shared>,
        ino: u64,
        mode: u32,
        kind: Kind,
        [atime, mtime, ctime]: [Timestamp; 3],
    ) -> Self {
        let nlink = if matches!(kind, Kind::Directory(_)) {
            2
        } else {
            1
        };
        Self {
            this,
            shared: Arc::clone(shared),
            ino,
            mode: AtomicU32::new(mode & 0o7777),
            nlink: AtomicU64::new(nlink),
            atime: AtomicI64::new(atime),
            mtime: AtomicI64::new(mtime),
            ctime: AtomicI64::new(ctime),
            charged_files: 0,
            below: None,
            kind,
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn weak(&self) -> Weak<Self> {
        self.this.clone()
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }

    pub(super) fn directory(&self) -> SysResult<&RwLock<Directory>> {
        match &self.kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Errno::NotDirectory),
        }
    }

    fn content(&self) -> SysResult<&RwLock<Content>> {
        match &self.kind {
            Kind::File(content) => Ok(content),
            Kind::Directory(_) => Err(Errno::IsDirectory),
            _ => Err(Errno::Invalid),
        }
    }

    /// This inode as a listing tells it.
    pub(super) fn entry(&self, name: &[u8]) -> DirEntry {
        DirEntry {
            name: name.into(),
            ino: self.ino,
            file_type: self.kind_type(),
        }
    }

    fn kind_type(&self) -> FileType {
        match &self.kind {
            Kind::File(_) => FileType::Regular,
            Kind::Directory(_) => FileType::Directory,
            Kind::Symlink(_) => FileType::Symlink,
            Kind::Fifo => FileType::Fifo,
            Kind::Lower(file_type) => *file_type,
        }
    }

    /// Stamps a change of the contents.
    pub(super) fn touch(&self) {
        let now = now();
        self.mtime.store(now, Ordering::Relaxed);
        self.ctime.store(now, Ordering::Relaxed);
    }

    /// Stamps a change of the inode.
    pub(super) fn touch_inode(&self) {
        self.ctime.store(now(), Ordering::Relaxed);
    }

    /// Stamps a read, as `relatime` does: when the time is older than the last change, or a day old.
    fn touch_read(&self) {
        let atime = self.atime.load(Ordering::Relaxed);
        let changed = self
            .mtime
            .load(Ordering::Relaxed)
            .max(self.ctime.load(Ordering::Relaxed));
        if atime <= changed {
            self.atime
                .store(now().max(changed.saturating_add(1)), Ordering::Relaxed);
        } else {
            let now = now();
            if now.saturating_sub(atime) > ATIME_MAX_AGE {
                self.atime.store(now, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn add_link(&self) {
        self.nlink.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_link(&self) {
        self.nlink
            .update(Ordering::Relaxed, Ordering::Relaxed, |nlink| {
                nlink.saturating_sub(1)
            });
    }

    /// Books that a name of it is gone. Each further name of a file was charged as an inode: names take memory as well.
    pub(super) fn unlinked(&self) {
        if self.is_directory() {
            self.nlink.store(0, Ordering::Relaxed);
        } else {
            self.drop_link();
            if self.nlink.load(Ordering::Relaxed) > 0 {
                self.shared.quota.release(0, 1);
            }
        }
        self.touch_inode();
    }

    /// Makes what came from below an entry of its directory, before it is changed.
    pub(super) fn pin(&self) {
        let Some(below) = &self.below else { return };
        if below.pinned.load(Ordering::Acquire) {
            return;
        }
        if let Some((parent, name)) = &below.found
            && let (Some(parent), Some(this)) = (parent.upgrade(), self.this.upgrade())
            && let Ok(directory) = parent.directory()
        {
            directory.write().pin(name, &this);
        }
        below.pinned.store(true, Ordering::Release);
    }

    /// Readies the contents for a change.
    fn change(&self) -> SysResult<RwLockWriteGuard<'_, Content>> {
        let content = self.content()?;
        if let Some(below) = &self.below {
            self.pin();
            below.unchanged.store(false, Ordering::Release);
        }
        Ok(content.write())
    }

    fn find(&self, name: Name<'_>) -> SysResult<Option<Arc<Self>>> {
        let directory = self.directory()?;
        {
            let directory = directory.read();
            if let Some(node) = directory.present(name.as_bytes()) {
                return Ok(Some(node));
            }
            if !directory.may_have_below(name.as_bytes()) {
                return Ok(None);
            }
        }
        directory.write().find(self, name.as_bytes())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let bytes = match &mut self.kind {
            Kind::File(content) => content.get_mut().charged(),
            Kind::Symlink(target) if self.below.is_none() => target.len() as u64,
            Kind::Directory(directory) => {
                // In a loop, because the depth of the tree is the guest's choice and the stack is the host's.
                let mut nodes: Vec<Arc<Self>> = directory.get_mut().take_nodes().collect();
                while let Some(node) = nodes.pop() {
                    if let Some(mut node) = Arc::into_inner(node)
                        && let Kind::Directory(directory) = &mut node.kind
                    {
                        nodes.extend(directory.get_mut().take_nodes());
                    }
                }
                0
            }
            _ => 0,
        };
        self.shared.quota.release(bytes, self.charged_files);
    }
}
