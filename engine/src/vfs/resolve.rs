//! The one path resolver.

use std::sync::Arc;

use super::{FileStat, Inode, Mount};
use crate::errno::SysResult;

/// The wall a path cannot leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confine {
    /// The namespace: `..` stops at `/`, absolute paths and links start there (POSIX, aware guests).
    Namespace,
    /// The base directory: leaving it, or an absolute path or link, is `NotCapable` (WASI, plain guests).
    Dirfd,
}

/// Whether a symbolic link in the last component is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Follow it.
    Yes,
    /// Take the link itself.
    No,
}

/// A directory reached in the namespace, with the chain of parents it was reached through: what `..` and `getcwd` use.
#[derive(Clone, Debug)]
pub struct Place {
    /// The mount.
    pub(crate) mount: Arc<Mount>,
    /// The directory.
    pub(crate) inode: Arc<dyn Inode>,
    /// Its parent and its name there; `None` at `/`.
    pub(crate) parent: Option<Arc<(Place, Box<[u8]>)>>,
}

impl Place {
    /// The absolute path, as `getcwd` shows it.
    ///
    /// # Errors
    /// `NotFound` when the directory was removed.
    pub fn path(&self) -> SysResult<Vec<u8>> {
        unimplemented!()
    }

    /// The mount it lies in.
    pub fn mount(&self) -> &Arc<Mount> {
        &self.mount
    }

    /// Changes mode or times of the directory itself (`fchmod`, `futimens` of a directory).
    ///
    /// # Errors
    /// `ReadOnly`, `Io`.
    pub fn set_attributes(&self, change: &super::SetAttributes) -> SysResult<()> {
        let _ = change;
        unimplemented!()
    }

    /// Attributes, `dev` filled in.
    ///
    /// # Errors
    /// As [`Inode::stat`].
    pub fn stat(&self) -> SysResult<FileStat> {
        unimplemented!()
    }

    /// Lists entries after `cookie`, `.` and `..` first.
    ///
    /// # Errors
    /// As [`Inode::read_directory`].
    pub fn read_directory(
        &self,
        cookie: u64,
        max: usize,
    ) -> SysResult<Vec<(u64, super::DirEntry)>> {
        let _ = (cookie, max);
        unimplemented!()
    }
}
