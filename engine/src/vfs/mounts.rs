//! The mount table.

use std::sync::Arc;

use super::FileSystem;

bitflags::bitflags! {
    /// How a file system is mounted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MountFlags: u32 {
        /// Nothing can be changed through it.
        const READ_ONLY = 1;
        /// No file of it runs as a program.
        const NO_EXEC = 1 << 1;
    }
}

/// A mounted file system.
#[derive(Debug)]
pub struct Mount {
    fs: Arc<dyn FileSystem>,
    flags: MountFlags,
    dev: u64,
}

impl Mount {
    /// The file system.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// How it is mounted.
    pub fn flags(&self) -> MountFlags {
        self.flags
    }

    /// Its virtual device number.
    pub fn dev(&self) -> u64 {
        self.dev
    }
}
