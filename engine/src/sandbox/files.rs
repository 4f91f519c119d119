//! File calls of the host on a sandbox's files: the same namespace, resolver and permissions as a guest's.

use std::sync::Arc;

use super::{Sandbox, WORKSPACE};
use crate::errno::{Errno, SysResult};
use crate::error::{ErrorKind, Result};
use crate::vfs::{
    AccessMode, At, Caller, Confine, FileType, Follow, Namespace, OpenFile, OpenFlags, Opened,
    Place, RenameFlags, SetAttributes, StatTarget, Timestamp, Writable,
};

/// Bytes in one step of a read or write.
const CHUNK: usize = 1 << 20;

/// A sandbox's files. Relative paths start at the workspace.
#[derive(Clone, Debug)]
pub struct Files {
    namespace: Arc<Namespace>,
    base: Option<Place>,
    /// Keeps the sandbox while the handle is there.
    _sandbox: Option<Sandbox>,
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub file_type: FileType,
    /// Length in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Last change of the contents.
    pub modified: Timestamp,
    /// Inode number.
    pub ino: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub file_type: FileType,
}

fn failed<'a>(operation: &'static str, path: &'a [u8]) -> impl FnOnce(Errno) -> ErrorKind + 'a {
    move |errno| ErrorKind::File {
        operation,
        path: String::from_utf8_lossy(path).into_owned(),
        errno,
    }
}

