//! What an inode in memory answers to the namespace and to who has it open.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;

use super::super::super::{
    AccessMode, DirEntry, FileStat, FileType, Inode, MagicLink, Name, NewInode, OpenFile,
    RenameFlags, SetAttributes, SyncScope, Writable,
};
use super::super::content::Content;
use super::super::directory::Directory;
use super::super::rename;
use super::{DIRECTORY_SIZE, Kind, Node};
use crate::errno::{Errno, SysResult};
use crate::host::realtime_ns as now;

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
