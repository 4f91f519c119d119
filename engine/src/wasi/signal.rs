//! `sandbar_v1`: signals.
//!
//! A guest cannot be interrupted, so a handled signal is shown in a word of its memory, even in the middle of a computation.
//! It stays pending in the kernel until the guest takes it: until then calls that would wait end with `Interrupted`.

use super::call::Call;
use crate::errno::{Errno, SysResult};
use crate::process::{Disposition, Signal, SignalSet};

/// POSIX `sigaction`.
pub(super) fn sig_action(
    call: &mut Call<'_>,
    signal: u32,
    disposition: u32,
    previous: u32,
) -> SysResult<()> {
    let disposition = match disposition {
        0 => Disposition::Default,
        1 => Disposition::Ignore,
        2 => Disposition::Handle,
        _ => return Err(Errno::Invalid),
    };
    call.memory.check(previous, 4)?;
    let signals = call.context.process().signals();
    let before = signals.set_disposition(Signal::from_number(signal)?, disposition)?;
    let before = match before {
        Disposition::Default => 0,
        Disposition::Ignore => 1,
        Disposition::Handle => 2,
    };
    call.memory.write_wanted_u32(previous, before)
}

/// POSIX `sigprocmask`.
pub(super) fn sig_mask(call: &mut Call<'_>, how: u32, set: u32, previous: u32) -> SysResult<()> {
    call.memory.check(previous, 4)?;
    let process = call.context.process();
    let before = process.signals().blocked();
    let to = match how {
        0 => before.0 | set,
        1 => before.0 & !set,
        2 => set,
        3 => before.0,
        _ => return Err(Errno::Invalid),
    };
    call.memory.write_wanted_u32(previous, before.0)?;
    if how != 3 {
        process.set_blocked(SignalSet(to));
    }
    Ok(())
}

pub(super) fn sig_word(call: &mut Call<'_>, word: u32) -> SysResult<()> {
    if word == 0 {
        call.context.set_signal_word(None);
        return Ok(());
    }
    if !word.is_multiple_of(4) {
        return Err(Errno::Invalid);
    }
    call.memory.check(word, 4)?;
    call.context.set_signal_word(Some(word));
    call.context.show_signals(&mut call.memory);
    Ok(())
}

pub(super) fn sig_take(call: &mut Call<'_>, pending: u32) -> SysResult<()> {
    call.memory.check(pending, 4)?;
    let mut taken = call.context.process().signals().take().0;
    if let Some(word) = call.context.signal_word() {
        taken |= call.memory.u32(word)?;
        call.memory.write_u32(word, 0)?;
    }
    call.memory.write_u32(pending, taken)
}

/// POSIX `pause`.
pub(super) async fn sig_pause(call: &mut Call<'_>) -> SysResult<()> {
    let process = call.context.process();
    process.interruptible(std::future::pending::<()>()).await
}

/// POSIX `alarm`, in nanoseconds.
pub(super) fn sig_alarm(call: &mut Call<'_>, ns: u64, left: u32) -> SysResult<()> {
    call.memory.check(left, 8)?;
    let before = call.context.process().set_alarm(ns)?;
    if left == 0 {
        return Ok(());
    }
    call.memory.write_u64(left, before)
}
