//! Clocks and sleeping.

use std::time::Duration;

use crate::{Result, fd, sys};

/// Time since some fixed moment, never set back.
pub fn monotonic() -> Duration {
    sys::monotonic()
}

/// Nanoseconds since 1970-01-01 00:00 UTC.
pub fn realtime_ns() -> i64 {
    sys::realtime_ns()
}

/// Sleeps for `duration`.
///
/// # Errors
/// `EINTR` when a handled signal arrives first.
pub fn sleep(duration: Duration) -> Result<()> {
    fd::poll(&mut [], Some(duration)).map(drop)
}
