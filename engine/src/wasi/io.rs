//! Reading and writing: the calls that move bytes.
//!
//! A transfer goes straight between a description and guest memory. It is cut into chunks of [`CHUNK`] bytes with a yield
//! between them, so that a kill or another guest never waits for gigabytes. Several small buffers are gathered first: a
//! `writev` is one write (POSIX), which is what keeps lines of processes that share a pipe or a log apart.

use std::ops::ControlFlow;

use super::call::{Call, yield_now};
use super::memory::{GuestMemory, Pairs};
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::{Description, Object, Process, SyncFlags};
use crate::vfs::SyncScope;

/// Bytes that move without a yield, and at most are gathered.
pub(super) const CHUNK: u32 = 1024 * 1024;

/// Where a transfer happens.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// At the description's offset, which moves along.
    Current,
    /// At this offset, and nothing moves.
    At(u64),
}

impl Position {
    fn after(self, count: u32) -> SysResult<Self> {
        Ok(match self {
            Self::Current => Self::Current,
            Self::At(offset) => Self::At(
                offset
                    .checked_add(u64::from(count))
                    .ok_or(Errno::Overflow)?,
            ),
        })
    }

    fn checked(offset: u64) -> SysResult<Self> {
        if i64::try_from(offset).is_err() {
            return Err(Errno::Invalid);
        }
        Ok(Self::At(offset))
    }
}

pub(super) async fn fd_read(
    call: &mut Call<'_>,
    fd: u32,
    buffers: u32,
    count: u32,
    result: u32,
) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_READ)?;
    read(
        call,
        &description,
        (buffers, count),
        result,
        Position::Current,
    )
    .await
}

pub(super) async fn fd_pread(
    call: &mut Call<'_>,
    fd: u32,
    buffers: u32,
    count: u32,
    offset: u64,
    result: u32,
) -> SysResult<()> {
    let needed = Rights::FD_READ.union(Rights::FD_SEEK);
    let description = call.context.description(fd, needed)?;
    let position = Position::checked(offset)?;
    read(call, &description, (buffers, count), result, position).await
}

pub(super) async fn fd_write(
    call: &mut Call<'_>,
    fd: u32,
    buffers: u32,
    count: u32,
    result: u32,
) -> SysResult<()> {
    let description = call.context.description(fd, Rights::FD_WRITE)?;
    write(
        call,
        &description,
        (buffers, count),
        result,
        Position::Current,
    )
    .await
}

pub(super) async fn fd_pwrite(
    call: &mut Call<'_>,
    fd: u32,
    buffers: u32,
    count: u32,
    offset: u64,
    result: u32,
) -> SysResult<()> {
    let needed = Rights::FD_WRITE.union(Rights::FD_SEEK);
    let description = call.context.description(fd, needed)?;
    let position = Position::checked(offset)?;
    write(call, &description, (buffers, count), result, position).await
}

async fn read(
    call: &mut Call<'_>,
    description: &Description,
    (buffers, count): (u32, u32),
    result: u32,
    position: Position,
) -> SysResult<()> {
    let mut buffers = call.memory.buffers(buffers, count)?;
    buffers.total(&call.memory)?;
    call.memory.check(result, 4)?;
    let mut reading = Reading {
        process: call.context.process(),
        description,
        position,
        done: 0,
    };
    let mut any = false;
    while let Some((at, len)) = buffers.next_filled(&call.memory)? {
        any = true;
        if reading.fill(&mut call.memory, at, len).await?.is_break() {
            break;
        }
    }
    if !any {
        // An empty read still says whether the descriptor can be read.
        let _ = reading.fill(&mut call.memory, 0, 0).await?;
    }
    let done = reading.done;
    call.memory.write_u32(result, done)
}

struct Reading<'a> {
    process: &'a Process,
    description: &'a Description,
    position: Position,
    done: u32,
}

