//! The one path resolver.
//!
//! Owns: components, `.` and `..`, symbolic links, mount points, magic links, and the wall ([`Confine`]). It asks back ends for
//! one name at a time and checks search permission in every directory it looks into.
//!
//! Source: `path_resolution(7)`, `openat2(2)`.
//!
//! SECURITY[SB-FS-002]: `..` and links are resolved here, inside the namespace, and never by the host.

#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::borrow::Cow;
use std::sync::Arc;

use super::mounts::MountTable;
use super::path::{self, DEPTH_MAX, LINKS_MAX};
use super::place::{Here, Parents, Place};
use super::{At, Caller, FileType, Inode, MagicLink, permission};
use crate::errno::{Errno, SysResult};

/// The wall a path cannot leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confine {
    /// The namespace: `..` stops at `/`, absolute paths and links start there (POSIX, aware guests).
    Namespace,
    /// The base directory: leaving it, or an absolute path or link, is `NotCapable` (WASI, plain guests).
    Dirfd,
}

/// Whether a symbolic link in the last component is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Follow it.
    Yes,
    /// Take the link itself.
    No,
}

/// The last component of a path.
#[derive(Debug)]
pub(super) enum Last {
    /// There is none: the path was `/`.
    Root,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// A name, not looked up yet.
    Name(Box<[u8]>),
}

/// A path resolved up to its last component.
#[derive(Debug)]
pub(super) struct Ending {
    /// The directory that the last component is in; search permission in it was checked.
    pub(super) directory: Here,
    /// The last component.
    pub(super) last: Last,
    /// Whether slashes follow it: it has to be a directory.
    pub(super) slash: bool,
}

/// What a whole path names.
#[derive(Debug)]
pub(super) enum Target {
    /// A directory: the one that the walk is in.
    Directory(Here),
    /// Anything else.
    Other {
        /// The directory it was found in.
        directory: Here,
        /// The inode.
        inode: Arc<dyn Inode>,
        /// Its type.
        file_type: FileType,
    },
    /// A descriptor of a process, through a magic link.
    Descriptor {
        /// Whose.
        pid: u32,
        /// Its number.
        fd: u32,
    },
}

/// Where a symbolic link leads.
#[derive(Debug)]
pub(super) enum Lead {
    /// Nowhere: somebody put something else in its place since it was looked up. The name is to be looked up again.
    Gone,
    /// To a path, relative to the link's directory unless it is absolute.
    Path(Vec<u8>),
    /// To a descriptor of a process.
    Descriptor {
        /// Whose.
        pid: u32,
        /// Its number.
        fd: u32,
    },
}

/// A step down into a directory.
#[derive(Debug)]
struct Step {
    /// The directory that it was found in.
    above: Here,
    /// Its inode number there: on what is mounted on it, it is another.
    ino: u64,
    /// Where its name begins in the walk's names.
    name_start: usize,
}

/// One resolution under way.
///
/// It costs an entry of a list for each directory. A [`Place`] with its parents is only made of it when somebody stays there.
#[derive(Debug)]
pub(super) struct Walk<'n> {
    root: &'n Place,
    parents: &'n Parents,
    mounts: Arc<MountTable>,
    caller: Caller,
    confine: Confine,
    /// The place it began in: the base, or `/` since an absolute path or link.
    base: Place,
    /// The directories that it went down through since then.
    ///
    /// `..` goes back on this way. For a confined walk there is no other: where a directory lies by now, after somebody moved it,
    /// may be outside.
    way: Vec<Step>,
    /// The names of the way, one behind the other.
    names: Vec<u8>,
    here: Here,
    links: u32,
}

impl<'n> Walk<'n> {
    pub(super) fn new(
        root: &'n Place,
        parents: &'n Parents,
        mounts: Arc<MountTable>,
        at: &At<'_>,
    ) -> Self {
        Self {
            root,
            parents,
            mounts,
            caller: at.caller,
            confine: at.confine,
            base: at.base.clone(),
            way: Vec::new(),
            names: Vec::new(),
            here: at.base.here(),
            links: 0,
        }
    }

    pub(super) fn mounts(&self) -> &Arc<MountTable> {
        &self.mounts
    }

    /// Resolves all but the last component of a caller's path.
    pub(super) fn parent(&mut self, path: &[u8]) -> SysResult<Ending> {
        path::check(path)?;
        self.ending(path)
    }

