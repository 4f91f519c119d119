//! An open regular file of a host directory, and what it is charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::File;
use parking_lot::Mutex;

use super::super::{FileStat, OpenFile, SetAttributes, SyncScope, Writable};
use super::Shared;
use super::descriptors::FilePermit;
use super::os::{self, HostId, HostStat};
use crate::errno::{Errno, SysResult};

/// The unit that growth is reserved in, in bytes: the block of most file systems.
const BLOCK: u64 = 4096;

/// What an open file takes on the host's disk, shared by all that have it open.
#[derive(Debug)]
pub(super) struct Account {
    shared: Arc<Shared>,
    id: HostId,
    /// Bytes of storage when it was last looked at. The lock also keeps appends of one file apart.
    stored: Mutex<u64>,
    /// Whether its last name was removed: the storage is given back at the last close.
    abandoned: AtomicBool,
    /// Storage that was given back already when its last name was removed.
    given_back: u64,
}

impl Account {
    /// The account of a file that was just opened.
    pub(super) fn new(shared: &Arc<Shared>, opened: &HostStat) -> Arc<Self> {
        let nameless = opened.stat.nlink == 0;
        Arc::new(Self {
            shared: Arc::clone(shared),
            id: opened.id,
            stored: Mutex::new(opened.stored()),
            abandoned: AtomicBool::new(nameless),
            given_back: if nameless { opened.stored() } else { 0 },
        })
    }

    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// Makes a change that takes at most `growth` more bytes, and books what it took.
    fn charged<T>(
        &self,
        file: &File,
        growth: u64,
        change: impl FnOnce() -> SysResult<T>,
    ) -> SysResult<T> {
        let quota = self.shared.quota();
        let mut stored = self.stored.lock();
        let charge = quota.reserve(growth, 0)?;
        let result = change();
        // The storage is looked at even after an error: part of the change may have been made.
        let now = os::stat_file(file)?.stored();
        if now >= *stored {
            let grown = now - *stored;
            charge.keep_only(grown.min(growth));
            // Blocks for the file system's own use, which nothing tells beforehand.
            quota.add(grown.saturating_sub(growth));
        } else {
            drop(charge);
            quota.release(*stored - now, 0);
        }
        *stored = now;
        result
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if *self.abandoned.get_mut() {
            let stored = *self.stored.get_mut();
            self.shared
                .quota()
                .release(stored.saturating_sub(self.given_back), 0);
        }
    }
}

/// An open regular file.
#[derive(Debug)]
pub(super) struct HostFile {
    file: File,
    account: Arc<Account>,
    _permit: FilePermit,
}

impl HostFile {
    pub(super) fn new(file: File, account: Arc<Account>, permit: FilePermit) -> Self {
        Self {
            file,
            account,
            _permit: permit,
        }
    }

    /// Writes as much of the buffer as the quota has room for.
    fn write_charged<T>(
        &self,
        buffer: &[u8],
        offset: u64,
        write: impl Fn(&[u8]) -> SysResult<T>,
    ) -> SysResult<T> {
        if self.account.shared.quota().is_unlimited() {
            return write(buffer);
        }
        let growth = |len: usize| {
            let end = offset
                .saturating_add(len as u64)
                .div_ceil(BLOCK)
                .saturating_mul(BLOCK);
            end - offset / BLOCK * BLOCK
        };
        let refusal = match self
            .account
            .charged(&self.file, growth(buffer.len()), || write(buffer))
        {
            Err(refusal @ (Errno::Quota | Errno::NoSpace)) => refusal,
            result => return result,
        };
        // Less than there is room for, or over what is there already, still fits.
        let host = os::stat_file(&self.file)?;
        let end = offset.saturating_add(buffer.len() as u64);
        if end <= host.stat.size && host.stored() >= host.stat.size {
            return self.account.charged(&self.file, 0, || write(buffer));
        }
        let room = self.account.shared.quota().bytes_free() / BLOCK * BLOCK;
        let fits = room.saturating_sub(offset % BLOCK).min(buffer.len() as u64);
        match buffer.get(..usize::try_from(fits).unwrap_or(0)) {
            Some(part) if !part.is_empty() => {
                self.account
                    .charged(&self.file, growth(part.len()), || write(part))
            }
            _ => Err(refusal),
        }
    }
}

impl OpenFile for HostFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        os::read_at(&self.file, buffer, offset)
    }

    fn write_at(&self, _: &Writable<'_>, buffer: &[u8], offset: u64) -> SysResult<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.write_charged(buffer, offset, |part| {
            os::write_at(&self.file, part, offset)
        })
    }

    fn append(&self, _: &Writable<'_>, buffer: &[u8]) -> SysResult<(usize, u64)> {
        let end = os::stat_file(&self.file)?.stat.size;
        if buffer.is_empty() {
            return Ok((0, end));
        }
        if self.account.shared.quota().is_unlimited() {
            let _alone = self.account.stored.lock();
            return os::append(&self.file, buffer);
        }
        // A block more than seems needed: another process may append in between.
        self.write_charged(buffer, end, |part| os::append(&self.file, part))
    }

    fn set_len(&self, _: &Writable<'_>, len: u64) -> SysResult<()> {
        if i64::try_from(len).is_err() {
            return Err(Errno::FileTooBig);
        }
        self.account
            .charged(&self.file, 0, || os::set_len(&self.file, len))
    }

    fn allocate(&self, _: &Writable<'_>, offset: u64, len: u64) -> SysResult<()> {
        let growth = len.saturating_add(2 * BLOCK);
        self.account
            .charged(&self.file, growth, || os::allocate(&self.file, offset, len))
    }

    fn sync(&self, scope: SyncScope) -> SysResult<()> {
        os::sync(&self.file, scope)
    }

    fn stat(&self) -> SysResult<FileStat> {
        let host = os::stat_file(&self.file)?;
        Ok(FileStat {
            ino: self.account.shared.ino(self.account.id),
            ..host.stat
        })
    }

    fn set_attributes(&self, _: &Writable<'_>, change: &SetAttributes) -> SysResult<()> {
        if let Some(mode) = change.mode {
            os::set_file_mode(&self.file, mode)?;
        }
        os::set_file_times(&self.file, change)
    }
}
