//! Accounts and trustlines as the classic rules see them.

use crate::draft::Ledger;
use crate::xdr::{
    AccountEntry, AccountEntryExt, AccountEntryExtensionV1, AccountEntryExtensionV1Ext,
    AccountEntryExtensionV2, AccountEntryExtensionV2Ext, AccountEntryExtensionV3, AccountId, Asset,
    ExtensionPoint, LedgerEntryData, LedgerKey, LedgerKeyAccount, LedgerKeyTrustLine, Liabilities,
    MuxedAccount, PublicKey, SequenceNumber, SponsorshipDescriptor, Thresholds, TimePoint, TrustLineAsset,
    TrustLineEntry, TrustLineFlags, Uint256, VecM,
};

/// Stroops an operation costs at the least, and an account holds for each of its entries.
pub const BASE_FEE: u32 = 100;
pub const BASE_RESERVE: u32 = 5_000_000;

pub fn account_key(account_id: &AccountId) -> LedgerKey {
    LedgerKey::Account(LedgerKeyAccount { account_id: account_id.clone() })
}

pub fn account_id(public_key: [u8; 32]) -> AccountId {
    AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(public_key)))
}

pub fn public_key(account_id: &AccountId) -> &[u8; 32] {
    let PublicKey::PublicKeyTypeEd25519(Uint256(key)) = &account_id.0;
    key
}

/// The account behind a possibly muxed address.
pub fn unmuxed(address: &MuxedAccount) -> AccountId {
    match address {
        MuxedAccount::Ed25519(key) => account_id(key.0),
        MuxedAccount::MuxedEd25519(muxed) => account_id(muxed.ed25519.0),
    }
}

pub fn find_account(ledger: &dyn Ledger, id: &AccountId) -> Option<AccountEntry> {
    match &ledger.find(&account_key(id))?.entry.data {
        LedgerEntryData::Account(account) => Some(account.clone()),
        _ => None,
    }
}

/// A fresh account as `CreateAccount` makes it in ledger `sequence`.
pub fn new_account(id: AccountId, balance: i64, sequence: u32) -> AccountEntry {
    AccountEntry {
        account_id: id,
        balance,
        seq_num: SequenceNumber(starting_sequence(sequence)),
        num_sub_entries: 0,
        inflation_dest: None,
        flags: 0,
        home_domain: Default::default(),
        thresholds: Thresholds([1, 0, 0, 0]),
        signers: VecM::default(),
        ext: AccountEntryExt::V0,
    }
}

pub fn starting_sequence(ledger: u32) -> i64 {
    i64::from(ledger) << 32
}

/// What the account must keep: two base reserves and one for each subentry, sponsorships counted.
pub fn minimum_balance(account: &AccountEntry) -> i64 {
    let (sponsored, sponsoring) = match extension_v2(account) {
        Some(v2) => (i64::from(v2.num_sponsored), i64::from(v2.num_sponsoring)),
        None => (0, 0),
    };
    let entries = 2 + i64::from(account.num_sub_entries) + sponsoring - sponsored;
    entries * i64::from(BASE_RESERVE)
}

/// What the account may spend without going below its reserve and its offers.
pub fn available_balance(account: &AccountEntry) -> i64 {
    let selling = match &account.ext {
        AccountEntryExt::V0 => 0,
        AccountEntryExt::V1(v1) => v1.liabilities.selling,
    };
    account.balance - minimum_balance(account) - selling
}

pub fn credit(account: &mut AccountEntry, amount: i64) -> bool {
    match account.balance.checked_add(amount) {
        Some(balance) => {
            account.balance = balance;
            true
        }
        None => false,
    }
}

pub fn extension_v2(account: &AccountEntry) -> Option<&AccountEntryExtensionV2> {
    match &account.ext {
        AccountEntryExt::V1(v1) => match &v1.ext {
            AccountEntryExtensionV1Ext::V2(v2) => Some(v2),
            AccountEntryExtensionV1Ext::V0 => None,
        },
        AccountEntryExt::V0 => None,
    }
}

/// The ledger and the time (Unix seconds) the sequence number last moved at; zeros where unknown.
pub fn sequence_moved_at(account: &AccountEntry) -> (u32, u64) {
    match extension_v2(account).map(|v2| &v2.ext) {
        Some(AccountEntryExtensionV2Ext::V3(v3)) => (v3.seq_ledger, v3.seq_time.0),
        _ => (0, 0),
    }
}