impl Files {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self {
            namespace: Arc::clone(&sandbox.shared.namespace),
            base: None,
            _sandbox: Some(sandbox),
        }
    }

    /// The files of a process, relative paths starting where it is.
    pub(super) fn of(namespace: Arc<Namespace>, base: Place) -> Self {
        Self {
            namespace,
            base: Some(base),
            _sandbox: None,
        }
    }

    /// The directory that relative paths start in.
    ///
    /// # Errors
    /// `File` when a guest has removed it.
    pub(super) fn workspace(&self) -> Result<Place> {
        if let Some(base) = &self.base {
            return Ok(base.clone());
        }
        let root = self.namespace.root();
        let at = At {
            caller: Caller { pid: 0 },
            base: &root,
            path: WORKSPACE.as_bytes(),
            confine: Confine::Namespace,
        };
        Ok(self
            .namespace
            .directory(at)
            .map_err(failed("open", WORKSPACE.as_bytes()))?)
    }

    /// Where the resolution of a path starts. An absolute one must not depend on the workspace, which a guest may have removed.
    pub(super) fn base(&self, path: &[u8]) -> Result<Place> {
        if path.starts_with(b"/") {
            Ok(self.namespace.root())
        } else {
            self.workspace()
        }
    }

    fn call<T>(
        &self,
        operation: &'static str,
        path: &[u8],
        call: impl FnOnce(&Namespace, At<'_>) -> SysResult<T>,
    ) -> Result<T> {
        let base = self.base(path)?;
        let at = At {
            caller: Caller { pid: 0 },
            base: &base,
            path,
            confine: Confine::Namespace,
        };
        Ok(call(&self.namespace, at).map_err(failed(operation, path))?)
    }

    /// Reads a whole file, at most `limit` bytes.
    ///
    /// # Errors
    /// `File`: `NotFound`, `IsDirectory`, `Access`, `FileTooBig` beyond the limit.
    pub fn read_at_most(&self, path: impl AsRef<[u8]>, limit: u64) -> Result<Vec<u8>> {
        self.call("read", path.as_ref(), |namespace, at| {
            let (file, _) = open(namespace, at, AccessMode::Read, OpenFlags::empty())?;
            let size = file.stat()?.size;
            if size > limit {
                return Err(Errno::FileTooBig);
            }
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            read_to_end(&*file, limit)
        })
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// As [`Files::read_at_most`].
    pub fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.read_at_most(path, u64::MAX)
    }

    /// Reads a whole file as text.
    ///
    /// # Errors
    /// As [`Files::read`]; `IllegalBytes` when it is not UTF-8.
    pub fn read_to_string(&self, path: impl AsRef<[u8]>) -> Result<String> {
        let path = path.as_ref();
        let bytes = self.read(path)?;
        Ok(String::from_utf8(bytes).map_err(|_| failed("read", path)(Errno::IllegalBytes))?)
    }

    /// Reads up to `len` bytes at an offset.
    ///
    /// # Errors
    /// As [`Files::read_at_most`].
    pub fn read_range(&self, path: impl AsRef<[u8]>, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.call("read", path.as_ref(), |namespace, at| {
            let (file, _) = open(namespace, at, AccessMode::Read, OpenFlags::empty())?;
            let left = file.stat()?.size.saturating_sub(offset);
            let mut bytes = vec![0; len.min(usize::try_from(left).unwrap_or(usize::MAX))];
            let mut done = 0;
            while done < bytes.len() {
                match file.read_at(&mut bytes[done..], offset + done as u64)? {
                    0 => break,
                    count => done += count,
                }
            }
            bytes.truncate(done);
            Ok(bytes)
        })
    }

    /// Writes a whole file: into a new one that replaces the old, so that a reader sees either; its permission bits stay. Missing
    /// directories are made.
    ///
    /// # Errors
    /// `File`: `NotDirectory`, `IsDirectory`, `Access`, `ReadOnly`, `NoSpace`, `Quota`.
    pub fn write(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<()> {
        let (path, bytes) = (path.as_ref(), bytes.as_ref());
        if let Some(end) = path
            .iter()
            .rposition(|byte| *byte == b'/')
            .filter(|end| *end > 0)
        {
            self.create_dir_all(&path[..end])?;
        }
        self.call("write", path, |namespace, at| {
            write_new(namespace, at, bytes)
        })
    }

    /// Appends to a file, making it when it is not there.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub fn append(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.call("append to", path.as_ref(), |namespace, at| {
            let opened = namespace.open(at, AccessMode::Write, OpenFlags::CREATE, 0o644)?;
            let Opened::File { file, mount, .. } = opened else {
                return Err(Errno::IsDirectory);
            };
            let writable = Writable::of_open_file(&mount)?;
            let mut rest = bytes.as_ref();
            while !rest.is_empty() {
                let (count, _) = file.append(&writable, rest)?;
                rest = rest.get(count..).unwrap_or_default();
            }
            Ok(())
        })
    }

    /// Makes a directory with its parents; one that is there is not an error.
    ///
    /// # Errors
    /// `File`: `NotDirectory`, `Access`, `ReadOnly`, `Quota`.
    pub fn create_dir_all(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        let ends = path
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, byte)| **byte == b'/');
        let ends = ends.map(|(end, _)| end).chain([path.len()]);
        for end in ends {
            let made = self.call(
                "create directory",
                &path[..end],
                |namespace, at| match namespace.make_directory(at, 0o755) {
                    Err(Errno::Exists) => namespace.directory(at).map(drop),
                    result => result,
                },
            );
            made?;
        }
        Ok(())
    }

    /// What a path names, links followed.
    ///
    /// # Errors
    /// `File`: `NotFound`, `NotDirectory`, `Loop`, `Access`.
    pub fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Metadata> {
        self.stat(path.as_ref(), Follow::Yes)
    }

    /// What a path names, itself when it is a link.
    ///
    /// # Errors
    /// As [`Files::metadata`].
    pub fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Metadata> {
        self.stat(path.as_ref(), Follow::No)
    }

    fn stat(&self, path: &[u8], follow: Follow) -> Result<Metadata> {
        self.call("stat", path, |namespace, at| {
            let StatTarget::Inode(stat) = namespace.stat(at, follow)? else {
                return Err(Errno::NotFound);
            };
            Ok(Metadata {
                file_type: stat.file_type,
                size: stat.size,
                mode: stat.mode,
                modified: stat.mtime,
                ino: stat.ino,
            })
        })
    }

    /// Whether a path names something.
    pub fn exists(&self, path: impl AsRef<[u8]>) -> bool {
        self.metadata(path).is_ok()
    }

    /// The absolute path that a path leads to, every link followed.
    ///
    /// # Errors
    /// As [`Files::metadata`].
    pub fn canonicalize_dir(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.call("resolve", path.as_ref(), |namespace, at| {
            namespace.directory(at)?.path()
        })
    }

    /// A directory's entries by name, without `.` and `..`.
    ///
    /// # Errors
    /// As [`Files::metadata`].
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<Vec<DirectoryEntry>> {
        self.call("list", path.as_ref(), |namespace, at| {
            let place = namespace.directory(at)?;
            let mut entries = Vec::new();
            let mut cookie = 0;
            loop {
                let part = place.read_directory(cookie, 1024)?;
                let Some((last, _)) = part.last() else { break };
                cookie = *last;
                entries.extend(
                    part.into_iter()
                        .filter(|(_, entry)| !matches!(&*entry.name, b"." | b".."))
                        .map(|(_, entry)| DirectoryEntry {
                            name: entry.name.into_vec(),
                            file_type: entry.file_type,
                        }),
                );
            }
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        })
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// `File`: `NotFound`, `IsDirectory`, `Access`, `ReadOnly`.
    pub fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.call("remove", path.as_ref(), Namespace::unlink)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `File`: `NotFound`, `NotDirectory`, `NotEmpty`, `Busy`.
    pub fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.call(
            "remove directory",
            path.as_ref(),
            Namespace::remove_directory,
        )
    }

    /// Renames.
    ///
    /// # Errors
    /// As `rename(2)`.
    pub fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<()> {
        let to = to.as_ref();
        let base = self.base(to)?;
        self.call("rename", from.as_ref(), |namespace, at| {
            let to = At {
                path: to,
                base: &base,
                ..at
            };
            namespace.rename(at, to, RenameFlags::empty())
        })
    }

    /// Makes a symbolic link at `path` to `target`.
    ///
    /// # Errors
    /// `File`: `Exists`, `Access`, `ReadOnly`.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        let target = target.as_ref();
        self.call("link", path.as_ref(), |namespace, at| {
            namespace.symlink(target, at)
        })
    }

    /// Sets the permission bits.
    ///
    /// # Errors
    /// `File`: `NotFound`, `ReadOnly`.
    pub fn set_mode(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        let change = SetAttributes {
            mode: Some(mode & 0o7777),
            ..SetAttributes::default()
        };
        self.call("chmod", path.as_ref(), |namespace, at| {
            namespace.set_attributes(at, Follow::Yes, &change)
        })
    }
}

