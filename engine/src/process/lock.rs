//! File locks: `flock` and `fcntl` record locks, in one table per sandbox, keyed by inode.
//!
//! The two kinds do not see each other, as on Linux. A `flock` belongs to the open-file description and ends with its last
//! descriptor; record locks belong to the process and end when it closes *any* descriptor of the file, or ends (POSIX).
//!
//! Source: `flock(2)`, `fcntl_locking(2)`, <https://man7.org/linux/man-pages/man2/fcntl_locking.2.html>.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Process;
use super::description::Description;
use crate::errno::{Errno, SysResult};

/// Record locks of one file at most: a guest could split a range for ever. Source: as Linux answers `ENOLCK` at its limit.
const MAX_RECORDS: usize = 4096;

/// How a lock shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// With other shared ones: a read lock.
    Shared,
    /// With none: a write lock.
    Exclusive,
}

impl LockKind {
    fn conflicts(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

/// Bytes `[start, end)` of a file; the end is open when `end` is `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRange {
    start: u64,
    end: u64,
}

impl LockRange {
    /// `len` bytes from `start`, 0 meaning all that follow.
    ///
    /// # Errors
    /// `Overflow` when the range ends above the largest file offset.
    pub fn new(start: u64, len: u64) -> SysResult<Self> {
        let end = match len {
            0 => u64::MAX,
            len => start
                .checked_add(len)
                .filter(|end| i64::try_from(*end).is_ok())
                .ok_or(Errno::Overflow)?,
        };
        if i64::try_from(start).is_err() {
            return Err(Errno::Overflow);
        }
        Ok(Self { start, end })
    }

    /// First byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Bytes, 0 meaning all that follow.
    pub fn len(self) -> u64 {
        if self.end == u64::MAX {
            0
        } else {
            self.end - self.start
        }
    }

    /// Whether it holds no byte: never.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// What of `self` lies before and behind `hole`.
    fn without(self, hole: Self) -> impl Iterator<Item = Self> {
        let before = Self {
            start: self.start,
            end: self.end.min(hole.start),
        };
        let behind = Self {
            start: self.start.max(hole.end),
            end: self.end,
        };
        [before, behind]
            .into_iter()
            .filter(|range| range.start < range.end)
    }
}

/// A record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLock {
    /// Its holder.
    pub pid: u32,
    /// How it shares.
    pub kind: LockKind,
    /// What it covers.
    pub range: LockRange,
}

type Key = (u64, u64);

#[derive(Debug, Default)]
struct FileLocks {
    /// Whole-file locks, by the id of their description.
    whole: HashMap<u64, LockKind>,
    records: Vec<RecordLock>,
}

#[derive(Debug, Default)]
struct Inner {
    files: HashMap<Key, FileLocks>,
    /// Which process waits for a record lock of which other.
    waiting: HashMap<u32, u32>,
}

/// The locks of a sandbox.
#[derive(Debug, Default)]
pub(super) struct LockTable {
    inner: Mutex<Inner>,
    /// Told when a lock was released or weakened.
    changed: Notify,
}

/// A description's `flock`, released when it is dropped.
#[derive(Debug)]
pub(super) struct WholeLock {
    table: Arc<LockTable>,
    key: Key,
    id: u64,
}

impl Drop for WholeLock {
    fn drop(&mut self) {
        self.table.release_whole(self.key, self.id);
    }
}

/// What a process remembers of record locks: whether it ever took one, so that others pay nothing at `close`.
#[derive(Debug, Default)]
pub(super) struct RecordFlag(AtomicBool);

impl LockTable {
    /// Changes a file's locks. Waiters are told only when `change` says that something was given up: a failed attempt that woke
    /// everybody would wake itself, for ever.
    fn change<T>(&self, key: Key, change: impl FnOnce(&mut FileLocks) -> (T, bool)) -> T {
        let mut inner = self.inner.lock();
        let file = inner.files.entry(key).or_default();
        let (result, freed) = change(file);
        if file.whole.is_empty() && file.records.is_empty() {
            inner.files.remove(&key);
        }
        drop(inner);
        if freed {
            self.changed.notify_waiters();
        }
        result
    }

    fn release_whole(&self, key: Key, id: u64) {
        self.change(key, |file| ((), file.whole.remove(&id).is_some()));
    }

    fn try_whole(&self, key: Key, id: u64, kind: LockKind) -> SysResult<()> {
        self.change(key, |file| {
            let conflict = file
                .whole
                .iter()
                .any(|(other, held)| *other != id && held.conflicts(kind));
            if conflict {
                // As Linux: a conversion first gives up the old lock.
                return (Err(Errno::Again), file.whole.remove(&id).is_some());
            }
            let before = file.whole.insert(id, kind);
            (Ok(()), before == Some(LockKind::Exclusive))
        })
    }

