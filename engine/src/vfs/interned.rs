//! Shared objects by identity.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// Entries before the dead ones among them are swept out for the first time.
const SWEEP_MIN: usize = 64;

/// Objects that exist once for each key, as long as somebody holds them.
#[derive(Debug)]
pub(super) struct Interned<K, T> {
    table: HashMap<K, Weak<T>>,
    sweep_at: usize,
}

impl<K, T> Default for Interned<K, T> {
    fn default() -> Self {
        Self {
            table: HashMap::new(),
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
