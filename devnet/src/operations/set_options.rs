//! SetOptions: flags, thresholds, signers and the home domain of an account.

use crate::accounts::{
    BASE_RESERVE, available_balance, extension_v2_mut, find_account, note_signers_changed,
};
use crate::draft::Draft;
use crate::operations::{Applied, Applying, unsponsored};
use crate::signatures::Threshold;
use crate::sponsorship::{SUBENTRY_RESERVES, Sponsorships, let_go, take_on};
use crate::xdr::{
    AccountEntry, AccountFlags, AccountId, LedgerEntryData, OperationResult, OperationResultTr, SetOptionsOp,
    SetOptionsResult, Signer, SignerKey, SponsorshipDescriptor,
};

const MAX_SIGNERS: usize = 20;
const KNOWN_FLAGS: u32 = AccountFlags::RequiredFlag as u32
    | AccountFlags::RevocableFlag as u32
    | AccountFlags::ImmutableFlag as u32
    | AccountFlags::ClawbackEnabledFlag as u32;

fn result(result: SetOptionsResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::SetOptions(result))
}

/// Changing who may sign asks for the highest weight.
pub fn threshold(op: &SetOptionsOp) -> Threshold {
    let changes_authority = op.master_weight.is_some()
        || op.low_threshold.is_some()
        || op.med_threshold.is_some()
        || op.high_threshold.is_some()
        || op.signer.is_some();
    if changes_authority { Threshold::High } else { Threshold::Medium }
}

pub fn check(op: &SetOptionsOp, source: &AccountId) -> Result<(), OperationResult> {
    let (set, clear) = (op.set_flags.unwrap_or(0), op.clear_flags.unwrap_or(0));
    if (set | clear) & !KNOWN_FLAGS != 0 {
        return Err(result(SetOptionsResult::UnknownFlag));
    }
    if set & clear != 0 {
        return Err(result(SetOptionsResult::BadFlags));
    }
    let weights = [op.master_weight, op.low_threshold, op.med_threshold, op.high_threshold];
    if weights.iter().flatten().any(|weight| *weight > 255) {
        return Err(result(SetOptionsResult::ThresholdOutOfRange));
    }
    if let Some(signer) = &op.signer {
        check_signer(signer, source)?;
    }
    let is_printable = |byte: &u8| (0x20..0x7f).contains(byte);
    if op.home_domain.as_ref().is_some_and(|domain| !domain.0.iter().all(is_printable)) {
        return Err(result(SetOptionsResult::InvalidHomeDomain));
    }
    Ok(())
}

fn check_signer(signer: &Signer, source: &AccountId) -> Result<(), OperationResult> {
    let is_sound = match &signer.key {
        SignerKey::Ed25519(key) => key.0 != *crate::accounts::public_key(source),
        SignerKey::HashX(_) => true,
        SignerKey::Ed25519SignedPayload(signed) => !signed.payload.is_empty(),
        SignerKey::PreAuthTx(_) => return Err(OperationResult::OpNotSupported),
    };
    if is_sound && signer.weight <= 255 { Ok(()) } else { Err(result(SetOptionsResult::BadSigner)) }
}

pub fn apply(
    op: &SetOptionsOp,
    draft: &mut Draft,
    sponsorships: &Sponsorships,
    applying: &Applying,
) -> Applied {
    let Some(mut account) = find_account(draft, &applying.source) else {
        return Applied::failed(OperationResult::OpNoAccount);
    };
    if let Some(destination) = &op.inflation_dest {
        if find_account(draft, destination).is_none() {
            return Applied::failed(result(SetOptionsResult::InvalidInflation));
        }
        account.inflation_dest = Some(destination.clone());
    }
    if let Err(code) = change_flags(op, &mut account) {
        return Applied::failed(result(code));
    }
    let sponsor = sponsorships.sponsor_of(&applying.source);
    if let Err(failure) =
        op.signer.as_ref().map_or(Ok(()), |signer| change_signer(signer, &mut account, sponsor, draft))
    {
        return Applied::failed(failure);
    }
    let weights = [op.master_weight, op.low_threshold, op.med_threshold, op.high_threshold];
    for (kept, wanted) in account.thresholds.0.iter_mut().zip(weights) {
        if let Some(weight) = wanted {
            *kept = weight.min(255) as u8;
        }
    }
    if let Some(domain) = &op.home_domain {
        account.home_domain = domain.clone();
    }
    draft.put(LedgerEntryData::Account(account));
    Applied::classic(result(SetOptionsResult::Success), Vec::new())
}

