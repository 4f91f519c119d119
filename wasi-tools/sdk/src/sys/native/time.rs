//! Clocks.

use std::time::Duration;

fn clock(id: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes one `timespec`. It cannot fail for the two clocks that POSIX demands.
    let _failed = unsafe { libc::clock_gettime(id, &raw mut time) };
    time
}

pub(crate) fn monotonic() -> Duration {
    let time = clock(libc::CLOCK_MONOTONIC);
    let ns = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), ns)
}

pub(crate) fn realtime_ns() -> i64 {
    nanoseconds(&clock(libc::CLOCK_REALTIME))
}

/// Nanoseconds since 1970, at the ends of 1677 to 2262 for times beyond.
pub(super) fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// The reverse of [`nanoseconds`].
pub(super) fn timespec(ns: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: ns.div_euclid(1_000_000_000),
        tv_nsec: ns.rem_euclid(1_000_000_000),
    }
}
