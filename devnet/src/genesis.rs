//! The first ledger: the root account with every lumen, and the network's settings.

use std::sync::Arc;

use ed25519_dalek::SigningKey;

use crate::accounts::{account_id, new_account};
use crate::entries::{Entries, StoredEntry};
use crate::header::TOTAL_COINS;
use crate::options::{CloseMode, NodeOptions};
use crate::settings::profile::settings;
use crate::xdr::{LedgerEntry, LedgerEntryData, LedgerEntryExt};

/// The ledger time that the network's settings announce when nobody's clock closes ledgers.
const USUAL_CLOSE_MS: u32 = 5_000;

pub fn entries(options: &NodeOptions, network_id: [u8; 32]) -> Entries {
    let target_close_ms = match options.close {
        CloseMode::EveryMs(ms) => u32::try_from(ms).unwrap_or(u32::MAX),
        CloseMode::Manual => USUAL_CLOSE_MS,
    };
    let root = account_id(SigningKey::from_bytes(&network_id).verifying_key().to_bytes());
    let settings = settings(options.limits, target_close_ms).into_iter().map(LedgerEntryData::ConfigSetting);
    let mut entries = Entries::default();
    // The root account's sequence starts at zero, as on every network since the first ledger.
    for data in settings.chain([LedgerEntryData::Account(new_account(root, TOTAL_COINS, 0))]) {
        let entry = LedgerEntry { last_modified_ledger_seq: 1, data, ext: LedgerEntryExt::V0 };
        entries.put(Arc::new(entry.to_key()), StoredEntry { entry: Arc::new(entry), lifetime: None });
    }
    entries
}
