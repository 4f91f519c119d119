//! Pipes: 64 KiB between two descriptors.
//!
//! Source: pipe(7), <https://man7.org/linux/man-pages/man7/pipe.7.html>: capacity 65,536 bytes, writes of at most `PIPE_BUF`
//! bytes are atomic, a read end without writers is at its end, a write end without readers is `EPIPE`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::stream::{Readiness, Stream};
use super::table::MemoryAccount;
use crate::errno::{Errno, SysResult};

/// Bytes that a pipe holds.
pub const PIPE_CAPACITY: usize = 64 * 1024;
/// A write of at most this many bytes is not interleaved with others.
pub const PIPE_BUF: usize = 4096;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
struct Inner {
    bytes: VecDeque<u8>,
    readers: usize,
    writers: usize,
    /// Read and write ends ever opened: what opening a named pipe waits for.
    opened: (u64, u64),
}

/// What both ends share.
#[derive(Debug)]
pub(super) struct Pipe {
    id: u64,
    inner: Mutex<Inner>,
    changed: Arc<Notify>,
    _charge: Option<Charge>,
}

/// What a pipe can hold, taken from a sandbox's memory while the pipe is there: a guest can fill as many as it has descriptors.
#[derive(Debug)]
struct Charge(Arc<MemoryAccount>);

impl Charge {
    const BYTES: u64 = PIPE_CAPACITY as u64;

    fn take(account: &Arc<MemoryAccount>) -> SysResult<Self> {
        if account.try_take(Self::BYTES) {
            Ok(Self(Arc::clone(account)))
        } else {
            Err(Errno::SystemFiles)
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.0.give_back(Self::BYTES);
    }
}

impl Pipe {
    /// One that nobody has open yet: a named pipe's.
    ///
    /// # Errors
    /// As [`pipe_in`].
    pub(super) fn without_ends(account: &Arc<MemoryAccount>) -> SysResult<Arc<Self>> {
        Ok(Self::new(Some(Charge::take(account)?)))
    }

    fn new(charge: Option<Charge>) -> Arc<Self> {
        Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            inner: Mutex::new(Inner {
                bytes: VecDeque::new(),
                readers: 0,
                writers: 0,
                opened: (0, 0),
            }),
            changed: Arc::new(Notify::new()),
            _charge: charge,
        })
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn changed(&self) -> &Notify {
        &self.changed
    }

    /// Read and write ends that were ever opened.
    pub(super) fn opened(&self) -> (u64, u64) {
        self.inner.lock().opened
    }

    pub(super) fn has_reader(&self) -> bool {
        self.inner.lock().readers > 0
    }

    pub(super) fn has_writer(&self) -> bool {
        self.inner.lock().writers > 0
    }

    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let result = change(&mut self.inner.lock());
        self.changed.notify_waiters();
        result
    }
}

/// The end that is read. Its last drop breaks the pipe for writers.
#[derive(Debug)]
pub struct PipeReader(Arc<Pipe>);

/// The end that is written. Its last drop is the reader's end of file.
#[derive(Debug)]
pub struct PipeWriter(Arc<Pipe>);

/// A new pipe of the host's, which no sandbox pays for.
pub fn pipe() -> (PipeReader, PipeWriter) {
    let pipe = Pipe::new(None);
    (PipeReader::on(&pipe), PipeWriter::on(&pipe))
}

/// A new pipe whose capacity is taken from a sandbox's memory.
///
/// # Errors
/// `SystemFiles` when there is none left, as pipe(2) at the limit of pipe pages.
pub fn pipe_in(account: &Arc<MemoryAccount>) -> SysResult<(PipeReader, PipeWriter)> {
    let pipe = Pipe::without_ends(account)?;
    Ok((PipeReader::on(&pipe), PipeWriter::on(&pipe)))
}

impl PipeWriter {
    /// Another write end of the pipe that this reader reads: for opening a named pipe again.
    pub fn of(reader: &PipeReader) -> Self {
        Self::on(&reader.0)
    }

    pub(super) fn on(pipe: &Arc<Pipe>) -> Self {
        pipe.with(|inner| {
            inner.writers += 1;
            inner.opened.1 += 1;
        });
        Self(Arc::clone(pipe))
    }

    pub(super) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// What is notified of every change, for waiting without borrowing.
    pub fn notifier(&self) -> &Arc<Notify> {
        &self.0.changed
    }

    /// Whether anybody can read what is written.
    pub fn has_reader(&self) -> bool {
        self.0.has_reader()
    }
}

impl PipeReader {
    /// Another read end of the pipe that this writer writes.
    pub fn of(writer: &PipeWriter) -> Self {
        Self::on(&writer.0)
    }

    pub(super) fn on(pipe: &Arc<Pipe>) -> Self {
        pipe.with(|inner| {
            inner.readers += 1;
            inner.opened.0 += 1;
        });
        Self(Arc::clone(pipe))
    }

