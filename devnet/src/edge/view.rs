//! What one call sees of the network: usually all of it, under a fault an older or a shorter past.

use std::sync::Arc;

use crate::node::Node;
use crate::record::{ClosedLedger, LedgerState, TransactionRecord};

/// How far from the truth a call looks; the default is the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// The latest ledger of the answer is so many ledgers old.
    pub behind: u32,
    /// Only so many ledgers are remembered.
    pub remembers: Option<u32>,
}

/// The network as of one ledger, which stays the latest for as long as the call is answered.
pub struct View<'a> {
    node: &'a Node,
    latest: Arc<ClosedLedger>,
    oldest: Arc<ClosedLedger>,
    is_behind: bool,
}

impl View<'_> {
    pub fn of(node: &Node, sight: Sight) -> View<'_> {
        let history = node.history();
        let (first, mut latest) = (history.oldest(), history.latest());
        if sight.behind > 0 {
            let wanted = latest.sequence.saturating_sub(sight.behind).max(first.sequence);
            latest = history.ledger(wanted).unwrap_or(latest);
        }
        let remembered = sight.remembers.map(|count| latest.sequence.saturating_sub(count.max(1) - 1));
        let oldest = remembered
            .filter(|sequence| *sequence > first.sequence)
            .and_then(|sequence| history.ledger(sequence))
            .unwrap_or(first);
        View { node, latest, oldest, is_behind: sight.behind > 0 }
    }

    pub fn latest(&self) -> &Arc<ClosedLedger> {
        &self.latest
    }

    pub fn oldest(&self) -> &Arc<ClosedLedger> {
        &self.oldest
    }

    pub fn contains(&self, sequence: u32) -> bool {
        (self.oldest.sequence..=self.latest.sequence).contains(&sequence)
    }

    pub fn ledger(&self, sequence: u32) -> Option<Arc<ClosedLedger>> {
        self.node.history().ledger(sequence).filter(|_| self.contains(sequence))
    }

    pub fn transaction(&self, hash: &[u8; 32]) -> Option<Arc<TransactionRecord>> {
        self.node.history().transaction(hash).filter(|record| self.contains(record.ledger))
    }

    /// The entries as of the latest ledger.
    pub fn state(&self) -> Arc<LedgerState> {
        if self.is_behind { self.node.state_at(self.latest.sequence) } else { self.node.state() }
    }
}
