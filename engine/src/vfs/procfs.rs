//! `/proc`: the little of it that programs read.

/// `/proc` of one sandbox.
#[derive(Debug)]
pub struct ProcFs {}

/// What `/proc/PID` shows of a process.
#[derive(Clone, Debug)]
pub struct ProcessSummary {
    /// Process id.
    pub pid: u32,
    /// Parent's id.
    pub ppid: u32,
    /// Group.
    pub pgid: u32,
    /// Session.
    pub sid: u32,
    /// `R`, `S`, `T` or `Z`.
    pub state: char,
    /// argv[0]'s last component, at most 15 bytes.
    pub comm: Vec<u8>,
    /// Arguments.
    pub args: Vec<Vec<u8>>,
    /// Environment at its start.
    pub env: Vec<Vec<u8>>,
    /// Linear memory in bytes.
    pub memory_bytes: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
    /// Start, in nanoseconds after the sandbox's.
    pub start_ns: u64,
    /// The program's path in the namespace.
    pub exe: Vec<u8>,
    /// Current directory.
    pub cwd: Vec<u8>,
    /// Signals pending, blocked, ignored and caught, bit n-1 for signal n.
    pub signals: [u32; 4],
    /// Open files limit, processes limit: for `/proc/PID/limits`.
    pub umask: u32,
}

/// The questions that `/proc` asks of the process table. Implemented by `crate::process`.
pub trait ProcessView: Send + Sync + std::fmt::Debug {
    /// All live processes and zombies, ascending.
    fn pids(&self) -> Vec<u32>;
    /// One of them.
    fn summary(&self, pid: u32) -> Option<ProcessSummary>;
    /// Its open descriptors: number and what `readlink /proc/PID/fd/N` shows (`/path`, `pipe:[7]`).
    fn descriptors(&self, pid: u32) -> Option<Vec<(u32, Vec<u8>)>>;
    /// The sandbox's memory limit and what is used of it, in bytes.
    fn memory(&self) -> (u64, u64);
    /// CPUs that the sandbox may use at a time.
    fn cpus(&self) -> u32;
    /// Nanoseconds since the sandbox was made.
    fn uptime_ns(&self) -> u64;
    /// Text of `/proc/mounts`.
    fn mounts(&self) -> Vec<u8>;
}
