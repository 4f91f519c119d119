//! Making, linking, removing and renaming names.
//!
//! Source of the order of checks: the manual pages, and `fs/namei.c` of Linux 6.18 (`filename_create`, `do_unlinkat`, `do_rmdir`,
//! `do_linkat`, `do_renameat2`, `may_delete`).

use std::sync::Arc;

use super::super::path::{self, Name};
use super::super::place::{Here, Place};
use super::super::resolve::{Ending, Last, Target};
use super::super::{
    Access, At, Confine, FileType, Follow, Inode, Namespace, NewInode, RenameFlags, Writable,
    permission,
};
use crate::errno::{Errno, SysResult};

/// A name that was free when it was looked up.
struct Free {
    directory: Here,
    name: Box<[u8]>,
}

impl Free {
    fn create(&self, new: NewInode<'_>) -> SysResult<()> {
        let writable = Writable::of_entries(&self.directory.mount, &*self.directory.inode)?;
        self.directory
            .inode
            .create(&writable, Name::new(&self.name)?, new)
            .map(drop)
    }
}

impl Namespace {
    /// # Errors
    /// `Exists`, `NoSpace`, `Quota`, `ReadOnly`, `Access` and those of resolution.
    pub fn make_directory(&self, at: At<'_>, mode: u32) -> SysResult<()> {
        self.free_name(at, FileType::Directory)?
            .create(NewInode::Directory(mode))
    }

    /// # Errors
    /// As [`Namespace::make_directory`].
    pub fn make_fifo(&self, at: At<'_>, mode: u32) -> SysResult<()> {
        self.free_name(at, FileType::Fifo)?
            .create(NewInode::Fifo(mode))
    }

    /// # Errors
    /// As [`Namespace::make_directory`]; with `Confine::Dirfd` an absolute target is `NotCapable`.
    pub fn symlink(&self, target: &[u8], at: At<'_>) -> SysResult<()> {
        path::check(target)?;
        if at.confine == Confine::Dirfd && target.first() == Some(&b'/') {
            return Err(Errno::NotCapable);
        }
        self.free_name(at, FileType::Symlink)?
            .create(NewInode::Symlink(target))
    }

    /// # Errors
    /// `NotPermitted` for a directory, `CrossDevice`, `Exists` and those of resolution.
    pub fn link(&self, from: At<'_>, follow: Follow, to: At<'_>) -> SysResult<()> {
        let target = self.walk(&from).whole(from.path, follow)?;
        let free = self.free_name(to, FileType::Regular)?;
        let (mount, inode, file_type) = match &target {
            Target::Directory(place) => (&place.mount, &place.inode, FileType::Directory),
            Target::Other {
                directory,
                inode,
                file_type,
                ..
            } => (&directory.mount, inode, *file_type),
            Target::Descriptor { .. } => return Err(Errno::CrossDevice),
        };
        if !Arc::ptr_eq(mount, &free.directory.mount) {
            return Err(Errno::CrossDevice);
        }
        let writable = Writable::of_entries(mount, &*free.directory.inode)?;
        if file_type == FileType::Directory {
            return Err(Errno::NotPermitted);
        }
        free.directory
            .inode
            .link(&writable, Name::new(&free.name)?, inode)
    }

    /// # Errors
    /// `IsDirectory`, `NotFound`, `ReadOnly`, `Access` and those of resolution.
    pub fn unlink(&self, at: At<'_>) -> SysResult<()> {
        let Ending {
            directory,
            last,
            slash,
        } = self.walk(&at).parent(at.path)?;
        let Last::Name(name) = last else {
            return Err(Errno::IsDirectory);
        };
        Writable::of_open_file(&directory.mount)?;
        let name = directory.name(&name)?;
        let is_directory = directory.inode.lookup(name)?.file_type()? == FileType::Directory;
        if slash {
            return Err(if is_directory {
                Errno::IsDirectory
            } else {
                Errno::NotDirectory
            });
        }
        let writable = Writable::of_entries(&directory.mount, &*directory.inode)?;
        if is_directory {
            return Err(Errno::IsDirectory);
        }
        directory.inode.unlink(&writable, name)
    }

    /// # Errors
    /// `NotDirectory`, `NotEmpty`, `Busy` for a mount point or `/`, `Invalid` for `.`.
    pub fn remove_directory(&self, at: At<'_>) -> SysResult<()> {
        let mut walk = self.walk(&at);
        let Ending {
            directory, last, ..
        } = walk.parent(at.path)?;
        let name = match last {
            Last::Root => return Err(Errno::Busy),
            Last::Dot => return Err(Errno::Invalid),
            Last::DotDot => return Err(Errno::NotEmpty),
            Last::Name(name) => name,
        };
        Writable::of_open_file(&directory.mount)?;
        let name = directory.name(&name)?;
        let inode = directory.inode.lookup(name)?;
        let writable = Writable::of_entries(&directory.mount, &*directory.inode)?;
        if inode.file_type()? != FileType::Directory {
            return Err(Errno::NotDirectory);
        }
        if walk.is_mount_point(&directory, &*inode)? {
            return Err(Errno::Busy);
        }
        directory.inode.remove_directory(&writable, name)?;
        Ok(())
    }

