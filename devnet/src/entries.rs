//! Every live and archived entry of one ledger, as a map that is cheap to copy.

use std::sync::Arc;

use imbl::HashMap;

use crate::xdr::{LedgerEntry, LedgerKey};

/// When a Soroban entry ends, and the ledger that last moved that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    pub live_until: u32,
    pub modified_at: u32,
}

/// One stored entry; entries without a lifetime live for ever.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    pub entry: Arc<LedgerEntry>,
    pub lifetime: Option<Lifetime>,
}

/// The ledger's entries by key. A clone shares everything with its origin until one of them changes.
#[derive(Clone, Default)]
pub struct Entries {
    map: HashMap<Arc<LedgerKey>, StoredEntry>,
}

impl Entries {
    /// The entry and the last ledger it is live in; archived and expired entries are returned too.
    pub fn get(&self, key: &LedgerKey) -> Option<(Arc<LedgerEntry>, Option<u32>)> {
        let stored = self.map.get(key)?;
        Some((stored.entry.clone(), stored.lifetime.map(|lifetime| lifetime.live_until)))
    }

    /// The entry as it is stored, with the whole lifetime.
    pub fn stored(&self, key: &LedgerKey) -> Option<&StoredEntry> {
        self.map.get(key)
    }

    pub fn put(&mut self, key: Arc<LedgerKey>, stored: StoredEntry) {
        self.map.insert(key, stored);
    }

    pub fn remove(&mut self, key: &LedgerKey) -> Option<StoredEntry> {
        self.map.remove(key)
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}
