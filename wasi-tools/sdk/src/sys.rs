//! The two back ends. Both have the same functions; which one is compiled is the target's choice.

#![expect(
    unsafe_code,
    reason = "system calls are foreign functions; nothing outside this module is unsafe"
)]

#[cfg(target_os = "wasi")]
mod wasi;
#[cfg(target_os = "wasi")]
pub(crate) use wasi::*;

#[cfg(not(target_os = "wasi"))]
mod native;
#[cfg(not(target_os = "wasi"))]
pub(crate) use native::*;
