//! Waiting for children.
//!
//! Source: waitpid(2), <https://man7.org/linux/man-pages/man2/waitpid.2.html>.

use std::sync::atomic::Ordering;

use super::{Process, RunState};
use crate::errno::{Errno, SysResult};

/// Which children a wait is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFilter {
    /// This one.
    Pid(u32),
    /// All of them.
    Any,
    /// Those of this process group.
    Group(u32),
}

/// Options of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOptions {
    /// Answer at once (`WNOHANG`).
    pub no_hang: bool,
    /// Report children that stopped (`WUNTRACED`).
    pub stopped: bool,
    /// Report children that were continued (`WCONTINUED`).
    pub continued: bool,
}

/// What a wait found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitResult {
    /// The child.
    pub pid: u32,
    /// Its state as Linux encodes it.
    pub status: u32,
    /// CPU time of the child and of those it waited for, in nanoseconds.
    pub cpu_ns: u64,
    /// Peak of its linear memory in bytes.
    pub peak_memory_bytes: u64,
}

impl Process {
    /// Waits for a child's change of state; `None` when `no_hang` found none.
    ///
    /// # Errors
    /// `Child` when there is no such child, `Interrupted`.
    pub async fn wait(
        &self,
        filter: WaitFilter,
        options: WaitOptions,
    ) -> SysResult<Option<WaitResult>> {
        if options.no_hang {
            return match self.try_wait(filter, options) {
                Err(Errno::Again) => Ok(None),
                result => result.map(Some),
            };
        }
        self.wait_on(&self.child_event, || self.try_wait(filter, options))
            .await
            .map(Some)
    }

    fn try_wait(&self, filter: WaitFilter, options: WaitOptions) -> SysResult<WaitResult> {
        let table = self.table()?;
        let mut any = false;
        for child in table.children(self.pid) {
            let mut state = child.state.lock();
            let wanted = match filter {
                WaitFilter::Any => true,
                WaitFilter::Pid(pid) => child.pid == pid,
                WaitFilter::Group(pgid) => state.pgid == pgid,
            };
            if !wanted {
                continue;
            }
            any = true;
            let status = match state.run {
                RunState::Zombie(status) => status.wait_status(),
                RunState::Stopped(signal) if options.stopped && !state.change_reported => {
                    u32::from(signal.number()) << 8 | 0x7f
                }
                RunState::Live if options.continued && state.continued => 0xffff,
                RunState::Live | RunState::Stopped(_) => continue,
            };
            state.change_reported = true;
            state.continued = false;
            let ended = matches!(state.run, RunState::Zombie(_));
            drop(state);
            let (own, children) = child.cpu_ns();
            let peak = child.memory_bytes();
            if ended && table.reap(child.pid) {
                self.children_cpu_ns
                    .fetch_add(own + children, Ordering::Relaxed);
                self.children_peak_memory_bytes
                    .fetch_max(peak.1.max(peak.2), Ordering::Relaxed);
            }
            return Ok(WaitResult {
                pid: child.pid,
                status,
                cpu_ns: own + children,
                peak_memory_bytes: peak.1.max(peak.2),
            });
        }
        Err(if any { Errno::Again } else { Errno::Child })
    }
}
