//! Entries written into a ledger past every rule, for setting up a scene quickly.

use std::collections::HashMap;
use std::sync::Arc;

use soroban_simulation::NetworkConfig;

use crate::codec::key_hash;
use crate::entries::{Entries, Lifetime, StoredEntry};
use crate::host::{Moment, load_config, modules::Modules};
use crate::ledger_keys::is_soroban_key;
use crate::record::LedgerState;
use crate::settings::TransactionLimits;
use crate::xdr::{LedgerEntry, LedgerEntryData};

/// Writes `injected` and returns the settings that hold from now on.
///
/// A contract entry lives as long as the Ttl entry beside it says, else as long as a new persistent one.
pub fn write(
    injected: Vec<LedgerEntry>,
    entries: &mut Entries,
    previous: &LedgerState,
    modules: &Modules,
    now: &Moment,
) -> (Arc<NetworkConfig>, Arc<TransactionLimits>) {
    let mut lifetimes = HashMap::new();
    for entry in &injected {
        if let LedgerEntryData::Ttl(ttl) = &entry.data {
            lifetimes.insert(ttl.key_hash.0, ttl.live_until_ledger_seq);
        }
    }
    let usual = now.sequence.saturating_add(previous.config.min_persistent_entry_ttl).saturating_sub(1);
    let mut settings_changed = false;
    for mut entry in injected {
        let key = entry.to_key();
        match &entry.data {
            LedgerEntryData::Ttl(_) => continue,
            LedgerEntryData::ConfigSetting(_) => settings_changed = true,
            LedgerEntryData::ContractCode(code) => {
                if let Err(error) = modules.add(&code.code) {
                    eprintln!("an injected contract is not in the module cache: {error:?}");
                }
            }
            _ => {}
        }
        entry.last_modified_ledger_seq = now.sequence;
        let lifetime = is_soroban_key(&key).then(|| Lifetime {
            live_until: lifetimes.get(&key_hash(&key)).copied().unwrap_or(usual),
            modified_at: now.sequence,
        });
        entries.put(Arc::new(key), StoredEntry { entry: Arc::new(entry), lifetime });
    }
    let unchanged = (previous.config.clone(), previous.limits.clone());
    if !settings_changed {
        return unchanged;
    }
    match (load_config(entries), TransactionLimits::read(entries)) {
        (Ok(config), Ok(limits)) => (Arc::new(config), Arc::new(limits)),
        _ => unchanged,
    }
}
