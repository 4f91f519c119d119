//! Reading, writing and polling by a process: the calls that may wait, and what ends the waiting.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::{Either, select, select_all};
use tokio::sync::Notify;

use super::Process;
use super::description::{Description, Object};
use super::fd_table::Fd;
use super::limits::Resource;
use super::signal::Signal;
use super::stream::Readiness;
use crate::errno::{Errno, SysResult};

/// What `poll` waits for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// A read would not wait.
    Read,
    /// A write would not wait.
    Write,
}

/// One descriptor's answer from `poll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollEvent {
    /// Which of the questions.
    pub index: usize,
    /// What holds now.
    pub readiness: Readiness,
}

impl Process {
    /// The description behind a descriptor.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn fd(&self, fd: Fd) -> SysResult<Arc<Description>> {
        self.fds.lock().get(fd)
    }

    /// Gives a description the lowest free number that is at least `min`.
    ///
    /// # Errors
    /// `ProcessFiles`, `Invalid`.
    pub fn insert_fd(
        &self,
        description: Arc<Description>,
        min: Fd,
        close_on_exec: bool,
    ) -> SysResult<Fd> {
        self.fds.lock().insert(description, min, close_on_exec)
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn close_fd(&self, fd: Fd) -> SysResult<()> {
        let closed = self.fds.lock().remove(fd)?;
        self.release_record_locks(&closed);
        drop(closed);
        Ok(())
    }

    /// Puts a description at exactly `fd`, closing what was there.
    ///
    /// # Errors
    /// `BadFd` when `fd` is not below the limit.
    pub fn place_fd(
        &self,
        fd: Fd,
        description: Arc<Description>,
        close_on_exec: bool,
    ) -> SysResult<()> {
        let new = Arc::as_ptr(&description);
        let replaced = self.fds.lock().replace(fd, description, close_on_exec)?;
        if let Some(replaced) = replaced
            && !std::ptr::eq(Arc::as_ptr(&replaced), new)
        {
            self.release_record_locks(&replaced);
        }
        Ok(())
    }

    /// `dup3`, where `from == to` only sets the flag.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn dup2_fd(&self, from: Fd, to: Fd, close_on_exec: bool) -> SysResult<()> {
        let description = self.fd(from)?;
        self.place_fd(to, description, close_on_exec)
    }

    /// Moves `from` to `to`, closing what was at `to` (preview 1 `fd_renumber`: both must be open).
    ///
    /// # Errors
    /// `BadFd`.
    pub fn renumber_fd(&self, from: Fd, to: Fd) -> SysResult<()> {
        let replaced = {
            let mut fds = self.fds.lock();
            fds.get(to)?;
            fds.get(from)?;
            if from == to {
                return Ok(());
            }
            let close_on_exec = fds.close_on_exec(from)?;
            let description = fds.remove(from)?;
            fds.replace(to, description, close_on_exec)?
        };
        if let Some(replaced) = replaced {
            self.release_record_locks(&replaced);
        }
        Ok(())
    }

    /// Close-on-exec of a descriptor.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn close_on_exec(&self, fd: Fd) -> SysResult<bool> {
        self.fds.lock().close_on_exec(fd)
    }

    /// Sets close-on-exec.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn set_close_on_exec(&self, fd: Fd, on: bool) -> SysResult<()> {
        self.fds.lock().set_close_on_exec(fd, on)
    }

    /// Open descriptors, ascending.
    pub fn open_fds(&self) -> Vec<(Fd, Arc<Description>)> {
        self.fds
            .lock()
            .iter()
            .map(|(fd, description, _)| (fd, Arc::clone(description)))
            .collect()
    }

    /// Largest file that it may write.
    pub fn max_file_size(&self) -> u64 {
        self.limit(Resource::FileSize).0
    }

    /// Reads, waiting for a stream that has nothing yet. POSIX `read`.
    ///
    /// # Errors
    /// Those of [`Description::try_read`]; `Interrupted` by a handled signal before the first byte.
    pub async fn read(&self, description: &Description, buffer: &mut [u8]) -> SysResult<usize> {
        let count = self
            .until_ready(description, || description.try_read(buffer))
            .await?;
        self.note_io(count, 0);
        Ok(count)
    }

    /// Writes all of `buffer` unless a signal, an error or `O_NONBLOCK` cuts it short. POSIX `write`: a blocking write to a
    /// pipe completes.
    ///
    /// # Errors
    /// Those of [`Description::try_write`] and `Interrupted`, when nothing was written. With `BrokenPipe` the process has been
    /// sent `SIGPIPE`.
    pub async fn write(&self, description: &Description, buffer: &[u8]) -> SysResult<usize> {
        let max_file_size = self.max_file_size();
        let mut done = 0;
        loop {
            let rest = buffer.get(done..).unwrap_or_default();
            let result = self
                .until_ready(description, || description.try_write(rest, max_file_size))
                .await;
            match result {
                Ok(count) => {
                    done += count;
                    self.note_io(0, count);
                    if done >= buffer.len() || count == 0 {
                        return Ok(done);
                    }
                }
                Err(Errno::BrokenPipe) => {
                    self.signal(Signal::PIPE);
                    return if done > 0 {
                        Ok(done)
                    } else {
                        Err(Errno::BrokenPipe)
                    };
                }
                Err(Errno::FileTooBig) if done == 0 => {
                    self.signal(Signal::XFSZ);
                    return Err(Errno::FileTooBig);
                }
                Err(_) if done > 0 => return Ok(done),
                Err(error) => return Err(error),
            }
        }
    }

    /// Counts bytes that moved through descriptors.
    pub fn note_io(&self, read: usize, written: usize) {
        self.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        self.written_bytes
            .fetch_add(written as u64, Ordering::Relaxed);
        self.job.add_io(read as u64, written as u64);
    }

    async fn until_ready<T>(
        &self,
        description: &Description,
        mut attempt: impl FnMut() -> SysResult<T>,
    ) -> SysResult<T> {
        match attempt() {
            Err(Errno::Again) if !description.nonblocking() => {}
            result => return result,
        }
        match description.object() {
            Object::Stream(stream) => self.wait_on(stream.changed(), attempt).await,
            Object::File { .. } | Object::Directory(_) => Err(Errno::Again),
        }
    }

    /// Tries again whenever `changed` is notified until the answer is not `Again`.
    ///
    /// # Errors
    /// The attempt's; `Interrupted` by a handled signal.
    pub async fn wait_on<T>(
        &self,
        changed: &Notify,
        mut attempt: impl FnMut() -> SysResult<T>,
    ) -> SysResult<T> {
        loop {
            let mut change = pin!(changed.notified());
            change.as_mut().enable();
            let mut signal = pin!(self.signals.event().notified());
            signal.as_mut().enable();
            match attempt() {
                Err(Errno::Again) => {}
                result => return result,
            }
            if self.signals.interrupts() {
                return Err(Errno::Interrupted);
            }
            select(change, signal).await;
        }
    }

    /// Waits for `future`, or until a handled signal arrives.
    ///
    /// # Errors
    /// `Interrupted`.
    pub async fn interruptible<T>(&self, future: impl Future<Output = T>) -> SysResult<T> {
        let mut future = pin!(future);
        loop {
            let mut signal = pin!(self.signals.event().notified());
            signal.as_mut().enable();
            if self.signals.interrupts() {
                return Err(Errno::Interrupted);
            }
            if let Either::Left((value, _)) = select(future.as_mut(), signal).await {
                return Ok(value);
            }
        }
    }

    /// Waits until at least one question can be answered with yes, or `timeout` ends. POSIX `poll`; a file is always ready.
    ///
    /// Returns no event when the time ran out. `timeout` is a future, because time is the runtime's: pass one that never
    /// ends to wait without limit.
    ///
    /// # Errors
    /// `Interrupted`.
    pub async fn poll_fds(
        &self,
        questions: &[(Arc<Description>, Interest)],
        timeout: impl Future<Output = ()>,
    ) -> SysResult<Vec<PollEvent>> {
        let mut timeout = pin!(timeout);
        loop {
            // The waiters come first: a change between the look and the wait must not be lost.
            let mut changes = Vec::new();
            for (description, _) in questions {
                if let Object::Stream(stream) = description.object() {
                    let mut change = Box::pin(stream.changed().notified());
                    change.as_mut().enable();
                    changes.push(change);
                }
            }
            let ready = ready_now(questions);
            if !ready.is_empty() {
                return Ok(ready);
            }
            let change = async {
                if changes.is_empty() {
                    std::future::pending::<()>().await;
                } else {
                    select_all(changes).await;
                }
            };
            let mut change = pin!(change);
            let wait = select(change.as_mut(), timeout.as_mut());
            match self.interruptible(wait).await? {
                Either::Left(_) => {}
                Either::Right(_) => return Ok(ready_now(questions)),
            }
        }
    }

    /// What a descriptor link (`/dev/fd/N`, `/proc/PID/fd/N`) means.
    ///
    /// # Errors
    /// `NotFound` when the process is gone or the descriptor is not open.
    pub fn linked(&self, pid: u32, fd: Fd) -> SysResult<Arc<Description>> {
        let description = if pid == self.pid {
            self.fd(fd)
        } else {
            self.table()?.get(pid).ok_or(Errno::NotFound)?.fd(fd)
        };
        description.map_err(|_| Errno::NotFound)
    }

    /// Opens what a descriptor link (`/dev/fd/N`) means, as Linux does: a stream gives the same object, a file is opened anew.
    ///
    /// # Errors
    /// `NotFound` when the descriptor is not open, `Access` when it does not allow this access.
    pub fn reopen(
        &self,
        pid: u32,
        fd: Fd,
        access: crate::vfs::AccessMode,
    ) -> SysResult<Arc<Description>> {
        let description = self.linked(pid, fd)?;
        match description.object() {
            Object::Stream(stream) => {
                if !description.access().allows(access) {
                    return Err(Errno::Access);
                }
                Ok(Description::stream(Arc::clone(stream), access))
            }
            Object::Directory(place) if !access.writes() => {
                Ok(Description::new(Object::Directory(place.clone()), access))
            }
            Object::Directory(_) => Err(Errno::IsDirectory),
            Object::File {
                file,
                inode,
                mount,
                path,
            } => {
                let file = match inode.open(access) {
                    Ok(file) => file,
                    Err(Errno::NotFound | Errno::Stale) if description.access().allows(access) => {
                        Arc::clone(file)
                    }
                    Err(error) => return Err(error),
                };
                let object = Object::File {
                    file,
                    inode: Arc::clone(inode),
                    mount: Arc::clone(mount),
                    path: Arc::clone(path),
                };
                Ok(Description::new(object, access))
            }
        }
    }
}

fn ready_now(questions: &[(Arc<Description>, Interest)]) -> Vec<PollEvent> {
    let mut ready = Vec::new();
    for (index, (description, interest)) in questions.iter().enumerate() {
        let readiness = description.readiness();
        let yes = match interest {
            Interest::Read => readiness.readable,
            Interest::Write => readiness.writable,
        };
        if yes || readiness.hangup {
            ready.push(PollEvent { index, readiness });
        }
    }
    ready
}
