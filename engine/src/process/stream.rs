//! What a descriptor can be besides a file: something that may have to be waited for.

use std::fmt::Debug;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::errno::{Errno, SysResult};
use crate::vfs::{FileType, Inode, Mount};

/// What can be done with a stream at this moment without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read returns at once: bytes, the end, or an error.
    pub readable: bool,
    /// A write of one byte returns at once.
    pub writable: bool,
    /// The other side is gone.
    pub hangup: bool,
    /// Bytes that can be read.
    pub available: u64,
}

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines of text.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// The name that a named pipe was opened by.
#[derive(Clone, Debug)]
pub struct NamedAs {
    /// Its inode.
    pub inode: Arc<dyn Inode>,
    /// The mount it was reached through.
    pub mount: Arc<Mount>,
    /// Its absolute path.
    pub path: Arc<[u8]>,
}

/// A pipe's end, a host stream, a capture of output.
///
/// No method waits. One that would answers `Again`, and [`Stream::changed`] is notified after whatever makes it worth another
/// try.
pub trait Stream: Send + Sync + Debug {
    /// Reads what is there; 0 is the end.
    ///
    /// # Errors
    /// `Again`; `BadFd` of a stream that is only written.
    fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        let _ = buffer;
        Err(Errno::BadFd)
    }

    /// Writes what fits now.
    ///
    /// # Errors
    /// `Again`; `BrokenPipe` when nobody can read it any more; `BadFd` of a stream that is only read.
    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        let _ = buffer;
        Err(Errno::BadFd)
    }

    /// What can be done now.
    fn readiness(&self) -> Readiness;

    /// Notified (all waiters) when the readiness may have changed.
    fn changed(&self) -> &Notify;

    /// What `fstat` shows: a pipe unless it is a terminal.
    fn file_type(&self) -> FileType {
        if self.window().is_some() {
            FileType::CharDevice
        } else {
            FileType::Fifo
        }
    }

    /// A number that tells streams apart: `fstat`'s inode, `pipe:[N]`.
    fn id(&self) -> u64;

    /// The file that it was opened by: `fstat` and `fchmod` are about that one.
    fn named_as(&self) -> Option<&NamedAs> {
        None
    }

    /// The size of the window when it is a terminal.
    fn window(&self) -> Option<WindowSize> {
        None
    }
}
