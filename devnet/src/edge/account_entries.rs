//! Ledger entries of the accounts that friendbot and scenes bring.

use super::assets::usdc;
use crate::xdr::{
    AccountEntry, AccountEntryExt, AccountId, Asset, LedgerEntry, LedgerEntryData, LedgerEntryExt,
    SequenceNumber, Thresholds, TrustLineAsset, TrustLineEntry, TrustLineEntryExt, TrustLineFlags,
};

/// 10,000 XLM, what an account starts with.
pub const STARTING_BALANCE_STROOPS: i64 = 100_000_000_000;

/// A plain account as `ledger` would have made it.
pub fn account(account_id: AccountId, balance: i64, sub_entries: u32, ledger: u32) -> LedgerEntry {
    entry(
        ledger,
        LedgerEntryData::Account(AccountEntry {
            account_id,
            balance,
            seq_num: SequenceNumber(i64::from(ledger) << 32),
            num_sub_entries: sub_entries,
            inflation_dest: None,
            flags: 0,
            home_domain: Default::default(),
            thresholds: Thresholds([1, 0, 0, 0]),
            signers: Default::default(),
            ext: AccountEntryExt::V0,
        }),
    )
}

/// An authorized trust line to USDC without a limit.
pub fn trust_line(account_id: AccountId, issuer: AccountId, balance: i64, ledger: u32) -> LedgerEntry {
    let Asset::CreditAlphanum4(asset) = usdc(issuer) else { unreachable!("USDC has four letters") };
    entry(
        ledger,
        LedgerEntryData::Trustline(TrustLineEntry {
            account_id,
            asset: TrustLineAsset::CreditAlphanum4(asset),
            balance,
            limit: i64::MAX,
            flags: TrustLineFlags::AuthorizedFlag as u32,
            ext: TrustLineEntryExt::V0,
        }),
    )
}

fn entry(ledger: u32, data: LedgerEntryData) -> LedgerEntry {
    LedgerEntry { last_modified_ledger_seq: ledger + 1, data, ext: LedgerEntryExt::V0 }
}
