//! Shared objects by identity.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Weak};

/// Entries before the dead ones among them are swept out for the first time.
const SWEEP_MIN: usize = 64;

/// A hash of device and inode numbers. Nobody gains from two that meet: a guest cannot choose its inode numbers, and its own calls
/// are what would be slow.
#[derive(Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Multiplied by 2^64 divided by the golden ratio, with the high bits, which mix best, moved down.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

/// A map by identity.
pub(super) type IdentityMap<K, V> = HashMap<K, V, BuildHasherDefault<IdentityHasher>>;

/// Objects that exist once for each key, as long as somebody holds them.
#[derive(Debug)]
pub(super) struct Interned<K, T> {
    table: IdentityMap<K, Weak<T>>,
    sweep_at: usize,
}

impl<K, T> Default for Interned<K, T> {
    fn default() -> Self {
        Self {
            table: IdentityMap::default(),
            sweep_at: SWEEP_MIN,
        }
    }
}

impl<K: Copy + Eq + Hash, T> Interned<K, T> {
    pub(super) fn get(&self, key: K) -> Option<Arc<T>> {
        self.table.get(&key)?.upgrade()
    }

    pub(super) fn get_or_insert(&mut self, key: K, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        if let Some(object) = self.get(key) {
            return object;
        }
        if self.table.len() >= self.sweep_at {
            self.table.retain(|_, object| object.strong_count() > 0);
            self.sweep_at = (2 * self.table.len()).max(SWEEP_MIN);
        }
        let object = make();
        self.table.insert(key, Arc::downgrade(&object));
        object
    }
}
