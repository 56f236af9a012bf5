//! AccountMerge: the account goes, and its balance goes to another one.

use crate::accounts::{
    account_key, credit, extension_v2, find_account, note_signers_changed, starting_sequence, unmuxed,
};
use crate::draft::Draft;
use crate::events::{self, MuxedId};
use crate::operations::{Applied, Applying};
use crate::sponsorship::{ACCOUNT_RESERVES, SUBENTRY_RESERVES, Sponsorships, let_go, sponsor_of_entry};
use crate::xdr::{
    AccountEntry, AccountFlags, AccountId, AccountMergeResult, Asset, LedgerEntryData, MuxedAccount,
    OperationResult, OperationResultTr, ScAddress, SponsorshipDescriptor,
};

fn result(result: AccountMergeResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::AccountMerge(result))
}

pub fn check(destination: &MuxedAccount, source: &AccountId) -> Result<(), OperationResult> {
    if unmuxed(destination) == *source { Err(result(AccountMergeResult::Malformed)) } else { Ok(()) }
}

pub fn apply(
    destination: &MuxedAccount,
    draft: &mut Draft,
    sponsorships: &Sponsorships,
    applying: &Applying,
) -> Applied {
    match merge(destination, draft, sponsorships, applying) {
        Ok(balance) => {
            let muxed_id = match destination {
                MuxedAccount::MuxedEd25519(muxed) => Some(MuxedId::Number(muxed.id)),
                MuxedAccount::Ed25519(_) => None,
            };
            let event = events::transfer(
                applying.native_contract,
                &Asset::Native,
                ScAddress::Account(applying.source.clone()),
                ScAddress::Account(unmuxed(destination)),
                balance,
                muxed_id,
            );
            Applied::classic(result(AccountMergeResult::Success(balance)), vec![event])
        }
        Err(code) => Applied::failed(result(code)),
    }
}

/// The stroops that the destination received.
fn merge(
    destination: &MuxedAccount,
    draft: &mut Draft,
    sponsorships: &Sponsorships,
    applying: &Applying,
) -> Result<i64, AccountMergeResult> {
    let destination = unmuxed(destination);
    if find_account(draft, &destination).is_none() {
        return Err(AccountMergeResult::NoAccount);
    }
    let source = find_account(draft, &applying.source).ok_or(AccountMergeResult::NoAccount)?;
    may_go(&source, sponsorships, draft.sequence())?;
    let balance = source.balance;
    drop_sponsorships(source, draft);
    draft.remove(&account_key(&applying.source));
    // Read again: the destination may have been the sponsor.
    let mut receiver = find_account(draft, &destination).ok_or(AccountMergeResult::NoAccount)?;
    if !credit(&mut receiver, balance) {
        return Err(AccountMergeResult::DestFull);
    }
    draft.put(LedgerEntryData::Account(receiver));
    Ok(balance)
}

fn may_go(
    account: &AccountEntry,
    sponsorships: &Sponsorships,
    sequence: u32,
) -> Result<(), AccountMergeResult> {
    if account.flags & AccountFlags::ImmutableFlag as u32 != 0 {
        return Err(AccountMergeResult::ImmutableSet);
    }
    if account.num_sub_entries as usize != account.signers.len() {
        return Err(AccountMergeResult::HasSubEntries);
    }
    // Made anew in this ledger, the account could repeat sequence numbers it has used.
    if account.seq_num.0 >= starting_sequence(sequence) {
        return Err(AccountMergeResult::SeqnumTooFar);
    }
    let pays_for_others = extension_v2(account).is_some_and(|extension| extension.num_sponsoring > 0);
    if pays_for_others || sponsorships.is_sponsoring(&account.account_id) {
        return Err(AccountMergeResult::IsSponsor);
    }
    Ok(())
}

/// Whoever paid for the account or for one of its signers no longer does.
fn drop_sponsorships(mut account: AccountEntry, draft: &mut Draft) {
    let mut signer_sponsors = Vec::new();
    note_signers_changed(&mut account, |sponsors| signer_sponsors = std::mem::take(sponsors));
    for SponsorshipDescriptor(sponsor) in signer_sponsors {
        if let Some(sponsor) = sponsor {
            let_go(draft, &sponsor, SUBENTRY_RESERVES);
        }
    }
    if let Some(sponsor) = sponsor_of_entry(draft, &account_key(&account.account_id)) {
        let_go(draft, &sponsor, ACCOUNT_RESERVES);
    }
}
