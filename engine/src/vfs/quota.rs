//! Byte and file quotas of a back end.
//!
//! Owns: the counters and the rule that growth is charged before it happens. A quota may stand below another (a file system
//! below its sandbox's budget, that below the engine's ceiling): a charge needs room in each.
//!
//! Counters are atomics: charging takes no lock, and reading one never waits for a writer.
//!
//! SECURITY[SB-FS-006]: growth is charged before it is allocated, so a guest that writes without end meets an error, not the
//! end of the host's memory or disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::errno::{Errno, SysResult};

/// What a file system may hold, and what it holds. Limits are bytes of storage and a number of inodes; `u64::MAX` is none.
#[derive(Debug)]
pub struct Quota {
    bytes: Counter,
    files: Counter,
    refusals: AtomicU64,
    refusal: Errno,
    above: Option<Arc<Self>>,
}

#[derive(Debug)]
struct Counter {
    used: AtomicU64,
    limit: AtomicU64,
}

impl Counter {
    fn new(limit: u64) -> Self {
        Self {
            used: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
        }
    }

    fn take(&self, amount: u64) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        amount == 0
            || self
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.checked_add(amount).filter(|&sum| sum <= limit)
                })
                .is_ok()
    }

    fn give(&self, amount: u64) {
        if amount > 0 {
            // Saturating: a host directory gives back files that were there before it was mounted.
            self.used
                .update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.saturating_sub(amount)
                });
        }
    }
}

impl Quota {
    /// A quota of its own: `bytes` of storage and `files` inodes. What exceeds it is `NoSpace`.
    pub fn new(bytes: u64, files: u64) -> Arc<Self> {
        Arc::new(Self::build(bytes, files, Errno::NoSpace, None))
    }

    /// A quota that only counts.
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX, u64::MAX)
    }

    /// A quota that also counts against `above`.
    pub fn below(above: &Arc<Self>, bytes: u64, files: u64) -> Arc<Self> {
        Arc::new(Self::build(
            bytes,
            files,
            Errno::NoSpace,
            Some(Arc::clone(above)),
        ))
    }

    /// As [`Quota::below`] (or [`Quota::new`] without `above`), but what exceeds it is `Quota`, as on a host's disk.
    pub fn on_disk(above: Option<&Arc<Self>>, bytes: u64, files: u64) -> Arc<Self> {
        Arc::new(Self::build(bytes, files, Errno::Quota, above.cloned()))
    }

    fn build(bytes: u64, files: u64, refusal: Errno, above: Option<Arc<Self>>) -> Self {
        Self {
            bytes: Counter::new(bytes),
            files: Counter::new(files),
            refusals: AtomicU64::new(0),
            refusal,
            above,
        }
    }

    /// Bytes held.
    pub fn bytes_used(&self) -> u64 {
        self.bytes.used.load(Ordering::Relaxed)
    }

    /// Bytes allowed.
    pub fn bytes_limit(&self) -> u64 {
        self.bytes.limit.load(Ordering::Relaxed)
    }

    /// Inodes held.
    pub fn files_used(&self) -> u64 {
        self.files.used.load(Ordering::Relaxed)
    }

    /// Inodes allowed.
    pub fn files_limit(&self) -> u64 {
        self.files.limit.load(Ordering::Relaxed)
    }

    /// How often this quota (not one above it) refused a charge: what a report names.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Bytes that can still be charged here and in every quota above.
    pub fn bytes_free(&self) -> u64 {
        let own = self.bytes_limit().saturating_sub(self.bytes_used());
        self.above
            .as_ref()
            .map_or(own, |above| own.min(above.bytes_free()))
    }

    /// Inodes that can still be charged here and in every quota above.
    pub fn files_free(&self) -> u64 {
        let own = self.files_limit().saturating_sub(self.files_used());
        self.above
            .as_ref()
            .map_or(own, |above| own.min(above.files_free()))
    }

    /// Sets the limits. What is held beyond them stays; it only cannot grow.
    pub fn set_limits(&self, bytes: u64, files: u64) {
        self.bytes.limit.store(bytes, Ordering::Relaxed);
        self.files.limit.store(files, Ordering::Relaxed);
    }

    /// Whether nothing is ever refused, here or above.
    pub fn is_unlimited(&self) -> bool {
        let own = self.bytes_limit() == u64::MAX && self.files_limit() == u64::MAX;
        own && self.above.as_ref().is_none_or(|above| above.is_unlimited())
    }

    /// Books growth that has happened, even beyond the limit.
    pub(super) fn add(&self, bytes: u64) {
        if bytes > 0 {
            self.bytes
                .used
                .update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.saturating_add(bytes)
                });
            if let Some(above) = &self.above {
                above.add(bytes);
            }
        }
    }

    /// Charges before growing. The charge is given back when it is dropped without [`Charge::keep`].
    ///
    /// # Errors
    /// `NoSpace` or `Quota`, by the kind of the quota that has no room.
    pub fn reserve(&self, bytes: u64, files: u64) -> SysResult<Charge<'_>> {
        self.take(bytes, files)?;
        Ok(Charge {
            quota: self,
            bytes,
            files,
        })
    }

    fn take(&self, bytes: u64, files: u64) -> SysResult<()> {
        if !self.bytes.take(bytes) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(self.refusal);
        }
        if !self.files.take(files) {
            self.bytes.give(bytes);
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(self.refusal);
        }
        if let Some(above) = &self.above
            && let Err(refusal) = above.take(bytes, files)
        {
            self.bytes.give(bytes);
            self.files.give(files);
            return Err(refusal);
        }
        Ok(())
    }

    /// Gives back what was kept.
    pub fn release(&self, bytes: u64, files: u64) {
        self.bytes.give(bytes);
        self.files.give(files);
        if let Some(above) = &self.above {
            above.release(bytes, files);
        }
    }
}

