//! Building the tree of an image, layer by layer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::path::{self, Name};
use super::super::{Quota, Timestamp};
use super::{ImageFile, ImageFs, Kind, Node};
use crate::errno::{Errno, SysResult};

/// Collects the files of an image. Later additions replace earlier ones of the same path, as the layers of an image do.
///
/// Paths are relative to the image's root; a leading `/` or `./` and doubled slashes are ignored, `..` is `Invalid`. Missing
/// parent directories are made with the permission bits `0755`. A path that leads through a file replaces the file by a directory.
#[derive(Debug, Default)]
pub struct ImageFsBuilder {
    root: Directory,
}

#[derive(Debug)]
struct Directory {
    mode: u32,
    mtime: Timestamp,
    entries: BTreeMap<Box<[u8]>, Entry>,
}

impl Default for Directory {
    fn default() -> Self {
        Self {
            mode: 0o755,
            mtime: 0,
            entries: BTreeMap::new(),
        }
    }
}

#[derive(Debug)]
enum Entry {
    File(ImageFile),
    Directory(Directory),
    Symlink(Box<[u8]>, Timestamp),
}

/// Directories below each other in an image, which bounds the recursion of building and dropping it.
const DEPTH_MAX: usize = 256;

impl ImageFsBuilder {
    /// An empty image.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory, or sets the attributes of one that is there.
    ///
    /// # Errors
    /// `Invalid` for `..` or a NUL, `NameTooLong`.
    pub fn directory(&mut self, path: &[u8], mode: u32, mtime: Timestamp) -> SysResult<&mut Self> {
        let mut directory = &mut self.root;
        for name in names(path)? {
            directory = directory.make(name);
        }
        directory.mode = mode & 0o7777;
        directory.mtime = mtime;
        Ok(self)
    }

    /// Adds a regular file.
    ///
    /// # Errors
    /// As [`ImageFsBuilder::directory`]; `IsDirectory` for the root.
    pub fn file(&mut self, path: &[u8], file: ImageFile) -> SysResult<&mut Self> {
        self.insert(path, Entry::File(file))
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// As [`ImageFsBuilder::file`]; `NotFound` for an empty target.
    pub fn symlink(
        &mut self,
        path: &[u8],
        target: &[u8],
        mtime: Timestamp,
    ) -> SysResult<&mut Self> {
        path::check(target)?;
        self.insert(path, Entry::Symlink(target.into(), mtime))
    }

    /// Adds a further name of a file that was added before.
    ///
    /// # Errors
    /// `NotFound` when there is no such file, `NotPermitted` when it is a directory; as [`ImageFsBuilder::file`].
    pub fn hard_link(&mut self, path: &[u8], target: &[u8]) -> SysResult<&mut Self> {
        let mut names = names(target)?;
        let last = names.pop().ok_or(Errno::NotPermitted)?;
        let directory =
            names.into_iter().try_fold(&self.root, |directory, name| {
                match directory.entries.get(name.as_bytes()) {
                    Some(Entry::Directory(inner)) => Ok(inner),
                    _ => Err(Errno::NotFound),
                }
            })?;
        let entry = match directory.entries.get(last.as_bytes()) {
            Some(Entry::File(file)) => Entry::File(file.clone()),
            Some(Entry::Symlink(target, mtime)) => Entry::Symlink(target.clone(), *mtime),
            Some(Entry::Directory(_)) => return Err(Errno::NotPermitted),
            None => return Err(Errno::NotFound),
        };
        self.insert(path, entry)
    }

    /// Removes what an earlier layer added (a whiteout); nothing there is not an error.
    ///
    /// # Errors
    /// As [`ImageFsBuilder::file`].
    pub fn remove(&mut self, path: &[u8]) -> SysResult<&mut Self> {
        let (directory, last) = self.parent(path)?;
        directory.entries.remove(last.as_bytes());
        Ok(self)
    }

    /// Removes all that earlier layers have in a directory (an opaque whiteout), making it when it is missing.
    ///
    /// # Errors
    /// As [`ImageFsBuilder::directory`].
    pub fn clear(&mut self, path: &[u8]) -> SysResult<&mut Self> {
        let mut directory = &mut self.root;
        for name in names(path)? {
            directory = directory.make(name);
        }
        directory.entries.clear();
        Ok(self)
    }

    /// The finished file system.
    pub fn build(self) -> Arc<ImageFs> {
        let mut totals = Totals { files: 0, bytes: 0 };
        let root = totals.directory(self.root);
        let Totals { files, bytes } = totals;
        Arc::new(ImageFs {
            root,
            files,
            bytes,
            quota: Quota::new(0, 0),
        })
    }

    fn insert(&mut self, path: &[u8], entry: Entry) -> SysResult<&mut Self> {
        let (directory, last) = self.parent(path)?;
        directory.entries.insert(last.as_bytes().into(), entry);
        Ok(self)
    }

    fn parent<'a>(&mut self, path: &'a [u8]) -> SysResult<(&mut Directory, Name<'a>)> {
        let mut names = names(path)?;
        let last = names.pop().ok_or(Errno::IsDirectory)?;
        let mut directory = &mut self.root;
        for name in names {
            directory = directory.make(name);
        }
        Ok((directory, last))
    }
}

