//! Transactions that are not looked at again for a while.

use std::collections::{HashSet, VecDeque};

/// Ledgers for which a dropped transaction is not looked at again.
const BAN_LEDGERS: usize = 10;

/// Hashes of dropped transactions by the ledger they were dropped in, newest first.
#[derive(Default)]
pub struct Bans {
    by_ledger: VecDeque<HashSet<[u8; 32]>>,
}

impl Bans {
    pub fn contains(&self, hash: &[u8; 32]) -> bool {
        self.by_ledger.iter().any(|ledger| ledger.contains(hash))
    }

    pub fn add(&mut self, hashes: impl IntoIterator<Item = [u8; 32]>) {
        if self.by_ledger.is_empty() {
            self.by_ledger.push_front(HashSet::new());
        }
        if let Some(newest) = self.by_ledger.front_mut() {
            newest.extend(hashes);
        }
    }

    /// A ledger closed: the oldest bans end.
    pub fn ledger_closed(&mut self) {
        self.by_ledger.push_front(HashSet::new());
        self.by_ledger.truncate(BAN_LEDGERS);
    }
}
