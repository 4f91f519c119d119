//! The processes of a sandbox: a table of them, their descriptors, pipes, signals, and how they start and end.
//!
//! A process is one program instance with an fd table, a current directory, an environment, a group and limits. What runs it
//! is the [`Loader`]'s business (`crate::runtime` implements it); this module does not know WebAssembly.
//!
//! Invariants
//! - A process ends exactly once ([`Process::finish`]): descriptors closed, children handed to init, the parent told, in that
//!   order; the output written so far is kept by whoever holds the other end.
//! - Killing never goes through the run queue: see [`task`].
//! - Lock order: table, then a process's `state`, then its `fds`, then a description's offset. No lock is held across an
//!   await or while a future is dropped.

mod description;
mod fd_table;
mod fifo;
mod io;
mod job;
mod limits;
mod lock;
mod pipe;
mod signal;
mod spawn;
mod stream;
mod table;
mod task;
mod wait;

use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

pub use self::description::{Description, Object, SyncFlags, Whence};
pub use self::fd_table::{Fd, FdTable};
pub use self::io::{Interest, PollEvent};
pub use self::job::Job;
pub use self::limits::{Resource, ResourceLimits};
pub use self::lock::{LockKind, LockRange, RecordLock};
pub use self::pipe::{PIPE_BUF, PIPE_CAPACITY, PipeReader, PipeWriter, pipe, pipe_in};
pub use self::signal::{DefaultAction, Disposition, Signal, SignalSet, SignalState};
pub(crate) use self::spawn::HOST_COMMAND_LINE;
pub use self::spawn::{ARG_MAX, FdPlan, HostCommand, HostProcess, Loader, Program, SpawnRequest};
pub use self::stream::{NamedAs, Readiness, Stream, WindowSize};
pub use self::table::{ExecPlan, MemoryAccount, Preopens, ProcessTable, TableLimits};
pub use self::task::{ProgramFuture, Task};
pub use self::wait::{WaitFilter, WaitOptions, WaitResult};

use self::lock::RecordFlag;
use crate::errno::{Errno, SysResult};
use crate::vfs::{Caller, Place};

/// The one user of a sandbox. Source: contract A6.
pub const UID: u32 = 65532;
/// Its group.
pub const GID: u32 = 65532;
/// The parent of processes whose own parent is gone or is the host. It is no process: what it inherits is reaped at once.
pub const INIT_PID: u32 = 1;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// By itself, with this code.
    Exited(u8),
    /// By this signal.
    Signaled(Signal),
}

impl ExitStatus {
    /// The code that a shell shows: the exit code, or 128 + the signal's number.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal.number(),
        }
    }

    /// Whether it exited with 0.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }

    /// As `waitpid` encodes it on Linux.
    pub fn wait_status(self) -> u32 {
        match self {
            Self::Exited(code) => u32::from(code) << 8,
            Self::Signaled(signal) => u32::from(signal.number()),
        }
    }
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Running or waiting.
    Live,
    /// Stopped by a signal; it is not polled.
    Stopped(Signal),
    /// Ended and not yet waited for.
    Zombie(ExitStatus),
}

/// What of a process changes under one lock.
#[derive(Debug)]
struct State {
    ppid: u32,
    pgid: u32,
    sid: u32,
    run: RunState,
    /// Whether the parent has been told of the newest stop or continuation.
    change_reported: bool,
    continued: bool,
    cwd: Place,
    umask: u32,
    args: Arc<[Vec<u8>]>,
    env: Arc<[Vec<u8>]>,
    exe: Arc<[u8]>,
    limits: ResourceLimits,
    alarm: Option<Alarm>,
}

/// An alarm that is set.
struct Alarm {
    at: std::time::Instant,
    /// Gives the timer up when it is dropped; outside of locks.
    timer: Option<Box<dyn Send>>,
}

impl std::fmt::Debug for Alarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alarm")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// A process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    table: Weak<ProcessTable>,
    job: Arc<Job>,
    state: Mutex<State>,
    fds: Mutex<FdTable>,
    signals: SignalState,
    task: Task,
    /// Told when a child changes state.
    child_event: Notify,
    /// Told when this process ends.
    exit_event: Notify,
    record_locks: RecordFlag,
    start_ns: u64,
    cpu_ns: AtomicU64,
    children_cpu_ns: AtomicU64,
    memory_bytes: AtomicU64,
    peak_memory_bytes: AtomicU64,
    children_peak_memory_bytes: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    fuel_used: AtomicU64,
}

impl Process {
    /// Process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The table it is in.
    ///
    /// # Errors
    /// `NoProcess` once the sandbox is gone.
    pub fn table(&self) -> SysResult<Arc<ProcessTable>> {
        self.table.upgrade().ok_or(Errno::NoProcess)
    }

    /// What it asks the file system as.
    pub fn caller(&self) -> Caller {
        Caller { pid: self.pid }
    }

    /// The job it was started in: what a time limit or a dropped handle ends as one.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Parent's id.
    pub fn ppid(&self) -> u32 {
        self.state.lock().ppid
    }

    /// Process group.
    pub fn pgid(&self) -> u32 {
        self.state.lock().pgid
    }

    /// Session.
    pub fn sid(&self) -> u32 {
        self.state.lock().sid
    }

    /// What it is doing.
    pub fn run_state(&self) -> RunState {
        self.state.lock().run
    }

