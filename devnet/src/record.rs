//! What is remembered of a closed ledger and of each of its transactions.

use std::sync::Arc;

use soroban_simulation::NetworkConfig;

use crate::entries::Entries;
use crate::settings::TransactionLimits;
use crate::xdr::{
    LedgerCloseMeta, LedgerHeader, LedgerHeaderHistoryEntry, TransactionEnvelope, TransactionMeta,
    TransactionResult, TransactionResultResult,
};

/// The latest closed ledger with everything in it; never changes once built.
pub struct LedgerState {
    pub ledger: Arc<ClosedLedger>,
    pub entries: Entries,
    pub config: Arc<NetworkConfig>,
    pub limits: Arc<TransactionLimits>,
    pub network_id: [u8; 32],
}

/// One closed ledger as history keeps it.
pub struct ClosedLedger {
    pub sequence: u32,
    pub hash: [u8; 32],
    /// Unix milliseconds; the header's `closeTime` is the same instant in whole seconds.
    pub close_time_ms: u64,
    pub header: LedgerHeader,
    pub meta: LedgerCloseMeta,
    /// In the order they were applied.
    pub transactions: Vec<Arc<TransactionRecord>>,
}

impl ClosedLedger {
    pub fn close_time_s(&self) -> u64 {
        self.close_time_ms / 1000
    }

    /// The header with its hash, as `getLedgers` serves it.
    pub fn header_entry(&self) -> LedgerHeaderHistoryEntry {
        LedgerHeaderHistoryEntry {
            hash: crate::xdr::Hash(self.hash),
            header: self.header.clone(),
            ext: crate::xdr::LedgerHeaderHistoryEntryExt::V0,
        }
    }
}

/// A transaction that a ledger took in, whether it succeeded or not.
#[derive(Debug)]
pub struct TransactionRecord {
    /// The hash of the envelope as it was submitted: of the fee bump where there is one.
    pub hash: [u8; 32],
    /// The hash of the transaction inside a fee bump.
    pub inner_hash: Option<[u8; 32]>,
    pub ledger: u32,
    pub close_time_s: u64,
    /// Counted from 1.
    pub application_order: u32,
    pub envelope: TransactionEnvelope,
    pub result: TransactionResult,
    pub meta: TransactionMeta,
    pub is_soroban: bool,
    /// Operations of the inner transaction; a fee bump counts one more.
    pub operation_count: u32,
    /// What was taken from the fee source in the end, refund deducted.
    pub fee_charged: i64,
    /// The part of `fee_charged` that paid for Soroban resources.
    pub resource_fee_charged: i64,
}

impl TransactionRecord {
    pub fn is_successful(&self) -> bool {
        matches!(
            self.result.result,
            TransactionResultResult::TxSuccess(_) | TransactionResultResult::TxFeeBumpInnerSuccess(_)
        )
    }

    pub fn is_fee_bump(&self) -> bool {
        self.inner_hash.is_some()
    }

    /// The inclusion fee as `getFeeStats` counts it: for classic transactions per operation.
    pub fn inclusion_fee(&self) -> i64 {
        if self.is_soroban {
            self.fee_charged - self.resource_fee_charged
        } else {
            let operations = self.operation_count + u32::from(self.is_fee_bump());
            self.fee_charged / i64::from(operations.max(1))
        }
    }
}
