//! POSIX for Rust guests of Sandbar: descriptors, processes, signals, files with modes, time.
//!
//! On `wasm32-wasip1` the calls are imports from `sandbar_v1` and `wasi_snapshot_preview1`; on any other target the same
//! functions run over the host's C library, so that a shell or an applet can be developed and tested natively with the
//! real operating system as its oracle. Signal numbers, open flags and mode bits have Linux's values on both.
//!
//! Everything is bytes: paths, arguments and environment entries need not be UTF-8. No function panics; each failure is an
//! [`Errno`]. `std` itself works in guests (files, environment, arguments, standard streams) except `std::process`, whose
//! place [`process`] takes.
//!
//! ```
//! use sandbar_guest::process::{self, Spawn, Wait, WaitStatus};
//!
//! # fn main() -> Result<(), sandbar_guest::Errno> {
//! let pid = Spawn::new("sh").search(true).args(["sh", "-c", "exit 3"]).all_fds(true).spawn()?;
//! let ended = process::wait(pid.0, Wait::BLOCK)?.map(|w| w.status);
//! assert_eq!(ended, Some(WaitStatus::Exited(3)));
//! # Ok(())
//! # }
//! ```

// Puts Sandbar's C library on the link line before wasi-libc, so that `std` has modes, the real cwd and the rest from it.
#[cfg(target_os = "wasi")]
use sandbar_libc as _;

pub mod errno;
pub mod fd;
pub mod file;
pub mod process;
pub mod signal;
mod sys;
pub mod time;

pub use errno::Errno;
pub use fd::Fd;
pub use process::Pid;
pub use signal::Signal;

/// What every call of this crate returns.
pub type Result<T, E = Errno> = std::result::Result<T, E>;
