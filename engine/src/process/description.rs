//! Open-file descriptions: what descriptors share after `dup`, spawn and inheritance: the offset and the status flags.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::lock::WholeLock;
use super::stream::{Readiness, Stream};
use super::{GID, UID};
use crate::errno::{Errno, SysResult};
use crate::vfs::{
    AccessMode, FileStat, FileType, Inode, Mount, OpenFile, Opened, Place, SetAttributes, StatFs,
    SyncScope, Writable,
};

/// What a description refers to.
#[derive(Debug)]
pub enum Object {
    /// A regular file or a device.
    File {
        /// Its contents.
        file: Arc<dyn OpenFile>,
        /// Its inode.
        inode: Arc<dyn Inode>,
        /// The mount it was opened through.
        mount: Arc<Mount>,
        /// The path it was opened by.
        path: Arc<[u8]>,
    },
    /// A directory.
    Directory(Place),
    /// Something that may have to be waited for.
    Stream(Arc<dyn Stream>),
}

/// Where `seek` counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The beginning.
    Start,
    /// The offset now.
    Current,
    /// The end.
    End,
}

/// An open-file description (POSIX 3.253).
#[derive(Debug)]
pub struct Description {
    object: Object,
    access: AccessMode,
    append: AtomicBool,
    nonblocking: AtomicBool,
    sync: AtomicU8,
    offset: Mutex<u64>,
    /// Tells descriptions apart: the owner of a `flock`.
    id: u64,
    whole_lock: Mutex<Option<WholeLock>>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

bitflags::bitflags! {
    /// When writes are made durable (`O_SYNC` and its like).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SyncFlags: u8 {
        /// `O_DSYNC`: contents with each write.
        const DATA = 1;
        /// `O_SYNC`: contents and attributes with each write.
        const ALL = 1 << 1;
        /// `O_RSYNC`: kept and shown; a read sees what was written in any case.
        const READ = 1 << 2;
    }
}

impl Description {
    /// One of a stream.
    pub fn stream(stream: Arc<dyn Stream>, access: AccessMode) -> Arc<Self> {
        Self::new(Object::Stream(stream), access)
    }

    /// One of what `open` found.
    ///
    /// # Errors
    /// `Invalid` for what only the process can open: descriptor links and named pipes.
    pub fn opened(opened: Opened, access: AccessMode) -> SysResult<Arc<Self>> {
        let object = match opened {
            Opened::File {
                file,
                inode,
                mount,
                path,
            } => Object::File {
                file,
                inode,
                mount,
                path,
            },
            Opened::Directory(place) => Object::Directory(place),
            Opened::Descriptor { .. } | Opened::Fifo { .. } => return Err(Errno::Invalid),
        };
        Ok(Self::new(object, access))
    }

    /// One of any object, at offset 0, without flags.
    pub fn new(object: Object, access: AccessMode) -> Arc<Self> {
        Arc::new(Self {
            object,
            access,
            append: AtomicBool::new(false),
            nonblocking: AtomicBool::new(false),
            sync: AtomicU8::new(0),
            offset: Mutex::new(0),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            whole_lock: Mutex::new(None),
        })
    }

    /// What it refers to.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// How it was opened.
    pub fn access(&self) -> AccessMode {
        self.access
    }

    /// `O_APPEND`.
    pub fn append(&self) -> bool {
        self.append.load(Ordering::Relaxed)
    }

    /// `O_NONBLOCK`.
    pub fn nonblocking(&self) -> bool {
        self.nonblocking.load(Ordering::Relaxed)
    }

