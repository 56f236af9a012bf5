//! CreateAccount: a new account with a starting balance taken from the source.

use crate::accounts::{available_balance, find_account, minimum_balance, new_account};
use crate::draft::Draft;
use crate::events;
use crate::operations::{Applied, Applying};
use crate::xdr::{
    AccountId, Asset, CreateAccountOp, CreateAccountResult, LedgerEntryData, OperationResult,
    OperationResultTr, ScAddress,
};

fn result(result: CreateAccountResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::CreateAccount(result))
}

pub fn check(op: &CreateAccountOp, source: &AccountId) -> Result<(), OperationResult> {
    let is_sound = op.starting_balance >= 0 && op.destination != *source;
    if is_sound { Ok(()) } else { Err(result(CreateAccountResult::Malformed)) }
}

pub fn apply(op: &CreateAccountOp, draft: &mut Draft, applying: &Applying) -> Applied {
    let failed = |code| Applied::failed(result(code));
    if find_account(draft, &op.destination).is_some() {
        return failed(CreateAccountResult::AlreadyExist);
    }
    let created = new_account(op.destination.clone(), op.starting_balance, draft.sequence());
    if op.starting_balance < minimum_balance(&created) {
        return failed(CreateAccountResult::LowReserve);
    }
    let Some(mut source) = find_account(draft, &applying.source) else {
        return Applied::failed(OperationResult::OpNoAccount);
    };
    if available_balance(&source) < op.starting_balance {
        return failed(CreateAccountResult::Underfunded);
    }
    source.balance -= op.starting_balance;
    draft.put(LedgerEntryData::Account(source));
    draft.put(LedgerEntryData::Account(created));
    let event = events::transfer(
        applying.native_contract,
        &Asset::Native,
        ScAddress::Account(applying.source.clone()),
        ScAddress::Account(op.destination.clone()),
        op.starting_balance,
        None,
    );
    Applied::classic(result(CreateAccountResult::Success), vec![event])
}
