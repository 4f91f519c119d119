//! An inode of a host directory.
//!
//! SECURITY[SB-FS-004]: a named pipe or a device in a mounted directory would hold a thread or reach a driver; only regular files
//! are opened.

use std::any::Any;
use std::sync::{Arc, Weak};

use cap_std::fs::{Dir, File};
use parking_lot::Mutex;

use super::super::interned::Interned;
use super::super::{
    AccessMode, DirEntry, FileStat, FileType, Inode, Name, NewInode, OpenFile, RenameFlags,
    SetAttributes, Timestamp, Writable,
};
use super::Shared;
use super::file::{Account, HostFile};
use super::listing::{self, Listing};
use super::os::{self, HostId, HostStat};
use crate::errno::{Errno, SysResult};
use crate::host::realtime_ns as now;

/// Bytes that a new directory or link is charged, as most file systems take them.
const DIRECTORY_BYTES: u64 = 4096;

/// Nanoseconds for which a directory's permission bits are good for walking through it: what the lookup of a path's component
/// saw need not be asked again for the next one. The host checks its own permission at every step in any case.
const BITS_MAX_AGE: Timestamp = 1_000_000;

/// An inode, found by its name in a directory. It holds no descriptor of its own.
#[derive(Debug)]
pub(super) struct HostInode {
    this: Weak<Self>,
    shared: Arc<Shared>,
    id: HostId,
    file_type: FileType,
    /// Directory and name; `None` is the root. A directory's changes when it is renamed.
    location: Mutex<Option<Location>>,
    /// Of a directory: its descriptor while it is open.
    handle: Mutex<Weak<Dir>>,
    /// Of a directory that was removed while somebody held it: nothing else leads to it any more, and while it is open the host
    /// does not give its number to another one.
    orphan: Mutex<Option<Arc<Dir>>>,
    /// What the lookup that made this inode saw: the first question is about that moment. Not of directories, which many share.
    fresh: Mutex<Option<FileStat>>,
    /// Of a directory: its entries, while somebody lists them.
    listing: Mutex<Option<Arc<Listing>>>,
    /// Of a directory: its permission bits and when they were seen.
    bits: Mutex<Option<(u32, Timestamp)>>,
    /// The descriptor that a new file was made with, until it is opened.
    made: Mutex<Option<File>>,
}

/// A directory, and a name in it.
type Location = (Arc<HostInode>, Box<[u8]>);

impl Drop for HostInode {
    /// Lets go of the directories above in a loop: how many there are is the guest's choice.
    fn drop(&mut self) {
        let mut next = self.location.get_mut().take().map(|(parent, _)| parent);
        while let Some(mut parent) = next.and_then(Arc::into_inner) {
            next = parent.location.get_mut().take().map(|(parent, _)| parent);
        }
    }
}

impl HostInode {
    pub(super) fn root(shared: &Arc<Shared>, stat: &HostStat, dir: &Arc<Dir>) -> Arc<Self> {
        let root = Self::build(shared, stat, None);
        *root.handle.lock() = Arc::downgrade(dir);
        let interned = Arc::clone(&root);
        shared
            .directories
            .lock()
            .get_or_insert(stat.id, || interned)
    }

