//! Every limit of a sandbox and of an engine: name, unit, default, and where the number comes from.
//!
//! A limit that is hit is an ordinary failure of the guest, named in its error; it is never a panic, a hang or unbounded memory of
//! the host.

use std::time::Duration;

/// Limits of one sandbox. `Default` gives the documented defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Linear memory of one process, in bytes. Default 512 MiB: one bulk-memory instruction over it takes at most about 0.25 s,
    /// in which it cannot be interrupted (docs/limitations.md).
    pub process_memory_bytes: u64,
    /// Linear memory of all processes and contents of memory file systems together, in bytes. Default 2 GiB.
    pub memory_bytes: u64,
    /// Processes at a time, zombies included. Default 256.
    pub processes: u32,
    /// Open descriptors of one process. Default 1,024, as common Linux distributions have it.
    pub open_files: u32,
    /// Bytes that the sandbox's own `/data` may grow to. Default 1 GiB.
    pub disk_bytes: u64,
    /// Files and directories under `/data`. Default 100,000.
    pub disk_files: u64,
    /// Bytes in memory file systems (`/tmp`, the upper layer of `/`), each. Default 256 MiB.
    pub memory_fs_bytes: u64,
    /// Files and directories in one memory file system. Default 100,000.
    pub memory_fs_files: u64,
    /// Bytes kept of each output stream that the library captures: half from the beginning, half from the end. Default 1 MiB.
    pub output_bytes: u64,
    /// CPUs shown to guests. Default: the machine's.
    pub cpus: u32,
}

const MIB: u64 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            process_memory_bytes: 512 * MIB,
            memory_bytes: 2048 * MIB,
            processes: 256,
            open_files: 1024,
            disk_bytes: 1024 * MIB,
            disk_files: 100_000,
            memory_fs_bytes: 256 * MIB,
            memory_fs_files: 100_000,
            output_bytes: MIB,
            cpus: crate::host::cpus(),
        }
    }
}

/// Limits of an engine: what all its sandboxes together may take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ceilings {
    /// Sandboxes at a time. Default 100,000.
    pub sandboxes: usize,
    /// Processes at a time, at most what the machine's number of memory mappings allows (`vm.max_map_count`). Default 2,000.
    pub processes: u32,
    /// Linear memory and memory file systems of all sandboxes, in bytes. Default: three quarters of the machine's memory.
    pub memory_bytes: u64,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            sandboxes: 100_000,
            processes: 2000,
            memory_bytes: crate::host::memory_bytes() / 4 * 3,
        }
    }
}

/// Bytes of a guest's WebAssembly stack. Source: wasmtime `Config::max_wasm_stack`; deep recursion of interpreters needs more
/// than its default of 512 KiB.
pub(crate) const WASM_STACK_BYTES: usize = 8 * 1024 * 1024;
// SECURITY[SB-RT-003]: host calls of a guest at its stack's end run in the difference of the two.
/// Bytes of a guest's whole stack. The 2 MiB beyond [`WASM_STACK_BYTES`] are the host functions'; without them a guest at its limit
/// that calls the host aborts the host's process.
pub(crate) const FIBER_STACK_BYTES: usize = 10 * 1024 * 1024;
/// How often a running guest is interrupted, in which time a kill takes effect.
pub(crate) const EPOCH_TICK: Duration = Duration::from_millis(1);
/// Fuel between two yields where fuel is counted: a few milliseconds of computation.
pub(crate) const FUEL_YIELD_INTERVAL: u64 = 2_000_000;

/// What a guest's own module may be: Cranelift takes time and memory that grow with the square of a function's size, and can be
/// neither limited nor interrupted. Measured: a function of 434 KB took 9.5 s and 1.47 GB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleLimits {
    /// Bytes of the module.
    pub module_bytes: usize,
    /// Bytes of one function's body.
    pub body_bytes: usize,
    /// Locals of one function.
    pub locals: u32,
    /// Functions.
    pub functions: u32,
}

impl ModuleLimits {
    /// For a module that a child process compiles under its own limits.
    pub const IN_CHILD: Self = Self {
        module_bytes: 32 << 20,
        body_bytes: 128 << 10,
        locals: 1000,
        functions: 50_000,
    };
    /// For a module that is compiled in the host's own process: a quarter of each.
    pub const IN_PROCESS: Self = Self {
        module_bytes: 8 << 20,
        body_bytes: 32 << 10,
        locals: 250,
        functions: 12_500,
    };
}

/// Bytes of compiled code of guests' own modules kept on disk.
pub(crate) const GUEST_CACHE_BYTES: u64 = 512 * MIB;
/// Guests' own modules kept loaded.
pub(crate) const GUEST_MODULES_LOADED: usize = 64;