fn change_flags(op: &SetOptionsOp, account: &mut AccountEntry) -> Result<(), SetOptionsResult> {
    let (set, clear) = (op.set_flags.unwrap_or(0), op.clear_flags.unwrap_or(0));
    if set | clear == 0 {
        return Ok(());
    }
    if account.flags & AccountFlags::ImmutableFlag as u32 != 0 {
        return Err(SetOptionsResult::CantChange);
    }
    account.flags = (account.flags & !clear) | set;
    let claws_back = account.flags & AccountFlags::ClawbackEnabledFlag as u32 != 0;
    let revokes = account.flags & AccountFlags::RevocableFlag as u32 != 0;
    if claws_back && !revokes { Err(SetOptionsResult::AuthRevocableRequired) } else { Ok(()) }
}

fn change_signer(
    wanted: &Signer,
    account: &mut AccountEntry,
    sponsor: Option<&AccountId>,
    draft: &mut Draft,
) -> Result<(), OperationResult> {
    let mut signers = account.signers.to_vec();
    let known = signers.iter().position(|signer| signer.key == wanted.key);
    match (known, wanted.weight) {
        (Some(position), 0) => {
            signers.remove(position);
            remove_reserve(position, account, draft);
        }
        (Some(position), weight) => signers[position].weight = weight,
        (None, 0) => return Err(result(SetOptionsResult::BadSigner)),
        (None, _) => {
            if signers.len() >= MAX_SIGNERS {
                return Err(result(SetOptionsResult::TooManySigners));
            }
            let position = signers.partition_point(|signer| signer.key < wanted.key);
            add_reserve(position, account, sponsor, draft)?;
            signers.insert(position, wanted.clone());
        }
    }
    account.signers = signers.try_into().map_err(|_| result(SetOptionsResult::TooManySigners))?;
    Ok(())
}

/// A signer at `position` is paid for by the sponsor, or else by the account itself.
fn add_reserve(
    position: usize,
    account: &mut AccountEntry,
    sponsor: Option<&AccountId>,
    draft: &mut Draft,
) -> Result<(), OperationResult> {
    let low_reserve = || result(SetOptionsResult::LowReserve);
    match sponsor {
        Some(sponsor) => {
            take_on(draft, sponsor, SUBENTRY_RESERVES)
                .map_err(|cannot| unsponsored(cannot, low_reserve()))?;
            extension_v2_mut(account).num_sponsored += SUBENTRY_RESERVES;
        }
        None if available_balance(account) < i64::from(BASE_RESERVE) => return Err(low_reserve()),
        None => {}
    }
    account.num_sub_entries += 1;
    note_signers_changed(account, |sponsors| {
        sponsors.insert(position.min(sponsors.len()), SponsorshipDescriptor(sponsor.cloned()));
    });
    Ok(())
}

fn remove_reserve(position: usize, account: &mut AccountEntry, draft: &mut Draft) {
    account.num_sub_entries = account.num_sub_entries.saturating_sub(1);
    let mut sponsor = None;
    note_signers_changed(account, |sponsors| {
        if position < sponsors.len() {
            sponsor = sponsors.remove(position).0;
        }
    });
    if let Some(sponsor) = sponsor {
        let_go(draft, &sponsor, SUBENTRY_RESERVES);
        let extension = extension_v2_mut(account);
        extension.num_sponsored = extension.num_sponsored.saturating_sub(SUBENTRY_RESERVES);
    }
}
