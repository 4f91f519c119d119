//! The host's file system, through its own calls.

use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;

use rustix::fs::{
    AtFlags, Mode, OFlags, RawMode, RenameFlags as HostRename, Stat, Timespec, Timestamps,
};
use rustix::io::Errno as HostErrno;
use sandbar::errno::{Errno, SysResult};
use sandbar::vfs::{AccessMode, FileType, OpenFlags, RenameFlags};

use super::NESTING;
use super::calls::{Path, SLOTS, Seen, World};

/// A temporary directory of the host.
pub(crate) struct Host {
    root: tempfile::TempDir,
    directories: [OwnedFd; SLOTS],
    files: [Option<(OwnedFd, AccessMode)>; SLOTS],
}

/// A temporary directory, in memory where the host has such a place: on a busy disk the calls wait for its journal.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// The directory that the calls work in, below a root.
pub(crate) fn nested() -> String {
    format!("{}w", "p/".repeat(NESTING))
}

impl Host {
    pub(crate) fn new() -> Self {
        let root = scratch();
        let inner = root.path().join(nested());
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&inner)
            .unwrap();
        let open = || rustix::fs::open(&inner, OFlags::DIRECTORY, Mode::empty()).unwrap();
        let host = Self {
            directories: std::array::from_fn(|_| open()),
            files: Default::default(),
            root,
        };
        for (name, contents) in super::sandbox::INITIAL {
            let path = inner.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, contents).unwrap();
        }
        host
    }

    fn base(&self, path: &Path) -> &OwnedFd {
        &self.directories[path.base]
    }

    fn file(&self, slot: usize) -> &OwnedFd {
        &self.files[slot].as_ref().expect("an open file").0
    }
}

fn told<T>(result: rustix::io::Result<T>) -> SysResult<T> {
    result.map_err(|error| match error {
        HostErrno::ACCESS => Errno::Access,
        HostErrno::BUSY => Errno::Busy,
        HostErrno::EXIST => Errno::Exists,
        HostErrno::FBIG => Errno::FileTooBig,
        HostErrno::INVAL => Errno::Invalid,
        HostErrno::ISDIR => Errno::IsDirectory,
        HostErrno::LOOP => Errno::Loop,
        HostErrno::NAMETOOLONG => Errno::NameTooLong,
        HostErrno::NOENT => Errno::NotFound,
        HostErrno::NOSPC => Errno::NoSpace,
        HostErrno::NOTDIR => Errno::NotDirectory,
        HostErrno::NOTEMPTY => Errno::NotEmpty,
        HostErrno::NOTSUP => Errno::NotSupported,
        HostErrno::PERM => Errno::NotPermitted,
        HostErrno::XDEV => Errno::CrossDevice,
        other => panic!("the host says {other:?}"),
    })
}

fn file_type(mode: RawMode) -> FileType {
    match rustix::fs::FileType::from_raw_mode(mode) {
        rustix::fs::FileType::RegularFile => FileType::Regular,
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        other => panic!("nothing makes a {other:?}"),
    }
}

fn seen(stat: &Stat) -> Seen {
    let file_type = file_type(stat.st_mode);
    let size = if file_type == FileType::Directory {
        0
    } else {
        u64::try_from(stat.st_size).unwrap()
    };
    #[expect(
        clippy::useless_conversion,
        reason = "its type depends on the processor"
    )]
    let nlink = u64::from(stat.st_nlink);
    Seen {
        file_type,
        mode: stat.st_mode & 0o777,
        nlink,
        size,
    }
}

impl World for Host {
    fn open(
        &mut self,
        path: &Path,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
        slot: usize,
    ) -> SysResult<()> {
        let mut host = match access {
            AccessMode::Read => OFlags::RDONLY,
            AccessMode::Write => OFlags::WRONLY,
            AccessMode::ReadWrite => OFlags::RDWR,
        };
        host.set(OFlags::CREATE, flags.contains(OpenFlags::CREATE));
        host.set(OFlags::EXCL, flags.contains(OpenFlags::EXCLUSIVE));
        host.set(OFlags::TRUNC, flags.contains(OpenFlags::TRUNCATE));
        host.set(OFlags::DIRECTORY, flags.contains(OpenFlags::DIRECTORY));
        host.set(OFlags::NOFOLLOW, flags.contains(OpenFlags::NO_FOLLOW));
        let fd = told(rustix::fs::openat(
            self.base(path),
            &*path.bytes,
            host,
            Mode::from_bits_truncate(mode),
        ))?;
        let is_file = file_type(rustix::fs::fstat(&fd).unwrap().st_mode) == FileType::Regular;
        self.files[slot] = is_file.then_some((fd, access));
        Ok(())
    }

