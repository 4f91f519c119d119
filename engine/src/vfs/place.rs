//! Directories of a namespace: where a process stands, and what `..` and `getcwd` answer there.
//!
//! Owns: who is whose parent. No back end is ever asked for `..`: a directory's parent is the one that it was found in last, and
//! a rename says so at once. Each directory that somebody holds has one [`Parent`] for all of them, so that what an open directory
//! costs does not grow with its depth.
//!
//! Invariant: parents make no ring. A parent is changed only under the table's lock, after a look up the new chain.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::interned::Interned;
use super::path::Name;
use super::{DirEntry, FileStat, FileType, Inode, Mount, SetAttributes, Writable};
use crate::errno::{Errno, SysResult};

/// A directory reached in the namespace, with the chain of its parents: what `..` and `getcwd` use.
#[derive(Clone, Debug)]
pub struct Place {
    /// The mount.
    pub(crate) mount: Arc<Mount>,
    /// The directory.
    pub(crate) inode: Arc<dyn Inode>,
    /// Its parent and its name there; `None` at `/`.
    pub(crate) parent: Option<Arc<Parent>>,
}

/// A directory, wherever it lies: enough to look names up in it.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// The mount.
    pub(super) mount: Arc<Mount>,
    /// The directory.
    pub(super) inode: Arc<dyn Inode>,
}

/// A directory's parent, and its name there. Both change when it is renamed.
#[derive(Debug)]
pub(crate) struct Parent {
    location: RwLock<Location>,
}

#[derive(Clone, Debug)]
struct Location {
    place: Place,
    name: Arc<[u8]>,
    depth: u32,
}

impl Location {
    fn new(place: &Place, name: &[u8]) -> Self {
        let depth = place.depth().saturating_add(1);
        Self {
            place: place.clone(),
            name: name.into(),
            depth,
        }
    }

    fn is(&self, place: &Place, name: &[u8]) -> SysResult<bool> {
        let same = Arc::ptr_eq(&self.place.inode, &place.inode)
            || self.place.inode.ino()? == place.inode.ino()?;
        Ok(same && *self.name == *name && self.place.mount.dev() == place.mount.dev())
    }
}

impl Parent {
    fn location(&self) -> Location {
        self.location.read().clone()
    }
}

impl Drop for Parent {
    /// Takes a long chain apart in a loop: a guest chooses its length, and the host's stack is not its to spend.
    fn drop(&mut self) {
        let mut next = self.location.get_mut().place.parent.take();
        while let Some(mut parent) = next.and_then(Arc::into_inner) {
            next = parent.location.get_mut().place.parent.take();
        }
    }
}

/// The parents of all directories that somebody holds, by the directory's device and inode number.
#[derive(Debug, Default)]
pub(super) struct Parents {
    table: Mutex<Interned<(u64, u64), Parent>>,
}

impl Parents {
    /// The parent of the directory of this inode number, which was just found as `name` in `place`.
    pub(super) fn of_found(&self, ino: u64, place: &Place, name: &[u8]) -> SysResult<Arc<Parent>> {
        let key = (place.mount.dev(), ino);
        let mut table = self.table.lock();
        if let Some(parent) = table.get(key) {
            let known = parent.location.read().is(place, name)?;
            if !known {
                relocate(&parent, place, name);
            }
            return Ok(parent);
        }
        let location = RwLock::new(Location::new(place, name));
        let made = Arc::new(Parent { location });
        Ok(table.get_or_insert(key, || made))
    }

    /// Notes that the directory of this inode number is now `name` in `place`, if somebody holds it.
    pub(super) fn moved(&self, ino: u64, place: &Place, name: Name<'_>) {
        let table = self.table.lock();
        if let Some(parent) = table.get((place.mount.dev(), ino)) {
            relocate(&parent, place, name.as_bytes());
        }
    }
}

/// Gives a directory another parent. The caller holds the table's lock.
///
/// Two calls may note what they saw in another order than it happened. A chain that would lead back to itself is such a note of the
/// past, and is left out.
fn relocate(parent: &Arc<Parent>, place: &Place, name: &[u8]) {
    let mut above = place.parent.clone();
    while let Some(next) = above {
        if Arc::ptr_eq(&next, parent) {
            return;
        }
        above = next.location().place.parent;
    }
    let location = Location::new(place, name);
    let previous = std::mem::replace(&mut *parent.location.write(), location);
    drop(previous);
}

impl Place {
    /// The mount it lies in.
    pub fn mount(&self) -> &Arc<Mount> {
        &self.mount
    }

    /// Changes mode or times of the directory itself (`fchmod`, `futimens` of a directory).
    ///
    /// # Errors
    /// `ReadOnly`, `Io`.
    pub fn set_attributes(&self, change: &SetAttributes) -> SysResult<()> {
        let writable = Writable::of_attributes(&self.mount, &self.inode.stat()?)?;
        self.inode.set_attributes(&writable, change)
    }

    /// Makes the directory's entries durable (`fsync` of a directory).
    ///
    /// # Errors
    /// `Io` from a host.
    pub fn sync(&self) -> SysResult<()> {
        self.inode.sync()
    }

    /// Directories above this one, when it was found.
    pub(super) fn depth(&self) -> u32 {
        self.parent
            .as_ref()
            .map_or(0, |parent| parent.location.read().depth)
    }

    /// The directory above; none at `/`.
    pub(super) fn above(&self) -> Option<Self> {
        self.parent
            .as_ref()
            .map(|parent| parent.location.read().place.clone())
    }

    /// The directory without its parents.
    pub(super) fn here(&self) -> Here {
        Here {
            mount: Arc::clone(&self.mount),
            inode: Arc::clone(&self.inode),
        }
    }