    fn conflict(&self, key: Key, wanted: RecordLock) -> Option<RecordLock> {
        let inner = self.inner.lock();
        inner.files.get(&key).and_then(|file| file.conflict(wanted))
    }

    fn try_record(&self, key: Key, wanted: RecordLock) -> SysResult<()> {
        if let Some(held) = self.conflict(key, wanted) {
            return Err(self.wait_for(wanted.pid, held.pid));
        }
        self.change(key, |file| {
            // Somebody may have been faster.
            if file.conflict(wanted).is_some() {
                return (Err(Errno::Again), false);
            }
            let result = file.set(wanted.pid, Some(wanted.kind), wanted.range);
            (result, wanted.kind == LockKind::Shared)
        })
    }

    /// Notes who waits for whom and says `Deadlock` when that closes a circle.
    fn wait_for(&self, waiter: u32, holder: u32) -> Errno {
        let mut inner = self.inner.lock();
        let mut next = holder;
        for _ in 0..=inner.waiting.len() {
            if next == waiter {
                return Errno::Deadlock;
            }
            match inner.waiting.get(&next) {
                Some(further) => next = *further,
                None => break,
            }
        }
        inner.waiting.insert(waiter, holder);
        Errno::Again
    }

    fn stop_waiting(&self, pid: u32) {
        self.inner.lock().waiting.remove(&pid);
    }

    fn release_records(&self, pid: u32, key: Option<Key>) {
        let mut inner = self.inner.lock();
        inner.files.retain(|held, file| {
            if key.is_none_or(|key| key == *held) {
                file.records.retain(|record| record.pid != pid);
            }
            !(file.records.is_empty() && file.whole.is_empty())
        });
        drop(inner);
        self.changed.notify_waiters();
    }
}

impl FileLocks {
    fn conflict(&self, wanted: RecordLock) -> Option<RecordLock> {
        self.records
            .iter()
            .find(|held| {
                held.pid != wanted.pid
                    && held.range.overlaps(wanted.range)
                    && held.kind.conflicts(wanted.kind)
            })
            .copied()
    }

    /// Sets what a process holds of a range, or with no kind cuts the range out of its locks.
    fn set(&mut self, pid: u32, kind: Option<LockKind>, range: LockRange) -> SysResult<()> {
        let mut records = Vec::with_capacity(self.records.len() + 2);
        for record in &self.records {
            if record.pid == pid && record.range.overlaps(range) {
                records.extend(
                    record
                        .range
                        .without(range)
                        .map(|range| RecordLock { range, ..*record }),
                );
            } else {
                records.push(*record);
            }
        }
        records.extend(kind.map(|kind| RecordLock { pid, kind, range }));
        if records.len() > MAX_RECORDS.max(self.records.len()) {
            return Err(Errno::NoLocks);
        }
        self.records = records;
        Ok(())
    }
}

fn key(description: &Description) -> SysResult<Key> {
    let stat = description.stat()?;
    Ok((stat.dev, stat.ino))
}

/// Takes a waiter out of the deadlock check, however its wait ends.
struct Waiter<'a> {
    table: &'a LockTable,
    pid: u32,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.table.stop_waiting(self.pid);
    }
}

impl Process {
    /// `flock(2)`: locks the whole file for the description, or with no kind unlocks it.
    ///
    /// # Errors
    /// `Again` when it is held and `wait` is false, `Interrupted`.
    pub async fn flock(
        &self,
        description: &Description,
        kind: Option<LockKind>,
        wait: bool,
    ) -> SysResult<()> {
        let Some(kind) = kind else {
            drop(description.take_whole_lock());
            return Ok(());
        };
        let table = Arc::clone(self.table()?.locks());
        let key = key(description)?;
        let id = description.id();
        let attempt = || table.try_whole(key, id, kind);
        if wait {
            self.wait_on(&table.changed, attempt).await?;
        } else {
            attempt()?;
        }
        description.keep_whole_lock(|| WholeLock {
            table: Arc::clone(&table),
            key,
            id,
        });
        Ok(())
    }

    /// `fcntl(F_GETLK)`: the lock that would be in the way.
    ///
    /// # Errors
    /// `Io` from a host.
    pub fn conflicting_record_lock(
        &self,
        description: &Description,
        kind: LockKind,
        range: LockRange,
    ) -> SysResult<Option<RecordLock>> {
        let wanted = RecordLock {
            pid: self.pid(),
            kind,
            range,
        };
        Ok(self.table()?.locks().conflict(key(description)?, wanted))
    }