    /// # Errors
    /// As `renameat2(2)`.
    pub fn rename(&self, from: At<'_>, to: At<'_>, flags: RenameFlags) -> SysResult<()> {
        if flags.contains(RenameFlags::NO_REPLACE | RenameFlags::EXCHANGE) {
            return Err(Errno::Invalid);
        }
        let (mut walk, mut to_walk) = (self.walk(&from), self.walk(&to));
        let from = walk.parent(from.path)?;
        let to = to_walk.parent(to.path)?;
        if !Arc::ptr_eq(&from.directory.mount, &to.directory.mount) {
            return Err(Errno::CrossDevice);
        }
        let Last::Name(old_name) = &from.last else {
            return Err(Errno::Busy);
        };
        let Last::Name(new_name) = &to.last else {
            let no_replace = flags.contains(RenameFlags::NO_REPLACE);
            return Err(if no_replace {
                Errno::Exists
            } else {
                Errno::Busy
            });
        };
        Writable::of_open_file(&from.directory.mount)?;
        let old_name = from.directory.name(old_name)?;
        let old = Entry::of(from.directory.inode.lookup(old_name)?)?;
        let new_name = to.directory.name(new_name)?;
        let new = match to.directory.inode.lookup(new_name) {
            Ok(_) if flags.contains(RenameFlags::NO_REPLACE) => return Err(Errno::Exists),
            Ok(inode) => Some(Entry::of(inode)?),
            Err(Errno::NotFound)
                if !flags.contains(RenameFlags::EXCHANGE) && !to.directory.is_removed()? =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        check_slashes((&from, &old), (&to, new.as_ref()), exchange)?;
        let moves = old.is_directory || new.as_ref().is_some_and(|new| new.is_directory);
        let places = if moves {
            Some((walk.place()?, to_walk.place()?))
        } else {
            None
        };
        if let Some((from, to)) = &places {
            check_shape((from, &old), (to, new.as_ref()), exchange)?;
        }
        if new.as_ref().is_some_and(|new| new.ino == old.ino) {
            return Ok(());
        }
        let writable = Writable::of_entries(&from.directory.mount, &*from.directory.inode)?;
        Writable::of_entries(&to.directory.mount, &*to.directory.inode)?;
        check_types(&old, new.as_ref(), exchange)?;
        if from.directory.inode.ino()? != to.directory.inode.ino()? {
            old.check_reparent()?;
            if let Some(new) = new.as_ref().filter(|_| exchange) {
                new.check_reparent()?;
            }
        }
        for entry in [Some(&old), new.as_ref()].into_iter().flatten() {
            if entry.is_directory && walk.is_mount_point(&from.directory, &*entry.inode)? {
                return Err(Errno::Busy);
            }
        }
        let _moving = moves.then(|| self.moving.lock());
        let to_inode = &to.directory.inode;
        from.directory
            .inode
            .rename(&writable, old_name, to_inode, new_name, flags)?;
        if let Some((from, to)) = &places {
            if old.is_directory {
                self.parents.moved(old.ino, to, new_name);
            }
            if let Some(new) = new.filter(|new| exchange && new.is_directory) {
                self.parents.moved(new.ino, from, old_name);
            }
        }
        Ok(())
    }

    /// Resolves to a name that is free for a new inode of this type.
    fn free_name(&self, at: At<'_>, file_type: FileType) -> SysResult<Free> {
        let Ending {
            directory,
            last,
            slash,
        } = self.walk(&at).parent(at.path)?;
        let Last::Name(name) = last else {
            return Err(Errno::Exists);
        };
        match directory.lookup(&name) {
            Ok(_) => Err(Errno::Exists),
            Err(Errno::NotFound) if slash && file_type != FileType::Directory => {
                Err(Errno::NotFound)
            }
            // Nothing can be made in a directory that was removed.
            Err(Errno::NotFound) if directory.is_removed()? => Err(Errno::NotFound),
            Err(Errno::NotFound) => {
                Writable::of_open_file(&directory.mount)?;
                Ok(Free { directory, name })
            }
            Err(error) => Err(error),
        }
    }
}

/// One of the two sides of a rename.
struct Entry {
    inode: Arc<dyn Inode>,
    ino: u64,
    is_directory: bool,
}

impl Entry {
    fn of(inode: Arc<dyn Inode>) -> SysResult<Self> {
        let is_directory = inode.file_type()? == FileType::Directory;
        Ok(Self {
            ino: inode.ino()?,
            inode,
            is_directory,
        })
    }

    /// A directory that gets another parent has its `..` changed, which needs write permission on it.
    fn check_reparent(&self) -> SysResult<()> {
        if self.is_directory {
            permission::check(&self.inode.stat()?, Access::WRITE)?;
        }
        Ok(())
    }
}

/// Slashes behind a name ask for a directory.
fn check_slashes(
    (from, old): (&Ending, &Entry),
    (to, new): (&Ending, Option<&Entry>),
    exchange: bool,
) -> SysResult<()> {
    if exchange && to.slash && new.is_some_and(|new| !new.is_directory) {
        return Err(Errno::NotDirectory);
    }
    if !old.is_directory && (from.slash || (to.slash && !exchange)) {
        return Err(Errno::NotDirectory);
    }
    Ok(())
}

/// A directory does not move into itself, nor takes the place of one that it is in.
fn check_shape(
    (from, old): (&Place, &Entry),
    (to, new): (&Place, Option<&Entry>),
    exchange: bool,
) -> SysResult<()> {
    let dev = from.mount.dev();
    if old.is_directory && to.is_within(dev, old.ino)? {
        return Err(Errno::Invalid);
    }
    if let Some(new) = new
        && new.is_directory
        && from.is_within(dev, new.ino)?
    {
        return Err(if exchange {
            Errno::Invalid
        } else {
            Errno::NotEmpty
        });
    }
    Ok(())
}

/// A directory replaces only a directory, anything else only what is none.
fn check_types(old: &Entry, new: Option<&Entry>, exchange: bool) -> SysResult<()> {
    match new {
        Some(new) if !exchange && old.is_directory && !new.is_directory => Err(Errno::NotDirectory),
        Some(new) if !exchange && !old.is_directory && new.is_directory => Err(Errno::IsDirectory),
        _ => Ok(()),
    }
}
