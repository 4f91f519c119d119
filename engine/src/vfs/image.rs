//! A read-only tree that is built once and shared by every sandbox that shows it.
//!
//! Owns: the tree of a tools image in memory (names, attributes), whose file contents stay where they are: in a region of a
//! host file, or in bytes of the program. Mounting it costs one reference.
//!
//! A hard link of the image becomes an inode of its own with the same contents: in an overlay a changed link is a copy anyway, and
//! so no number is ever told of two different files.

mod builder;

use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, Weak};

pub use self::builder::ImageFsBuilder;
use super::{
    AccessMode, DirEntry, FileStat, FileSystem, FileType, Inode, MemoryFs, Name, OpenFile, Quota,
    StatFs, SyncScope, Timestamp,
};
use crate::errno::{Errno, SysResult};

/// Where the contents of image files are.
pub trait ImageSource: Send + Sync + Debug {
    /// Reads at `offset` of the whole source; may be short, 0 is its end.
    ///
    /// # Errors
    /// `Io` when the host cannot read it.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize>;
}

/// An image held in memory: embedded in the program, or read into it.
impl<T: AsRef<[u8]> + Send + Sync + Debug> ImageSource for T {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        let bytes = self.as_ref();
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let rest = bytes.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// An image in a host file, such as a layer's tar.
#[derive(Debug)]
pub struct ImageHostFile(cap_std::fs::File);

impl ImageHostFile {
    /// Serves contents from an open file, which nobody may change afterwards.
    pub fn new(file: cap_std::fs::File) -> Self {
        Self(file)
    }
}

impl ImageSource for ImageHostFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        loop {
            match rustix::io::pread(&self.0, &mut *buffer, offset) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(Errno::Io),
                Ok(count) => return Ok(count),
            }
        }
    }
}

/// A regular file of an image.
#[derive(Clone, Debug)]
pub struct ImageFile {
    /// Permission bits, `07777`.
    pub mode: u32,
    /// Last change.
    pub mtime: Timestamp,
    /// What holds its contents.
    pub source: Arc<dyn ImageSource>,
    /// Where they begin there, in bytes.
    pub offset: u64,
    /// How long they are, in bytes.
    pub len: u64,
    /// SHA-256 of the contents where it is known: required of programs, whose compiled form is found by it.
    pub digest: Option<[u8; 32]>,
}

impl ImageFile {
    /// A file of these bytes.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + Debug + 'static, mode: u32) -> Self {
        let len = bytes.as_ref().len() as u64;
        Self {
            mode,
            mtime: 0,
            source: Arc::new(bytes),
            offset: 0,
            len,
            digest: None,
        }
    }
}

/// A read-only file system of an image.
#[derive(Debug)]
pub struct ImageFs {
    root: Arc<Node>,
    files: u64,
    bytes: u64,
    quota: Arc<Quota>,
}

impl ImageFs {
    /// The inode of a path without links, which may start with `/`.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`.
    pub fn find(&self, path: &[u8]) -> SysResult<Arc<dyn Inode>> {
        let mut inode = self.root();
        for part in path
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty())
        {
            inode = inode.lookup(super::Name::new(part)?)?;
        }
        Ok(inode)
    }

    /// Inodes in it: their numbers are 1 to this.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Bytes of file contents in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl FileSystem for ImageFs {
    fn root(&self) -> Arc<dyn Inode> {
        Arc::clone(&self.root) as Arc<dyn Inode>
    }

    fn statfs(&self) -> SysResult<StatFs> {
        let empty = Quota::new(0, 0);
        let stat = MemoryFs::statfs_of(&empty);
        let blocks = self.bytes.div_ceil(stat.block_size);
        Ok(StatFs {
            blocks,
            files: self.files,
            read_only: true,
            ..stat
        })
    }

    fn kind(&self) -> &'static str {
        "image"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn quota(&self) -> &Arc<Quota> {
        &self.quota
    }
}

