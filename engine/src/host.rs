//! The only door to the host: clocks, randomness, machine facts, host files of the engine's own.
//!
//! File systems of guests go through `cap_std` handles (`vfs/host_dir.rs`); nothing else in this crate names a host path.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that asks the host"
)]

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch.
pub(crate) fn realtime_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Number of CPUs that this process may use, at least 1.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Bytes of the machine's memory; 8 GiB where it cannot be asked.
pub(crate) fn memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        })
        .unwrap_or(8 << 30)
}

/// Memory mappings that a process may have; `u64::MAX` where the system has no such limit.
pub(crate) fn max_mappings() -> u64 {
    std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(u64::MAX)
}

/// Fills a buffer with random bytes of the operating system.
///
/// # Errors
/// When it has none, which no supported system does after start-up.
pub(crate) fn random(buffer: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(buffer).map_err(std::io::Error::other)
}

/// Runs something that may take long (fsync, copying, whole directories) without holding up other guests of this worker thread.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    let on_worker = tokio::runtime::Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread);
    if on_worker {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Makes a directory with its parents, itself only for this user.
///
/// # Errors
/// The file system's.
pub(crate) fn create_private_dir(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}
