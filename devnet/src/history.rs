//! Closed ledgers and their transactions, for as long as the retention window keeps them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::record::{ClosedLedger, TransactionRecord};

/// The retained ledgers; never empty, because it starts with the genesis ledger.
pub struct History {
    retention_ledgers: usize,
    kept: RwLock<Kept>,
}

struct Kept {
    ledgers: VecDeque<Arc<ClosedLedger>>,
    by_hash: HashMap<[u8; 32], Arc<TransactionRecord>>,
    latest: Arc<ClosedLedger>,
}

impl History {
    /// A history of the genesis ledger that keeps at most `retention_ledgers` ledgers (at least one).
    pub fn new(genesis: Arc<ClosedLedger>, retention_ledgers: u32) -> History {
        let kept =
            Kept { ledgers: VecDeque::from([genesis.clone()]), by_hash: HashMap::new(), latest: genesis };
        History { retention_ledgers: retention_ledgers.max(1) as usize, kept: RwLock::new(kept) }
    }

    pub fn ledger(&self, sequence: u32) -> Option<Arc<ClosedLedger>> {
        let kept = self.read();
        let oldest = kept.ledgers.front()?.sequence;
        kept.ledgers.get(sequence.checked_sub(oldest)? as usize).cloned()
    }

    /// The transaction with this hash: of the envelope, or of the transaction inside a fee bump.
    pub fn transaction(&self, hash: &[u8; 32]) -> Option<Arc<TransactionRecord>> {
        self.read().by_hash.get(hash).cloned()
    }

    pub fn oldest(&self) -> Arc<ClosedLedger> {
        let kept = self.read();
        kept.ledgers.front().unwrap_or(&kept.latest).clone()
    }

    pub fn latest(&self) -> Arc<ClosedLedger> {
        self.read().latest.clone()
    }

    /// `ledger` is the latest; what fell out of the window is forgotten.
    pub fn append(&self, ledger: Arc<ClosedLedger>) {
        let mut kept = self.write();
        for record in &ledger.transactions {
            kept.by_hash.insert(record.hash, record.clone());
            if let Some(inner) = record.inner_hash {
                kept.by_hash.insert(inner, record.clone());
            }
        }
        kept.latest = ledger.clone();
        kept.ledgers.push_back(ledger);
        while kept.ledgers.len() > self.retention_ledgers {
            let Some(old) = kept.ledgers.pop_front() else { break };
            for record in &old.transactions {
                kept.forget(&record.hash, record);
                if let Some(inner) = &record.inner_hash {
                    kept.forget(inner, record);
                }
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Kept {
    /// A later transaction can wrap the same inner one again (after a failure), so only the record itself goes.
    fn forget(&mut self, hash: &[u8; 32], record: &Arc<TransactionRecord>) {
        if self.by_hash.get(hash).is_some_and(|known| Arc::ptr_eq(known, record)) {
            self.by_hash.remove(hash);
        }
    }
}
