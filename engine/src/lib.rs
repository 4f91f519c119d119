//! A WebAssembly sandbox engine: a small computer for an AI agent inside its host's process.

pub mod errno;
mod host;
pub mod process;
pub mod vfs;
pub mod wasi;
