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
    /// The answer states a latest ledger that is so many ledgers in the future; its content is the truth.
    pub ahead: u32,
    /// Transactions are looked up as of so many ledgers before the latest one of the answer.
    pub lookup_behind: u32,
}

/// The latest ledger as an answer states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedLedger {
    pub sequence: u32,
    pub close_time_s: u64,
}

/// The network as of one ledger, which stays the latest for as long as the call is answered.
pub struct View<'a> {
    node: &'a Node,
    latest: Arc<ClosedLedger>,
    oldest: Arc<ClosedLedger>,
    sight: Sight,
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
        View { node, latest, oldest, sight }
    }

    pub fn latest(&self) -> &Arc<ClosedLedger> {
        &self.latest
    }

    /// The latest ledger as the answer states it: `latest`, unless the call is to state one that is yet to come.
    pub fn stated(&self) -> StatedLedger {
        let ahead = self.sight.ahead;
        let target_close_ms = u64::from(self.node.state().limits.target_close_ms);
        StatedLedger {
            sequence: self.latest.sequence.saturating_add(ahead),
            close_time_s: self.latest.close_time_s() + u64::from(ahead) * target_close_ms / 1000,
        }
    }

    /// Whether the answer states another latest ledger than the one its content is of.
    pub fn states_the_future(&self) -> bool {
        self.sight.ahead > 0
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
        let known = self.latest.sequence.saturating_sub(self.sight.lookup_behind);
        let record = self.node.history().transaction(hash)?;
        Some(record).filter(|record| self.contains(record.ledger) && record.ledger <= known)
    }

    /// The entries as of the latest ledger.
    pub fn state(&self) -> Arc<LedgerState> {
        if self.sight.behind > 0 { self.node.state_at(self.latest.sequence) } else { self.node.state() }
    }
}
