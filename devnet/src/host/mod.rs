//! The only place that calls the Soroban host; everything outside speaks entries and results.

pub mod diagnostics;
pub mod event_log;
pub mod fees;
pub mod invoke;
pub mod modules;
pub mod simulate;

use std::rc::Rc;

use soroban_env_host::storage::{EntryWithLiveUntil, SnapshotSource};
use soroban_env_host::{HostError, LedgerInfo};
use soroban_simulation::NetworkConfig;

use crate::accounts::BASE_RESERVE;
use crate::entries::Entries;
use crate::xdr::LedgerKey;

/// The one protocol the host speaks.
pub const PROTOCOL_VERSION: u32 = 30;

/// Which ledger a call believes to be in.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub network_id: [u8; 32],
    pub sequence: u32,
    pub close_time_s: u64,
}

impl Moment {
    fn ledger_info(&self, config: &NetworkConfig) -> LedgerInfo {
        let mut info = LedgerInfo {
            protocol_version: PROTOCOL_VERSION,
            sequence_number: self.sequence,
            timestamp: self.close_time_s,
            network_id: self.network_id,
            base_reserve: BASE_RESERVE,
            ..Default::default()
        };
        config.fill_config_fields_in_ledger_info(&mut info);
        info
    }
}

/// A closed ledger in the form the host reads; it belongs to one thread.
struct Snapshot(Entries);

impl SnapshotSource for Snapshot {
    fn get(&self, key: &Rc<LedgerKey>) -> Result<Option<EntryWithLiveUntil>, HostError> {
        Ok(self.0.get(key).map(|(entry, live_until)| (Rc::new((*entry).clone()), live_until)))
    }
}

/// The network's configuration as the host reads it from the ledger's own entries.
pub fn load_config(entries: &Entries) -> anyhow::Result<NetworkConfig> {
    NetworkConfig::load_from_snapshot(&Snapshot(entries.clone()))
}