/// Moves the sequence number and remembers when, as the third extension does since protocol 19.
pub fn set_sequence(account: &mut AccountEntry, sequence: i64, ledger: u32, close_time_s: u64) {
    account.seq_num = SequenceNumber(sequence);
    extension_v2_mut(account).ext = AccountEntryExtensionV2Ext::V3(AccountEntryExtensionV3 {
        ext: ExtensionPoint::V0,
        seq_ledger: ledger,
        seq_time: TimePoint(close_time_s),
    });
}

/// The extension that counts sponsorships, made where the account has none yet.
pub fn extension_v2_mut(account: &mut AccountEntry) -> &mut AccountEntryExtensionV2 {
    let signers = account.signers.len();
    if matches!(account.ext, AccountEntryExt::V0) {
        account.ext = AccountEntryExt::V1(AccountEntryExtensionV1 {
            liabilities: Liabilities { buying: 0, selling: 0 },
            ext: AccountEntryExtensionV1Ext::V0,
        });
    }
    let AccountEntryExt::V1(v1) = &mut account.ext else { unreachable!("it was just made") };
    if matches!(v1.ext, AccountEntryExtensionV1Ext::V0) {
        v1.ext = AccountEntryExtensionV1Ext::V2(AccountEntryExtensionV2 {
            num_sponsored: 0,
            num_sponsoring: 0,
            signer_sponsoring_i_ds: vec![SponsorshipDescriptor(None); signers].try_into().unwrap_or_default(),
            ext: AccountEntryExtensionV2Ext::V0,
        });
    }
    let AccountEntryExtensionV1Ext::V2(v2) = &mut v1.ext else { unreachable!("it was just made") };
    v2
}

/// Keeps the list of signer sponsors as long as the list of signers.
pub fn note_signers_changed(
    account: &mut AccountEntry,
    change: impl FnOnce(&mut Vec<SponsorshipDescriptor>),
) {
    if let AccountEntryExt::V1(v1) = &mut account.ext
        && let AccountEntryExtensionV1Ext::V2(v2) = &mut v1.ext
    {
        let mut sponsors = v2.signer_sponsoring_i_ds.to_vec();
        change(&mut sponsors);
        v2.signer_sponsoring_i_ds = sponsors.try_into().unwrap_or_default();
    }
}

pub fn trustline_asset(asset: &Asset) -> TrustLineAsset {
    match asset {
        Asset::Native => TrustLineAsset::Native,
        Asset::CreditAlphanum4(credit) => TrustLineAsset::CreditAlphanum4(credit.clone()),
        Asset::CreditAlphanum12(credit) => TrustLineAsset::CreditAlphanum12(credit.clone()),
    }
}

/// Who issues the asset; nobody issues the native one.
pub fn issuer(asset: &Asset) -> Option<&AccountId> {
    match asset {
        Asset::Native => None,
        Asset::CreditAlphanum4(credit) => Some(&credit.issuer),
        Asset::CreditAlphanum12(credit) => Some(&credit.issuer),
    }
}

pub fn trustline_key(holder: &AccountId, asset: &Asset) -> LedgerKey {
    LedgerKey::Trustline(LedgerKeyTrustLine { account_id: holder.clone(), asset: trustline_asset(asset) })
}

pub fn find_trustline(ledger: &dyn Ledger, holder: &AccountId, asset: &Asset) -> Option<TrustLineEntry> {
    match &ledger.find(&trustline_key(holder, asset))?.entry.data {
        LedgerEntryData::Trustline(line) => Some(line.clone()),
        _ => None,
    }
}

pub fn is_authorized(line: &TrustLineEntry) -> bool {
    line.flags & TrustLineFlags::AuthorizedFlag as u32 != 0
}

/// A code of 1 to 12 letters and digits, padded with zeros at the end only.
pub fn is_valid_asset(asset: &Asset) -> bool {
    let code: &[u8] = match asset {
        Asset::Native => return true,
        Asset::CreditAlphanum4(credit) => &credit.asset_code.0,
        Asset::CreditAlphanum12(credit) => &credit.asset_code.0,
    };
    let length = code.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let shortest = if matches!(asset, Asset::CreditAlphanum12(_)) { 5 } else { 1 };
    length >= shortest && code[..length].iter().all(u8::is_ascii_alphanumeric)
}