    pub(super) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// What is notified of every change, for waiting without borrowing.
    pub fn notifier(&self) -> &Arc<Notify> {
        &self.0.changed
    }

    /// Whether anybody can still write.
    pub fn has_writer(&self) -> bool {
        self.0.has_writer()
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.with(|inner| {
            inner.readers -= 1;
            if inner.readers == 0 {
                inner.bytes = VecDeque::new();
            }
        });
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.with(|inner| inner.writers -= 1);
    }
}

impl Stream for PipeReader {
    fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut inner = self.0.inner.lock();
        if inner.bytes.is_empty() {
            return if inner.writers == 0 {
                Ok(0)
            } else {
                Err(Errno::Again)
            };
        }
        let count = buffer.len().min(inner.bytes.len());
        let (head, tail) = inner.bytes.as_slices();
        let from_head = count.min(head.len());
        buffer[..from_head].copy_from_slice(&head[..from_head]);
        buffer[from_head..count].copy_from_slice(&tail[..count - from_head]);
        if count == inner.bytes.len() {
            inner.bytes.clear();
        } else {
            inner.bytes.drain(..count);
        }
        drop(inner);
        self.0.changed.notify_waiters();
        Ok(count)
    }

    fn readiness(&self) -> Readiness {
        let inner = self.0.inner.lock();
        Readiness {
            readable: !inner.bytes.is_empty() || inner.writers == 0,
            writable: false,
            hangup: inner.writers == 0,
            available: inner.bytes.len() as u64,
        }
    }

    fn changed(&self) -> &Notify {
        &self.0.changed
    }

    fn id(&self) -> u64 {
        self.0.id
    }
}

impl Stream for PipeWriter {
    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        let mut inner = self.0.inner.lock();
        if inner.readers == 0 {
            return Err(Errno::BrokenPipe);
        }
        let free = PIPE_CAPACITY - inner.bytes.len();
        if free == 0 && !buffer.is_empty() || buffer.len() <= PIPE_BUF && buffer.len() > free {
            return Err(Errno::Again);
        }
        let count = buffer.len().min(free);
        inner.bytes.extend(&buffer[..count]);
        drop(inner);
        self.0.changed.notify_waiters();
        Ok(count)
    }

    fn readiness(&self) -> Readiness {
        let inner = self.0.inner.lock();
        Readiness {
            readable: false,
            // As Linux: room for one atomic write.
            writable: inner.readers == 0 || PIPE_CAPACITY - inner.bytes.len() >= PIPE_BUF,
            hangup: inner.readers == 0,
            available: 0,
        }
    }

    fn changed(&self) -> &Notify {
        &self.0.changed
    }

    fn id(&self) -> u64 {
        self.0.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_file_comes_after_the_last_byte_and_the_last_writer() {
        let (reader, writer) = pipe();
        let mut buffer = [0; 8];
        assert_eq!(reader.try_read(&mut buffer), Err(Errno::Again));
        assert_eq!(writer.try_write(b"abc"), Ok(3));
        let second = PipeWriter::of(&reader);
        drop(writer);
        assert_eq!(reader.try_read(&mut buffer[..2]), Ok(2));
        drop(second);
        assert_eq!(reader.try_read(&mut buffer), Ok(1));
        assert_eq!(reader.try_read(&mut buffer), Ok(0));
        assert!(reader.readiness().hangup);
    }

    #[test]
    fn a_pipe_is_paid_from_the_memory_of_its_sandbox() {
        let account = MemoryAccount::new(100_000, None);
        let (reader, writer) = pipe_in(&account).unwrap();
        assert_eq!(account.used(), 65_536);
        assert_eq!(pipe_in(&account).err(), Some(Errno::SystemFiles));
        drop(writer);
        assert!(pipe_in(&account).is_err(), "one end is still there");
        drop(reader);
        assert_eq!(account.used(), 0);
        assert!(pipe_in(&account).is_ok());
    }

    #[test]
    fn a_write_without_readers_is_broken_pipe() {
        let (reader, writer) = pipe();
        drop(reader);
        assert_eq!(writer.try_write(b"x"), Err(Errno::BrokenPipe));
    }

    #[test]
    fn a_full_pipe_takes_no_part_of_an_atomic_write() {
        let (reader, writer) = pipe();
        assert_eq!(
            writer.try_write(&vec![1; PIPE_CAPACITY + 10]),
            Ok(PIPE_CAPACITY)
        );
        assert_eq!(writer.try_write(b"x"), Err(Errno::Again));
        let mut buffer = vec![0; 100];
        assert_eq!(reader.try_read(&mut buffer), Ok(100));
        assert_eq!(writer.try_write(&[2; PIPE_BUF]), Err(Errno::Again));
        assert_eq!(writer.try_write(&[2; PIPE_BUF + 1]), Ok(100));
    }
}