impl Reading<'_> {
    /// Fills one buffer, chunk by chunk, until it is full or a read comes back short.
    async fn fill(
        &mut self,
        memory: &mut GuestMemory<'_>,
        mut at: u32,
        len: u32,
    ) -> SysResult<ControlFlow<()>> {
        let mut left = len;
        loop {
            let wanted = left.min(CHUNK);
            let result = self.once(memory.bytes_mut(at, wanted)?).await;
            let count = match result {
                Ok(count) => count,
                // What was read before the error counts; the error comes back with the next call.
                Err(_) if self.done > 0 => return Ok(ControlFlow::Break(())),
                Err(error) => return Err(error),
            };
            self.done = self.done.saturating_add(count);
            self.position = self.position.after(count)?;
            left = left.saturating_sub(count);
            at = at.saturating_add(count);
            if count < wanted {
                return Ok(ControlFlow::Break(()));
            }
            if left == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            yield_now().await;
        }
    }

    async fn once(&self, buffer: &mut [u8]) -> SysResult<u32> {
        let count = match self.position {
            Position::At(offset) => {
                let count = self.description.read_at(buffer, offset)?;
                self.process.note_io(count, 0);
                count
            }
            // Only the first read may wait: a later one would hold back what is already there.
            Position::Current if self.done == 0 => {
                self.process.read(self.description, buffer).await?
            }
            Position::Current => {
                let count = self.description.try_read(buffer)?;
                self.process.note_io(count, 0);
                count
            }
        };
        u32::try_from(count).map_err(|_| Errno::Overflow)
    }
}

async fn write(
    call: &mut Call<'_>,
    description: &Description,
    (buffers, count): (u32, u32),
    result: u32,
    position: Position,
) -> SysResult<()> {
    let mut buffers = call.memory.buffers(buffers, count)?;
    let total = buffers.total(&call.memory)?;
    call.memory.check(result, 4)?;
    let mut writing = Writing {
        process: call.context.process(),
        description,
        position,
        done: 0,
    };
    let first = buffers.next_filled(&call.memory)?.unwrap_or((0, 0));
    if first.1 < total && total <= CHUNK {
        let gathered = gather(&call.memory, first, &mut buffers, total)?;
        let _ = writing.all(&gathered).await?;
    } else {
        let mut next = Some(first);
        while let Some((at, len)) = next {
            if writing.all(call.memory.bytes(at, len)?).await?.is_break() {
                break;
            }
            next = buffers.next_filled(&call.memory)?;
        }
    }
    let done = writing.done;
    let flags = description.sync_flags();
    if done > 0
        && flags != SyncFlags::empty()
        && matches!(description.object(), Object::File { .. })
    {
        let scope = if flags.contains(SyncFlags::ALL) {
            SyncScope::All
        } else {
            SyncScope::Data
        };
        crate::host::blocking(|| description.sync(scope))?;
    }
    call.memory.write_u32(result, done)
}

fn gather(
    memory: &GuestMemory<'_>,
    first: (u32, u32),
    rest: &mut Pairs,
    total: u32,
) -> SysResult<Vec<u8>> {
    let mut gathered = Vec::with_capacity(usize::try_from(total).map_err(|_| Errno::Overflow)?);
    let mut next = Some(first);
    while let Some((at, len)) = next {
        gathered.extend_from_slice(memory.bytes(at, len)?);
        next = rest.next_filled(memory)?;
    }
    Ok(gathered)
}

struct Writing<'a> {
    process: &'a Process,
    description: &'a Description,
    position: Position,
    done: u32,
}

impl Writing<'_> {
    /// Writes one buffer, chunk by chunk, until it is written or a write comes back short.
    async fn all(&mut self, buffer: &[u8]) -> SysResult<ControlFlow<()>> {
        let chunk = usize::try_from(CHUNK).map_err(|_| Errno::Overflow)?;
        let mut rest = buffer;
        loop {
            let (now, later) = rest.split_at_checked(chunk).unwrap_or((rest, &[]));
            let count = match self.once(now).await {
                Ok(count) => count,
                Err(_) if self.done > 0 => return Ok(ControlFlow::Break(())),
                Err(error) => return Err(error),
            };
            let moved = u32::try_from(count).map_err(|_| Errno::Overflow)?;
            self.done = self.done.saturating_add(moved);
            self.position = self.position.after(moved)?;
            if count < now.len() {
                return Ok(ControlFlow::Break(()));
            }
            if later.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            rest = later;
            yield_now().await;
        }
    }

    async fn once(&self, buffer: &[u8]) -> SysResult<usize> {
        match self.position {
            Position::Current => self.process.write(self.description, buffer).await,
            Position::At(offset) => {
                let limit = self.process.max_file_size();
                let count = self.description.write_at(buffer, offset, limit)?;
                self.process.note_io(0, count);
                Ok(count)
            }
        }
    }
}
