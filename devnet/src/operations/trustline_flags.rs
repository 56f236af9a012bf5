//! SetTrustLineFlags: an issuer allows a holder to use its asset, or stops that.

use crate::accounts::{find_account, find_trustline, is_valid_asset, issuer};
use crate::draft::Draft;
use crate::events;
use crate::operations::{Applied, Applying};
use crate::xdr::{
    AccountFlags, AccountId, Asset, LedgerEntryData, OperationResult, OperationResultTr, SetTrustLineFlagsOp,
    SetTrustLineFlagsResult, TrustLineFlags,
};

const AUTHORIZED: u32 = TrustLineFlags::AuthorizedFlag as u32;
const MAINTAINS: u32 = TrustLineFlags::AuthorizedToMaintainLiabilitiesFlag as u32;
const CLAWBACK: u32 = TrustLineFlags::TrustlineClawbackEnabledFlag as u32;

fn result(result: SetTrustLineFlagsResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::SetTrustLineFlags(result))
}

pub fn check(op: &SetTrustLineFlagsOp, source: &AccountId) -> Result<(), OperationResult> {
    let is_sound = op.asset != Asset::Native
        && is_valid_asset(&op.asset)
        && issuer(&op.asset) == Some(source)
        && op.trustor != *source
        && op.set_flags & op.clear_flags == 0
        && op.set_flags & !(AUTHORIZED | MAINTAINS) == 0
        && op.set_flags != AUTHORIZED | MAINTAINS
        && op.clear_flags & !(AUTHORIZED | MAINTAINS | CLAWBACK) == 0;
    if is_sound { Ok(()) } else { Err(result(SetTrustLineFlagsResult::Malformed)) }
}

pub fn apply(op: &SetTrustLineFlagsOp, draft: &mut Draft, applying: &Applying) -> Applied {
    let Some(issuing) = find_account(draft, &applying.source) else {
        return Applied::failed(OperationResult::OpNoAccount);
    };
    let Some(mut line) = find_trustline(draft, &op.trustor, &op.asset) else {
        return Applied::failed(result(SetTrustLineFlagsResult::NoTrustLine));
    };
    let flags = (line.flags & !op.clear_flags) | op.set_flags;
    if flags & AUTHORIZED != 0 && flags & MAINTAINS != 0 {
        return Applied::failed(result(SetTrustLineFlagsResult::InvalidState));
    }
    let takes_away = (line.flags & AUTHORIZED != 0 && flags & AUTHORIZED == 0)
        || (line.flags & MAINTAINS != 0 && flags & (AUTHORIZED | MAINTAINS) == 0);
    if takes_away && issuing.flags & AccountFlags::RevocableFlag as u32 == 0 {
        return Applied::failed(result(SetTrustLineFlagsResult::CantRevoke));
    }
    let changes_authorization = (line.flags ^ flags) & AUTHORIZED != 0;
    line.flags = flags;
    draft.put(LedgerEntryData::Trustline(line));
    let contract = events::asset_contract(&op.asset, applying.now.network_id);
    let event = changes_authorization
        .then(|| events::set_authorized(contract, &op.asset, &op.trustor, flags & AUTHORIZED != 0));
    Applied::classic(result(SetTrustLineFlagsResult::Success), event.into_iter().collect())
}