    fn build(shared: &Arc<Shared>, stat: &HostStat, location: Option<Location>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            shared: Arc::clone(shared),
            id: stat.id,
            file_type: stat.stat.file_type,
            location: Mutex::new(location),
            handle: Mutex::default(),
            orphan: Mutex::default(),
            fresh: Mutex::default(),
            listing: Mutex::default(),
            bits: Mutex::default(),
            made: Mutex::default(),
        })
    }

    /// The inode that was found as `name` here.
    fn child(&self, name: Name<'_>, stat: &HostStat) -> SysResult<Arc<Self>> {
        let this = self.this.upgrade().ok_or(Errno::Stale)?;
        let location = (this, Box::from(name.as_bytes()));
        if stat.stat.file_type != FileType::Directory {
            let inode = Self::build(&self.shared, stat, Some(location));
            *inode.fresh.lock() = Some(inode.guest_stat(stat));
            return Ok(inode);
        }
        self.shared.check_enter(stat)?;
        let known = self.shared.directories.lock().get(stat.id);
        let inode = if let Some(inode) = known {
            inode.relocate(location);
            inode
        } else {
            let made = Self::build(&self.shared, stat, Some(location));
            let interned = Arc::clone(&made);
            let mut directories = self.shared.directories.lock();
            let inode = directories.get_or_insert(stat.id, || interned);
            drop(directories);
            inode
        };
        *inode.bits.lock() = Some((stat.stat.mode, now()));
        if stat.id.dev != self.shared.root_dev && os::shows_kernel(&*inode.dir()?)? {
            return Err(Errno::Access);
        }
        Ok(inode)
    }

    /// Notes where a directory is now.
    fn relocate(&self, location: Location) {
        let mut own = self.location.lock();
        let previous = match &*own {
            Some((parent, name)) if Arc::ptr_eq(parent, &location.0) && *name == location.1 => None,
            // The root has no name to change.
            None => None,
            Some(_) => own.replace(location),
        };
        drop(own);
        drop(previous);
    }

    fn guest_stat(&self, host: &HostStat) -> FileStat {
        FileStat {
            ino: self.shared.ino(host.id),
            ..host.stat
        }
    }

    /// The directory that it is in, and its name there.
    fn location(&self) -> SysResult<Location> {
        self.location.lock().clone().ok_or(Errno::Busy)
    }

    fn open_handle(&self) -> Option<Arc<Dir>> {
        self.handle.lock().upgrade()
    }

    fn keep_handle(&self, dir: Dir) -> Arc<Dir> {
        let dir = Arc::new(dir);
        *self.handle.lock() = Arc::downgrade(&dir);
        self.shared.keep(&dir);
        dir
    }

    /// This directory, open.
    pub(super) fn dir(&self) -> SysResult<Arc<Dir>> {
        /// How often the way is looked up again because a rename changed it while it was walked.
        const TRIES: usize = 8;
        if self.file_type != FileType::Directory {
            return Err(Errno::NotDirectory);
        }
        let mut result = Err(Errno::Stale);
        for _ in 0..TRIES {
            if let Some(dir) = self.open_handle() {
                return Ok(dir);
            }
            result = self.reopen();
            if !matches!(
                result,
                Err(Errno::Stale | Errno::NotFound | Errno::NotDirectory)
            ) {
                break;
            }
        }
        result
    }

    /// Opens this directory by its names, from the nearest one above that is still open.
    fn reopen(&self) -> SysResult<Arc<Dir>> {
        let mut way = Vec::new();
        let mut inode = self.this.upgrade().ok_or(Errno::Stale)?;
        let mut dir = loop {
            if let Some(dir) = inode.open_handle() {
                break dir;
            }
            let location = inode.location.lock().clone();
            match location {
                None => {
                    let dir = self.shared.root.open()?;
                    if os::stat_directory(&dir)?.id != inode.id {
                        return Err(Errno::Stale);
                    }
                    *inode.handle.lock() = Arc::downgrade(&dir);
                    self.shared.keep(&dir);
                    break dir;
                }
                Some((parent, name)) => {
                    way.push((inode, name));
                    inode = parent;
                }
            }
        };
        for (inode, name) in way.into_iter().rev() {
            let opened = os::open_directory(&dir, Name::new(&name)?)?;
            if os::stat_directory(&opened)?.id != inode.id {
                return Err(Errno::Stale);
            }
            dir = inode.keep_handle(opened);
        }
        Ok(dir)
    }

    /// Opens a directory that is about to be removed, if somebody holds it.
    fn before_removal(&self, removed: &HostStat) -> Option<(Arc<Self>, Arc<Dir>)> {
        if removed.stat.file_type != FileType::Directory {
            return None;
        }
        let inode = self.shared.directories.lock().get(removed.id)?;
        let dir = inode.dir().ok()?;
        Some((inode, dir))
    }

    fn read_stat(&self) -> SysResult<FileStat> {
        if self.file_type == FileType::Directory {
            return os::stat_directory(&*self.dir()?).map(|host| self.guest_stat(&host));
        }
        let (parent, name) = self.location()?;
        let host = os::stat(&*parent.dir()?, Name::new(&name)?)?;
        if host.id != self.id {
            return Err(Errno::NotFound);
        }
        Ok(self.guest_stat(&host))
    }

    /// Gives back what an inode was charged whose last name was just removed. The table of accounts is locked since before it was
    /// looked at: whoever opens it now sees that it has no name.
    fn release(&self, accounts: &Interned<HostId, Account>, removed: &HostStat) {
        if removed.stat.file_type == FileType::Directory {
            self.shared.quota().release(DIRECTORY_BYTES, 1);
        } else if removed.stat.nlink <= 1 {
            match accounts.get(removed.id) {
                // Its contents live until it is closed.
                Some(account) => account.abandon(),
                None => self.shared.quota().release(removed.stored(), 0),
            }
            self.shared.quota().release(0, 1);
        }
    }
}

