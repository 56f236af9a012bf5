//! What can be said of an envelope without looking at a ledger.

use crate::results::Refusal;
use crate::transaction::{Frame, is_soroban_operation};
use crate::xdr::{Memo, MuxedAccount};

/// The most that resources may cost, 2^50 stroops.
const MAX_RESOURCE_FEE: i64 = 1 << 50;

/// Whether the fee fields can be reckoned with at all.
pub fn has_sane_fees(frame: &Frame) -> bool {
    if frame.fee_bump().is_some_and(|bump| bump.tx.fee < 0) {
        return false;
    }
    if !frame.is_soroban() {
        return true;
    }
    frame.soroban_data().is_some_and(|data| (0..=MAX_RESOURCE_FEE).contains(&data.resource_fee))
}

pub fn check(frame: &Frame) -> Result<(), Refusal> {
    let operations = frame.operations();
    if operations.is_empty() {
        return Err(Refusal::MissingOperation);
    }
    let is_soroban = frame.is_soroban();
    if is_soroban && (operations.len() != 1 || !operations.iter().all(is_soroban_operation)) {
        return Err(Refusal::Malformed);
    }
    if is_soroban != frame.soroban_data().is_some() {
        return Err(Refusal::Malformed);
    }
    if is_soroban && !is_plain(frame) {
        return Err(Refusal::SorobanInvalid);
    }
    Ok(())
}

// Memo and muxed ids would be lost in a contract call, so since protocol 25 they are refused.
fn is_plain(frame: &Frame) -> bool {
    let tx = frame.tx();
    tx.memo == Memo::None
        && is_unmuxed(&tx.source_account)
        && tx.operations.iter().all(|operation| operation.source_account.as_ref().is_none_or(is_unmuxed))
}

fn is_unmuxed(address: &MuxedAccount) -> bool {
    matches!(address, MuxedAccount::Ed25519(_))
}