    /// `fcntl(F_SETLK, F_SETLKW)`: locks a range for the process, or with no kind unlocks it.
    ///
    /// # Errors
    /// `BadFd` when the descriptor does not allow it, `Again` when it is held and `wait` is false, `Deadlock`, `Interrupted`,
    /// `NoLocks` with 4,096 locks in the file.
    pub async fn set_record_lock(
        &self,
        description: &Description,
        kind: Option<LockKind>,
        range: LockRange,
        wait: bool,
    ) -> SysResult<()> {
        let table = Arc::clone(self.table()?.locks());
        let key = key(description)?;
        let pid = self.pid();
        let Some(kind) = kind else {
            return table.change(key, |file| (file.set(pid, None, range), true));
        };
        let allowed = match kind {
            LockKind::Shared => description.access().reads(),
            LockKind::Exclusive => description.access().writes(),
        };
        if !allowed {
            return Err(Errno::BadFd);
        }
        self.record_flag().0.store(true, Ordering::Relaxed);
        let wanted = RecordLock { pid, kind, range };
        let _waiter = Waiter { table: &table, pid };
        let attempt = || table.try_record(key, wanted);
        if wait {
            self.wait_on(&table.changed, attempt).await
        } else {
            // Without waiting there is no circle to close.
            attempt().map_err(|error| match error {
                Errno::Deadlock => Errno::Again,
                error => error,
            })
        }
    }

    /// What closing a descriptor does to record locks: those of its file are gone, whoever else has it open.
    pub(super) fn release_record_locks(&self, closed: &Description) {
        if !self.record_flag().0.load(Ordering::Relaxed) {
            return;
        }
        if let (Ok(table), Ok(key)) = (self.table(), key(closed)) {
            table.locks().release_records(self.pid(), Some(key));
        }
    }

    /// What ending does to record locks.
    pub(super) fn release_all_record_locks(&self) {
        if self.record_flag().0.load(Ordering::Relaxed)
            && let Ok(table) = self.table()
        {
            table.locks().release_records(self.pid(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Key = (1, 1);

    fn record(pid: u32, kind: LockKind, start: u64, len: u64) -> RecordLock {
        let range = LockRange::new(start, len).unwrap();
        RecordLock { pid, kind, range }
    }

    #[test]
    fn record_locks_of_one_process_replace_and_split_each_other() {
        let table = LockTable::default();
        table
            .try_record(FILE, record(1, LockKind::Exclusive, 0, 0))
            .unwrap();
        let hole = LockRange::new(10, 5).unwrap();
        table
            .change(FILE, |file| (file.set(1, None, hole), true))
            .unwrap();
        let other = |start, len| table.conflict(FILE, record(2, LockKind::Shared, start, len));
        assert_eq!(other(10, 5), None);
        assert_eq!(other(9, 1).map(|lock| lock.range.len()), Some(10));
        assert_eq!(other(15, 1).map(|lock| lock.range.len()), Some(0));
        table
            .try_record(FILE, record(1, LockKind::Shared, 0, 0))
            .unwrap();
        assert_eq!(other(0, 0), None);
    }

    #[test]
    fn a_circle_of_waiting_processes_is_a_deadlock() {
        let table = LockTable::default();
        table
            .try_record(FILE, record(1, LockKind::Exclusive, 0, 1))
            .unwrap();
        table
            .try_record(FILE, record(2, LockKind::Exclusive, 1, 1))
            .unwrap();
        let one = table.try_record(FILE, record(1, LockKind::Exclusive, 1, 1));
        assert_eq!(one, Err(Errno::Again));
        let two = table.try_record(FILE, record(2, LockKind::Exclusive, 0, 1));
        assert_eq!(two, Err(Errno::Deadlock));
        table.stop_waiting(1);
        let two = table.try_record(FILE, record(2, LockKind::Exclusive, 0, 1));
        assert_eq!(two, Err(Errno::Again));
    }

    #[test]
    fn a_whole_file_lock_is_shared_or_exclusive() {
        let table = LockTable::default();
        table.try_whole(FILE, 1, LockKind::Shared).unwrap();
        table.try_whole(FILE, 2, LockKind::Shared).unwrap();
        assert_eq!(
            table.try_whole(FILE, 3, LockKind::Exclusive),
            Err(Errno::Again)
        );
        table.release_whole(FILE, 1);
        table.try_whole(FILE, 2, LockKind::Exclusive).unwrap();
        table.release_whole(FILE, 2);
        assert!(table.inner.lock().files.is_empty());
    }

    #[test]
    fn a_range_cannot_end_behind_the_largest_offset() {
        assert_eq!(LockRange::new(u64::MAX, 1), Err(Errno::Overflow));
        assert_eq!(LockRange::new(1 << 63, 0), Err(Errno::Overflow));
        assert!(LockRange::new(0, i64::MAX as u64).is_ok());
    }
}
