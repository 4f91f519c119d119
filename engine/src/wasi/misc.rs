//! Preview 1's remaining calls: randomness, yielding, ending, and sockets, of which there are none.
//!
//! SECURITY[SB-ABI-002]: there is no call that makes or reaches a socket.

use super::call::{Call, yield_now};
use super::io::CHUNK;
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::Signal;

/// Random bytes of the operating system. Chunked: a guest may ask for its whole memory.
pub(super) async fn random_get(call: &mut Call<'_>, buffer: u32, len: u32) -> SysResult<()> {
    call.memory.check(buffer, len)?;
    let mut at = buffer;
    let mut left = len;
    while left > 0 {
        let count = left.min(CHUNK);
        crate::host::random(call.memory.bytes_mut(at, count)?).map_err(|_| Errno::Io)?;
        left = left.saturating_sub(count);
        at = at.saturating_add(count);
        if left > 0 {
            yield_now().await;
        }
    }
    Ok(())
}

pub(super) async fn sched_yield(_call: &mut Call<'_>) -> SysResult<()> {
    yield_now().await;
    Ok(())
}

/// Preview 1 numbers its signals without Linux's 16 (`STKFLT`).
pub(super) async fn proc_raise(call: &mut Call<'_>, signal: u32) -> SysResult<()> {
    let number = match signal {
        1..=15 => signal,
        16..=30 => signal.saturating_add(1),
        _ => return Err(Errno::Invalid),
    };
    let signal = Signal::from_number(number)?;
    call.context.process().signal(signal);
    until_running(call).await;
    Ok(())
}

/// Lets a process that has stopped itself stop here, not at its next epoch tick.
pub(super) async fn until_running(call: &Call<'_>) {
    if call.context.process().task().is_stopped() {
        yield_now().await;
    }
}

fn no_socket(call: &Call<'_>, fd: u32) -> SysResult<()> {
    call.context.description(fd, Rights::empty())?;
    Err(Errno::NotSocket)
}

pub(super) fn sock_accept(
    call: &mut Call<'_>,
    fd: u32,
    _flags: u32,
    _result: u32,
) -> SysResult<()> {
    no_socket(call, fd)
}

pub(super) fn sock_recv(
    call: &mut Call<'_>,
    fd: u32,
    _buffers: u32,
    _count: u32,
    _flags: u32,
    _size: u32,
    _out_flags: u32,
) -> SysResult<()> {
    no_socket(call, fd)
}

pub(super) fn sock_send(
    call: &mut Call<'_>,
    fd: u32,
    _buffers: u32,
    _count: u32,
    _flags: u32,
    _size: u32,
) -> SysResult<()> {
    no_socket(call, fd)
}

pub(super) fn sock_shutdown(call: &mut Call<'_>, fd: u32, _how: u32) -> SysResult<()> {
    no_socket(call, fd)
}
