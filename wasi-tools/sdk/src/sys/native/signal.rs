//! Signals. A C handler collects what arrives in a static word, as the kernel does for a guest.

use std::{
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use super::check;
use crate::{
    Errno, Result, Signal,
    signal::{Disposition, MaskHow, SignalSet},
};

/// Bit n-1: signal n has arrived.
static PENDING: AtomicU32 = AtomicU32::new(0);

/// Linux's number and the host's, where they can differ. The two that only Linux has stand for themselves.
#[cfg(not(target_os = "linux"))]
const HOST: &[(u32, libc::c_int)] = &[
    (7, libc::SIGBUS),
    (10, libc::SIGUSR1),
    (12, libc::SIGUSR2),
    (17, libc::SIGCHLD),
    (18, libc::SIGCONT),
    (19, libc::SIGSTOP),
    (20, libc::SIGTSTP),
    (23, libc::SIGURG),
    (29, libc::SIGIO),
    (31, libc::SIGSYS),
];
#[cfg(target_os = "linux")]
const HOST: &[(u32, libc::c_int)] = &[];

pub(super) fn to_host(signal: Signal) -> libc::c_int {
    let listed = HOST.iter().find(|(linux, _)| *linux == signal.number());
    listed.map_or_else(|| signal.number().cast_signed(), |(_, host)| *host)
}

pub(super) fn from_host(host: libc::c_int) -> Option<Signal> {
    let listed = HOST
        .iter()
        .find(|(_, number)| *number == host)
        .map(|(linux, _)| *linux);
    Signal::from_number(listed.unwrap_or(host.cast_unsigned()))
}

extern "C" fn collect(host: libc::c_int) {
    if let Some(signal) = from_host(host) {
        PENDING.fetch_or(SignalSet::EMPTY.with(signal).bits(), Ordering::SeqCst);
    }
}

fn collector() -> libc::sighandler_t {
    (collect as extern "C" fn(libc::c_int)) as libc::sighandler_t
}

pub(crate) fn sig_action(signal: Signal, disposition: Disposition) -> Result<Disposition> {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero is a valid `sigaction`: default handler, no flags (so no SA_RESTART), empty mask.
    let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignore => libc::SIG_IGN,
        Disposition::Handle => collector(),
    };
    // SAFETY: both point at a `sigaction`; the handler only touches an atomic.
    check(unsafe { libc::sigaction(to_host(signal), &raw const new, previous.as_mut_ptr()) })?;
    // SAFETY: zeroed is valid, and the call has filled it.
    let previous = unsafe { previous.assume_init() }.sa_sigaction;
    Ok(match previous {
        libc::SIG_DFL => Disposition::Default,
        libc::SIG_IGN => Disposition::Ignore,
        _ => Disposition::Handle,
    })
}

/// The host's form of a set.
pub(super) fn host_set(set: SignalSet) -> libc::sigset_t {
    let mut host = MaybeUninit::zeroed();
    // SAFETY: the call writes the whole set.
    unsafe { libc::sigemptyset(host.as_mut_ptr()) };
    // SAFETY: initialised just now.
    let mut host = unsafe { host.assume_init() };
    for signal in set.iter() {
        // SAFETY: the set is initialised.
        unsafe { libc::sigaddset(&raw mut host, to_host(signal)) };
    }
    host
}

fn from_host_set(host: &libc::sigset_t) -> SignalSet {
    // SAFETY: the set is initialised.
    Signal::all()
        .filter(|signal| unsafe { libc::sigismember(host, to_host(*signal)) == 1 })
        .collect()
}

pub(crate) fn sig_mask(how: MaskHow, set: SignalSet) -> Result<SignalSet> {
    let new = host_set(set);
    let (how, new) = match how {
        MaskHow::Block => (libc::SIG_BLOCK, &raw const new),
        MaskHow::Unblock => (libc::SIG_UNBLOCK, &raw const new),
        MaskHow::Set => (libc::SIG_SETMASK, &raw const new),
        MaskHow::Read => (libc::SIG_BLOCK, ptr::null()),
    };
    let mut previous = host_set(SignalSet::EMPTY);
    // SAFETY: the pointers are null or point at initialised sets.
    match unsafe { libc::pthread_sigmask(how, new, &raw mut previous) } {
        0 => Ok(from_host_set(&previous)),
        number => Err(Errno::from_raw(number)),
    }
}

pub(crate) fn sig_pending() -> SignalSet {
    SignalSet::from_bits(PENDING.load(Ordering::SeqCst))
}

pub(crate) fn sig_take() -> SignalSet {
    SignalSet::from_bits(PENDING.swap(0, Ordering::SeqCst))
}

pub(crate) fn sig_pause() {
    // Signals are blocked between the look and the wait, so that none arrives unseen in between.
    let Ok(before) = sig_mask(MaskHow::Block, SignalSet::FULL) else {
        return;
    };
    if SignalSet::from_bits(sig_pending().bits() & !before.bits()).is_empty() {
        let wait = host_set(before);
        // SAFETY: the set is initialised. It always returns EINTR.
        unsafe { libc::sigsuspend(&raw const wait) };
    }
    let _restored = sig_mask(MaskHow::Set, before);
}

pub(crate) fn sig_alarm(after: Option<Duration>) -> Result<Option<Duration>> {
    let after = after.unwrap_or_default();
    let seconds = libc::time_t::try_from(after.as_secs()).map_err(|_| Errno::EINVAL)?;
    let mut micros = libc::suseconds_t::from(after.subsec_micros());
    if seconds == 0 && micros == 0 && !after.is_zero() {
        micros = 1; // 0 would cancel
    }
    let zero = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let new = libc::itimerval {
        it_interval: zero,
        it_value: libc::timeval {
            tv_sec: seconds,
            tv_usec: micros,
        },
    };
    let mut old = libc::itimerval {
        it_interval: zero,
        it_value: zero,
    };
    // SAFETY: both point at an `itimerval`.
    check(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const new, &raw mut old) })?;
    let left = super::process::duration(&old.it_value);
    Ok((!left.is_zero()).then_some(left))
}