    /// Resolves a whole path.
    pub(super) fn whole(&mut self, path: &[u8], follow: Follow) -> SysResult<Target> {
        let mut ending = self.parent(path)?;
        loop {
            let name = match ending.last {
                Last::Root | Last::Dot => return Ok(Target::Directory(self.here.clone())),
                Last::DotDot => {
                    self.up()?;
                    return Ok(Target::Directory(self.here.clone()));
                }
                Last::Name(name) => name,
            };
            let inode = self.here.lookup(&name)?;
            let file_type = inode.file_type()?;
            match file_type {
                FileType::Directory => {
                    self.down(inode, &name)?;
                    return Ok(Target::Directory(self.here.clone()));
                }
                FileType::Symlink if follow == Follow::Yes || ending.slash => {
                    match self.lead(&*inode)? {
                        Lead::Path(text) => ending = self.follow(&text, ending.slash)?,
                        Lead::Gone => ending.last = Last::Name(name),
                        Lead::Descriptor { .. } if ending.slash => return Err(Errno::NotDirectory),
                        Lead::Descriptor { pid, fd } => return Ok(Target::Descriptor { pid, fd }),
                    }
                }
                _ if ending.slash => return Err(Errno::NotDirectory),
                _ => {
                    let directory = ending.directory;
                    return Ok(Target::Other {
                        directory,
                        inode,
                        file_type,
                    });
                }
            }
        }
    }

    /// Continues with a link's text from the directory that the link is in. `slash`: slashes followed the link.
    pub(super) fn follow(&mut self, text: &[u8], slash: bool) -> SysResult<Ending> {
        let mut ending = self.ending(text)?;
        ending.slash |= slash;
        Ok(ending)
    }

    /// Where a link leads, counting it.
    pub(super) fn lead(&mut self, link: &dyn Inode) -> SysResult<Lead> {
        self.links = self.links.saturating_add(1);
        if self.links > LINKS_MAX {
            return Err(Errno::Loop);
        }
        match link.magic() {
            // A process's current directory is reached by its path: good until it is removed.
            None | Some(MagicLink::WorkingDirectory(_)) => match link.read_link() {
                Err(Errno::Stale) => Ok(Lead::Gone),
                text => Ok(Lead::Path(text?)),
            },
            Some(MagicLink::OwnProcess) => Ok(Lead::Path(own_process(self.caller)?)),
            Some(MagicLink::Descriptor(pid, fd)) => {
                let pid = pid.unwrap_or(self.caller.pid);
                if pid == 0 {
                    return Err(Errno::NotFound);
                }
                if self.confine == Confine::Dirfd && pid != self.caller.pid {
                    return Err(Errno::NotCapable);
                }
                Ok(Lead::Descriptor { pid, fd })
            }
            Some(MagicLink::Root) => Ok(Lead::Path(b"/".to_vec())),
        }
    }

    /// Where a link in the middle of a path leads: a directory's descriptor is as good as its path. `None` as [`Lead::Gone`].
    fn lead_on(&mut self, link: &dyn Inode) -> SysResult<Option<Vec<u8>>> {
        match self.lead(link)? {
            Lead::Gone => Ok(None),
            Lead::Path(text) => Ok(Some(text)),
            Lead::Descriptor { .. } => match link.read_link()? {
                text if text.first() == Some(&b'/') => Ok(Some(text)),
                _ => Err(Errno::NotDirectory),
            },
        }
    }

    /// Walks to the last component of `path` from the present place. Paths and link texts alike end here.
    fn ending(&mut self, path: &[u8]) -> SysResult<Ending> {
        self.start(path)?;
        // What is still to be walked, the innermost link's text last. All but the last have a component left.
        let mut texts: Vec<Cow<'_, [u8]>> = Vec::new();
        let mut rest = Cow::Borrowed(path);
        let mut position = 0_usize;
        let mut positions = Vec::new();
        loop {
            let text: &[u8] = rest.get(position..).unwrap_or_default();
            let Some((component, behind)) = path::split_first(text) else {
                // A link's text is used up: go on behind the link.
                match (texts.pop(), positions.pop()) {
                    (Some(outer), Some(outer_position)) => {
                        rest = outer;
                        position = outer_position;
                        continue;
                    }
                    _ => return Ok(self.end(Last::Root, false)),
                }
            };
            permission::search(&*self.here.inode)?;
            if texts.is_empty() && path::is_blank(behind) {
                let slash = !behind.is_empty();
                let last = match component {
                    b"." => Last::Dot,
                    b".." if self.confine == Confine::Dirfd && self.way.is_empty() => {
                        return Err(Errno::NotCapable);
                    }
                    b".." => Last::DotDot,
                    // Not checked yet: Linux finds a name too long when it is looked up, after the call's own rules.
                    name => Last::Name(name.into()),
                };
                return Ok(self.end(last, slash));
            }
            let next = rest.len().saturating_sub(behind.len());
            match component {
                b"." => {}
                b".." => self.up()?,
                name => {
                    let inode = self.here.lookup(name)?;
                    match inode.file_type()? {
                        FileType::Directory => self.down(inode, name)?,
                        FileType::Symlink => {
                            let Some(lead) = self.lead_on(&*inode)? else {
                                continue;
                            };
                            self.start(&lead)?;
                            positions.push(next);
                            texts.push(std::mem::replace(&mut rest, Cow::Owned(lead)));
                            position = 0;
                            continue;
                        }
                        _ => return Err(Errno::NotDirectory),
                    }
                }
            }
            position = next;
        }
    }

