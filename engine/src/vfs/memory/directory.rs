//! The entries of a directory in memory.
//!
//! A directory of an overlay has a directory of another back end below it ([`Lower`]). What was not touched is seen through; what
//! was is an entry here; what was removed is hidden by name. A directory below that is renamed takes its lower directory along.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use super::super::{DirEntry, Inode, Name};
use super::node::Node;
use crate::errno::{Errno, SysResult};

/// Where the cookies of entries without a place in the lower directory begin: lower ones are below.
const UPPER_COOKIES: u64 = 1 << 62;
/// Unchanged files of a lower directory that are kept although nobody holds them: programs that are started again and again.
const CACHED_MIN: usize = 16;

/// Entries by name and by age.
#[derive(Debug)]
pub(super) struct Directory {
    parent: Weak<Node>,
    entries: HashMap<Arc<[u8]>, Entry>,
    /// Names by the number they got when they were made, which is the cookie: it only grows, so that a listing that
    /// continues behind a cookie tells each entry once, whatever came and went.
    order: BTreeMap<u64, Arc<[u8]>>,
    next: u64,
    removed: bool,
    lower: Option<Box<Lower>>,
}

#[derive(Debug)]
struct Entry {
    /// Its number in `order`; `None` when it is told where its name stands in the lower directory.
    number: Option<u64>,
    node: Arc<Node>,
}

/// The directory that is seen through.
#[derive(Debug)]
pub(super) struct Lower {
    inode: Arc<dyn Inode>,
    /// Names of it that were removed or renamed.
    hidden: HashSet<Arc<[u8]>>,
    /// Unchanged files of it that somebody holds, so that each is one inode, and a few that nobody does.
    cached: HashMap<Arc<[u8]>, Arc<Node>>,
    sweep_at: usize,
}

impl Lower {
    pub(super) fn new(inode: Arc<dyn Inode>) -> Self {
        Self {
            inode,
            hidden: HashSet::new(),
            cached: HashMap::new(),
            sweep_at: CACHED_MIN,
        }
    }

    fn cache(&mut self, name: &[u8], node: &Arc<Node>) {
        if self.cached.len() >= self.sweep_at {
            self.cached.retain(|_, node| Arc::strong_count(node) > 1);
            self.sweep_at = (2 * self.cached.len()).max(CACHED_MIN);
        }
        self.cached.insert(name.into(), Arc::clone(node));
    }
}

impl Directory {
    pub(super) fn new(parent: Weak<Node>, lower: Option<Lower>) -> Self {
        Self {
            parent,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            next: 1,
            removed: false,
            lower: lower.map(Box::new),
        }
    }

    pub(super) fn parent(&self) -> &Weak<Node> {
        &self.parent
    }

    pub(super) fn set_parent(&mut self, parent: Weak<Node>) {
        self.parent = parent;
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed
    }

    pub(super) fn set_removed(&mut self) {
        self.removed = true;
    }

    /// An entry that is here already; what only the lower directory has is not looked for.
    pub(super) fn present(&self, name: &[u8]) -> Option<Arc<Node>> {
        if let Some(entry) = self.entries.get(name) {
            return Some(Arc::clone(&entry.node));
        }
        self.lower.as_ref()?.cached.get(name).cloned()
    }

    /// Whether a name that is not [`Directory::present`] may still be found in the lower directory.
    pub(super) fn may_have_below(&self, name: &[u8]) -> bool {
        self.lower
            .as_ref()
            .is_some_and(|lower| !lower.hidden.contains(name))
    }

    /// Finds a name here or below. `owner` is this directory's inode.
    pub(super) fn find(&mut self, owner: &Node, name: &[u8]) -> SysResult<Option<Arc<Node>>> {
        if let Some(node) = self.present(name) {
            return Ok(Some(node));
        }
        let Some(lower) = &mut self.lower else {
            return Ok(None);
        };
        if lower.hidden.contains(name) {
            return Ok(None);
        }
        let below = match lower.inode.lookup(Name::new(name)?) {
            Err(Errno::NotFound) => return Ok(None),
            found => found?,
        };
        let node = Node::over(owner, name, below)?;
        if node.is_directory() {
            // Directories are kept: what is changed below them hangs on them. Their number is bounded by the image's.
            self.entries.insert(
                name.into(),
                Entry {
                    number: None,
                    node: Arc::clone(&node),
                },
            );
        } else {
            lower.cache(name, &node);
        }
        Ok(Some(node))
    }