/// An inode of an image.
#[derive(Debug)]
struct Node {
    this: Weak<Self>,
    ino: u64,
    mode: u32,
    mtime: Timestamp,
    nlink: u64,
    kind: Kind,
}

/// A name in a directory.
type Entry = (Box<[u8]>, Arc<Node>);

#[derive(Debug)]
enum Kind {
    File(ImageFile),
    /// Entries by name, ascending; a cookie is an index plus one.
    Directory(Box<[Entry]>),
    Symlink(Box<[u8]>),
}

impl Node {
    fn kind_type(&self) -> FileType {
        match self.kind {
            Kind::File(_) => FileType::Regular,
            Kind::Directory(_) => FileType::Directory,
            Kind::Symlink(_) => FileType::Symlink,
        }
    }

    fn file(&self) -> SysResult<&ImageFile> {
        match &self.kind {
            Kind::File(file) => Ok(file),
            Kind::Directory(_) => Err(Errno::IsDirectory),
            Kind::Symlink(_) => Err(Errno::Invalid),
        }
    }

    fn entries(&self) -> SysResult<&[Entry]> {
        match &self.kind {
            Kind::Directory(entries) => Ok(entries),
            _ => Err(Errno::NotDirectory),
        }
    }
}

impl Inode for Node {
    fn stat(&self) -> SysResult<FileStat> {
        let size = match &self.kind {
            Kind::File(file) => file.len,
            Kind::Directory(_) => 4096,
            Kind::Symlink(target) => target.len() as u64,
        };
        Ok(FileStat {
            dev: 0,
            ino: self.ino,
            file_type: self.kind_type(),
            mode: self.mode,
            nlink: self.nlink,
            size,
            blocks: if matches!(self.kind, Kind::File(_)) {
                size.div_ceil(512)
            } else {
                0
            },
            rdev: 0,
            atime: self.mtime,
            mtime: self.mtime,
            ctime: self.mtime,
        })
    }

    fn ino(&self) -> SysResult<u64> {
        Ok(self.ino)
    }

    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.kind_type())
    }

    fn permission_bits(&self) -> SysResult<u32> {
        Ok(self.mode)
    }

    fn open(&self, access: AccessMode) -> SysResult<Arc<dyn OpenFile>> {
        self.file()?;
        if access.writes() {
            return Err(Errno::ReadOnly);
        }
        Ok(self.this.upgrade().ok_or(Errno::Stale)?)
    }

    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        let entries = self.entries()?;
        let found = entries.binary_search_by(|(own, _)| (**own).cmp(name.as_bytes()));
        match found.ok().and_then(|index| entries.get(index)) {
            Some((_, node)) => Ok(Arc::clone(node) as Arc<dyn Inode>),
            None => Err(Errno::NotFound),
        }
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        match &self.kind {
            Kind::Symlink(target) => Ok(target.to_vec()),
            _ => Err(Errno::Invalid),
        }
    }

    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let start = usize::try_from(cookie).unwrap_or(usize::MAX);
        let rest = self.entries()?.get(start..).unwrap_or_default();
        let listed = rest
            .iter()
            .take(max)
            .zip(cookie + 1..)
            .map(|((name, node), cookie)| {
                let entry = DirEntry {
                    name: name.clone(),
                    ino: node.ino,
                    file_type: node.kind_type(),
                };
                (cookie, entry)
            });
        Ok(listed.collect())
    }

    fn content_digest(&self) -> Option<[u8; 32]> {
        self.file().ok()?.digest
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl OpenFile for Node {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        let file = self.file()?;
        let left = usize::try_from(file.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = left.min(buffer.len());
        if count == 0 {
            return Ok(0);
        }
        file.source
            .read_at(&mut buffer[..count], file.offset.saturating_add(offset))
    }

    fn sync(&self, _: SyncScope) -> SysResult<()> {
        Ok(())
    }

    fn stat(&self) -> SysResult<FileStat> {
        Inode::stat(self)
    }
}
