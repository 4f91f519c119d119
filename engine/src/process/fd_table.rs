//! The descriptor table of a process: small numbers for shared open-file descriptions.

use std::sync::Arc;

use super::description::Description;
use crate::errno::{Errno, SysResult};

/// A descriptor's number.
pub type Fd = u32;

#[derive(Clone, Debug)]
struct Slot {
    description: Arc<Description>,
    close_on_exec: bool,
}

/// Descriptors of one process. The lowest free number wins.
#[derive(Clone, Debug)]
pub struct FdTable {
    slots: Vec<Option<Slot>>,
    limit: u64,
}

impl FdTable {
    /// An empty table for numbers below `limit`.
    pub fn new(limit: u64) -> Self {
        Self {
            slots: Vec::new(),
            limit,
        }
    }

    /// Sets the first number that is not given out any more; descriptors above stay open (setrlimit(2)).
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// # Errors
    /// `BadFd`.
    pub fn get(&self, fd: Fd) -> SysResult<Arc<Description>> {
        Ok(Arc::clone(&self.slot(fd)?.description))
    }

    fn slot(&self, fd: Fd) -> SysResult<&Slot> {
        self.slots
            .get(fd as usize)
            .and_then(Option::as_ref)
            .ok_or(Errno::BadFd)
    }

    /// Whether close-on-exec is set.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn close_on_exec(&self, fd: Fd) -> SysResult<bool> {
        Ok(self.slot(fd)?.close_on_exec)
    }

    /// # Errors
    /// `BadFd`.
    pub fn set_close_on_exec(&mut self, fd: Fd, on: bool) -> SysResult<()> {
        let slot = self
            .slots
            .get_mut(fd as usize)
            .and_then(Option::as_mut)
            .ok_or(Errno::BadFd)?;
        slot.close_on_exec = on;
        Ok(())
    }

    /// Gives a description the lowest free number that is at least `min`.
    ///
    /// # Errors
    /// `ProcessFiles` when every number below the limit is taken, `Invalid` when `min` is not below it.
    pub fn insert(
        &mut self,
        description: Arc<Description>,
        min: Fd,
        close_on_exec: bool,
    ) -> SysResult<Fd> {
        if u64::from(min) >= self.limit {
            return Err(if min == 0 {
                Errno::ProcessFiles
            } else {
                Errno::Invalid
            });
        }
        let mut fd = min as usize;
        while self.slots.get(fd).is_some_and(Option::is_some) {
            fd += 1;
        }
        if fd as u64 >= self.limit {
            return Err(Errno::ProcessFiles);
        }
        self.set(
            fd,
            Slot {
                description,
                close_on_exec,
            },
        );
        Fd::try_from(fd).map_err(|_| Errno::ProcessFiles)
    }

    fn set(&mut self, fd: usize, slot: Slot) -> Option<Slot> {
        if self.slots.len() <= fd {
            self.slots.resize_with(fd + 1, || None);
        }
        self.slots[fd].replace(slot)
    }

    /// Puts a description at exactly `fd`, returning what was there: the caller drops it outside the lock.
    ///
    /// # Errors
    /// `BadFd` when `fd` is not below the limit.
    pub fn replace(
        &mut self,
        fd: Fd,
        description: Arc<Description>,
        close_on_exec: bool,
    ) -> SysResult<Option<Arc<Description>>> {
        if u64::from(fd) >= self.limit {
            return Err(Errno::BadFd);
        }
        Ok(self
            .set(
                fd as usize,
                Slot {
                    description,
                    close_on_exec,
                },
            )
            .map(|slot| slot.description))
    }

    /// Takes a descriptor out.
    ///
    /// # Errors
    /// `BadFd`.
    pub fn remove(&mut self, fd: Fd) -> SysResult<Arc<Description>> {
        let slot = self
            .slots
            .get_mut(fd as usize)
            .and_then(Option::take)
            .ok_or(Errno::BadFd)?;
        Ok(slot.description)
    }

    /// Takes all out.
    pub fn close_all(&mut self) -> Vec<Arc<Description>> {
        self.take_where(|_| true)
    }

    /// Takes those out that `exec` closes.
    pub fn close_on_exec_all(&mut self) -> Vec<Arc<Description>> {
        self.take_where(|slot| slot.close_on_exec)
    }

    fn take_where(&mut self, which: impl Fn(&Slot) -> bool) -> Vec<Arc<Description>> {
        self.slots
            .iter_mut()
            .filter(|slot| slot.as_ref().is_some_and(&which))
            .filter_map(|slot| slot.take().map(|slot| slot.description))
            .collect()
    }

    /// Open descriptors, ascending, with close-on-exec.
    pub fn iter(&self) -> impl Iterator<Item = (Fd, &Arc<Description>, bool)> {
        self.slots.iter().enumerate().filter_map(|(fd, slot)| {
            let slot = slot.as_ref()?;
            Some((
                Fd::try_from(fd).ok()?,
                &slot.description,
                slot.close_on_exec,
            ))
        })
    }
}
