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
use super::place::{Parents, Place};
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
    pub(super) directory: Place,
    /// The last component.
    pub(super) last: Last,
    /// Whether slashes follow it: it has to be a directory.
    pub(super) slash: bool,
}

/// What a whole path names.
#[derive(Debug)]
pub(super) enum Target {
    /// A directory.
    Directory(Place),
    /// Anything else.
    Other {
        /// The directory it was found in.
        directory: Place,
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

/// One resolution under way.
#[derive(Debug)]
pub(super) struct Walk<'n> {
    root: &'n Place,
    parents: &'n Parents,
    mounts: Arc<MountTable>,
    caller: Caller,
    confine: Confine,
    place: Place,
    /// The directories that a confined walk came through, from its base on. Its `..` goes back on this way and no other: where a
    /// directory lies now, after somebody moved it, may be outside.
    way: Vec<Place>,
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
            place: at.base.clone(),
            way: Vec::new(),
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
                Last::Root | Last::Dot => return Ok(Target::Directory(self.place.clone())),
                Last::DotDot => {
                    self.up()?;
                    return Ok(Target::Directory(self.place.clone()));
                }
                Last::Name(name) => name,
            };
            let inode = self.place.lookup(&name)?;
            let file_type = inode.file_type()?;
            match file_type {
                FileType::Directory => {
                    self.down(inode, &name)?;
                    return Ok(Target::Directory(self.place.clone()));
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
            permission::search(&*self.place.inode)?;
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
                    let inode = self.place.lookup(name)?;
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
            directory: self.place.clone(),
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
                self.place.clone_from(self.root);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Goes to the parent directory.
    pub(super) fn up(&mut self) -> SysResult<()> {
        match self.confine {
            Confine::Dirfd => self.place = self.way.pop().ok_or(Errno::NotCapable)?,
            Confine::Namespace => {
                if let Some(above) = self.place.above() {
                    self.place = above;
                }
            }
        }
        Ok(())
    }

    /// Goes into a directory, and onto what is mounted there.
    pub(super) fn down(&mut self, inode: Arc<dyn Inode>, name: &[u8]) -> SysResult<()> {
        if self.place.depth() >= DEPTH_MAX {
            return Err(Errno::NameTooLong);
        }
        let parent = self.parents.of_found(&*inode, &self.place, name)?;
        let place = Place {
            mount: Arc::clone(&self.place.mount),
            inode,
            parent: Some(parent),
        };
        let above = std::mem::replace(&mut self.place, self.mounts.enter(place)?);
        if self.confine == Confine::Dirfd {
            self.way.push(above);
        }
        Ok(())
    }

    /// Where the walk is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }
}

/// What `/proc/self` says to this caller.
pub(super) fn own_process(caller: Caller) -> SysResult<Vec<u8>> {
    match caller.pid {
        0 => Err(Errno::NotFound),
        pid => Ok(pid.to_string().into_bytes()),
    }
}
