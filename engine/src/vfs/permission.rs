//! The only door to changes, and the only place where permission bits are read.
//!
//! One user, who is not root, owns every file of every mount, so the owner's bits are the ones that count.
//!
//! SECURITY[SB-FS-005]: a change without a [`Writable`] does not compile, so no call can forget the check.

use std::sync::Arc;

use super::{Access, AccessMode, FileStat, Inode, Mount, MountFlags};
use crate::errno::{Errno, SysResult};

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
        if mount.flags().contains(MountFlags::READ_ONLY) {
            return Err(Errno::ReadOnly);
        }
        Ok(Self { mount })
    }

    /// For `fchmod`, `futimens` on an open file of this mount: the one user owns every file.
    ///
    /// # Errors
    /// `ReadOnly`.
    pub fn of_attributes(mount: &'a Arc<Mount>, _stat: &FileStat) -> SysResult<Self> {
        Self::of_open_file(mount)
    }

    /// For making, removing or renaming entries of a directory.
    ///
    /// # Errors
    /// `ReadOnly`, `Access`.
    pub(super) fn of_entries(mount: &'a Arc<Mount>, directory: &dyn Inode) -> SysResult<Self> {
        let writable = Self::of_open_file(mount)?;
        check(&directory.stat()?, Access::WRITE | Access::EXECUTE)?;
        Ok(writable)
    }

    /// For changing the contents of a file by its name (`O_TRUNC`).
    ///
    /// # Errors
    /// `ReadOnly`, `Access`.
    pub(super) fn of_contents(mount: &'a Arc<Mount>, stat: &FileStat) -> SysResult<Self> {
        let writable = Self::of_open_file(mount)?;
        check(stat, Access::WRITE)?;
        Ok(writable)
    }

    /// The mount it is good for.
    pub fn mount(&self) -> &Arc<Mount> {
        self.mount
    }
}

/// Whether the owner's bits allow all of `wanted`.
///
/// # Errors
/// `Access`.
pub(super) fn check(stat: &FileStat, wanted: Access) -> SysResult<()> {
    check_bits(stat.mode, wanted)
}

fn check_bits(mode: u32, wanted: Access) -> SysResult<()> {
    let granted = Access::from_bits_truncate((mode >> 6) & 0o7);
    if granted.contains(wanted) {
        Ok(())
    } else {
        Err(Errno::Access)
    }
}

/// Whether names may be looked up in a directory.
///
/// # Errors
/// `Access`, and those of [`Inode::stat`].
pub(super) fn search(directory: &dyn Inode) -> SysResult<()> {
    check_bits(directory.permission_bits()?, Access::EXECUTE)
}

/// Whether a file may be executed.
///
/// # Errors
/// `Access`.
pub(crate) fn execute(stat: &FileStat) -> SysResult<()> {
    check(stat, Access::EXECUTE)
}

/// What opening in this mode needs of the file.
pub(super) fn wanted_by(access: AccessMode) -> Access {
    let mut wanted = Access::empty();
    wanted.set(Access::READ, access.reads());
    wanted.set(Access::WRITE, access.writes());
    wanted
}
