//! A namespace over one back end.

use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sandbar::errno::SysResult;
use sandbar::vfs::{
    AccessMode, At, Caller, Confine, FileStat, FileSystem, FileType, Follow, HostDir,
    HostDirOptions, ImageFile, ImageFsBuilder, MemoryFs, Mount, MountFlags, Namespace, OpenFile,
    OpenFlags, Opened, OverlayFs, Place, Quota, RenameFlags, SetAttributes, StatTarget, Writable,
};

use super::calls::{Path, SLOTS, Seen, World};
use super::host::{nested, scratch};

/// What is there at the beginning; an overlay has it in its image.
pub(crate) const INITIAL: [(&str, &str); 5] = [
    ("a/a", "one"),
    ("a/b/c", "two"),
    ("b/a/a", "three"),
    ("b/b", ""),
    ("c", "four"),
];

/// Which back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackEnd {
    Memory,
    Overlay,
    HostDir,
}

/// A namespace over one back end.
pub(crate) struct Sandbox {
    namespace: Arc<Namespace>,
    directories: [Place; SLOTS],
    files: [Option<Open>; SLOTS],
    _host: Option<tempfile::TempDir>,
}

struct Open {
    file: Arc<dyn OpenFile>,
    mount: Arc<Mount>,
    access: AccessMode,
}

impl Sandbox {
    pub(crate) fn new(back_end: BackEnd) -> Self {
        let mut host = None;
        let quota = Quota::new(1 << 30, 1 << 20);
        let root: Arc<dyn FileSystem> = match back_end {
            BackEnd::Memory => MemoryFs::new(quota, 0o755),
            BackEnd::Overlay => {
                let mut image = ImageFsBuilder::new();
                for (name, contents) in INITIAL {
                    let path = format!("{}/{name}", nested());
                    image
                        .file(path.as_bytes(), ImageFile::from_bytes(contents, 0o666))
                        .unwrap();
                }
                for directory in ["a", "a/b", "b", "b/a"] {
                    let path = format!("{}/{directory}", nested());
                    image.directory(path.as_bytes(), 0o777, 0).unwrap();
                }
                OverlayFs::new(&image.build(), quota).unwrap()
            }
            BackEnd::HostDir => {
                let directory = host.insert(scratch());
                let dir = Dir::open_ambient_dir(directory.path(), ambient_authority()).unwrap();
                let quota = Quota::on_disk(None, 1 << 30, 1 << 20);
                HostDir::new(
                    dir,
                    HostDirOptions {
                        quota,
                        ..HostDirOptions::default()
                    },
                )
                .unwrap()
            }
        };
        let namespace = Namespace::new(root, MountFlags::empty());
        let root = namespace.root();
        let caller = Caller { pid: 1 };
        let at = At {
            caller,
            base: &root,
            path: b"/",
            confine: Confine::Namespace,
        };
        let mut prefix = String::new();
        for name in nested().split('/') {
            prefix = format!("{prefix}/{name}");
            // An overlay has them.
            let _ = namespace.make_directory(
                At {
                    path: prefix.as_bytes(),
                    ..at
                },
                0o755,
            );
        }
        let place = namespace
            .directory(At {
                path: prefix.as_bytes(),
                ..at
            })
            .unwrap();
        let directories = std::array::from_fn(|_| place.clone());
        let mut sandbox = Self {
            namespace,
            directories,
            files: Default::default(),
            _host: host,
        };
        if back_end != BackEnd::Overlay {
            sandbox.fill();
        }
        sandbox
    }

    fn fill(&mut self) {
        for (name, contents) in INITIAL {
            let path = |bytes: &str| Path {
                base: 0,
                bytes: bytes.as_bytes().to_vec(),
            };
            for (end, _) in name.match_indices('/') {
                let directory = path(name.get(..end).unwrap());
                let _ = self.make_directory(&directory, 0o777);
            }
            self.open(&path(name), AccessMode::Write, OpenFlags::CREATE, 0o666, 0)
                .unwrap();
            self.write(0, 0, contents.as_bytes()).unwrap();
        }
        self.files = Default::default();
    }

    fn at<'a>(&'a self, path: &'a Path) -> At<'a> {
        At {
            caller: Caller { pid: 1 },
            base: &self.directories[path.base],
            path: &path.bytes,
            confine: Confine::Namespace,
        }
    }

    fn file(&self, slot: usize) -> &Open {
        self.files[slot].as_ref().expect("an open file")
    }
}

fn follow(follow: bool) -> Follow {
    if follow { Follow::Yes } else { Follow::No }
}

fn seen(stat: &FileStat) -> Seen {
    let FileStat {
        file_type,
        mode,
        nlink,
        ..
    } = *stat;
    let size = if file_type == FileType::Directory {
        0
    } else {
        stat.size
    };
    Seen {
        file_type,
        mode,
        nlink,
        size,
    }
}