    /// Sets `O_APPEND` and `O_NONBLOCK` for every descriptor that shares this.
    pub fn set_flags(&self, append: bool, nonblocking: bool) {
        self.append.store(append, Ordering::Relaxed);
        self.nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    /// `O_SYNC` and its like. Whoever writes through the description syncs.
    pub fn sync_flags(&self) -> SyncFlags {
        SyncFlags::from_bits_truncate(self.sync.load(Ordering::Relaxed))
    }

    /// Sets `O_SYNC` and its like.
    pub fn set_sync_flags(&self, flags: SyncFlags) {
        self.sync.store(flags.bits(), Ordering::Relaxed);
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Keeps a `flock` until the description is gone; one that it has already is the same lock.
    pub(super) fn keep_whole_lock(&self, lock: impl FnOnce() -> WholeLock) {
        self.whole_lock.lock().get_or_insert_with(lock);
    }

    pub(super) fn take_whole_lock(&self) -> Option<WholeLock> {
        self.whole_lock.lock().take()
    }

    /// The directory it is.
    ///
    /// # Errors
    /// `NotDirectory`.
    pub fn place(&self) -> SysResult<&Place> {
        match &self.object {
            Object::Directory(place) => Ok(place),
            Object::File { .. } | Object::Stream(_) => Err(Errno::NotDirectory),
        }
    }

    /// Reads without waiting, moving the offset.
    ///
    /// # Errors
    /// `BadFd` not open for reading, `IsDirectory`, `Again`, `Io`.
    pub fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        if !self.access.reads() {
            return Err(Errno::BadFd);
        }
        match &self.object {
            Object::Directory(_) => Err(Errno::IsDirectory),
            Object::Stream(stream) => stream.try_read(buffer),
            Object::File { file, .. } => {
                let mut offset = self.offset.lock();
                let count = file.read_at(buffer, *offset)?;
                *offset += count as u64;
                Ok(count)
            }
        }
    }

    /// Writes without waiting, moving the offset; `max_file_size` is the process's limit.
    ///
    /// # Errors
    /// `BadFd` not open for writing, `Again`, `BrokenPipe`, `NoSpace`, `Quota`, `FileTooBig`, `ReadOnly`.
    pub fn try_write(&self, buffer: &[u8], max_file_size: u64) -> SysResult<usize> {
        if !self.access.writes() {
            return Err(Errno::BadFd);
        }
        match &self.object {
            Object::Directory(_) => Err(Errno::BadFd),
            Object::Stream(stream) => stream.try_write(buffer),
            Object::File { file, mount, .. } => {
                let writable = Writable::of_open_file(mount)?;
                let mut offset = self.offset.lock();
                if self.append() {
                    let (count, end) = file.append(&writable, buffer)?;
                    *offset = end;
                    return Ok(count);
                }
                let buffer = fit(buffer, *offset, max_file_size, file.is_seekable())?;
                let count = file.write_at(&writable, buffer, *offset)?;
                *offset += count as u64;
                Ok(count)
            }
        }
    }

    fn seekable(&self) -> SysResult<(&Arc<dyn OpenFile>, &Arc<Mount>)> {
        match &self.object {
            Object::File { file, mount, .. } => Ok((file, mount)),
            Object::Directory(_) => Err(Errno::IsDirectory),
            Object::Stream(_) => Err(Errno::IllegalSeek),
        }
    }

    /// Reads at an offset, leaving the description's own (POSIX `pread`).
    ///
    /// # Errors
    /// `BadFd`, `IsDirectory`, `IllegalSeek`, `Io`.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        if !self.access.reads() {
            return Err(Errno::BadFd);
        }
        self.seekable()?.0.read_at(buffer, offset)
    }

    /// Writes at an offset, leaving the description's own (POSIX `pwrite`).
    ///
    /// NOTE: as Linux, an `O_APPEND` description appends whatever the offset.
    ///
    /// # Errors
    /// `BadFd`, `IllegalSeek` and those of a write.
    pub fn write_at(&self, buffer: &[u8], offset: u64, max_file_size: u64) -> SysResult<usize> {
        if !self.access.writes() {
            return Err(Errno::BadFd);
        }
        let (file, mount) = self.seekable()?;
        let writable = Writable::of_open_file(mount)?;
        if self.append() {
            return Ok(file.append(&writable, buffer)?.0);
        }
        let buffer = fit(buffer, offset, max_file_size, file.is_seekable())?;
        file.write_at(&writable, buffer, offset)
    }

    /// Moves the offset (POSIX `lseek`) and returns it.
    ///
    /// # Errors
    /// `IllegalSeek` of a stream, `Invalid` before the beginning, `Overflow`.
    pub fn seek(&self, delta: i64, whence: Whence) -> SysResult<u64> {
        let file = match &self.object {
            Object::Stream(_) => return Err(Errno::IllegalSeek),
            Object::Directory(_) => None,
            // As Linux's null_lseek: a device without a position is always at 0.
            Object::File { file, .. } if !file.is_seekable() => return Ok(0),
            Object::File { file, .. } => Some(file),
        };
        let mut offset = self.offset.lock();
        let from = match whence {
            Whence::Start => 0,
            Whence::Current => *offset,
            Whence::End => file.map_or(Ok(0), |file| file.stat().map(|stat| stat.size))?,
        };
        let to = from.checked_add_signed(delta).ok_or(Errno::Invalid)?;
        if i64::try_from(to).is_err() {
            return Err(Errno::Overflow);
        }
        *offset = to;
        Ok(to)
    }

    /// The offset now.
    pub fn offset(&self) -> u64 {
        *self.offset.lock()
    }

    /// `ftruncate`.
    ///
    /// # Errors
    /// `Invalid` not open for writing or not a regular file, `FileTooBig`, `Quota`, `NoSpace`.
    pub fn set_len(&self, len: u64, max_file_size: u64) -> SysResult<()> {
        let Object::File { file, mount, .. } = &self.object else {
            return Err(Errno::Invalid);
        };
        if !self.access.writes() {
            return Err(Errno::Invalid);
        }
        if len > max_file_size {
            return Err(Errno::FileTooBig);
        }
        file.set_len(&Writable::of_open_file(mount)?, len)
    }

    /// `posix_fallocate`.
    ///
    /// # Errors
    /// `BadFd` not open for writing (as no directory is), `Invalid` for an empty range, `IllegalSeek` of a pipe,
    /// `FileTooBig`, `Quota`, `NoSpace`.
    pub fn allocate(&self, offset: u64, len: u64, max_file_size: u64) -> SysResult<()> {
        let (file, mount) = match &self.object {
            Object::File { file, mount, .. } => (file, mount),
            Object::Stream(_) => return Err(Errno::IllegalSeek),
            Object::Directory(_) => return Err(Errno::BadFd),
        };
        if !self.access.writes() {
            return Err(Errno::BadFd);
        }
        if len == 0 {
            return Err(Errno::Invalid);
        }
        if offset
            .checked_add(len)
            .is_none_or(|end| end > max_file_size)
        {
            return Err(Errno::FileTooBig);
        }
        file.allocate(&Writable::of_open_file(mount)?, offset, len)
    }

    /// `fsync`, `fdatasync`.
    ///
    /// # Errors
    /// `Invalid` of a pipe, `Io`.
    pub fn sync(&self, scope: SyncScope) -> SysResult<()> {
        match &self.object {
            Object::File { file, .. } => file.sync(scope),
            Object::Directory(place) => place.sync(),
            Object::Stream(_) => Err(Errno::Invalid),
        }
    }

    /// `fstat`.
    ///
    /// # Errors
    /// `Io`, `Stale` from a host.
    pub fn stat(&self) -> SysResult<FileStat> {
        match &self.object {
            Object::File { file, mount, .. } => Ok(FileStat {
                dev: mount.dev(),
                ..file.stat()?
            }),
            Object::Directory(place) => place.stat(),
            Object::Stream(stream) if let Some(named) = stream.named_as() => Ok(FileStat {
                dev: named.mount.dev(),
                ..named.inode.stat()?
            }),
            Object::Stream(stream) => Ok(FileStat {
                dev: 0,
                ino: stream.id(),
                file_type: stream.file_type(),
                mode: 0o600,
                nlink: 1,
                size: 0,
                blocks: 0,
                rdev: if stream.window().is_some() {
                    136 << 8
                } else {
                    0
                },
                atime: 0,
                mtime: 0,
                ctime: 0,
            }),
        }
    }

    /// `fchmod`, `futimens`.
    ///
    /// # Errors
    /// `ReadOnly`, `Invalid` of a pipe.
    pub fn set_attributes(&self, change: &SetAttributes) -> SysResult<()> {
        match &self.object {
            Object::File { file, mount, .. } => {
                let writable = Writable::of_attributes(mount, &file.stat()?)?;
                file.set_attributes(&writable, change)
            }
            Object::Directory(place) => place.set_attributes(change),
            Object::Stream(stream) => {
                let named = stream.named_as().ok_or(Errno::Invalid)?;
                let writable = Writable::of_attributes(&named.mount, &named.inode.stat()?)?;
                named.inode.set_attributes(&writable, change)
            }
        }
    }

    /// `fchown`: only to the one user, which changes nothing.
    ///
    /// # Errors
    /// `NotPermitted` for another owner.
    pub fn check_owner(uid: u32, gid: u32) -> SysResult<()> {
        let same = |id: u32, own: u32| id == u32::MAX || id == own;
        if same(uid, UID) && same(gid, GID) {
            Ok(())
        } else {
            Err(Errno::NotPermitted)
        }
    }

    /// `fstatfs`.
    ///
    /// # Errors
    /// `NotImplemented` of a pipe.
    pub fn statfs(&self) -> SysResult<StatFs> {
        let mount = match &self.object {
            Object::File { mount, .. } => mount,
            Object::Directory(place) => place.mount(),
            Object::Stream(_) => return Err(Errno::NotImplemented),
        };
        Ok(StatFs {
            fs_id: mount.dev(),
            ..mount.fs().statfs()?
        })
    }

    /// What can be done without waiting; files are always ready.
    pub fn readiness(&self) -> Readiness {
        match &self.object {
            Object::Stream(stream) => stream.readiness(),
            Object::Directory(_) => Readiness {
                readable: true,
                writable: true,
                ..Readiness::default()
            },
            Object::File { file, .. } => {
                let size = file.stat().map_or(0, |stat| stat.size);
                Readiness {
                    readable: true,
                    writable: true,
                    hangup: false,
                    available: size.saturating_sub(self.offset()),
                }
            }
        }
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        matches!(&self.object, Object::Stream(stream) if stream.file_type() == FileType::CharDevice)
    }

    /// What `readlink /proc/self/fd/N` shows.
    pub fn label(&self) -> Vec<u8> {
        match &self.object {
            Object::File { file, path, .. } => {
                let mut label = path.to_vec();
                if file.stat().is_ok_and(|stat| stat.nlink == 0) {
                    label.extend_from_slice(b" (deleted)");
                }
                label
            }
            Object::Directory(place) => place.path().unwrap_or_else(|_| b"(deleted)".to_vec()),
            Object::Stream(stream) if let Some(named) = stream.named_as() => named.path.to_vec(),
            Object::Stream(stream) if self.is_terminal() => {
                format!("/dev/pts/{}", stream.id()).into_bytes()
            }
            Object::Stream(stream) => format!("pipe:[{}]", stream.id()).into_bytes(),
        }
    }
}

/// The part of a write that the process's file-size limit leaves room for.
fn fit(buffer: &[u8], offset: u64, max_file_size: u64, has_size: bool) -> SysResult<&[u8]> {
    if !has_size || buffer.is_empty() {
        return Ok(buffer);
    }
    let room = max_file_size.saturating_sub(offset);
    if room == 0 {
        return Err(Errno::FileTooBig);
    }
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    Ok(buffer.get(..room).unwrap_or(buffer))
}
