//! Who pays the reserves of whose entries, and the counts that say so in both accounts.

use crate::accounts::{BASE_RESERVE, available_balance, extension_v2_mut, find_account};
use crate::draft::{Draft, Ledger};
use crate::xdr::{
    AccountId, BeginSponsoringFutureReservesResult as BeginResult, LedgerEntryData, LedgerEntryExt,
    LedgerEntryExtensionV1, LedgerEntryExtensionV1Ext, LedgerKey, SponsorshipDescriptor,
};

/// Base reserves of an account itself.
pub const ACCOUNT_RESERVES: u32 = 2;
/// Base reserves of a trustline and of a signer.
pub const SUBENTRY_RESERVES: u32 = 1;

/// The sponsorships that hold at one point of a transaction; all must have ended when it does.
#[derive(Default)]
pub struct Sponsorships {
    active: Vec<Active>,
}

struct Active {
    sponsored: AccountId,
    sponsor: AccountId,
}

impl Sponsorships {
    /// From now on `sponsor` pays for what `sponsored` adds to the ledger.
    pub fn begin(&mut self, sponsor: &AccountId, sponsored: &AccountId) -> Result<(), BeginResult> {
        if self.sponsor_of(sponsored).is_some() {
            return Err(BeginResult::AlreadySponsored);
        }
        // Nobody sponsors while being sponsored: the reserves would have nobody who pays in the end.
        if self.sponsor_of(sponsor).is_some() || self.is_sponsoring(sponsored) {
            return Err(BeginResult::Recursive);
        }
        self.active.push(Active { sponsored: sponsored.clone(), sponsor: sponsor.clone() });
        Ok(())
    }

    /// Whether there was a sponsorship of `sponsored` to end.
    pub fn end(&mut self, sponsored: &AccountId) -> bool {
        let known = self.active.iter().position(|active| active.sponsored == *sponsored);
        known.map(|position| self.active.remove(position)).is_some()
    }

    pub fn sponsor_of(&self, owner: &AccountId) -> Option<&AccountId> {
        self.active.iter().find(|active| active.sponsored == *owner).map(|active| &active.sponsor)
    }

    pub fn is_sponsoring(&self, account: &AccountId) -> bool {
        self.active.iter().any(|active| active.sponsor == *account)
    }

    pub fn all_ended(&self) -> bool {
        self.active.is_empty()
    }
}

/// Why a sponsor does not take further reserves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotSponsor {
    LowReserve,
    TooMany,
}

/// The sponsor's account counts `reserves` more that it pays for others.
pub fn take_on(draft: &mut Draft, sponsor: &AccountId, reserves: u32) -> Result<(), CannotSponsor> {
    let mut account = find_account(draft, sponsor).ok_or(CannotSponsor::LowReserve)?;
    if available_balance(&account) < i64::from(reserves) * i64::from(BASE_RESERVE) {
        return Err(CannotSponsor::LowReserve);
    }
    let sub_entries = account.num_sub_entries;
    let extension = extension_v2_mut(&mut account);
    let sponsoring = extension.num_sponsoring.checked_add(reserves).ok_or(CannotSponsor::TooMany)?;
    sponsoring.checked_add(sub_entries).ok_or(CannotSponsor::TooMany)?;
    extension.num_sponsoring = sponsoring;
    draft.put(LedgerEntryData::Account(account));
    Ok(())
}

/// The sponsor's account counts `reserves` fewer that it pays for others.
pub fn let_go(draft: &mut Draft, sponsor: &AccountId, reserves: u32) {
    let Some(mut account) = find_account(draft, sponsor) else { return };
    let extension = extension_v2_mut(&mut account);
    extension.num_sponsoring = extension.num_sponsoring.saturating_sub(reserves);
    draft.put(LedgerEntryData::Account(account));
}

/// Who pays for the entry, where somebody else than its owner does.
pub fn sponsor_of_entry(ledger: &dyn Ledger, key: &LedgerKey) -> Option<AccountId> {
    match &ledger.find(key)?.entry.ext {
        LedgerEntryExt::V1(extension) => extension.sponsoring_id.0.clone(),
        LedgerEntryExt::V0 => None,
    }
}

/// The extension of an entry that `sponsor` pays for.
pub fn sponsored_by(sponsor: Option<&AccountId>) -> LedgerEntryExt {
    match sponsor {
        None => LedgerEntryExt::V0,
        Some(sponsor) => LedgerEntryExt::V1(LedgerEntryExtensionV1 {
            sponsoring_id: SponsorshipDescriptor(Some(sponsor.clone())),
            ext: LedgerEntryExtensionV1Ext::V0,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::account_id;

    #[test]
    fn sponsorships_do_not_nest_and_end_once() {
        let [first, second, third] = [1, 2, 3].map(|byte| account_id([byte; 32]));
        let mut sponsorships = Sponsorships::default();
        assert_eq!(sponsorships.begin(&first, &second), Ok(()));
        assert_eq!(sponsorships.begin(&third, &second), Err(BeginResult::AlreadySponsored));
        assert_eq!(sponsorships.begin(&second, &third), Err(BeginResult::Recursive));
        assert_eq!(sponsorships.begin(&third, &first), Err(BeginResult::Recursive));
        assert_eq!(sponsorships.begin(&first, &third), Ok(()));
        assert_eq!(sponsorships.sponsor_of(&second), Some(&first));
        assert!(sponsorships.end(&second) && !sponsorships.end(&second));
        assert!(sponsorships.is_sponsoring(&first) && !sponsorships.all_ended());
        assert!(sponsorships.end(&third) && sponsorships.all_ended());
    }
}
