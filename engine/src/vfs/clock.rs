//! The time that back ends stamp inodes with.

use rustix::time::{ClockId, clock_gettime};

use super::Timestamp;

/// The current time.
pub(super) fn now() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}
