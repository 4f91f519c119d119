//! Renaming in memory.

use std::sync::Arc;

use parking_lot::RwLockWriteGuard;

use super::super::{Name, RenameFlags};
use super::directory::Directory;
use super::node::Node;
use crate::errno::{Errno, SysResult};

/// The two directories of a rename, locked; one lock when they are the same.
struct Locked<'a> {
    from: RwLockWriteGuard<'a, Directory>,
    to: Option<RwLockWriteGuard<'a, Directory>>,
}

impl<'a> Locked<'a> {
    /// The caller holds the structure lock, so that no order is needed between the two.
    fn new(from: &'a Node, to: &'a Node) -> SysResult<Self> {
        let same = std::ptr::eq(from, to);
        let (from, to) = (from.directory()?, to.directory()?);
        Ok(Self {
            from: from.write(),
            to: if same { None } else { Some(to.write()) },
        })
    }

    fn to(&mut self) -> &mut Directory {
        self.to.as_mut().unwrap_or(&mut self.from)
    }
}

/// `renameat2` within one file system. Everything is checked here again under the locks: the namespace's checks only settle
/// which error a guest sees when several apply.
pub(super) fn rename(
    from_directory: &Node,
    from: Name<'_>,
    to_directory: &Node,
    to: Name<'_>,
    flags: RenameFlags,
) -> SysResult<()> {
    let _structure = from_directory.shared().structure.lock();
    // Somebody may make or remove the target between the looks at it: what they did counts as before this call.
    loop {
        if attempt(from_directory, from, to_directory, to, flags)?.is_some() {
            return Ok(());
        }
    }
}

/// One attempt, under the structure lock; `None` when the directories changed in between.
fn attempt(
    from_directory: &Node,
    from: Name<'_>,
    to_directory: &Node,
    to: Name<'_>,
    flags: RenameFlags,
) -> SysResult<Option<()>> {
    let exchange = flags.contains(RenameFlags::EXCHANGE);
    let mut locked = Locked::new(from_directory, to_directory)?;
    if locked.to().is_removed() {
        return Err(Errno::NotFound);
    }
    let old = locked
        .from
        .find(from_directory, from.as_bytes())?
        .ok_or(Errno::NotFound)?;
    let new = locked.to().find(to_directory, to.as_bytes())?;
    match &new {
        Some(_) if flags.contains(RenameFlags::NO_REPLACE) => return Err(Errno::Exists),
        Some(new) if Arc::ptr_eq(&old, new) => return Ok(Some(())),
        None if exchange => return Err(Errno::NotFound),
        _ => {}
    }
    // The chain of parents is read without holding a lock on a directory that may be part of it; none changes meanwhile.
    drop(locked);
    if old.is_directory() && is_within(to_directory, &old)? {
        return Err(Errno::Invalid);
    }
    if let Some(new) = new.as_ref().filter(|new| new.is_directory())
        && is_within(from_directory, new)?
    {
        return Err(if exchange {
            Errno::Invalid
        } else {
            Errno::NotEmpty
        });
    }
    let mut locked = Locked::new(from_directory, to_directory)?;
    let still = locked.from.find(from_directory, from.as_bytes())?;
    let present = locked.to().find(to_directory, to.as_bytes())?;
    if !is_same(still.as_ref(), Some(&old)) || !is_same(present.as_ref(), new.as_ref()) {
        return Ok(None);
    }
    match (exchange, &new) {
        (true, Some(new)) => {
            locked.from.replace(from.as_bytes(), Arc::clone(new));
            locked.to().replace(to.as_bytes(), Arc::clone(&old));
            reparent(new, to_directory, from_directory)?;
            new.touch_inode();
        }
        (_, Some(new)) => {
            check_replaced(&old, new)?;
            locked.from.remove(from.as_bytes());
            locked.to().replace(to.as_bytes(), Arc::clone(&old));
            new.unlinked();
            if new.is_directory() {
                to_directory.drop_link();
            }
        }
        (_, None) => {
            locked.from.remove(from.as_bytes());
            locked.to().insert(to.as_bytes(), Arc::clone(&old));
        }
    }
    reparent(&old, from_directory, to_directory)?;
    drop(locked);
    old.touch_inode();
    from_directory.touch();
    to_directory.touch();
    Ok(Some(()))
}

fn is_same(one: Option<&Arc<Node>>, other: Option<&Arc<Node>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Checks that `old` may take the place of `new`, and closes a directory that is replaced.
fn check_replaced(old: &Node, new: &Node) -> SysResult<()> {
    match (old.is_directory(), new.is_directory()) {
        (true, false) => Err(Errno::NotDirectory),
        (false, true) => Err(Errno::IsDirectory),
        (false, false) => Ok(()),
        (true, true) => {
            let mut inner = new.directory()?.write();
            if !inner.is_empty()? {
                return Err(Errno::NotEmpty);
            }
            inner.set_removed();
            Ok(())
        }
    }
}

/// Books a directory's new parent.
fn reparent(node: &Arc<Node>, from: &Node, to: &Node) -> SysResult<()> {
    if node.is_directory() && !std::ptr::eq(from, to) {
        node.directory()?.write().set_parent(to.weak());
        from.drop_link();
        to.add_link();
    }
    Ok(())
}

/// Whether `directory` is `ancestor` or lies below it.
fn is_within(directory: &Node, ancestor: &Node) -> SysResult<bool> {
    if std::ptr::eq(directory, ancestor) {
        return Ok(true);
    }
    let mut next = directory.directory()?.read().parent().upgrade();
    while let Some(node) = next {
        if std::ptr::eq(&raw const *node, ancestor) {
            return Ok(true);
        }
        next = node.directory()?.read().parent().upgrade();
    }
    Ok(false)
}
