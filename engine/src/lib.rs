//! A WebAssembly sandbox engine: a small computer for an AI agent inside its host's process.
//!
//! An [`Engine`] holds threads and compiled programs; a [`Sandbox`] is one isolated computer with files, processes and limits; a
//! [`Command`] runs in it.
//!
//! ```
//! # fn main() -> sandbar::Result<()> {
//! let engine = sandbar::Engine::builder().build()?;
//! let sandbox = engine.sandbox().create()?;
//! sandbox.files().write("words.txt", "pear\napple\npear\n")?;
//! let output = sandbox.bash("sort words.txt | uniq -c | sort -rn | head -1").output_blocking()?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout_text().trim(), "2 pear");
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! - `default-image`: embeds the tools image that `make image` built.
//! - `trace`: one `tracing` event a host call.

pub mod errno;
mod host;
pub mod process;
pub mod vfs;
pub mod wasi;

mod engine;
mod error;
mod image;
mod limits;
mod runtime;
mod sandbox;

pub use self::engine::{Engine, EngineBuilder, Progress};
pub use self::errno::Errno;
pub use self::error::{Error, ErrorKind, Result};
pub use self::image::{Digest, Image, ImageProgram};
pub use self::limits::{Ceilings, Limits, ModuleLimits};
pub use self::process::{ExitStatus, Signal};
pub use self::runtime::{CacheStats, compile_module};
pub use self::sandbox::{
    Captured, Child, ChildStderr, ChildStdin, ChildStdout, Command, CommandIo, DirectoryEntry,
    Ended, Files, HostFunction, Metadata, MountMode, Omitted, Output, Report, Sandbox,
    SandboxBuilder, Stdio, WORKSPACE,
};