impl World for Sandbox {
    fn open(
        &mut self,
        path: &Path,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
        slot: usize,
    ) -> SysResult<()> {
        let opened = self.namespace.open(self.at(path), access, flags, mode)?;
        self.files[slot] = match opened {
            Opened::File { file, mount, .. } => Some(Open {
                file,
                mount,
                access,
            }),
            _ => None,
        };
        Ok(())
    }

    fn open_directory(&mut self, path: &Path, slot: usize) -> SysResult<()> {
        match self
            .namespace
            .open(self.at(path), AccessMode::Read, OpenFlags::DIRECTORY, 0)?
        {
            Opened::Directory(place) => self.directories[slot] = place,
            other => panic!("not a directory: {other:?}"),
        }
        Ok(())
    }

    fn access(&self, slot: usize) -> Option<AccessMode> {
        self.files[slot].as_ref().map(|open| open.access)
    }

    fn read(&mut self, slot: usize, offset: u64, len: usize) -> SysResult<Vec<u8>> {
        let mut buffer = vec![0; len];
        let count = self.file(slot).file.read_at(&mut buffer, offset)?;
        buffer.truncate(count);
        Ok(buffer)
    }

    fn write(&mut self, slot: usize, offset: u64, bytes: &[u8]) -> SysResult<usize> {
        let open = self.file(slot);
        open.file
            .write_at(&Writable::of_open_file(&open.mount)?, bytes, offset)
    }

    fn append(&mut self, slot: usize, bytes: &[u8]) -> SysResult<usize> {
        let open = self.file(slot);
        let (count, end) = open
            .file
            .append(&Writable::of_open_file(&open.mount)?, bytes)?;
        assert_eq!(
            end,
            open.file.stat()?.size,
            "the offset behind an append is the end"
        );
        Ok(count)
    }

    fn set_len(&mut self, slot: usize, len: u64) -> SysResult<()> {
        let open = self.file(slot);
        open.file
            .set_len(&Writable::of_open_file(&open.mount)?, len)
    }

    fn allocate(&mut self, slot: usize, offset: u64, len: u64) -> SysResult<()> {
        let open = self.file(slot);
        open.file
            .allocate(&Writable::of_open_file(&open.mount)?, offset, len)
    }

    fn file_stat(&mut self, slot: usize) -> SysResult<Seen> {
        self.file(slot).file.stat().map(|stat| seen(&stat))
    }

    fn stat(&mut self, path: &Path, followed: bool) -> SysResult<Seen> {
        match self.namespace.stat(self.at(path), follow(followed))? {
            StatTarget::Inode(stat) => Ok(seen(&stat)),
            StatTarget::Descriptor { .. } => panic!("there is no /proc"),
        }
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> SysResult<()> {
        self.namespace.make_directory(self.at(path), mode)
    }

    fn remove_directory(&mut self, path: &Path) -> SysResult<()> {
        self.namespace.remove_directory(self.at(path))
    }

    fn unlink(&mut self, path: &Path) -> SysResult<()> {
        self.namespace.unlink(self.at(path))
    }

    fn rename(&mut self, from: &Path, to: &Path, flags: RenameFlags) -> SysResult<()> {
        self.namespace.rename(self.at(from), self.at(to), flags)
    }

    fn link(&mut self, from: &Path, to: &Path, followed: bool) -> SysResult<()> {
        self.namespace
            .link(self.at(from), follow(followed), self.at(to))
    }

    fn symlink(&mut self, target: &[u8], path: &Path) -> SysResult<()> {
        self.namespace.symlink(target, self.at(path))
    }

    fn read_link(&mut self, path: &Path) -> SysResult<Vec<u8>> {
        self.namespace.read_link(self.at(path))
    }

    fn set_mode(&mut self, path: &Path, mode: u32) -> SysResult<()> {
        let change = SetAttributes {
            mode: Some(mode),
            ..SetAttributes::default()
        };
        self.namespace
            .set_attributes(self.at(path), Follow::Yes, &change)
    }

    fn set_time(&mut self, path: &Path, followed: bool, seconds: i64) -> SysResult<i64> {
        let time = Some(seconds * 1_000_000_000);
        let change = SetAttributes {
            mode: None,
            atime: time,
            mtime: time,
        };
        self.namespace
            .set_attributes(self.at(path), follow(followed), &change)?;
        match self.namespace.stat(self.at(path), follow(followed))? {
            StatTarget::Inode(stat) => Ok(stat.mtime / 1_000_000_000),
            StatTarget::Descriptor { .. } => panic!("there is no /proc"),
        }
    }

    fn list(&mut self, slot: usize) -> SysResult<Vec<(Vec<u8>, FileType)>> {
        let listing = self.directories[slot].clone();
        let mut names = Vec::new();
        let mut cookie = 0;
        loop {
            let batch = listing.read_directory(cookie, 2)?;
            let Some(&(last, _)) = batch.last() else {
                break;
            };
            cookie = last;
            names.extend(
                batch
                    .into_iter()
                    .map(|(_, entry)| (entry.name.to_vec(), entry.file_type)),
            );
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(names)
    }

    fn current_path(&mut self, slot: usize) -> SysResult<Vec<u8>> {
        self.directories[slot].path()
    }
}
