//! CreateAccount: a new account with a starting balance taken from the source.

use crate::accounts::{available_balance, extension_v2_mut, find_account, minimum_balance, new_account};
use crate::draft::Draft;
use crate::events;
use crate::operations::{Applied, Applying, unsponsored};
use crate::sponsorship::{ACCOUNT_RESERVES, Sponsorships, sponsored_by, take_on};
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

pub fn apply(
    op: &CreateAccountOp,
    draft: &mut Draft,
    sponsorships: &Sponsorships,
    applying: &Applying,
) -> Applied {
    let failed = |code| Applied::failed(result(code));
    if find_account(draft, &op.destination).is_some() {
        return failed(CreateAccountResult::AlreadyExist);
    }
    let mut created = new_account(op.destination.clone(), op.starting_balance, draft.sequence());
    let sponsor = sponsorships.sponsor_of(&op.destination);
    if let Some(sponsor) = sponsor {
        if let Err(cannot) = take_on(draft, sponsor, ACCOUNT_RESERVES) {
            return Applied::failed(unsponsored(cannot, result(CreateAccountResult::LowReserve)));
        }
        extension_v2_mut(&mut created).num_sponsored = ACCOUNT_RESERVES;
    }
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
    draft.create(LedgerEntryData::Account(created), sponsored_by(sponsor));
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
