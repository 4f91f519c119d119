//! Clocks.

use std::time::Duration;

use super::abi;

fn clock(id: u32) -> u64 {
    let mut time = 0;
    // Both clocks exist in every preview 1 host; were one missing, its time stands still at 0.
    let _missing = abi::clock_time_get(id, 1, &mut time);
    time
}

pub(crate) fn monotonic() -> Duration {
    Duration::from_nanos(clock(abi::CLOCK_MONOTONIC))
}

pub(crate) fn realtime_ns() -> i64 {
    clock(abi::CLOCK_REALTIME).cast_signed()
}