    /// How it ended, once it has.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        match self.run_state() {
            RunState::Zombie(status) => Some(status),
            RunState::Live | RunState::Stopped(_) => None,
        }
    }

    /// Waits until it has ended. Any executor.
    pub async fn exited(&self) -> ExitStatus {
        loop {
            let event = self.exit_event.notified();
            tokio::pin!(event);
            event.as_mut().enable();
            if let Some(status) = self.exit_status() {
                return status;
            }
            event.await;
        }
    }

    /// Signal dispositions, mask and pending signals.
    pub fn signals(&self) -> &SignalState {
        &self.signals
    }

    /// The slot that its future lives in.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Arguments, `argv[0]` first.
    pub fn args(&self) -> Arc<[Vec<u8>]> {
        Arc::clone(&self.state.lock().args)
    }

    /// Environment at its start, `NAME=value` each.
    pub fn env(&self) -> Arc<[Vec<u8>]> {
        Arc::clone(&self.state.lock().env)
    }

    /// Path of the program in the namespace.
    pub fn exe(&self) -> Arc<[u8]> {
        Arc::clone(&self.state.lock().exe)
    }

    /// Current directory.
    pub fn cwd(&self) -> Place {
        self.state.lock().cwd.clone()
    }

    /// `chdir`: the caller has resolved and checked `place`.
    pub fn set_cwd(&self, place: Place) {
        let old = std::mem::replace(&mut self.state.lock().cwd, place);
        drop(old);
    }

    /// The umask.
    pub fn umask(&self) -> u32 {
        self.state.lock().umask
    }

    /// Sets the umask (its low nine bits), returning the former.
    pub fn set_umask(&self, mask: u32) -> u32 {
        std::mem::replace(&mut self.state.lock().umask, mask & 0o777)
    }

    /// Soft and hard value of a resource limit; `u64::MAX` is none.
    pub fn limit(&self, resource: Resource) -> (u64, u64) {
        self.state.lock().limits.get(resource)
    }

    /// `setrlimit`: lowering, and raising the soft value up to the hard one.
    ///
    /// # Errors
    /// `NotPermitted` above the hard value, `Invalid` when soft is above hard.
    pub fn set_limit(&self, resource: Resource, soft: u64, hard: u64) -> SysResult<()> {
        self.state.lock().limits.set(resource, soft, hard)?;
        if resource == Resource::OpenFiles {
            self.fds.lock().set_limit(soft);
        }
        Ok(())
    }

    /// CPU time used so far in nanoseconds: by itself, by children it has waited for.
    pub fn cpu_ns(&self) -> (u64, u64) {
        (
            self.cpu_ns.load(Ordering::Relaxed),
            self.children_cpu_ns.load(Ordering::Relaxed),
        )
    }

    /// CPU time used so far in nanoseconds, the slice that is running included: for the process's own question.
    pub fn cpu_ns_now(&self) -> u64 {
        self.cpu_ns
            .load(Ordering::Relaxed)
            .saturating_add(self.task.slice_ns())
    }

    fn record_flag(&self) -> &RecordFlag {
        &self.record_locks
    }

    /// Adds a slice of CPU time.
    pub fn add_cpu_ns(&self, ns: u64) {
        self.cpu_ns.fetch_add(ns, Ordering::Relaxed);
        self.job.add_cpu_ns(ns);
    }

    /// Adds fuel used, where the engine counts it.
    pub fn add_fuel(&self, fuel: u64) {
        self.fuel_used.fetch_add(fuel, Ordering::Relaxed);
        self.job.add_fuel(fuel);
    }

    /// Linear memory in bytes, now and at its peak, and the peak of waited-for children.
    pub fn memory_bytes(&self) -> (u64, u64, u64) {
        (
            self.memory_bytes.load(Ordering::Relaxed),
            self.peak_memory_bytes.load(Ordering::Relaxed),
            self.children_peak_memory_bytes.load(Ordering::Relaxed),
        )
    }

    /// Says how much linear memory it has now; called by the runtime as it grows, and with 0 when it is freed.
    pub fn set_memory_bytes(&self, bytes: u64) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
        self.peak_memory_bytes.fetch_max(bytes, Ordering::Relaxed);
        self.job.note_memory(bytes);
    }

    /// Bytes read and written through descriptors.
    pub fn io_bytes(&self) -> (u64, u64) {
        (
            self.read_bytes.load(Ordering::Relaxed),
            self.written_bytes.load(Ordering::Relaxed),
        )
    }

    /// Start, in nanoseconds after the sandbox's.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Ends the process: once, whoever comes first. Closes its descriptors, gives its children to init, tells the parent.
    pub fn finish(&self, status: ExitStatus) {
        let alarm = {
            let mut state = self.state.lock();
            if matches!(state.run, RunState::Zombie(_)) {
                return;
            }
            state.run = RunState::Zombie(status);
            state.change_reported = false;
            // Under the lock: whoever sees that it has ended must not find it among the job's live ones.
            self.job.process_ended();
            state.alarm.take()
        };
        let closed = self.fds.lock().close_all();
        drop((closed, alarm));
        self.release_all_record_locks();
        self.set_memory_bytes(0);
        if let Some(table) = self.table.upgrade() {
            table.process_ended(self);
        }
        self.exit_event.notify_waiters();
    }
}
