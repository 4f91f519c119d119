//! Rights of preview 1, and the descriptors of plain modules: preopens, and rights that were given up.
//!
//! A right that a kind of file has no use for is not reported (a directory cannot seek), and `READ` and `WRITE` follow how a
//! file was opened. What a program asks for beyond that at `path_open` is granted without asking: most programs ask for too
//! little or for everything, and POSIX has nothing like it. What a program gives up with `fd_fdstat_set_rights` is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::errno::{Errno, SysResult};
use crate::process::{Description, Fd, Object, Preopens, Process};
use crate::vfs::{AccessMode, At, Confine, Follow, Namespace, Place};

bitflags::bitflags! {
    /// Source: <https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md#-rights-flags>.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Rights: u64 {
        const FD_DATASYNC = 1;
        const FD_READ = 1 << 1;
        const FD_SEEK = 1 << 2;
        const FD_FDSTAT_SET_FLAGS = 1 << 3;
        const FD_SYNC = 1 << 4;
        const FD_TELL = 1 << 5;
        const FD_WRITE = 1 << 6;
        const FD_ADVISE = 1 << 7;
        const FD_ALLOCATE = 1 << 8;
        const PATH_CREATE_DIRECTORY = 1 << 9;
        const PATH_CREATE_FILE = 1 << 10;
        const PATH_LINK_SOURCE = 1 << 11;
        const PATH_LINK_TARGET = 1 << 12;
        const PATH_OPEN = 1 << 13;
        const FD_READDIR = 1 << 14;
        const PATH_READLINK = 1 << 15;
        const PATH_RENAME_SOURCE = 1 << 16;
        const PATH_RENAME_TARGET = 1 << 17;
        const PATH_FILESTAT_GET = 1 << 18;
        const PATH_FILESTAT_SET_SIZE = 1 << 19;
        const PATH_FILESTAT_SET_TIMES = 1 << 20;
        const FD_FILESTAT_GET = 1 << 21;
        const FD_FILESTAT_SET_SIZE = 1 << 22;
        const FD_FILESTAT_SET_TIMES = 1 << 23;
        const PATH_SYMLINK = 1 << 24;
        const PATH_REMOVE_DIRECTORY = 1 << 25;
        const PATH_UNLINK_FILE = 1 << 26;
        const POLL_FD_READWRITE = 1 << 27;
        const SOCK_SHUTDOWN = 1 << 28;
        const SOCK_ACCEPT = 1 << 29;

        const DIRECTORY = Self::FD_DATASYNC.bits()
            | Self::FD_FDSTAT_SET_FLAGS.bits()
            | Self::FD_SYNC.bits()
            | Self::PATH_CREATE_DIRECTORY.bits()
            | Self::PATH_CREATE_FILE.bits()
            | Self::PATH_LINK_SOURCE.bits()
            | Self::PATH_LINK_TARGET.bits()
            | Self::PATH_OPEN.bits()
            | Self::FD_READDIR.bits()
            | Self::PATH_READLINK.bits()
            | Self::PATH_RENAME_SOURCE.bits()
            | Self::PATH_RENAME_TARGET.bits()
            | Self::PATH_FILESTAT_GET.bits()
            | Self::PATH_FILESTAT_SET_SIZE.bits()
            | Self::PATH_FILESTAT_SET_TIMES.bits()
            | Self::FD_FILESTAT_GET.bits()
            | Self::FD_FILESTAT_SET_TIMES.bits()
            | Self::PATH_SYMLINK.bits()
            | Self::PATH_REMOVE_DIRECTORY.bits()
            | Self::PATH_UNLINK_FILE.bits()
            | Self::POLL_FD_READWRITE.bits();
        const STREAM = Self::FD_READ.bits()
            | Self::FD_FDSTAT_SET_FLAGS.bits()
            | Self::FD_WRITE.bits()
            | Self::FD_FILESTAT_GET.bits()
            | Self::POLL_FD_READWRITE.bits();
        const FILE = Self::STREAM.bits()
            | Self::FD_DATASYNC.bits()
            | Self::FD_SEEK.bits()
            | Self::FD_SYNC.bits()
            | Self::FD_TELL.bits()
            | Self::FD_ADVISE.bits()
            | Self::FD_ALLOCATE.bits()
            | Self::FD_FILESTAT_SET_SIZE.bits()
            | Self::FD_FILESTAT_SET_TIMES.bits();
    }
}

/// What a description can do by its kind and how it was opened, and what can be opened through it.
///
/// NOTE: wasi-libc takes a character device without `SEEK` and `TELL` for a terminal, so a terminal lacks them and `/dev/null`
/// has them.
fn natural(description: &Description) -> (Rights, Rights) {
    let (mut base, inheriting) = match description.object() {
        Object::Directory(_) => return (Rights::DIRECTORY, Rights::all()),
        Object::File { .. } => (Rights::FILE, Rights::empty()),
        Object::Stream(_) => (Rights::STREAM, Rights::empty()),
    };
    base.set(Rights::FD_READ, description.access().reads());
    base.set(Rights::FD_WRITE, description.access().writes());
    (base, inheriting)
}

/// Top-level directories that are preopened at most: a guest can make any number of them.
const MAX_TOP_LEVEL: usize = 64;

/// What a plain module's descriptors have beyond those of POSIX. Empty for an aware one, which nothing here restricts.
#[derive(Debug, Default)]
pub(super) struct PlainDescriptors {
    preopens: BTreeMap<Fd, Vec<u8>>,
    rights: BTreeMap<Fd, (Rights, Rights)>,
}

