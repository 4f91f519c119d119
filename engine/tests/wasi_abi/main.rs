//! The guest ABI, call by call.
//!
//! Most tests act as the guest themselves: they call the registered imports of a process that has no program. Those about what
//! only a running guest shows (unwinding, exec, signals in the middle of a computation) run small modules.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers fail by panicking, as tests do"
)]

mod harness;
mod hostile;
mod imports;
mod locks;
mod plain;
mod preview1;
mod programs;
mod sandbar;
