//! An inode in memory.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{RwLock, RwLockWriteGuard};

use super::super::clock::now;
use super::super::{
    AccessMode, DirEntry, FileStat, FileType, Inode, MagicLink, Name, NewInode, OpenFile,
    RenameFlags, SetAttributes, SyncScope, Timestamp, Writable,
};
use super::content::Content;
use super::directory::{Directory, Lower};
use super::{Shared, rename};
use crate::errno::{Errno, SysResult};

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

impl Inode for Node {
    fn stat(&self) -> SysResult<FileStat> {
        let (size, stored) = match &self.kind {
            Kind::File(content) => {
                let content = content.read();
                (content.len(), content.stored())
            }
            Kind::Directory(_) => (DIRECTORY_SIZE, 0),
            Kind::Symlink(target) => (target.len() as u64, 0),
            Kind::Fifo => (0, 0),
            Kind::Lower(_) => match &self.below {
                Some(below) => return below.inode.stat(),
                None => (0, 0),
            },
        };
        Ok(FileStat {
            dev: 0,
            ino: self.ino,
            file_type: self.kind_type(),
            mode: self.mode.load(Ordering::Relaxed),
            nlink: self.nlink.load(Ordering::Relaxed),
            size,
            blocks: stored.div_ceil(512),
            rdev: 0,
            atime: self.atime.load(Ordering::Relaxed),
            mtime: self.mtime.load(Ordering::Relaxed),
            ctime: self.ctime.load(Ordering::Relaxed),
        })
    }