/// A reservation that is given back when it is dropped without being kept.
#[derive(Debug)]
#[must_use = "a charge that is dropped is given back"]
pub struct Charge<'a> {
    quota: &'a Quota,
    bytes: u64,
    files: u64,
}

impl Charge<'_> {
    /// Makes it permanent, until [`Quota::release`].
    pub fn keep(mut self) {
        self.bytes = 0;
        self.files = 0;
    }

    /// Makes `bytes` of it (at most what was reserved) and its files permanent; the rest is given back.
    pub fn keep_only(mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.files = 0;
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 || self.files > 0 {
            self.quota.release(self.bytes, self.files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_fits_up_to_the_limit_and_not_one_more() {
        let quota = Quota::new(10, 2);
        quota.reserve(10, 2).unwrap().keep();
        assert_eq!(quota.reserve(1, 0).err(), Some(Errno::NoSpace));
        assert_eq!(quota.reserve(0, 1).err(), Some(Errno::NoSpace));
        assert_eq!(
            (quota.bytes_used(), quota.files_used(), quota.refusals()),
            (10, 2, 2)
        );
        quota.release(4, 1);
        quota.reserve(4, 1).unwrap().keep();
    }

    #[test]
    fn a_dropped_charge_leaves_nothing() {
        let quota = Quota::new(10, 2);
        drop(quota.reserve(10, 2).unwrap());
        assert_eq!((quota.bytes_used(), quota.files_used()), (0, 0));
        quota.reserve(8, 1).unwrap().keep_only(3);
        assert_eq!((quota.bytes_used(), quota.files_used()), (3, 1));
    }

    #[test]
    fn a_quota_above_refuses_for_all_below() {
        let engine = Quota::new(10, 10);
        let (one, two) = (
            Quota::below(&engine, 8, 8),
            Quota::on_disk(Some(&engine), 8, 8),
        );
        one.reserve(8, 1).unwrap().keep();
        assert_eq!(two.reserve(3, 1).err(), Some(Errno::NoSpace));
        assert_eq!(
            (two.bytes_used(), two.files_used(), two.bytes_free()),
            (0, 0, 2)
        );
        assert_eq!((engine.refusals(), two.refusals()), (1, 0));
        assert_eq!(two.reserve(9, 0).err(), Some(Errno::Quota));
        one.release(8, 1);
        assert_eq!((engine.bytes_used(), engine.files_used()), (0, 0));
    }

    #[test]
    fn huge_charges_do_not_wrap() {
        let quota = Quota::unlimited();
        quota.reserve(u64::MAX, 1).unwrap().keep();
        assert_eq!(quota.reserve(1, 0).err(), Some(Errno::NoSpace));
    }
}
