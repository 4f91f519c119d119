//! A WebAssembly sandbox engine: a small computer for an AI agent inside its host's process.

pub mod errno;
pub mod process;
pub mod vfs;
