//! Clocks of preview 1.

use super::call::Call;
use crate::errno::{Errno, SysResult};
use crate::host;
use crate::process::Process;

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Time since 1970.
    Realtime,
    /// Time since the sandbox was made: never the host's uptime.
    Monotonic,
    /// CPU time of the process. A thread's is the same: a process has one.
    Cpu,
}

impl Clock {
    /// # Errors
    /// `Invalid`.
    pub(super) fn parse(id: u32) -> SysResult<Self> {
        match id {
            0 => Ok(Self::Realtime),
            1 => Ok(Self::Monotonic),
            2 | 3 => Ok(Self::Cpu),
            _ => Err(Errno::Invalid),
        }
    }

    /// Nanoseconds now.
    ///
    /// # Errors
    /// `NoProcess` once the sandbox is gone, `Overflow` before 1970.
    pub(super) fn now(self, process: &Process) -> SysResult<u64> {
        match self {
            Self::Realtime => u64::try_from(host::realtime_ns()).map_err(|_| Errno::Overflow),
            Self::Monotonic => Ok(process.table()?.uptime_ns()),
            Self::Cpu => Ok(process.cpu_ns_now()),
        }
    }
}

/// The step of every clock: what the host's clocks count in.
const RESOLUTION_NS: u64 = 1;

pub(super) fn clock_res_get(call: &mut Call<'_>, id: u32, result: u32) -> SysResult<()> {
    Clock::parse(id)?;
    call.memory.write_u64(result, RESOLUTION_NS)
}

/// The precision that a guest asks for is what it tolerates; it gets the best there is.
pub(super) fn clock_time_get(
    call: &mut Call<'_>,
    id: u32,
    _precision: u64,
    result: u32,
) -> SysResult<()> {
    let now = Clock::parse(id)?.now(call.context.process())?;
    call.memory.write_u64(result, now)
}