impl Inode for HostInode {
    fn stat(&self) -> SysResult<FileStat> {
        let fresh = self.fresh.lock().take();
        fresh.map_or_else(|| self.read_stat(), Ok)
    }

    fn ino(&self) -> SysResult<u64> {
        Ok(self.shared.ino(self.id))
    }

    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.file_type)
    }

    fn permission_bits(&self) -> SysResult<u32> {
        let seen = *self.bits.lock();
        match seen {
            Some((bits, at)) if now().saturating_sub(at) < BITS_MAX_AGE => Ok(bits),
            _ => {
                let bits = self.stat()?.mode;
                *self.bits.lock() = Some((bits, now()));
                Ok(bits)
            }
        }
    }

    fn set_attributes(&self, _: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        *self.fresh.lock() = None;
        *self.bits.lock() = None;
        // The root has no name: it is opened as its own `.`, which a guest's name can never be.
        let Some((parent, name)) = self.location.lock().clone() else {
            let dir = self.dir()?;
            return os::set_directory_attributes(&dir, change);
        };
        let (dir, name) = (parent.dir()?, Name::new(&name)?);
        if let Some(mode) = change.mode {
            match self.file_type {
                FileType::Regular | FileType::Directory => os::set_mode(&dir, name, mode)?,
                _ => return Err(Errno::NotPermitted),
            }
        }
        os::set_times(&dir, name, change)
    }

    fn open(&self, access: AccessMode) -> SysResult<Arc<dyn OpenFile>> {
        match self.file_type {
            FileType::Regular => {}
            FileType::Directory => return Err(Errno::IsDirectory),
            _ => return Err(Errno::NoDeviceOrAddress),
        }
        *self.fresh.lock() = None;
        let permit = self.shared.options.descriptors.file()?;
        let made = self.made.lock().take();
        let file = if let Some(file) = made {
            file
        } else {
            let (parent, name) = self.location()?;
            os::open_file(&*parent.dir()?, Name::new(&name)?, access)?
        };
        let mut accounts = self.shared.accounts.lock();
        let host = os::stat_file(&file)?;
        if host.id != self.id || host.stat.file_type != FileType::Regular {
            // Another file took the name since it was looked up.
            return Err(Errno::Stale);
        }
        let account = accounts.get_or_insert(host.id, || Account::new(&self.shared, &host));
        drop(accounts);
        Ok(Arc::new(HostFile::new(file, account, permit)))
    }

    fn open_fifo(&self) -> SysResult<()> {
        Err(Errno::NoDeviceOrAddress)
    }

    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        let host = os::stat(&*self.dir()?, name)?;
        Ok(self.child(name, &host)?)
    }

    fn create(
        &self,
        _: &Writable<'_>,
        name: Name<'_>,
        new: NewInode<'_>,
    ) -> SysResult<Arc<dyn Inode>> {
        let dir = self.dir()?;
        let quota = self.shared.quota();
        match new {
            NewInode::File(mode) => {
                let charge = quota.reserve(0, 1)?;
                let file = os::create_file(&dir, name, mode)?;
                charge.keep();
                let inode = self.child(name, &os::stat_file(&file)?)?;
                *inode.made.lock() = Some(file);
                Ok(inode)
            }
            NewInode::Directory(mode) => {
                let charge = quota.reserve(DIRECTORY_BYTES, 1)?;
                let host = os::create_directory(&dir, name, mode)?;
                charge.keep();
                Ok(self.child(name, &host)?)
            }
            NewInode::Symlink(target) => {
                let charge = quota.reserve(0, 1)?;
                os::create_symlink(&dir, name, target)?;
                charge.keep();
                Ok(self.child(name, &os::stat(&dir, name)?)?)
            }
            // A pipe of the kernel's cannot be kept in a host directory, and a host's pipe is not for guests.
            NewInode::Fifo(_) => Err(Errno::NotPermitted),
        }
    }

    fn link(&self, _: &Writable<'_>, name: Name<'_>, target: &Arc<dyn Inode>) -> SysResult<()> {
        let target = target
            .as_any()
            .downcast_ref::<Self>()
            .ok_or(Errno::CrossDevice)?;
        if !Arc::ptr_eq(&self.shared, &target.shared) {
            return Err(Errno::CrossDevice);
        }
        if target.file_type == FileType::Directory {
            return Err(Errno::NotPermitted);
        }
        let (parent, old) = target.location()?;
        *target.fresh.lock() = None;
        os::link(&*parent.dir()?, Name::new(&old)?, &*self.dir()?, name)
    }

    fn unlink(&self, _: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let dir = self.dir()?;
        let accounts = self.shared.accounts.lock();
        let removed = os::stat(&dir, name)?;
        if removed.stat.file_type == FileType::Directory {
            return Err(Errno::IsDirectory);
        }
        os::unlink(&dir, name)?;
        self.release(&accounts, &removed);
        Ok(())
    }

    fn remove_directory(&self, _: &Writable<'_>, name: Name<'_>) -> SysResult<()> {
        let dir = self.dir()?;
        let removed = os::stat(&dir, name)?;
        if removed.stat.file_type == FileType::Directory {
            self.shared.check_enter(&removed)?;
        }
        let held = self.before_removal(&removed);
        os::remove_directory(&dir, name)?;
        orphaned(held);
        self.release(&self.shared.accounts.lock(), &removed);
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
        let target = to_directory
            .as_any()
            .downcast_ref::<Self>()
            .ok_or(Errno::CrossDevice)?;
        if !Arc::ptr_eq(&self.shared, &target.shared) {
            return Err(Errno::CrossDevice);
        }
        let (from_dir, to_dir) = (self.dir()?, target.dir()?);
        let accounts = self.shared.accounts.lock();
        let old = os::stat(&from_dir, from)?;
        let new = match os::stat(&to_dir, to) {
            Ok(new) => Some(new),
            Err(Errno::NotFound) => None,
            Err(error) => return Err(error),
        };
        for side in [Some(&old), new.as_ref()].into_iter().flatten() {
            if side.stat.file_type == FileType::Directory {
                self.shared.check_enter(side)?;
            }
        }
        let held = new.as_ref().and_then(|new| self.before_removal(new));
        os::rename(&from_dir, from, &to_dir, to, flags)?;
        let place = |inode: &Self, name: Name<'_>| {
            Some((inode.this.upgrade()?, Box::<[u8]>::from(name.as_bytes())))
        };
        self.shared.note_location(old.id, place(target, to));
        if let Some(new) = new.filter(|new| new.id != old.id) {
            if flags.contains(RenameFlags::EXCHANGE) {
                self.shared.note_location(new.id, place(self, from));
            } else {
                orphaned(held);
                self.release(&accounts, &new);
            }
        }
        Ok(())
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        if self.file_type != FileType::Symlink {
            return Err(Errno::Invalid);
        }
        let (parent, name) = self.location()?;
        match os::read_link(&*parent.dir()?, Name::new(&name)?) {
            // It was a link when it was looked up, and is none any more.
            Err(Errno::Invalid | Errno::NotFound) => Err(Errno::Stale),
            text => text,
        }
    }

    /// Cookies mean the same in every listing, so one that was read for a call is as good for the next, whoever makes it. It is
    /// kept until one is told to its end.
    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let kept = if cookie == 0 {
            None
        } else {
            self.listing.lock().clone()
        };
        let entries = if let Some(entries) = kept {
            entries
        } else {
            let ino = |ino| {
                self.shared.ino(HostId {
                    dev: self.id.dev,
                    ino,
                })
            };
            Arc::new(listing::read(&*self.dir()?, ino)?)
        };
        let start = entries.partition_point(|&(own, _)| own <= cookie);
        let rest = entries.get(start..).unwrap_or_default();
        let told: Vec<_> = rest.iter().take(max).cloned().collect();
        let unfinished = told.len() < rest.len();
        let previous = std::mem::replace(&mut *self.listing.lock(), unfinished.then_some(entries));
        drop(previous);
        Ok(told)
    }

    fn sync(&self) -> SysResult<()> {
        match self.file_type {
            FileType::Directory => os::sync_directory(&*self.dir()?),
            _ => Ok(()),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Keeps a directory open that was removed.
fn orphaned(held: Option<(Arc<HostInode>, Arc<Dir>)>) {
    if let Some((inode, dir)) = held {
        *inode.orphan.lock() = Some(dir);
    }
}

impl Shared {
    /// Tells a directory that somebody holds where it is now.
    fn note_location(&self, id: HostId, location: Option<Location>) {
        let inode = self.directories.lock().get(id);
        if let (Some(inode), Some(location)) = (inode, location) {
            inode.relocate(location);
        }
    }
}