    /// Makes an unchanged file of the lower directory an entry, because it is about to be changed. False when the name does
    /// not lead to it any more.
    pub(super) fn pin(&mut self, name: &[u8], node: &Arc<Node>) -> bool {
        let Some(lower) = &mut self.lower else {
            return false;
        };
        if !lower
            .cached
            .get(name)
            .is_some_and(|cached| Arc::ptr_eq(cached, node))
        {
            return false;
        }
        lower.cached.remove(name);
        self.entries.insert(
            name.into(),
            Entry {
                number: None,
                node: Arc::clone(node),
            },
        );
        true
    }

    /// Adds an entry under a name that is free.
    pub(super) fn insert(&mut self, name: &[u8], node: Arc<Node>) {
        let name: Arc<[u8]> = name.into();
        let number = self.next;
        self.next += 1;
        self.order.insert(number, Arc::clone(&name));
        self.entries.insert(
            name,
            Entry {
                number: Some(number),
                node,
            },
        );
    }

    /// Puts another inode under a name that is taken, whose place in listings it keeps.
    pub(super) fn replace(&mut self, name: &[u8], node: Arc<Node>) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.node = node;
            return;
        }
        if let Some(lower) = &mut self.lower {
            lower.cached.remove(name);
        }
        self.entries
            .insert(name.into(), Entry { number: None, node });
    }

    /// Takes a name out.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let number = match self.entries.remove(name) {
            Some(Entry {
                number: Some(number),
                ..
            }) => {
                self.order.remove(&number);
                Some(number)
            }
            _ => None,
        };
        if number.is_none()
            && let Some(lower) = &mut self.lower
        {
            lower.cached.remove(name);
            lower.hidden.insert(name.into());
        }
    }

    pub(super) fn is_empty(&self) -> SysResult<bool> {
        if !self.entries.is_empty() {
            return Ok(false);
        }
        let Some(lower) = &self.lower else {
            return Ok(true);
        };
        let mut cookie = 0;
        loop {
            let batch = lower.inode.read_directory(cookie, 256)?;
            let Some(&(last, _)) = batch.last() else {
                return Ok(true);
            };
            if batch
                .iter()
                .any(|(_, entry)| !lower.hidden.contains(&*entry.name))
            {
                return Ok(false);
            }
            cookie = last;
        }
    }

    pub(super) fn list(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let mut listed = Vec::new();
        if let Some(lower) = self.lower.as_ref().filter(|_| cookie < UPPER_COOKIES) {
            self.list_lower(lower, cookie, max, &mut listed)?;
        }
        let after = cookie.saturating_sub(UPPER_COOKIES);
        let left = max - listed.len();
        let upper = self.order.range(after.saturating_add(1)..).take(left);
        listed.extend(upper.filter_map(|(&number, name)| {
            let entry = self.entries.get(name)?;
            Some((UPPER_COOKIES + number, entry.node.entry(name)))
        }));
        Ok(listed)
    }

    fn list_lower(
        &self,
        lower: &Lower,
        mut cookie: u64,
        max: usize,
        listed: &mut Vec<(u64, DirEntry)>,
    ) -> SysResult<()> {
        while listed.len() < max {
            let batch = lower
                .inode
                .read_directory(cookie, (max - listed.len()).min(1024))?;
            let Some(&(last, _)) = batch.last() else {
                break;
            };
            cookie = last;
            for (cookie, entry) in batch {
                if lower.hidden.contains(&*entry.name) {
                    continue;
                }
                let entry = match self.entries.get(&*entry.name) {
                    Some(own) => own.node.entry(&entry.name),
                    None => entry,
                };
                listed.push((cookie, entry));
            }
        }
        Ok(())
    }

    /// Takes all entries out, for dropping.
    pub(super) fn take_nodes(&mut self) -> impl Iterator<Item = Arc<Node>> + use<> {
        std::mem::take(&mut self.entries)
            .into_values()
            .map(|entry| entry.node)
    }
}
