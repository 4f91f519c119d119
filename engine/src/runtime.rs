//! Running guests with wasmtime: engine set-up, compiled code, instances, time slices.
//!
//! Owns: everything that knows wasmtime apart from the host calls (`crate::wasi`); the threads that guests run on. The only home of
//! `unsafe` in this crate.
//!
//! Guests run on the engine's own threads, never on an embedder's: see [`executor`]. Two flavours of engine exist, epochs (the
//! default) and fuel, because both checks at once cost half again as much as either.

mod cache_dir;
mod compile;
mod config;
mod executor;
mod guest;
mod limiter;
mod module_cache;
mod run;
mod timer;

pub(crate) use self::executor::Runtime;
pub(crate) use self::executor::{RuntimeOptions, Scheduler};
pub use self::module_cache::{CacheStats, compile_module};
pub(crate) use self::timer::TimerToken;
