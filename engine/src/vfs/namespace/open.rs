//! Opening and making files.
//!
//! Source of the order of checks: `open(2)`, and `fs/namei.c` of Linux 6.18 (`open_last_lookups`, `do_open`, `may_open`).

use std::sync::Arc;

use super::super::path::Name;
use super::super::place::Here;
use super::super::resolve::{Last, Lead, Walk};
use super::super::{
    Access, AccessMode, At, FileType, Inode, Namespace, NewInode, OpenFlags, Opened, Writable,
    permission,
};
use crate::errno::{Errno, SysResult};

/// How often a name is looked up again because somebody made or removed it in between. Each try costs the other side a call
/// of its own, so that the limit is not met by accident.
const RACES_MAX: u32 = 64;

impl Namespace {
    /// Opens or makes a file; `mode` (already masked) is the permission bits of a new one.
    ///
    /// # Errors
    /// As `open(2)`: `NotFound`, `NotDirectory`, `Loop`, `Access`, `ReadOnly`, `IsDirectory` (writing a directory),
    /// `Exists`, `NameTooLong`, `NotCapable` (left the directory it is confined to), `Invalid` (`CREATE` with `DIRECTORY`).
    pub fn open(
        &self,
        at: At<'_>,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
    ) -> SysResult<Opened> {
        if flags.contains(OpenFlags::CREATE | OpenFlags::DIRECTORY) {
            return Err(Errno::Invalid);
        }
        let mut walk = self.walk(&at);
        let mut ending = walk.parent(at.path)?;
        let mut races = 0_u32;
        loop {
            let bytes = match &ending.last {
                Last::Root | Last::Dot => return open_directory(&walk, access, flags),
                Last::DotDot => {
                    walk.up()?;
                    return open_directory(&walk, access, flags);
                }
                Last::Name(bytes) => bytes,
            };
            let create = flags.contains(OpenFlags::CREATE);
            if create && ending.slash {
                return Err(Errno::IsDirectory);
            }
            let name = ending.directory.name(bytes)?;
            let inode = match ending.directory.inode.lookup(name) {
                Err(Errno::NotFound) if create => {
                    match make_file(&walk, name, access, mode) {
                        // Somebody else made it since the lookup.
                        Err(Errno::Exists)
                            if !flags.contains(OpenFlags::EXCLUSIVE) && races < RACES_MAX =>
                        {
                            races += 1;
                            continue;
                        }
                        result => return result,
                    }
                }
                found => found?,
            };
            if create && flags.contains(OpenFlags::EXCLUSIVE) {
                return Err(Errno::Exists);
            }
            let file_type = inode.file_type()?;
            if file_type == FileType::Symlink
                && (ending.slash || !flags.contains(OpenFlags::NO_FOLLOW))
            {
                match walk.lead(&*inode)? {
                    Lead::Path(text) => ending = walk.follow(&text, ending.slash)?,
                    Lead::Gone => {}
                    Lead::Descriptor { .. } if ending.slash => return Err(Errno::NotDirectory),
                    Lead::Descriptor { pid, fd } => return Ok(Opened::Descriptor { pid, fd }),
                }
                continue;
            }
            if file_type == FileType::Directory {
                walk.down(inode, bytes)?;
                return open_directory(&walk, access, flags);
            }
            if ending.slash || flags.contains(OpenFlags::DIRECTORY) {
                return Err(Errno::NotDirectory);
            }
            match open_existing(&walk, name, inode, file_type, access, flags) {
                // A host's file that went away, or was replaced, between two calls of ours.
                Err(Errno::NotFound) if create && races < RACES_MAX => races += 1,
                Err(Errno::Stale) if races < RACES_MAX => races += 1,
                result => return result,
            }
        }
    }
}

fn open_directory(walk: &Walk<'_>, access: AccessMode, flags: OpenFlags) -> SysResult<Opened> {
    if flags.contains(OpenFlags::CREATE) {
        let exclusive = flags.contains(OpenFlags::EXCLUSIVE);
        return Err(if exclusive {
            Errno::Exists
        } else {
            Errno::IsDirectory
        });
    }
    if access.writes() || flags.contains(OpenFlags::TRUNCATE) {
        return Err(Errno::IsDirectory);
    }
    permission::check(&walk.here().inode.stat()?, Access::READ)?;
    Ok(Opened::Directory(walk.place()?))
}

fn make_file(walk: &Walk<'_>, name: Name<'_>, access: AccessMode, mode: u32) -> SysResult<Opened> {
    let directory = walk.here();
    let writable = Writable::of_entries(&directory.mount, &*directory.inode)?;
    let inode = directory
        .inode
        .create(&writable, name, NewInode::File(mode))?;
    // The permission bits of a new file do not bind the call that makes it: `open(…, O_CREAT | O_WRONLY, 0444)` writes.
    let file = inode.open(access)?;
    let mount = Arc::clone(&directory.mount);
    Ok(Opened::File {
        file,
        inode,
        mount,
        path: walk.path_of(name.as_bytes()),
    })
}

fn open_existing(
    walk: &Walk<'_>,
    name: Name<'_>,
    inode: Arc<dyn Inode>,
    file_type: FileType,
    access: AccessMode,
    flags: OpenFlags,
) -> SysResult<Opened> {
    if file_type == FileType::Symlink {
        return Err(Errno::Loop);
    }
    let mount = Arc::clone(&walk.here().mount);
    let truncate = flags.contains(OpenFlags::TRUNCATE) && file_type == FileType::Regular;
    let stat = inode.stat()?;
    let truncating = if truncate {
        Some(Writable::of_contents(&mount, &stat)?)
    } else {
        None
    };
    permission::check(&stat, permission::wanted_by(access))?;
    match file_type {
        FileType::Fifo => {
            inode.open_fifo()?;
            return Ok(Opened::Fifo {
                inode,
                mount,
                path: walk.path_of(name.as_bytes()),
            });
        }
        FileType::Regular if access.writes() => {
            Writable::of_open_file(&mount)?;
        }
        FileType::Socket | FileType::BlockDevice => return Err(Errno::NoDeviceOrAddress),
        _ => {}
    }
    let file = inode.open(access)?;
    if let Some(writable) = truncating {
        if access.writes() {
            file.set_len(&writable, 0)?;
        } else {
            // A host's descriptor that was opened for reading cannot be cut.
            inode.open(AccessMode::Write)?.set_len(&writable, 0)?;
        }
    }
    Ok(Opened::File {
        file,
        inode,
        mount,
        path: walk.path_of(name.as_bytes()),
    })
}

impl Walk<'_> {
    /// Whether something is mounted on this directory.
    pub(super) fn is_mount_point(&self, directory: &Here, inode: &dyn Inode) -> SysResult<bool> {
        self.mounts().covers(&directory.mount, inode)
    }
}