    pub(super) fn new(here: &Here, parent: Option<Arc<Parent>>) -> Self {
        let Here { mount, inode } = here.clone();
        Self {
            mount,
            inode,
            parent,
        }
    }

    /// Whether the directory was removed while it was held.
    fn is_removed(&self) -> SysResult<bool> {
        Ok(self.inode.stat()?.nlink == 0)
    }

    /// The absolute path, as `getcwd` shows it.
    ///
    /// # Errors
    /// `NotFound` when the directory was removed.
    pub fn path(&self) -> SysResult<Vec<u8>> {
        if self.parent.is_some() && self.is_removed()? {
            return Err(Errno::NotFound);
        }
        Ok(self.path_text())
    }

    /// The absolute path, whether or not the directory is still there.
    pub(super) fn path_text(&self) -> Vec<u8> {
        let mut names = Vec::new();
        let mut next = self.parent.clone();
        while let Some(parent) = next {
            let Location { place, name, .. } = parent.location();
            names.push(name);
            next = place.parent;
        }
        if names.is_empty() {
            return b"/".to_vec();
        }
        let mut text = Vec::new();
        for name in names.iter().rev() {
            text.push(b'/');
            text.extend_from_slice(name);
        }
        text
    }

    /// Attributes, `dev` filled in.
    ///
    /// # Errors
    /// As [`Inode::stat`].
    pub fn stat(&self) -> SysResult<FileStat> {
        Ok(FileStat {
            dev: self.mount.dev(),
            ..self.inode.stat()?
        })
    }

    /// Lists entries after `cookie`, `.` and `..` first.
    ///
    /// Any cookie of any earlier call continues there; an empty answer is the end.
    ///
    /// # Errors
    /// As [`Inode::read_directory`].
    pub fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let mut entries = self.dot_entries(cookie, max)?;
        let left = max.saturating_sub(entries.len());
        if left > 0 {
            let rest = self
                .inode
                .read_directory(cookie.saturating_sub(DOT_ENTRIES), left)?;
            entries.extend(
                rest.into_iter()
                    .map(|(cookie, entry)| (cookie.saturating_add(DOT_ENTRIES), entry)),
            );
        }
        Ok(entries)
    }

    /// `.` and `..`, those of them that lie behind `cookie`; none in a directory that was removed.
    fn dot_entries(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let entry = |name: &[u8], inode: &dyn Inode| -> SysResult<DirEntry> {
            let ino = inode.ino()?;
            Ok(DirEntry {
                name: name.into(),
                ino,
                file_type: FileType::Directory,
            })
        };
        let mut entries = Vec::new();
        // A directory that was removed has not even these.
        if cookie >= DOT_ENTRIES || self.is_removed()? {
            return Ok(entries);
        }
        if cookie == 0 && max > 0 {
            entries.push((1, entry(b".", &*self.inode)?));
        }
        if entries.len() < max {
            let above = self.above();
            let above = above.as_ref().unwrap_or(self);
            entries.push((DOT_ENTRIES, entry(b"..", &*above.inode)?));
        }
        Ok(entries)
    }

    /// Whether this directory is the one of this device and inode number, or lies below it.
    pub(super) fn is_within(&self, dev: u64, ino: u64) -> SysResult<bool> {
        let mut next = Some(self.clone());
        while let Some(place) = next {
            if (place.mount.dev(), place.inode.ino()?) == (dev, ino) {
                return Ok(true);
            }
            next = place.above();
        }
        Ok(false)
    }
}

impl Here {
    /// Whether the directory was removed while it was held.
    pub(super) fn is_removed(&self) -> SysResult<bool> {
        Ok(self.inode.stat()?.nlink == 0)
    }

    /// Looks a name up here.
    ///
    /// # Errors
    /// As [`Here::name`] and [`Inode::lookup`].
    pub(super) fn lookup(&self, name: &[u8]) -> SysResult<Arc<dyn Inode>> {
        self.inode.lookup(self.name(name)?)
    }

    /// Checks a name that is to be used here.
    ///
    /// # Errors
    /// As [`Name::new`]; but nothing is found in a directory that was removed, however long its name.
    pub(super) fn name<'a>(&self, name: &'a [u8]) -> SysResult<Name<'a>> {
        match Name::new(name) {
            Err(Errno::NameTooLong) if self.is_removed()? => Err(Errno::NotFound),
            name => name,
        }
    }
}

/// Cookies that `.` and `..` take.
const DOT_ENTRIES: u64 = 2;

#[cfg(test)]
mod tests {
    use super::super::{At, Caller, Confine, MemoryFs, MountFlags, Namespace, Quota, RenameFlags};
    use super::*;

    #[test]
    fn a_directory_has_one_parent_however_often_it_is_opened() {
        let fs = MemoryFs::new(Quota::unlimited(), 0o755);
        let namespace = Namespace::new(fs, MountFlags::empty());
        let root = namespace.root();
        let at = |path| At {
            caller: Caller { pid: 1 },
            base: &root,
            path,
            confine: Confine::Namespace,
        };
        for path in [&b"a"[..], b"a/b", b"a/b/c"] {
            namespace.make_directory(at(path), 0o755).unwrap();
        }
        let one = namespace.directory(at(b"a/b/c")).unwrap();
        namespace
            .rename(at(b"a"), at(b"d"), RenameFlags::empty())
            .unwrap();
        let other = namespace
            .directory(At {
                base: &one,
                ..at(b"../../b/./c")
            })
            .unwrap();
        assert!(Arc::ptr_eq(
            one.parent.as_ref().unwrap(),
            other.parent.as_ref().unwrap()
        ));
        assert_eq!(other.path().unwrap(), b"/d/b/c");
    }
}