impl Directory {
    /// The directory of this name, made when there is none.
    fn make(&mut self, name: Name<'_>) -> &mut Self {
        let entry = self
            .entries
            .entry(name.as_bytes().into())
            .or_insert_with(|| Entry::Directory(Self::default()));
        if !matches!(entry, Entry::Directory(_)) {
            *entry = Entry::Directory(Self::default());
        }
        match entry {
            Entry::Directory(directory) => directory,
            Entry::File(_) | Entry::Symlink(..) => unreachable!("it was made a directory"),
        }
    }
}

/// The names of a path.
fn names(path: &[u8]) -> SysResult<Vec<Name<'_>>> {
    if path.len() > path::PATH_MAX {
        return Err(Errno::NameTooLong);
    }
    let names: Vec<_> = path
        .split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .map(Name::new)
        .collect::<SysResult<_>>()?;
    if names.len() > DEPTH_MAX {
        return Err(Errno::NameTooLong);
    }
    Ok(names)
}

/// What was numbered and counted so far.
struct Totals {
    files: u64,
    bytes: u64,
}

impl Totals {
    fn node(
        &mut self,
        mode: u32,
        mtime: Timestamp,
        kind: impl FnOnce(&mut Self) -> (Kind, u64),
    ) -> Arc<Node> {
        self.files += 1;
        let ino = self.files;
        let (kind, nlink) = kind(self);
        Arc::new_cyclic(|this| Node {
            this: this.clone(),
            ino,
            mode: mode & 0o7777,
            mtime,
            nlink,
            kind,
        })
    }

    fn directory(&mut self, directory: Directory) -> Arc<Node> {
        let Directory {
            mode,
            mtime,
            entries,
        } = directory;
        self.node(mode, mtime, |totals| {
            let mut nlink = 2;
            let mut nodes = Vec::with_capacity(entries.len());
            for (name, entry) in entries {
                nlink += u64::from(matches!(entry, Entry::Directory(_)));
                nodes.push((name, totals.entry(entry)));
            }
            (Kind::Directory(nodes.into()), nlink)
        })
    }

    fn entry(&mut self, entry: Entry) -> Arc<Node> {
        match entry {
            Entry::Directory(directory) => self.directory(directory),
            Entry::File(file) => {
                self.bytes = self.bytes.saturating_add(file.len);
                self.node(file.mode, file.mtime, |_| (Kind::File(file), 1))
            }
            Entry::Symlink(target, mtime) => {
                self.node(0o777, mtime, |_| (Kind::Symlink(target), 1))
            }
        }
    }
}
