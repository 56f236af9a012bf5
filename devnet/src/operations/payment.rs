//! Payment: native or credit, from a holder or from the issuer (which mints) or to it (which burns).

use crate::accounts::{
    available_balance, credit, find_account, find_trustline, is_authorized, is_valid_asset, issuer, unmuxed,
};
use crate::draft::Draft;
use crate::events::{self, MuxedId};
use crate::operations::{Applied, Applying};
use crate::xdr::{
    AccountId, Asset, ContractEvent, LedgerEntryData, Memo, MuxedAccount, OperationResult, OperationResultTr,
    PaymentOp, PaymentResult, ScAddress, TrustLineEntry, TrustLineEntryExt,
};

fn result(result: PaymentResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::Payment(result))
}

pub fn check(op: &PaymentOp) -> Result<(), OperationResult> {
    let is_sound = op.amount > 0 && is_valid_asset(&op.asset);
    if is_sound { Ok(()) } else { Err(result(PaymentResult::Malformed)) }
}

pub fn apply(op: &PaymentOp, draft: &mut Draft, applying: &Applying) -> Applied {
    let destination = unmuxed(&op.destination);
    let moved = match &op.asset {
        Asset::Native => move_native(op.amount, &applying.source, &destination, draft),
        asset => move_credit(asset, op.amount, &applying.source, &destination, draft),
    };
    match moved {
        Ok(()) => {
            let event = event(op, &destination, applying);
            Applied::classic(result(PaymentResult::Success), vec![event])
        }
        Err(code) => Applied::failed(result(code)),
    }
}

fn move_native(
    amount: i64,
    from: &AccountId,
    to: &AccountId,
    draft: &mut Draft,
) -> Result<(), PaymentResult> {
    if find_account(draft, to).is_none() {
        return Err(PaymentResult::NoDestination);
    }
    let Some(mut source) = find_account(draft, from) else { return Err(PaymentResult::Underfunded) };
    if from == to {
        // Paying oneself succeeds whatever the balance, as on the network.
        return Ok(());
    }
    if available_balance(&source) < amount {
        return Err(PaymentResult::Underfunded);
    }
    source.balance -= amount;
    draft.put(LedgerEntryData::Account(source));
    let Some(mut destination) = find_account(draft, to) else { return Err(PaymentResult::NoDestination) };
    if !credit(&mut destination, amount) {
        return Err(PaymentResult::LineFull);
    }
    draft.put(LedgerEntryData::Account(destination));
    Ok(())
}

fn move_credit(
    asset: &Asset,
    amount: i64,
    from: &AccountId,
    to: &AccountId,
    draft: &mut Draft,
) -> Result<(), PaymentResult> {
    let is_issuer = |party: &AccountId| issuer(asset) == Some(party);
    if !is_issuer(to) && find_account(draft, to).is_none() {
        return Err(PaymentResult::NoDestination);
    }
    // The network credits the destination before it debits the source, which decides the code that is named.
    if !is_issuer(to) {
        let Some(mut line) = find_trustline(draft, to, asset) else { return Err(PaymentResult::NoTrust) };
        if !is_authorized(&line) {
            return Err(PaymentResult::NotAuthorized);
        }
        match line.balance.checked_add(amount) {
            Some(balance) if balance <= line.limit - liabilities(&line).0 => line.balance = balance,
            _ => return Err(PaymentResult::LineFull),
        }
        draft.put(LedgerEntryData::Trustline(line));
    }
    if !is_issuer(from) {
        let Some(mut line) = find_trustline(draft, from, asset) else {
            return Err(PaymentResult::SrcNoTrust);
        };
        if !is_authorized(&line) {
            return Err(PaymentResult::SrcNotAuthorized);
        }
        if line.balance - liabilities(&line).1 < amount {
            return Err(PaymentResult::Underfunded);
        }
        line.balance -= amount;
        draft.put(LedgerEntryData::Trustline(line));
    }
    Ok(())
}

/// What offers may still bring in and take out.
fn liabilities(line: &TrustLineEntry) -> (i64, i64) {
    match &line.ext {
        TrustLineEntryExt::V0 => (0, 0),
        TrustLineEntryExt::V1(v1) => (v1.liabilities.buying, v1.liabilities.selling),
    }
}

fn event(op: &PaymentOp, destination: &AccountId, applying: &Applying) -> ContractEvent {
    let contract = events::asset_contract(&op.asset, applying.now.network_id);
    let from = ScAddress::Account(applying.source.clone());
    let to = ScAddress::Account(destination.clone());
    if issuer(&op.asset) == Some(&applying.source) && applying.source != *destination {
        events::mint(contract, &op.asset, to, op.amount, muxed_id(op, applying))
    } else if issuer(&op.asset) == Some(destination) && applying.source != *destination {
        events::burn(contract, &op.asset, from, op.amount)
    } else {
        events::transfer(contract, &op.asset, from, to, op.amount, muxed_id(op, applying))
    }
}

/// The destination's own id, or else what the memo says about it.
fn muxed_id(op: &PaymentOp, applying: &Applying) -> Option<MuxedId> {
    if let MuxedAccount::MuxedEd25519(muxed) = &op.destination {
        return Some(MuxedId::Number(muxed.id));
    }
    match &applying.frame.tx().memo {
        Memo::None => None,
        Memo::Id(id) => Some(MuxedId::Number(*id)),
        Memo::Text(text) => Some(MuxedId::Text(text.to_vec())),
        Memo::Hash(hash) | Memo::Return(hash) => Some(MuxedId::Hash(hash.0)),
    }
}
