//! Jobs: what one call of the embedder started, with everything that descends from it.
//!
//! A process never leaves its job, whatever groups, sessions or parents it takes, so a job can be ended as one: at a time
//! limit, when its handle is dropped, against a fork bomb.
//!
//! SECURITY[SB-PR-001]: a fork bomb ends, because a job that is being ended starts nothing more.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A job's state and what it has used.
#[derive(Debug, Default)]
pub struct Job {
    ending: AtomicBool,
    live: AtomicUsize,
    started: AtomicU64,
    cpu_ns: AtomicU64,
    fuel: AtomicU64,
    fuel_limit: Option<u64>,
    peak_memory_bytes: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
}

impl Job {
    /// A job whose processes together may use this much fuel; `None` does not count it.
    pub fn new(fuel_limit: Option<u64>) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self {
            fuel_limit,
            ..Self::default()
        })
    }

    /// The most fuel that its processes together may use.
    pub fn fuel_limit(&self) -> Option<u64> {
        self.fuel_limit
    }

    /// Fuel that is left of the limit; `u64::MAX` without one.
    pub fn fuel_left(&self) -> u64 {
        self.fuel_limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(self.fuel()))
    }

    /// Says that no member may start another process: the first step of ending it.
    pub fn set_ending(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// Whether it is being ended.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    pub(super) fn process_started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.live.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn process_ended(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Processes of it that have not ended.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Processes it has started.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    pub(super) fn add_cpu_ns(&self, ns: u64) {
        self.cpu_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn add_fuel(&self, fuel: u64) {
        self.fuel.fetch_add(fuel, Ordering::Relaxed);
    }

    pub(super) fn note_memory(&self, bytes: u64) {
        self.peak_memory_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_io(&self, read: u64, written: u64) {
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        self.written_bytes.fetch_add(written, Ordering::Relaxed);
    }

    /// CPU time of all its processes, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }

    /// Fuel used by all its processes, where the engine counts it.
    pub fn fuel(&self) -> u64 {
        self.fuel.load(Ordering::Relaxed)
    }

    /// The largest linear memory of one of its processes, in bytes.
    pub fn peak_memory_bytes(&self) -> u64 {
        self.peak_memory_bytes.load(Ordering::Relaxed)
    }

    /// Bytes read and written through descriptors.
    pub fn io_bytes(&self) -> (u64, u64) {
        (
            self.read_bytes.load(Ordering::Relaxed),
            self.written_bytes.load(Ordering::Relaxed),
        )
    }
}
