//! Transaction meta of version 4.

use crate::operations::SorobanUse;
use crate::xdr::{
    ContractEvent, DiagnosticEvent, ExtensionPoint, LedgerEntryChanges, OperationMetaV2,
    SorobanTransactionMetaExt, SorobanTransactionMetaExtV1, SorobanTransactionMetaV2, TransactionEvent,
    TransactionMeta, TransactionMetaV4,
};

/// What a transaction did, part by part; failed transactions have no operations here.
#[derive(Default)]
pub struct Phases {
    pub before: LedgerEntryChanges,
    pub operations: Vec<OperationMetaV2>,
    pub diagnostic_events: Vec<DiagnosticEvent>,
}

pub fn operation(changes: LedgerEntryChanges, events: Vec<ContractEvent>) -> OperationMetaV2 {
    OperationMetaV2 { ext: ExtensionPoint::V0, changes, events: events.try_into().unwrap_or_default() }
}

/// The whole meta; what Soroban cost is told only of transactions that succeeded.
pub fn transaction(
    phases: Phases,
    soroban: Option<SorobanUse>,
    non_refundable_fee: i64,
    events: Vec<TransactionEvent>,
) -> TransactionMeta {
    let soroban_meta = soroban.map(|used| SorobanTransactionMetaV2 {
        ext: SorobanTransactionMetaExt::V1(SorobanTransactionMetaExtV1 {
            ext: ExtensionPoint::V0,
            total_non_refundable_resource_fee_charged: non_refundable_fee,
            total_refundable_resource_fee_charged: used.refundable_fee,
            rent_fee_charged: used.rent_fee,
        }),
        return_value: used.return_value,
    });
    TransactionMeta::V4(TransactionMetaV4 {
        ext: ExtensionPoint::V0,
        tx_changes_before: phases.before,
        operations: phases.operations.try_into().unwrap_or_default(),
        tx_changes_after: LedgerEntryChanges::default(),
        soroban_meta,
        events: events.try_into().unwrap_or_default(),
        diagnostic_events: phases.diagnostic_events.try_into().unwrap_or_default(),
    })
}
