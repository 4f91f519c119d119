//! The system calls of the shell: a thin layer over `sandbar-guest` in the shell's own terms (plain descriptor numbers).

use std::time::Duration;

pub(crate) use sandbar_guest::fd::{OnExec, PollFd, Whence};
pub(crate) use sandbar_guest::file::{Access, DirEntry, FileType, Follow, OpenFlags, Stat};
pub(crate) use sandbar_guest::process::{Spawn, Wait, WaitStatus};
pub(crate) use sandbar_guest::{Errno, Fd, Signal};
use sandbar_guest::{fd, file, process};

pub(crate) type Sys<T> = Result<T, Errno>;

/// First number of the descriptors that the shell keeps for itself, as in bash.
pub(crate) const PRIVATE_FD: i32 = 10;

pub(crate) fn read(number: i32, buffer: &mut [u8]) -> Sys<usize> {
    loop {
        match Fd(number).read(buffer) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

pub(crate) fn write_all(number: i32, bytes: &[u8]) -> Sys<()> {
    Fd(number).write_all(bytes)
}

pub(crate) fn close(number: i32) {
    // Closing what is not open is a no-op for the shell.
    let _closed = Fd(number).close();
}

pub(crate) fn tell(number: i32) -> Sys<u64> {
    Fd(number).seek(0, Whence::Current)
}

pub(crate) fn seek_relative(number: i32, offset: i64) -> Sys<u64> {
    Fd(number).seek(offset, Whence::Current)
}

pub(crate) fn is_open(number: i32) -> bool {
    Fd(number).is_open()
}

/// A copy at or above `min` that programs do not inherit.
pub(crate) fn dup_private(number: i32, min: i32) -> Sys<i32> {
    Fd(number).dup(min, OnExec::Close).map(|fd| fd.0)
}

/// Makes `to` the same as `from`, inherited by programs.
pub(crate) fn dup2(from: i32, to: i32) -> Sys<()> {
    Fd(from).dup2(Fd(to), OnExec::Keep)
}

/// A pipe whose ends programs do not inherit.
pub(crate) fn pipe() -> Sys<(i32, i32)> {
    let (read, write) = fd::pipe(OnExec::Close)?;
    Ok((read.0, write.0))
}

/// A pipe with both ends above the numbers that scripts use.
pub(crate) fn private_pipe() -> Sys<(i32, i32)> {
    let (read, write) = pipe()?;
    let ends =
        dup_private(read, PRIVATE_FD).and_then(|r| dup_private(write, PRIVATE_FD).map(|w| (r, w)));
    close(read);
    close(write);
    ends
}

pub(crate) fn open(path: &[u8], flags: OpenFlags, mode: u32) -> Sys<i32> {
    file::open(path, flags, mode).map(|fd| fd.0)
}

pub(crate) fn stat(path: &[u8]) -> Sys<Stat> {
    file::stat(path, Follow::Follow)
}

pub(crate) fn lstat(path: &[u8]) -> Sys<Stat> {
    file::stat(path, Follow::NoFollow)
}

pub(crate) fn access(path: &[u8], mode: Access) -> bool {
    file::access(path, mode).is_ok()
}

pub(crate) fn read_dir(path: &[u8]) -> Sys<Vec<DirEntry>> {
    file::read_dir(path)
}

pub(crate) fn read_to_end(number: i32) -> Sys<Vec<u8>> {
    Fd(number).read_to_end()
}

/// The contents of a file.
pub(crate) fn read_file(path: &[u8]) -> Sys<Vec<u8>> {
    let number = open(path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0)?;
    let text = read_to_end(number);
    close(number);
    text
}

/// Waits until the descriptor can be read; `false` when the time is up.
pub(crate) fn readable(number: i32, timeout: Option<Duration>) -> Sys<bool> {
    let mut fds = [PollFd::reading(Fd(number))];
    fd::poll(&mut fds, timeout).map(|count| count > 0)
}

pub(crate) fn is_terminal(number: i32) -> bool {
    Fd(number).is_terminal()
}

pub(crate) fn current_dir() -> Sys<Vec<u8>> {
    process::current_dir()
}

pub(crate) fn chdir(path: &[u8]) -> Sys<()> {
    process::chdir(path)
}

pub(crate) fn pid() -> i32 {
    process::id().0
}

pub(crate) fn umask() -> u32 {
    process::umask().unwrap_or(0o022)
}

pub(crate) fn set_umask(mask: u32) {
    let _previous = process::set_umask(mask);
}

/// What an error number means.
pub(crate) fn message(error: Errno) -> String {
    error.message()
}