    fn open_directory(&mut self, path: &Path, slot: usize) -> SysResult<()> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        self.directories[slot] = told(rustix::fs::openat(
            self.base(path),
            &*path.bytes,
            flags,
            Mode::empty(),
        ))?;
        Ok(())
    }

    fn access(&self, slot: usize) -> Option<AccessMode> {
        self.files[slot].as_ref().map(|(_, access)| *access)
    }

    fn read(&mut self, slot: usize, offset: u64, len: usize) -> SysResult<Vec<u8>> {
        let mut buffer = vec![0; len];
        let count = told(rustix::io::pread(self.file(slot), &mut buffer, offset))?;
        buffer.truncate(count);
        Ok(buffer)
    }

    fn write(&mut self, slot: usize, offset: u64, bytes: &[u8]) -> SysResult<usize> {
        told(rustix::io::pwrite(self.file(slot), bytes, offset))
    }

    fn append(&mut self, slot: usize, bytes: &[u8]) -> SysResult<usize> {
        let end = u64::try_from(told(rustix::fs::fstat(self.file(slot)))?.st_size).unwrap();
        told(rustix::io::pwrite(self.file(slot), bytes, end))
    }

    fn set_len(&mut self, slot: usize, len: u64) -> SysResult<()> {
        told(rustix::fs::ftruncate(self.file(slot), len))
    }

    fn allocate(&mut self, slot: usize, offset: u64, len: u64) -> SysResult<()> {
        told(rustix::fs::fallocate(
            self.file(slot),
            rustix::fs::FallocateFlags::empty(),
            offset,
            len,
        ))
    }

    fn file_stat(&mut self, slot: usize) -> SysResult<Seen> {
        told(rustix::fs::fstat(self.file(slot))).map(|stat| seen(&stat))
    }

    fn stat(&mut self, path: &Path, follow: bool) -> SysResult<Seen> {
        let flags = if follow {
            AtFlags::empty()
        } else {
            AtFlags::SYMLINK_NOFOLLOW
        };
        told(rustix::fs::statat(self.base(path), &*path.bytes, flags)).map(|stat| seen(&stat))
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> SysResult<()> {
        told(rustix::fs::mkdirat(
            self.base(path),
            &*path.bytes,
            Mode::from_bits_truncate(mode),
        ))
    }

    fn remove_directory(&mut self, path: &Path) -> SysResult<()> {
        told(rustix::fs::unlinkat(
            self.base(path),
            &*path.bytes,
            AtFlags::REMOVEDIR,
        ))
    }

    fn unlink(&mut self, path: &Path) -> SysResult<()> {
        told(rustix::fs::unlinkat(
            self.base(path),
            &*path.bytes,
            AtFlags::empty(),
        ))
    }

    fn rename(&mut self, from: &Path, to: &Path, flags: RenameFlags) -> SysResult<()> {
        let mut host = HostRename::empty();
        host.set(
            HostRename::NOREPLACE,
            flags.contains(RenameFlags::NO_REPLACE),
        );
        host.set(HostRename::EXCHANGE, flags.contains(RenameFlags::EXCHANGE));
        told(rustix::fs::renameat_with(
            self.base(from),
            &*from.bytes,
            self.base(to),
            &*to.bytes,
            host,
        ))
    }

    fn link(&mut self, from: &Path, to: &Path, follow: bool) -> SysResult<()> {
        let flags = if follow {
            AtFlags::SYMLINK_FOLLOW
        } else {
            AtFlags::empty()
        };
        told(rustix::fs::linkat(
            self.base(from),
            &*from.bytes,
            self.base(to),
            &*to.bytes,
            flags,
        ))
    }

    fn symlink(&mut self, target: &[u8], path: &Path) -> SysResult<()> {
        told(rustix::fs::symlinkat(target, self.base(path), &*path.bytes))
    }

    fn read_link(&mut self, path: &Path) -> SysResult<Vec<u8>> {
        // With an empty path Linux reads the descriptor itself, which no other system does.
        if path.bytes.is_empty() {
            return Err(Errno::NotFound);
        }
        told(rustix::fs::readlinkat(
            self.base(path),
            &*path.bytes,
            Vec::new(),
        ))
        .map(std::ffi::CString::into_bytes)
    }

    fn set_mode(&mut self, path: &Path, mode: u32) -> SysResult<()> {
        told(rustix::fs::chmodat(
            self.base(path),
            &*path.bytes,
            Mode::from_bits_truncate(mode),
            AtFlags::empty(),
        ))
    }

    fn set_time(&mut self, path: &Path, follow: bool, seconds: i64) -> SysResult<i64> {
        let flags = if follow {
            AtFlags::empty()
        } else {
            AtFlags::SYMLINK_NOFOLLOW
        };
        let time = Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        told(rustix::fs::utimensat(
            self.base(path),
            &*path.bytes,
            &times,
            flags,
        ))?;
        told(rustix::fs::statat(self.base(path), &*path.bytes, flags)).map(|stat| stat.st_mtime)
    }

    fn list(&mut self, slot: usize) -> SysResult<Vec<(Vec<u8>, FileType)>> {
        let mut names = Vec::new();
        // Opened anew: the descriptor's own position is at the end after the first listing.
        let fd = told(rustix::fs::openat(
            &self.directories[slot],
            ".",
            OFlags::DIRECTORY,
            Mode::empty(),
        ))?;
        for entry in told(rustix::fs::Dir::new(fd))? {
            let entry = told(entry)?;
            let file_type = match entry.file_type() {
                rustix::fs::FileType::RegularFile => FileType::Regular,
                rustix::fs::FileType::Directory => FileType::Directory,
                rustix::fs::FileType::Symlink => FileType::Symlink,
                other => panic!("nothing makes a {other:?}"),
            };
            names.push((entry.file_name().to_bytes().to_vec(), file_type));
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(names)
    }

    fn current_path(&mut self, slot: usize) -> SysResult<Vec<u8>> {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::ffi::OsStrExt as _;
        if told(rustix::fs::fstat(&self.directories[slot]))?.st_nlink == 0 {
            return Err(Errno::NotFound);
        }
        let link = format!("/proc/self/fd/{}", self.directories[slot].as_raw_fd());
        let path = std::fs::read_link(link).unwrap();
        let path = path
            .strip_prefix(self.root.path().canonicalize().unwrap())
            .unwrap();
        Ok([b"/", path.as_os_str().as_bytes()].concat())
    }
}