    fn end(&self, last: Last, slash: bool) -> Ending {
        Ending {
            directory: self.here.clone(),
            last,
            slash,
        }
    }

    /// Goes to where a path or link text starts.
    fn start(&mut self, text: &[u8]) -> SysResult<()> {
        match text.first() {
            None => Err(Errno::NotFound),
            Some(b'/') if self.confine == Confine::Dirfd => Err(Errno::NotCapable),
            Some(b'/') => {
                self.base.clone_from(self.root);
                self.here = self.root.here();
                self.way.clear();
                self.names.clear();
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Goes to the parent directory.
    pub(super) fn up(&mut self) -> SysResult<()> {
        if let Some(step) = self.way.pop() {
            self.names.truncate(step.name_start);
            self.here = step.above;
            return Ok(());
        }
        if self.confine == Confine::Dirfd {
            return Err(Errno::NotCapable);
        }
        if let Some(above) = self.base.above() {
            self.here = above.here();
            self.base = above;
        }
        Ok(())
    }

    /// Goes into a directory, and onto what is mounted there.
    pub(super) fn down(&mut self, inode: Arc<dyn Inode>, name: &[u8]) -> SysResult<()> {
        let depth = usize::try_from(self.base.depth()).unwrap_or(usize::MAX);
        if depth.saturating_add(self.way.len()) >= DEPTH_MAX {
            return Err(Errno::NameTooLong);
        }
        let ino = inode.ino()?;
        let mount = Arc::clone(&self.here.mount);
        let below = self.mounts.enter(Here { mount, inode })?;
        let above = std::mem::replace(&mut self.here, below);
        let name_start = self.names.len();
        self.way.push(Step {
            above,
            ino,
            name_start,
        });
        self.names.extend_from_slice(name);
        Ok(())
    }

    /// The directory that the walk is in.
    pub(super) fn here(&self) -> &Here {
        &self.here
    }

    /// Where the walk is, to stay there.
    pub(super) fn place(&self) -> SysResult<Place> {
        let mut place = self.base.clone();
        let mut steps = self.way.iter().peekable();
        while let Some(step) = steps.next() {
            let (below, name_end) = match steps.peek() {
                Some(next) => (&next.above, next.name_start),
                None => (&self.here, self.names.len()),
            };
            let name = self
                .names
                .get(step.name_start..name_end)
                .unwrap_or_default();
            let parent = self.parents.of_found(step.ino, &place, name)?;
            place = Place::new(below, Some(parent));
        }
        Ok(place)
    }

    /// The absolute path of a name in the directory that the walk is in.
    pub(super) fn path_of(&self, name: &[u8]) -> Arc<[u8]> {
        let mut text = match self.base.path_text() {
            root if root == b"/" => Vec::new(),
            text => text,
        };
        let starts = self.way.iter().map(|step| step.name_start);
        let ends = starts.clone().skip(1).chain([self.names.len()]);
        for (start, end) in starts.zip(ends) {
            text.push(b'/');
            text.extend_from_slice(self.names.get(start..end).unwrap_or_default());
        }
        text.push(b'/');
        text.extend_from_slice(name);
        text.into()
    }
}

/// What `/proc/self` says to this caller.
pub(super) fn own_process(caller: Caller) -> SysResult<Vec<u8>> {
    match caller.pid {
        0 => Err(Errno::NotFound),
        pid => Ok(pid.to_string().into_bytes()),
    }
}
