//! What one transaction and one ledger may use, read from the ledger's ConfigSetting entries.

use crate::entries::Entries;
use crate::header::MAX_CLASSIC_OPERATIONS;
use crate::ledger_space::{LedgerLimits, Space};
use crate::xdr::{ConfigSettingEntry, ConfigSettingId, LedgerEntryData, LedgerKey, LedgerKeyConfigSetting};

/// Limits of one Soroban transaction, the size limits of what it stores, and those of a whole ledger.
///
/// All sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionLimits {
    pub instructions: u32,
    pub disk_read_entries: u32,
    pub disk_read_bytes: u32,
    pub write_entries: u32,
    pub write_bytes: u32,
    pub footprint_entries: u32,
    pub envelope_bytes: u32,
    pub event_bytes: u32,
    pub contract_bytes: u32,
    pub key_bytes: u32,
    pub entry_bytes: u32,
    /// How long a ledger is meant to take.
    pub target_close_ms: u32,
    pub ledger: LedgerLimits,
}

/// A setting that the ledger should hold and does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingSetting(pub ConfigSettingId);

impl TransactionLimits {
    pub fn read(entries: &Entries) -> Result<TransactionLimits, MissingSetting> {
        macro_rules! setting {
            ($name:ident) => {
                match find(entries, ConfigSettingId::$name) {
                    Some(ConfigSettingEntry::$name(value)) => value,
                    _ => return Err(MissingSetting(ConfigSettingId::$name)),
                }
            };
        }
        let compute = setting!(ContractComputeV0);
        let cost = setting!(ContractLedgerCostV0);
        let cost_ext = setting!(ContractLedgerCostExtV0);
        let bandwidth = setting!(ContractBandwidthV0);
        let clusters = setting!(ContractParallelComputeV0).ledger_max_dependent_tx_clusters;
        let cluster_instructions = u64::try_from(compute.ledger_max_instructions).unwrap_or(0);
        let soroban = Space {
            operations: setting!(ContractExecutionLanes).ledger_max_tx_count.into(),
            bytes: bandwidth.ledger_max_txs_size_bytes.into(),
            instructions: cluster_instructions.saturating_mul(clusters.into()),
            disk_read_entries: cost.ledger_max_disk_read_entries.into(),
            disk_read_bytes: cost.ledger_max_disk_read_bytes.into(),
            write_entries: cost.ledger_max_write_ledger_entries.into(),
            write_bytes: cost.ledger_max_write_bytes.into(),
        };
        let classic = Space { operations: MAX_CLASSIC_OPERATIONS.into(), ..Space::default() };
        let clusters = clusters as usize;
        Ok(TransactionLimits {
            ledger: LedgerLimits { classic, soroban, cluster_instructions, clusters },
            instructions: u32::try_from(compute.tx_max_instructions).unwrap_or(u32::MAX),
            disk_read_entries: cost.tx_max_disk_read_entries,
            disk_read_bytes: cost.tx_max_disk_read_bytes,
            write_entries: cost.tx_max_write_ledger_entries,
            write_bytes: cost.tx_max_write_bytes,
            footprint_entries: cost_ext.tx_max_footprint_entries,
            envelope_bytes: bandwidth.tx_max_size_bytes,
            event_bytes: setting!(ContractEventsV0).tx_max_contract_events_size_bytes,
            contract_bytes: setting!(ContractMaxSizeBytes),
            key_bytes: setting!(ContractDataKeySizeBytes),
            entry_bytes: setting!(ContractDataEntrySizeBytes),
            target_close_ms: setting!(ScpTiming).ledger_target_close_time_milliseconds,
        })
    }
}

fn find(entries: &Entries, config_setting_id: ConfigSettingId) -> Option<ConfigSettingEntry> {
    let key = LedgerKey::ConfigSetting(LedgerKeyConfigSetting { config_setting_id });
    match &entries.get(&key)?.0.data {
        LedgerEntryData::ConfigSetting(setting) => Some(setting.clone()),
        _ => None,
    }
}
