//! ChangeTrust: open a trustline, change its limit, or close it with a limit of zero.

use crate::accounts::{
    BASE_RESERVE, available_balance, extension_v2_mut, find_account, find_trustline, is_valid_asset, issuer,
    trustline_asset, trustline_key,
};
use crate::draft::Draft;
use crate::operations::{Applied, Applying, unsponsored};
use crate::sponsorship::{SUBENTRY_RESERVES, Sponsorships, let_go, sponsor_of_entry, sponsored_by, take_on};
use crate::xdr::{
    AccountEntry, AccountFlags, AccountId, Asset, ChangeTrustAsset, ChangeTrustOp, ChangeTrustResult,
    LedgerEntryData, OperationResult, OperationResultTr, TrustLineEntry, TrustLineEntryExt, TrustLineFlags,
};

const MAX_SUBENTRIES: u32 = 1000;

fn result(result: ChangeTrustResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::ChangeTrust(result))
}

fn asset(line: &ChangeTrustAsset) -> Option<Asset> {
    match line {
        ChangeTrustAsset::CreditAlphanum4(credit) => Some(Asset::CreditAlphanum4(credit.clone())),
        ChangeTrustAsset::CreditAlphanum12(credit) => Some(Asset::CreditAlphanum12(credit.clone())),
        ChangeTrustAsset::Native | ChangeTrustAsset::PoolShare(_) => None,
    }
}

pub fn check(op: &ChangeTrustOp, source: &AccountId) -> Result<(), OperationResult> {
    if matches!(op.line, ChangeTrustAsset::PoolShare(_)) {
        return Err(OperationResult::OpNotSupported);
    }
    let is_sound = op.limit >= 0
        && asset(&op.line).is_some_and(|asset| is_valid_asset(&asset) && issuer(&asset) != Some(source));
    if is_sound { Ok(()) } else { Err(result(ChangeTrustResult::Malformed)) }
}

pub fn apply(
    op: &ChangeTrustOp,
    draft: &mut Draft,
    sponsorships: &Sponsorships,
    applying: &Applying,
) -> Applied {
    let Some(asset) = asset(&op.line) else { return Applied::failed(OperationResult::OpNotSupported) };
    let Some(source) = find_account(draft, &applying.source) else {
        return Applied::failed(OperationResult::OpNoAccount);
    };
    let changed = match find_trustline(draft, &applying.source, &asset) {
        Some(line) if op.limit == 0 => close(line, source, &asset, draft),
        Some(line) => change_limit(line, op.limit, &asset, draft),
        None => open(op.limit, source, &asset, sponsorships.sponsor_of(&applying.source), draft),
    };
    match changed {
        Ok(()) => Applied::classic(result(ChangeTrustResult::Success), Vec::new()),
        Err(failure) => Applied::failed(failure),
    }
}

fn open(
    limit: i64,
    mut source: AccountEntry,
    asset: &Asset,
    sponsor: Option<&AccountId>,
    draft: &mut Draft,
) -> Result<(), OperationResult> {
    if limit == 0 {
        return Err(result(ChangeTrustResult::InvalidLimit));
    }
    let Some(issuing) = issuer(asset).and_then(|issuer| find_account(draft, issuer)) else {
        return Err(result(ChangeTrustResult::NoIssuer));
    };
    if source.num_sub_entries >= MAX_SUBENTRIES {
        return Err(OperationResult::OpTooManySubentries);
    }
    let low_reserve = || result(ChangeTrustResult::LowReserve);
    match sponsor {
        Some(sponsor) => {
            take_on(draft, sponsor, SUBENTRY_RESERVES)
                .map_err(|cannot| unsponsored(cannot, low_reserve()))?;
            extension_v2_mut(&mut source).num_sponsored += SUBENTRY_RESERVES;
        }
        None if available_balance(&source) < i64::from(BASE_RESERVE) => return Err(low_reserve()),
        None => {}
    }
    let mut flags = 0;
    if issuing.flags & AccountFlags::RequiredFlag as u32 == 0 {
        flags |= TrustLineFlags::AuthorizedFlag as u32;
    }
    if issuing.flags & AccountFlags::ClawbackEnabledFlag as u32 != 0 {
        flags |= TrustLineFlags::TrustlineClawbackEnabledFlag as u32;
    }
    source.num_sub_entries += 1;
    let line = TrustLineEntry {
        account_id: source.account_id.clone(),
        asset: trustline_asset(asset),
        balance: 0,
        limit,
        flags,
        ext: TrustLineEntryExt::V0,
    };
    draft.put(LedgerEntryData::Account(source));
    draft.create(LedgerEntryData::Trustline(line), sponsored_by(sponsor));
    Ok(())
}

fn change_limit(
    mut line: TrustLineEntry,
    limit: i64,
    asset: &Asset,
    draft: &mut Draft,
) -> Result<(), OperationResult> {
    let buying = match &line.ext {
        TrustLineEntryExt::V0 => 0,
        TrustLineEntryExt::V1(v1) => v1.liabilities.buying,
    };
    if limit < line.balance.saturating_add(buying) {
        return Err(result(ChangeTrustResult::InvalidLimit));
    }
    if issuer(asset).and_then(|issuer| find_account(draft, issuer)).is_none() {
        return Err(result(ChangeTrustResult::NoIssuer));
    }
    line.limit = limit;
    draft.put(LedgerEntryData::Trustline(line));
    Ok(())
}

fn close(
    line: TrustLineEntry,
    mut source: AccountEntry,
    asset: &Asset,
    draft: &mut Draft,
) -> Result<(), OperationResult> {
    if line.balance > 0 {
        return Err(result(ChangeTrustResult::InvalidLimit));
    }
    source.num_sub_entries = source.num_sub_entries.saturating_sub(1);
    let key = trustline_key(&source.account_id, asset);
    if let Some(sponsor) = sponsor_of_entry(draft, &key) {
        let_go(draft, &sponsor, SUBENTRY_RESERVES);
        let extension = extension_v2_mut(&mut source);
        extension.num_sponsored = extension.num_sponsored.saturating_sub(SUBENTRY_RESERVES);
    }
    draft.remove(&key);
    draft.put(LedgerEntryData::Account(source));
    Ok(())
}
