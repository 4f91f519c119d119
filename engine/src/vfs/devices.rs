//! `/dev`.
//!
//! Owns: the devices that need nothing but themselves. `stdin`, `stdout`, `stderr` are links to the asking process's descriptors,
//! `fd` leads to `/proc/self/fd`; `shm` is an empty directory for a memory file system to be mounted on.

use std::any::Any;
use std::sync::Arc;

use super::{
    AccessMode, DirEntry, FileStat, FileSystem, FileType, Inode, MagicLink, MemoryFs, Name,
    OpenFile, Quota, StatFs, SyncScope, Timestamp, Writable,
};
use crate::errno::{Errno, SysResult};
use crate::host::realtime_ns as now;

/// `/dev` of one sandbox.
#[derive(Debug)]
pub struct DeviceFs {
    made: Timestamp,
    quota: Arc<Quota>,
}

impl DeviceFs {
    /// The devices, all of them with the time of this call.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            made: now(),
            quota: Quota::new(0, 0),
        })
    }
}

impl FileSystem for DeviceFs {
    fn root(&self) -> Arc<dyn Inode> {
        Arc::new(Node {
            what: What::Root,
            made: self.made,
        })
    }

    fn statfs(&self) -> SysResult<StatFs> {
        Ok(MemoryFs::statfs_of(&self.quota))
    }

    fn kind(&self) -> &'static str {
        "devtmpfs"
    }

    fn quota(&self) -> &Arc<Quota> {
        &self.quota
    }
}

/// What is in `/dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Root,
    Null,
    Zero,
    Full,
    Random,
    Urandom,
    Tty,
    Shm,
    Stream(u32),
    Fd,
}

/// Names in listing order; an index plus two is an inode number, the root's is 1.
const ENTRIES: [(&[u8], What); 11] = [
    (b"fd", What::Fd),
    (b"full", What::Full),
    (b"null", What::Null),
    (b"random", What::Random),
    (b"shm", What::Shm),
    (b"stderr", What::Stream(2)),
    (b"stdin", What::Stream(0)),
    (b"stdout", What::Stream(1)),
    (b"tty", What::Tty),
    (b"urandom", What::Urandom),
    (b"zero", What::Zero),
];

impl What {
    fn ino(self) -> u64 {
        ENTRIES
            .iter()
            .zip(2..)
            .find(|((_, what), _)| *what == self)
            .map_or(1, |(_, ino)| ino)
    }

    fn file_type(self) -> FileType {
        match self {
            Self::Root | Self::Shm => FileType::Directory,
            Self::Stream(_) | Self::Fd => FileType::Symlink,
            _ => FileType::CharDevice,
        }
    }

    /// Linux's device number. Source: <https://www.kernel.org/doc/Documentation/admin-guide/devices.txt>.
    fn rdev(self) -> u64 {
        match self {
            Self::Null => 0x103,
            Self::Zero => 0x105,
            Self::Full => 0x107,
            Self::Random => 0x108,
            Self::Urandom => 0x109,
            Self::Tty => 0x500,
            Self::Root | Self::Shm | Self::Stream(_) | Self::Fd => 0,
        }
    }

    fn link_text(self) -> Option<Vec<u8>> {
        match self {
            Self::Stream(fd) => Some(format!("/proc/self/fd/{fd}").into_bytes()),
            Self::Fd => Some(b"/proc/self/fd".to_vec()),
            _ => None,
        }
    }
}

/// An inode of `/dev`, and its contents at the same time.
#[derive(Clone, Copy, Debug)]
struct Node {
    what: What,
    made: Timestamp,
}

impl Node {
    fn attributes(self) -> FileStat {
        let file_type = self.what.file_type();
        let (mode, nlink) = match self.what {
            What::Root => (0o755, 3),
            What::Shm => (0o1777, 2),
            What::Stream(_) | What::Fd => (0o777, 1),
            _ => (0o666, 1),
        };
        FileStat {
            dev: 0,
            ino: self.what.ino(),
            file_type,
            mode,
            nlink,
            size: self.what.link_text().map_or(0, |text| text.len() as u64),
            blocks: 0,
            rdev: self.what.rdev(),
            atime: self.made,
            mtime: self.made,
            ctime: self.made,
        }
    }
}

impl Inode for Node {
    fn stat(&self) -> SysResult<FileStat> {
        Ok(self.attributes())
    }

    fn ino(&self) -> SysResult<u64> {
        Ok(self.what.ino())
    }

    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.what.file_type())
    }

    fn open(&self, _: AccessMode) -> SysResult<Arc<dyn OpenFile>> {
        match self.what {
            What::Root | What::Shm => Err(Errno::IsDirectory),
            // No process has a controlling terminal.
            What::Tty | What::Stream(_) | What::Fd => Err(Errno::NoDeviceOrAddress),
            _ => Ok(Arc::new(*self)),
        }
    }

    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        match self.what {
            What::Root => {
                let entry = ENTRIES.iter().find(|(own, _)| *own == name.as_bytes());
                let &(_, what) = entry.ok_or(Errno::NotFound)?;
                Ok(Arc::new(Self {
                    what,
                    made: self.made,
                }))
            }
            What::Shm => Err(Errno::NotFound),
            _ => Err(Errno::NotDirectory),
        }
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        self.what.link_text().ok_or(Errno::Invalid)
    }

    fn magic(&self) -> Option<MagicLink> {
        match self.what {
            What::Stream(fd) => Some(MagicLink::Descriptor(None, fd)),
            _ => None,
        }
    }

    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        match self.what {
            What::Root => {
                let start = usize::try_from(cookie).unwrap_or(usize::MAX);
                let rest = ENTRIES.get(start..).unwrap_or_default();
                let listed = rest.iter().take(max).zip(cookie.saturating_add(1)..);
                Ok(listed
                    .map(|(&(name, what), cookie)| {
                        let (ino, file_type) = (what.ino(), what.file_type());
                        (
                            cookie,
                            DirEntry {
                                name: name.into(),
                                ino,
                                file_type,
                            },
                        )
                    })
                    .collect())
            }
            What::Shm => Ok(Vec::new()),
            _ => Err(Errno::NotDirectory),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl OpenFile for Node {
    fn read_at(&self, buffer: &mut [u8], _: u64) -> SysResult<usize> {
        match self.what {
            What::Null => return Ok(0),
            What::Random | What::Urandom => crate::host::random(buffer).map_err(|_| Errno::Io)?,
            _ => buffer.fill(0),
        }
        Ok(buffer.len())
    }

    fn write_at(&self, _: &Writable<'_>, buffer: &[u8], _: u64) -> SysResult<usize> {
        match self.what {
            What::Full if !buffer.is_empty() => Err(Errno::NoSpace),
            _ => Ok(buffer.len()),
        }
    }

    fn append(&self, writable: &Writable<'_>, buffer: &[u8]) -> SysResult<(usize, u64)> {
        Ok((self.write_at(writable, buffer, 0)?, 0))
    }

    fn sync(&self, _: SyncScope) -> SysResult<()> {
        Err(Errno::Invalid)
    }

    fn stat(&self) -> SysResult<FileStat> {
        Ok(self.attributes())
    }
}