type OpenedFile = (Arc<dyn OpenFile>, Arc<crate::vfs::Mount>);

fn open(
    namespace: &Namespace,
    at: At<'_>,
    access: AccessMode,
    flags: OpenFlags,
) -> SysResult<OpenedFile> {
    match namespace.open(at, access, flags, 0o644)? {
        Opened::File { file, mount, .. } => Ok((file, mount)),
        Opened::Directory(_) => Err(Errno::IsDirectory),
        Opened::Descriptor { .. } => Err(Errno::NotFound),
        Opened::Fifo { .. } => Err(Errno::NoDeviceOrAddress),
    }
}

fn read_to_end(file: &dyn OpenFile, limit: usize) -> SysResult<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        // A generated file (`/proc`) has size 0, a growing one more than it said: read until the end.
        let step = if start == 0 {
            usize::try_from(file.stat()?.size)
                .unwrap_or(CHUNK)
                .clamp(4096, CHUNK)
        } else {
            CHUNK
        };
        bytes.resize(start + step, 0);
        let count = file.read_at(&mut bytes[start..], start as u64)?;
        bytes.truncate(start + count);
        if count == 0 {
            return Ok(bytes);
        }
        if bytes.len() > limit {
            return Err(Errno::FileTooBig);
        }
    }
}

/// Writes beside the target and renames over it; in place where that cannot be (devices, no room for both).
fn write_new(namespace: &Namespace, at: At<'_>, bytes: &[u8]) -> SysResult<()> {
    let mode = match namespace.stat(at, Follow::No) {
        Ok(StatTarget::Inode(stat)) => match stat.file_type {
            FileType::Regular => Some(stat.mode),
            FileType::Directory => return Err(Errno::IsDirectory),
            // Through a link, to a device: in place, as a shell's `>` does.
            _ => return write_in_place(namespace, at, bytes),
        },
        Ok(StatTarget::Descriptor { .. }) => return Err(Errno::NotFound),
        Err(Errno::NotFound) => None,
        Err(errno) => return Err(errno),
    };
    let mut suffix = [0; 6];
    crate::host::random(&mut suffix).map_err(|_| Errno::Io)?;
    let mut path = at.path.to_vec();
    let name_at = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    path.truncate(name_at);
    path.extend_from_slice(b".sandbar-");
    path.extend(suffix.iter().map(|byte| b'a' + byte % 26));
    let beside = At { path: &path, ..at };
    let flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    let written = match namespace.open(beside, AccessMode::Write, flags, mode.unwrap_or(0o644))? {
        Opened::File { file, mount, .. } => write_all(&*file, &mount, bytes),
        _ => Err(Errno::Io),
    };
    let done = written.and_then(|()| namespace.rename(beside, at, RenameFlags::empty()));
    if done.is_err() {
        namespace.unlink(beside).ok();
    }
    done
}

fn write_in_place(namespace: &Namespace, at: At<'_>, bytes: &[u8]) -> SysResult<()> {
    let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    let (file, mount) = open(namespace, at, AccessMode::Write, flags)?;
    write_all(&*file, &mount, bytes)
}

fn write_all(file: &dyn OpenFile, mount: &Arc<crate::vfs::Mount>, bytes: &[u8]) -> SysResult<()> {
    let writable = Writable::of_open_file(mount)?;
    let mut offset = 0;
    while offset < bytes.len() {
        let end = bytes.len().min(offset + CHUNK);
        offset += file.write_at(&writable, &bytes[offset..end], offset as u64)?;
    }
    Ok(())
}
