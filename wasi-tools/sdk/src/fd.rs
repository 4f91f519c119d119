//! Descriptors: numbers in the process's table that point at shared open files, as POSIX has it.

use std::time::Duration;

use crate::{Errno, Result, file::OpenFlags, sys};

/// A descriptor's number. Copying it copies the number only; nothing is closed on drop, as a shell needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub i32);

/// Where [`Fd::seek`] counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The start of the file.
    Start,
    /// The current position.
    Current,
    /// The end of the file.
    End,
}

/// Whether a new descriptor survives `exec` and [`Spawn::all_fds`](crate::process::Spawn::all_fds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExec {
    /// It is closed (`FD_CLOEXEC`).
    Close,
    /// It is inherited.
    Keep,
}

/// What [`Fd::flock`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Many may hold it (`LOCK_SH`).
    Shared,
    /// One may hold it (`LOCK_EX`).
    Exclusive,
    /// Gives it back (`LOCK_UN`).
    Unlock,
}

/// Whether a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Until it can go on.
    Wait,
    /// It fails with `EAGAIN` instead of waiting.
    Try,
}

/// Size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u32,
    /// Characters a line.
    pub columns: u32,
}

/// One descriptor that [`poll`] watches, and what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollFd {
    /// The descriptor.
    pub fd: Fd,
    /// Waits for something to read.
    pub read: bool,
    /// Waits for room to write.
    pub write: bool,
    /// Result: reading would not wait (end of file included).
    pub readable: bool,
    /// Result: writing would not wait.
    pub writable: bool,
    /// Result: the other end is closed.
    pub hangup: bool,
    /// Result: the descriptor is not open or has failed.
    pub error: Option<Errno>,
}

impl PollFd {
    /// Waits for something to read.
    pub const fn reading(fd: Fd) -> Self {
        Self {
            fd,
            read: true,
            write: false,
            readable: false,
            writable: false,
            hangup: false,
            error: None,
        }
    }

    /// Waits for room to write.
    pub const fn writing(fd: Fd) -> Self {
        Self {
            fd,
            read: false,
            write: true,
            readable: false,
            writable: false,
            hangup: false,
            error: None,
        }
    }

    /// Whether anything happened.
    pub const fn is_ready(&self) -> bool {
        self.readable || self.writable || self.hangup || self.error.is_some()
    }
}

/// Waits until one of the descriptors is ready or `timeout` has passed (`None`: no limit) and says how many are.
///
/// Source: POSIX `poll`. With no descriptors it sleeps.
///
/// # Errors
/// `EINTR` when a handled signal arrives, `EINVAL` for more descriptors than the system watches.
pub fn poll(fds: &mut [PollFd], timeout: Option<Duration>) -> Result<usize> {
    for entry in fds.iter_mut() {
        (entry.readable, entry.writable, entry.hangup, entry.error) = (false, false, false, None);
    }
    sys::poll(fds, timeout)?;
    Ok(fds.iter().filter(|entry| entry.is_ready()).count())
}

/// Makes a pipe and returns its read end and its write end, each the lowest free number.
///
/// # Errors
/// `EMFILE`, `ENFILE`.
pub fn pipe(on_exec: OnExec) -> Result<(Fd, Fd)> {
    sys::pipe(on_exec)
}

impl Fd {
    /// Standard input.
    pub const STDIN: Self = Self(0);
    /// Standard output.
    pub const STDOUT: Self = Self(1);
    /// Standard error.
    pub const STDERR: Self = Self(2);

    /// Reads at the file's position; 0 is end of file.
    ///
    /// # Errors
    /// As `read(2)`: `EBADF`, `EISDIR`, `EAGAIN`, `EINTR`, `EIO`.
    pub fn read(self, buffer: &mut [u8]) -> Result<usize> {
        sys::read(self, buffer)
    }

