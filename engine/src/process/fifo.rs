//! Named pipes: the pipe behind a FIFO's inode, and what opening one waits for.
//!
//! Source: fifo(7), <https://man7.org/linux/man-pages/man7/fifo.7.html>: opening one side waits until the other side is opened
//! too; with `O_NONBLOCK` reading opens at once and writing without a reader is `ENXIO`; for both at once never waits.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Process;
use super::description::Description;
use super::pipe::{Pipe, PipeReader, PipeWriter};
use super::stream::{NamedAs, Readiness, Stream};
use super::table::MemoryAccount;
use crate::errno::{Errno, SysResult};
use crate::vfs::{AccessMode, Inode, Mount};

/// The pipes behind the named pipes of a sandbox that somebody has open, by device and inode number.
#[derive(Debug, Default)]
pub(super) struct FifoTable(Mutex<HashMap<(u64, u64), Weak<Pipe>>>);

impl FifoTable {
    fn pipe(&self, key: (u64, u64), account: &Arc<MemoryAccount>) -> SysResult<Arc<Pipe>> {
        let mut pipes = self.0.lock();
        if let Some(pipe) = pipes.get(&key).and_then(Weak::upgrade) {
            return Ok(pipe);
        }
        pipes.retain(|_, pipe| pipe.strong_count() > 0);
        let pipe = Pipe::without_ends(account)?;
        pipes.insert(key, Arc::downgrade(&pipe));
        Ok(pipe)
    }
}

/// An end of a named pipe, or both.
#[derive(Debug)]
struct FifoEnd {
    reader: Option<PipeReader>,
    writer: Option<PipeWriter>,
    named_as: NamedAs,
}

impl Stream for FifoEnd {
    fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        self.reader.as_ref().ok_or(Errno::BadFd)?.try_read(buffer)
    }

    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        self.writer.as_ref().ok_or(Errno::BadFd)?.try_write(buffer)
    }

    fn readiness(&self) -> Readiness {
        let reader = self.reader.as_ref().map(Stream::readiness);
        let writer = self.writer.as_ref().map(Stream::readiness);
        match (reader, writer) {
            (Some(reader), Some(writer)) => Readiness {
                writable: writer.writable,
                ..reader
            },
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Readiness::default(),
        }
    }

    fn changed(&self) -> &Notify {
        self.pipe().changed()
    }

    fn id(&self) -> u64 {
        self.pipe().id()
    }

    fn named_as(&self) -> Option<&NamedAs> {
        Some(&self.named_as)
    }
}

impl FifoEnd {
    fn pipe(&self) -> &Pipe {
        match (&self.reader, &self.writer) {
            (Some(reader), _) => reader.pipe(),
            (None, Some(writer)) => writer.pipe(),
            (None, None) => unreachable!("an access mode reads or writes"),
        }
    }
}

impl Process {
    /// Opens a named pipe that the namespace has found.
    ///
    /// # Errors
    /// `NoDeviceOrAddress` for writing without waiting while nobody reads, `Interrupted`, `SystemFiles` when no memory is left for the
    /// pipe, `Io` from a host.
    pub async fn open_fifo(
        &self,
        inode: &Arc<dyn Inode>,
        mount: &Arc<Mount>,
        path: Arc<[u8]>,
        access: AccessMode,
        nonblocking: bool,
    ) -> SysResult<Arc<Description>> {
        let table = self.table()?;
        let key = (mount.dev(), inode.ino()?);
        let pipe = table.fifos().pipe(key, table.memory_account())?;
        if access == AccessMode::Write && nonblocking && !pipe.has_reader() {
            return Err(Errno::NoDeviceOrAddress);
        }
        // The end is open from here on: that is what the other side waits for. Dropping it undoes everything.
        let opened_before = pipe.opened();
        let end = FifoEnd {
            reader: access.reads().then(|| PipeReader::on(&pipe)),
            writer: access.writes().then(|| PipeWriter::on(&pipe)),
            named_as: NamedAs {
                inode: Arc::clone(inode),
                mount: Arc::clone(mount),
                path,
            },
        };
        if access != AccessMode::ReadWrite && !nonblocking {
            self.wait_on(pipe.changed(), || {
                // A side that came and went meanwhile counts: its writer must not wait for ever.
                let met = match access {
                    AccessMode::Write => pipe.has_reader() || pipe.opened().0 > opened_before.0,
                    _ => pipe.has_writer() || pipe.opened().1 > opened_before.1,
                };
                if met { Ok(()) } else { Err(Errno::Again) }
            })
            .await?;
        }
        Ok(Description::stream(Arc::new(end), access))
    }
}
