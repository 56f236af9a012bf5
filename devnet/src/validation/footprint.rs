//! Declared Soroban resources against the network's limits and prices.

use std::collections::HashSet;

use crate::accounts::issuer;
use crate::codec::encoded_size;
use crate::host::fees::{archived_indices, disk_read_entries, non_refundable_fee};
use crate::ledger_keys::is_persistent;
use crate::results::Refusal;
use crate::settings::TransactionLimits;
use crate::transaction::Frame;
use crate::validation::Against;
use crate::xdr::{
    Asset, LedgerKey, LedgerKeyTrustLine, OperationBody, SorobanTransactionData, TrustLineAsset,
};

pub fn check(frame: &Frame, against: &Against) -> Result<(), Refusal> {
    let Some(data) = frame.soroban_data() else { return Ok(()) };
    let fee_is_covered = frame.fee_bump().is_some() || data.resource_fee <= frame.full_fee();
    let non_refundable = non_refundable_fee(frame, data, against.config);
    let is_valid = are_within_limits(frame, data, against.limits)
        && data.resource_fee >= 0
        && fee_is_covered
        && non_refundable <= data.resource_fee
        && !has_duplicates(data);
    if is_valid { Ok(()) } else { Err(Refusal::SorobanInvalid) }
}

/// Whether no declared resource is beyond what one transaction may use.
pub fn are_within_limits(frame: &Frame, data: &SorobanTransactionData, limits: &TransactionLimits) -> bool {
    let resources = &data.resources;
    let footprint = &resources.footprint;
    let write_entries = footprint.read_write.len() as u32;
    let entries = footprint.read_only.len() as u32 + write_entries;
    resources.instructions <= limits.instructions
        && resources.disk_read_bytes <= limits.disk_read_bytes
        && resources.write_bytes <= limits.write_bytes
        && entries <= limits.footprint_entries
        && disk_read_entries(frame, data) <= limits.disk_read_entries
        && write_entries <= limits.write_entries
        && frame.inner_size <= limits.envelope_bytes
        && footprint.read_only.iter().chain(footprint.read_write.iter()).all(|key| may_be_used(key, limits))
        && archived_indices_are_sound(frame, data)
}

fn may_be_used(key: &LedgerKey, limits: &TransactionLimits) -> bool {
    let is_usable_kind = match key {
        LedgerKey::Account(_) | LedgerKey::ContractData(_) | LedgerKey::ContractCode(_) => true,
        LedgerKey::Trustline(line) => is_usable_trustline(line),
        _ => false,
    };
    is_usable_kind && encoded_size(key) <= limits.key_bytes
}

fn is_usable_trustline(line: &LedgerKeyTrustLine) -> bool {
    let asset = match &line.asset {
        TrustLineAsset::CreditAlphanum4(credit) => Asset::CreditAlphanum4(credit.clone()),
        TrustLineAsset::CreditAlphanum12(credit) => Asset::CreditAlphanum12(credit.clone()),
        TrustLineAsset::Native | TrustLineAsset::PoolShare(_) => return false,
    };
    crate::accounts::is_valid_asset(&asset) && issuer(&asset) != Some(&line.account_id)
}

fn archived_indices_are_sound(frame: &Frame, data: &SorobanTransactionData) -> bool {
    let indices = archived_indices(data);
    if indices.is_empty() {
        return true;
    }
    let invokes = matches!(
        frame.operations().first().map(|operation| &operation.body),
        Some(OperationBody::InvokeHostFunction(_))
    );
    invokes
        && indices.windows(2).all(|pair| pair[0] < pair[1])
        && indices
            .iter()
            .all(|index| data.resources.footprint.read_write.get(*index as usize).is_some_and(is_persistent))
}

fn has_duplicates(data: &SorobanTransactionData) -> bool {
    let footprint = &data.resources.footprint;
    let mut seen = HashSet::new();
    !footprint.read_only.iter().chain(footprint.read_write.iter()).all(|key| seen.insert(key))
}
