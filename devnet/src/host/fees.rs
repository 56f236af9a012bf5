//! What declared resources and used events and rent cost.

use soroban_env_host::fees::{TransactionResources, compute_transaction_resource_fee};
use soroban_simulation::NetworkConfig;

use crate::ledger_keys::is_soroban_key;
use crate::transaction::Frame;
use crate::xdr::{OperationBody, SorobanTransactionData, SorobanTransactionDataExt};

/// Stroops for everything that is not given back.
pub fn non_refundable_fee(frame: &Frame, data: &SorobanTransactionData, config: &NetworkConfig) -> i64 {
    let footprint = &data.resources.footprint;
    let resources = TransactionResources {
        instructions: data.resources.instructions,
        disk_read_entries: disk_read_entries(frame, data),
        write_entries: footprint.read_write.len() as u32,
        disk_read_bytes: data.resources.disk_read_bytes,
        write_bytes: data.resources.write_bytes,
        contract_events_size_bytes: 0,
        transaction_size_bytes: frame.inner_size,
    };
    compute_transaction_resource_fee(&resources, &config.fee_configuration).0
}

/// Stroops for events and the return value, which are paid from the refundable part.
pub fn events_fee(event_bytes: u32, config: &NetworkConfig) -> i64 {
    let resources = TransactionResources {
        instructions: 0,
        disk_read_entries: 0,
        write_entries: 0,
        disk_read_bytes: 0,
        write_bytes: 0,
        contract_events_size_bytes: event_bytes,
        transaction_size_bytes: 0,
    };
    compute_transaction_resource_fee(&resources, &config.fee_configuration).1
}

/// Entries that are read from disk: classic ones, and archived ones that are restored on the way.
pub fn disk_read_entries(frame: &Frame, data: &SorobanTransactionData) -> u32 {
    let footprint = &data.resources.footprint;
    if matches!(frame.operations().first().map(|first| &first.body), Some(OperationBody::RestoreFootprint(_)))
    {
        return footprint.read_write.len() as u32;
    }
    let classic = footprint
        .read_only
        .iter()
        .chain(footprint.read_write.iter())
        .filter(|key| !is_soroban_key(key))
        .count();
    (classic + archived_indices(data).len()) as u32
}

/// Positions in the read-write footprint that the transaction restores from the archive.
pub fn archived_indices(data: &SorobanTransactionData) -> &[u32] {
    match &data.ext {
        SorobanTransactionDataExt::V0 => &[],
        SorobanTransactionDataExt::V1(ext) => &ext.archived_soroban_entries,
    }
}