    /// Reads until end of file, going on after signals.
    ///
    /// # Errors
    /// As [`Fd::read`], but never `EINTR`; what was read before the failure is lost.
    pub fn read_to_end(self) -> Result<Vec<u8>> {
        const CHUNK: usize = 64 * 1024;
        let mut all = Vec::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.read(&mut chunk) {
                Ok(0) => return Ok(all),
                Ok(count) => all.extend_from_slice(chunk.get(..count).unwrap_or(&chunk)),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Writes at the file's position and says how many bytes were taken, which may be fewer.
    ///
    /// # Errors
    /// As `write(2)`: `EBADF`, `EPIPE` (with `SIGPIPE`), `ENOSPC`, `EDQUOT`, `EFBIG`, `EAGAIN`, `EINTR`, `EIO`.
    pub fn write(self, bytes: &[u8]) -> Result<usize> {
        sys::write(self, bytes)
    }

    /// Writes everything, going on after signals and partial writes.
    ///
    /// # Errors
    /// As [`Fd::write`], but never `EINTR`.
    pub fn write_all(self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(0) => return Err(Errno::EIO),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Closes the descriptor.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close(self) -> Result<()> {
        sys::close(self)
    }

    /// Moves the position and returns the new one, in bytes from the start.
    ///
    /// # Errors
    /// `EBADF`, `ESPIPE` on a pipe or terminal, `EINVAL` before the start.
    pub fn seek(self, offset: i64, whence: Whence) -> Result<u64> {
        sys::seek(self, offset, whence)
    }

    /// Sets the file's length in bytes.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL` when it is not open for writing or no file, `EFBIG`, `ENOSPC`.
    pub fn truncate(self, len: u64) -> Result<()> {
        sys::truncate(self, len)
    }

    /// Waits until the file's data and metadata are on disk.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL` on a pipe, `EIO`.
    pub fn sync(self) -> Result<()> {
        sys::sync(self)
    }

    /// Duplicates to the lowest free number that is at least `min` (`F_DUPFD`).
    ///
    /// # Errors
    /// `EBADF`, `EMFILE`, `EINVAL` when `min` is out of range.
    pub fn dup(self, min: i32, on_exec: OnExec) -> Result<Self> {
        sys::dup(self, min, on_exec)
    }

    /// Makes `to` point at the same open file, closing what it was. With `to == self` only `on_exec` is set.
    ///
    /// # Errors
    /// `EBADF` when this is not open or `to` is out of range.
    pub fn dup2(self, to: Self, on_exec: OnExec) -> Result<()> {
        sys::dup2(self, to, on_exec)
    }

    /// Whether it is closed on `exec`; the cheapest test of whether it is open.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn on_exec(self) -> Result<OnExec> {
        sys::on_exec(self)
    }

    /// Sets whether it is closed on `exec`.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn set_on_exec(self, on_exec: OnExec) -> Result<()> {
        sys::set_on_exec(self, on_exec)
    }

    /// Whether it is open.
    pub fn is_open(self) -> bool {
        self.on_exec().is_ok()
    }

    /// Access mode and status flags (`F_GETFL`).
    ///
    /// # Errors
    /// `EBADF`.
    pub fn flags(self) -> Result<OpenFlags> {
        sys::flags(self)
    }

    /// Sets [`OpenFlags::APPEND`] and [`OpenFlags::NONBLOCK`] of the open file (`F_SETFL`); other bits are ignored.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn set_flags(self, flags: OpenFlags) -> Result<()> {
        sys::set_flags(self, flags)
    }

    /// Whether it is a terminal.
    pub fn is_terminal(self) -> bool {
        sys::is_terminal(self)
    }

    /// Size of the terminal.
    ///
    /// # Errors
    /// `ENOTTY`, `EBADF`.
    pub fn window_size(self) -> Result<WindowSize> {
        sys::window_size(self)
    }

    /// Takes or gives back the lock of the whole open file (`flock(2)`).
    ///
    /// # Errors
    /// `EBADF`, `EINTR`, and with [`Blocking::Try`] `EAGAIN` when somebody else holds it.
    pub fn flock(self, lock: Lock, blocking: Blocking) -> Result<()> {
        sys::flock(self, lock, blocking)
    }
}
