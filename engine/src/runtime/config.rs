//! wasmtime's settings.
//!
//! SECURITY[SB-RT-006]: proposals of WebAssembly that are not in the list are off, threads and shared memory among them.
#![expect(unsafe_code, reason = "Cranelift flags are set through an unsafe call")]

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use crate::error::{ErrorKind, Result};
use crate::limits::{FIBER_STACK_BYTES, WASM_STACK_BYTES};

/// How instances get their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    /// From slots reserved at start: tens of microseconds a process.
    Slots(u32),
    /// From the system each time, where address space for slots cannot be reserved.
    OnDemand,
}

/// Which of the two checks compiled code carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlavourKind {
    /// Interruption by time.
    Epoch,
    /// Exact counting.
    Fuel,
}

/// An engine and the pool that it got.
pub(crate) fn engine(kind: FlavourKind, slots: u32) -> Result<(Engine, Pool)> {
    let mut config = base(kind)?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots)));
    match Engine::new(&config) {
        Ok(engine) => Ok((engine, Pool::Slots(slots))),
        Err(error) => {
            tracing::warn!(
                %error,
                "address space for {slots} instances cannot be reserved: every process start will take about ten times as long"
            );
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            let engine = Engine::new(&config).map_err(|error| ErrorKind::Runtime {
                what: "set up wasmtime",
                reason: format!("{error:#}"),
            })?;
            Ok((engine, Pool::OnDemand))
        }
    }
}

/// How many slots this machine can carry: each takes two mappings as a stack and four as a live process, and the rest of the program
/// needs some too. Source: `vm.max_map_count`, 65,530 on a stock Linux.
pub(crate) fn slots(wanted: u32) -> u32 {
    let possible = crate::host::max_mappings().saturating_sub(10_000) / 8;
    wanted
        .min(u32::try_from(possible).unwrap_or(u32::MAX))
        .max(16)
}

fn base(kind: FlavourKind) -> Result<Config> {
    let mut config = Config::new();
    config
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        // Without it the memory of a stack that was once deep is never given back.
        .async_stack_zeroing(true)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(128 << 20)
        .cranelift_opt_level(OptLevel::Speed)
        // Five microseconds for each `proc_exit`, and nobody sees it.
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(false)
        .epoch_interruption(kind == FlavourKind::Epoch)
        .consume_fuel(kind == FlavourKind::Fuel);
    features(&mut config);
    baseline(&mut config)?;
    Ok(config)
}

/// The proposals that guests may use: a list, everything else off. A module that needs more does not run.
fn features(config: &mut Config) {
    config
        .wasm_bulk_memory(true)
        .wasm_reference_types(true)
        .wasm_multi_value(true)
        .wasm_simd(true)
        .wasm_extended_const(true)
        .wasm_exceptions(true)
        .wasm_tail_call(true)
        .wasm_multi_memory(true)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_function_references(false)
        .wasm_gc(false)
        .wasm_wide_arithmetic(false)
        .wasm_custom_page_sizes(false)
        .wasm_stack_switching(false);
}

/// Pins the processor features that compiled code uses, so that one cache serves every machine of a kind: x86-64-v2, and `AArch64`
/// as it is.
fn baseline(config: &mut Config) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    let triple = if cfg!(target_os = "macos") {
        "x86_64-apple-darwin"
    } else {
        "x86_64-unknown-linux-gnu"
    };
    config.target(triple).map_err(|error| ErrorKind::Runtime {
        what: "choose the compiler's target",
        reason: format!("{error:#}"),
    })?;
    for flag in [
        "has_cmpxchg16b",
        "has_sse3",
        "has_ssse3",
        "has_sse41",
        "has_sse42",
        "has_popcnt",
    ] {
        // SAFETY: the flag only lets Cranelift emit instructions of x86-64-v2; wasmtime checks that this processor has them
        // when it loads the code.
        unsafe {
            config.cranelift_flag_enable(flag);
        }
    }
    Ok(())
}

fn pool(slots: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    let pagemap = PoolingAllocationConfig::is_pagemap_scan_available();
    pool.total_core_instances(slots)
        .total_stacks(slots)
        .total_memories(2 * slots)
        .total_tables(4 * slots)
        .total_gc_heaps(slots)
        .max_tables_per_module(8)
        .max_memories_per_module(4)
        .table_elements(200_000)
        .max_core_instance_size(16 << 20)
        .max_memory_size(1 << 32)
        .async_stack_keep_resident(32 << 10)
        .pagemap_scan(Enabled::Auto)
        .decommit_batch_size(32);
    // Keeping pages saves faults; without PAGEMAP_SCAN it would write to pages that were never touched.
    if pagemap {
        pool.linear_memory_keep_resident(4 << 20)
            .table_keep_resident(64 << 10);
    } else {
        pool.linear_memory_keep_resident(64 << 10)
            .table_keep_resident(0);
    }
    pool
}

/// An engine that only compiles: no memory is reserved.
pub(crate) fn compiler(kind: FlavourKind) -> Result<Engine> {
    let mut config = base(kind)?;
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    Engine::new(&config).map_err(|error| {
        ErrorKind::Runtime {
            what: "set up wasmtime",
            reason: format!("{error:#}"),
        }
        .into()
    })
}