impl PlainDescriptors {
    /// Closes what a plain module does not inherit and opens its preopens.
    pub(super) fn open(process: &Arc<Process>, namespace: &Namespace) -> SysResult<Self> {
        for (fd, description) in process.open_fds() {
            drop(description);
            if fd > 2 {
                process.close_fd(fd)?;
            }
        }
        let named = process.table()?.plain_preopens();
        let places = match named {
            Some(named) => named_preopens(process, namespace, named)?,
            None => default_preopens(process, namespace),
        };
        let mut this = Self::default();
        for (name, place) in places {
            let description = Description::new(Object::Directory(place), AccessMode::Read);
            match process.insert_fd(description, 3, false) {
                Ok(fd) => drop(this.preopens.insert(fd, name)),
                // With few descriptors a program has to do with the first ones, which are the important.
                Err(Errno::ProcessFiles) if !this.preopens.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(this)
    }

    /// The name that a descriptor was preopened under.
    pub(super) fn preopen(&self, fd: Fd) -> Option<&[u8]> {
        self.preopens.get(&fd).map(Vec::as_slice)
    }

    pub(super) fn rights(&self, fd: Fd, description: &Description) -> (Rights, Rights) {
        self.rights
            .get(&fd)
            .copied()
            .unwrap_or_else(|| natural(description))
    }

    /// # Errors
    /// `NotCapable` when a right was given up.
    pub(super) fn require(
        &self,
        fd: Fd,
        description: &Description,
        needed: Rights,
    ) -> SysResult<()> {
        // Whatever was not given up is judged by POSIX's own rules, which have better error numbers.
        match self.rights.get(&fd) {
            Some((base, _)) => {
                let lacking = needed.difference(*base);
                if lacking.intersects(natural(description).0) {
                    Err(Errno::NotCapable)
                } else {
                    Ok(())
                }
            }
            None => Ok(()),
        }
    }

    /// Notes the rights of a file that `path_open` has just opened: those of its kind that `parent` passes on, `READ` and
    /// `WRITE` only as they were asked for.
    pub(super) fn opened(
        &mut self,
        fd: Fd,
        description: &Description,
        asked: Rights,
        parent: Rights,
    ) {
        let (mut base, inheriting) = natural(description);
        base.set(
            Rights::FD_READ,
            base.intersects(Rights::FD_READ) && asked.contains(Rights::FD_READ),
        );
        self.rights.insert(
            fd,
            // A directory's own rights can be more than what it passes to the files in it.
            (base.intersection(parent), inheriting.intersection(parent)),
        );
    }

    /// Gives up all rights but these.
    ///
    /// # Errors
    /// `NotCapable` when one of them is not there any more.
    pub(super) fn narrow(
        &mut self,
        fd: Fd,
        description: &Description,
        to: (Rights, Rights),
    ) -> SysResult<()> {
        let (base, inheriting) = self.rights(fd, description);
        if !base.contains(to.0) || !inheriting.contains(to.1) {
            return Err(Errno::NotCapable);
        }
        self.rights.insert(fd, to);
        Ok(())
    }

    /// Forgets a closed descriptor.
    pub(super) fn forget(&mut self, fd: Fd) {
        self.preopens.remove(&fd);
        self.rights.remove(&fd);
    }

    /// Follows `fd_renumber`.
    pub(super) fn renumber(&mut self, from: Fd, to: Fd) {
        if from == to {
            return;
        }
        self.forget(to);
        if let Some(name) = self.preopens.remove(&from) {
            self.preopens.insert(to, name);
        }
        if let Some(rights) = self.rights.remove(&from) {
            self.rights.insert(to, rights);
        }
    }
}

fn directory(
    process: &Process,
    namespace: &Namespace,
    base: &Place,
    path: &[u8],
) -> SysResult<Place> {
    namespace.directory(At {
        caller: process.caller(),
        base,
        path,
        confine: Confine::Namespace,
    })
}

fn named_preopens(
    process: &Process,
    namespace: &Namespace,
    named: Preopens,
) -> SysResult<Vec<(Vec<u8>, Place)>> {
    let root = namespace.root();
    named
        .into_iter()
        .map(|(name, path)| Ok((name, directory(process, namespace, &root, &path)?)))
        .collect()
}

fn default_preopens(process: &Process, namespace: &Namespace) -> Vec<(Vec<u8>, Place)> {
    let root = namespace.root();
    let cwd = process.cwd();
    let mut places = vec![(b".".to_vec(), cwd.clone()), (b"/".to_vec(), root.clone())];
    let entries = root.read_directory(0, MAX_TOP_LEVEL).unwrap_or_default();
    for (_, entry) in entries {
        if matches!(&*entry.name, b"." | b"..") {
            continue;
        }
        let in_cwd = At {
            caller: process.caller(),
            base: &cwd,
            path: &entry.name,
            confine: Confine::Namespace,
        };
        if namespace.stat(in_cwd, Follow::No).is_ok() {
            continue;
        }
        // What cannot be entered, or is no directory, is reached through `/` or not at all.
        if let Ok(place) = directory(process, namespace, &root, &entry.name) {
            let mut name = b"/".to_vec();
            name.extend_from_slice(&entry.name);
            places.push((name, place));
        }
    }
    places.push((b".".to_vec(), cwd));
    places
}
