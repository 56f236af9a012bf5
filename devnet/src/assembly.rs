//! A closed ledger put together from what was applied in it.

use std::sync::Arc;

use crate::apply::Finished;
use crate::codec::hash_of;
use crate::header;
use crate::record::{ClosedLedger, TransactionRecord};
use crate::xdr::{
    ExtensionPoint, GeneralizedTransactionSet, Hash, LedgerCloseMeta, LedgerCloseMetaExt,
    LedgerCloseMetaExtV1, LedgerCloseMetaV2, LedgerHeader, LedgerHeaderHistoryEntry,
    LedgerHeaderHistoryEntryExt, TransactionResultMetaV1, TransactionResultPair, TransactionResultSet, VecM,
};

fn pair(finished: &Finished) -> TransactionResultPair {
    TransactionResultPair { transaction_hash: Hash(finished.frame.hash), result: finished.result.clone() }
}

pub fn result_set_hash(finished: &[Finished]) -> [u8; 32] {
    let results: Vec<_> = finished.iter().map(pair).collect();
    hash_of(&TransactionResultSet { results: results.try_into().unwrap_or_default() })
}

pub fn closed_ledger(
    header: LedgerHeader,
    close_time_ms: u64,
    tx_set: GeneralizedTransactionSet,
    finished: Vec<Finished>,
    fee_write_1kb: i64,
) -> ClosedLedger {
    let hash = header::hash(&header);
    let mut processing = Vec::with_capacity(finished.len());
    let mut transactions = Vec::with_capacity(finished.len());
    for (finished, order) in finished.into_iter().zip(1u32..) {
        processing.push(TransactionResultMetaV1 {
            ext: ExtensionPoint::V0,
            result: pair(&finished),
            fee_processing: finished.fee_processing.clone(),
            tx_apply_processing: finished.meta.clone(),
            post_tx_apply_fee_processing: finished.refund_processing.clone(),
        });
        transactions.push(Arc::new(record(finished, order, header.ledger_seq, close_time_ms / 1000)));
    }
    let meta = LedgerCloseMeta::V2(LedgerCloseMetaV2 {
        ext: LedgerCloseMetaExt::V1(LedgerCloseMetaExtV1 {
            ext: ExtensionPoint::V0,
            soroban_fee_write1_kb: fee_write_1kb,
        }),
        ledger_header: LedgerHeaderHistoryEntry {
            hash: Hash(hash),
            header: header.clone(),
            ext: LedgerHeaderHistoryEntryExt::V0,
        },
        tx_set,
        tx_processing: processing.try_into().unwrap_or_default(),
        upgrades_processing: VecM::default(),
        scp_info: VecM::default(),
        total_byte_size_of_live_soroban_state: 0,
        evicted_keys: VecM::default(),
    });
    ClosedLedger { sequence: header.ledger_seq, hash, close_time_ms, header, meta, transactions }
}

fn record(finished: Finished, application_order: u32, ledger: u32, close_time_s: u64) -> TransactionRecord {
    let frame = finished.frame;
    TransactionRecord {
        hash: frame.hash,
        inner_hash: frame.fee_bump().map(|_| frame.inner_hash),
        ledger,
        close_time_s,
        application_order,
        is_soroban: frame.is_soroban(),
        operation_count: frame.operations().len() as u32,
        envelope: frame.envelope,
        result: finished.result,
        meta: finished.meta,
        fee_charged: finished.fee_charged,
        resource_fee_charged: finished.resource_fee_charged,
    }
}