    fn ino(&self) -> SysResult<u64> {
        Ok(self.ino)
    }

    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.kind_type())
    }

    fn permission_bits(&self) -> SysResult<u32> {
        Ok(self.mode.load(Ordering::Relaxed))
    }

    fn set_attributes(&self, _: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        self.pin();
        if let Some(mode) = change.mode {
            self.mode.store(mode & 0o7777, Ordering::Relaxed);
        }
        if let Some(atime) = change.atime {
            self.atime.store(atime, Ordering::Relaxed);
        }
        if let Some(mtime) = change.mtime {
            self.mtime.store(mtime, Ordering::Relaxed);
        }
        self.touch_inode();
        Ok(())
    }

    fn open(&self, access: AccessMode) -> SysResult<Arc<dyn OpenFile>> {
        match &self.kind {
            Kind::File(_) => Ok(self.this.upgrade().ok_or(Errno::Stale)?),
            Kind::Directory(_) => Err(Errno::IsDirectory),
            Kind::Lower(_) => match &self.below {
                Some(below) => below.inode.open(access),
                None => Err(Errno::NoDeviceOrAddress),
            },
            Kind::Symlink(_) | Kind::Fifo => Err(Errno::NoDeviceOrAddress),
        }
    }

    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        match self.find(name)? {
            Some(node) => Ok(node),
            None => Err(Errno::NotFound),
        }
    }

    fn create(
        &self,
        _: &Writable<'_>,
        name: Name<'_>,
        new: NewInode<'_>,
    ) -> SysResult<Arc<dyn Inode>> {
        let directory = self.directory()?;
        let (mode, kind, bytes) = match new {
            NewInode::File(mode) => (mode, Kind::File(RwLock::new(Content::empty())), 0),
            NewInode::Directory(mode) => {
                let inner = Directory::new(self.this.clone(), None);
                (mode, Kind::Directory(RwLock::new(inner)), 0)
            }
            NewInode::Symlink(target) => (0o777, Kind::Symlink(target.into()), target.len() as u64),
            NewInode::Fifo(mode) => (mode, Kind::Fifo, 0),
        };
        let is_directory = matches!(kind, Kind::Directory(_));
        let mut directory = directory.write();
        if directory.is_removed() {
            return Err(Errno::NotFound);
        }
        if directory.find(self, name.as_bytes())?.is_some() {
            return Err(Errno::Exists);
        }
        self.shared.quota.reserve(bytes, 1)?.keep();
        let node = Arc::new_cyclic(|this| {
            let ino = self.shared.new_ino();
            let mut node = Self::build(this.clone(), &self.shared, ino, mode, kind, [now(); 3]);
            node.charged_files = 1;
            node
        });
        directory.insert(name.as_bytes(), Arc::clone(&node));
        if is_directory {
            self.add_link();
        }
        self.touch();
        Ok(node)
    }

    fn link(&self, _: &Writable<'_>, name: Name<'_>, target: &Arc<dyn Inode>) -> SysResult<()> {
        let target = target
            .as_any()
            .downcast_ref::<Self>()
            .ok_or(Errno::CrossDevice)?;
        let target = target.this.upgrade().ok_or(Errno::Stale)?;
        if !Arc::ptr_eq(&self.shared, &target.shared) {
            return Err(Errno::CrossDevice);
        }
        if target.is_directory() {
            return Err(Errno::NotPermitted);
        }
        target.pin();
        let mut directory = self.directory()?.write();
        if directory.is_removed() {
            return Err(Errno::NotFound);
        }
        if directory.find(self, name.as_bytes())?.is_some() {
            return Err(Errno::Exists);
        }
        let charge = self.shared.quota.reserve(0, 1)?;
        // An inode without a name gets none again: somebody may have counted on its end.
        let linked = target
            .nlink
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |nlink| {
                (nlink > 0).then(|| nlink.saturating_add(1))
            });
        if linked.is_err() {
            return Err(Errno::NotFound);
        }
        charge.keep();
        target.touch_inode();
        directory.insert(name.as_bytes(), target);
        self.touch();
        Ok(())
    }

    fn unlink(&self, _: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let mut directory = self.directory()?.write();
        let node = directory
            .find(self, name.as_bytes())?
            .ok_or(Errno::NotFound)?;
        if node.is_directory() {
            return Err(Errno::IsDirectory);
        }
        directory.remove(name.as_bytes());
        drop(directory);
        node.unlinked();
        self.touch();
        Ok(())
    }

    fn remove_directory(&self, _: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let directory = self.directory()?;
        let _structure = self.shared.structure.lock();
        let mut directory = directory.write();
        let node = directory
            .find(self, name.as_bytes())?
            .ok_or(Errno::NotFound)?;
        let mut inner = node.directory()?.write();
        if !inner.is_empty()? {
            return Err(Errno::NotEmpty);
        }
        inner.set_removed();
        drop(inner);
        directory.remove(name.as_bytes());
        drop(directory);
        node.unlinked();
        self.drop_link();
        self.touch();
        Ok(())
    }

    fn rename(
        &self,
        _: &Writable<'_>,
        from: Name<'_>,
        to_directory: &Arc<dyn Inode>,
        to: Name<'_>,
        flags: RenameFlags,
    ) -> SysResult<()> {
        let to_directory = to_directory
            .as_any()
            .downcast_ref::<Self>()
            .ok_or(Errno::CrossDevice)?;
        if !Arc::ptr_eq(&self.shared, &to_directory.shared) {
            return Err(Errno::CrossDevice);
        }
        rename::rename(self, from, to_directory, to, flags)
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        match &self.kind {
            Kind::Symlink(target) => Ok(target.to_vec()),
            _ => Err(Errno::Invalid),
        }
    }

    fn magic(&self) -> Option<MagicLink> {
        self.below.as_ref()?.inode.magic()
    }

    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let directory = self.directory()?.read();
        let listed = directory.list(cookie, max)?;
        drop(directory);
        if cookie == 0 {
            self.touch_read();
        }
        Ok(listed)
    }

    fn content_digest(&self) -> Option<[u8; 32]> {
        let below = self.below.as_ref()?;
        let digest = below.inode.content_digest()?;
        below.unchanged.load(Ordering::Acquire).then_some(digest)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl OpenFile for Node {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        let count = self.content()?.read().read(buffer, offset)?;
        self.touch_read();
        Ok(count)
    }

    fn write_at(&self, _: &Writable<'_>, buffer: &[u8], offset: u64) -> SysResult<usize> {
        let written = self.change()?.write(&self.shared.quota, buffer, offset)?;
        if written > 0 {
            self.touch();
        }
        Ok(written)
    }

    fn append(&self, _: &Writable<'_>, buffer: &[u8]) -> SysResult<(usize, u64)> {
        let mut content = self.change()?;
        let end = content.len();
        let written = content.write(&self.shared.quota, buffer, end)?;
        drop(content);
        if written > 0 {
            self.touch();
        }
        Ok((written, end + written as u64))
    }

    fn set_len(&self, _: &Writable<'_>, len: u64) -> SysResult<()> {
        self.change()?.set_len(&self.shared.quota, len)?;
        self.touch();
        Ok(())
    }

    fn allocate(&self, _: &Writable<'_>, offset: u64, len: u64) -> SysResult<()> {
        self.change()?.allocate(&self.shared.quota, offset, len)?;
        self.touch();
        Ok(())
    }

    fn sync(&self, _: SyncScope) -> SysResult<()> {
        Ok(())
    }

    fn stat(&self) -> SysResult<FileStat> {
        Inode::stat(self)
    }

    fn set_attributes(&self, writable: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        Inode::set_attributes(self, writable, change)
    }
}
