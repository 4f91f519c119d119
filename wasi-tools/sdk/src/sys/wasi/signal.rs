//! Signals.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use super::abi;
use crate::{
    Errno, Result, Signal,
    signal::{Disposition, MaskHow, SignalSet},
};

/// The word into which the kernel ORs what arrived.
static PENDING: AtomicU32 = AtomicU32::new(0);

pub(crate) fn sig_action(signal: Signal, disposition: Disposition) -> Result<Disposition> {
    let number = match disposition {
        Disposition::Default => 0,
        Disposition::Ignore => 1,
        Disposition::Handle => {
            // SAFETY: the word is static and aligned; it is only used atomically. Registering it again changes nothing.
            Errno::check(unsafe { abi::sig_word(PENDING.as_ptr()) })?;
            2
        }
    };
    let mut previous = 0;
    Errno::check(abi::sig_action(signal.number(), number, &mut previous))?;
    Ok(match previous {
        1 => Disposition::Ignore,
        2 => Disposition::Handle,
        _ => Disposition::Default,
    })
}

pub(crate) fn sig_mask(how: MaskHow, set: SignalSet) -> Result<SignalSet> {
    let how = match how {
        MaskHow::Block => 0,
        MaskHow::Unblock => 1,
        MaskHow::Set => 2,
        MaskHow::Read => 3,
    };
    let mut previous = 0;
    Errno::check(abi::sig_mask(how, set.bits(), &mut previous))?;
    Ok(SignalSet::from_bits(previous))
}

pub(crate) fn sig_pending() -> SignalSet {
    SignalSet::from_bits(PENDING.load(Ordering::Relaxed))
}

pub(crate) fn sig_take() -> SignalSet {
    let mut pending = 0;
    // The kernel clears the word; should the call fail, taking the word itself loses nothing.
    if abi::sig_take(&mut pending) != 0 {
        pending = PENDING.swap(0, Ordering::Relaxed);
    }
    SignalSet::from_bits(pending)
}

pub(crate) fn sig_pause() {
    if sig_pending().is_empty() {
        // Always EINTR: the caller looks at what arrived.
        let _interrupted = abi::sig_pause();
    }
}

pub(crate) fn sig_alarm(after: Option<Duration>) -> Result<Option<Duration>> {
    let ns = match after {
        None => 0,
        Some(after) => u64::try_from(after.as_nanos())
            .map_err(|_| Errno::EINVAL)?
            .max(1),
    };
    let mut left = 0;
    Errno::check(abi::sig_alarm(ns, &mut left))?;
    Ok((left > 0).then(|| Duration::from_nanos(left)))
}
