//! What `--limits` puts into the genesis ledger, as the network's own ConfigSetting entries.

use crate::options::LimitsProfile;
use crate::settings::cost_parameters;
use crate::xdr::{
    ConfigSettingContractBandwidthV0, ConfigSettingContractComputeV0, ConfigSettingContractEventsV0,
    ConfigSettingContractExecutionLanesV0, ConfigSettingContractHistoricalDataV0,
    ConfigSettingContractLedgerCostExtV0, ConfigSettingContractLedgerCostV0,
    ConfigSettingContractParallelComputeV0, ConfigSettingEntry as Setting, ConfigSettingScpTiming,
    EvictionIterator, FreezeBypassTxs, FrozenLedgerKeys, StateArchivalSettings, VecM,
};

/// Bytes of Soroban state that the rent price is computed from, as mainnet's window averages it.
const LIVE_SOROBAN_STATE_BYTES: u64 = 700_000_000;
const STATE_SIZE_SAMPLES: u32 = 30;

/// The numbers in which the profiles differ; sizes are bytes, fees stroops.
#[derive(Clone, Copy)]
struct Numbers {
    ledger_instructions: i64,
    tx_instructions: i64,
    tx_memory: u32,
    tx_footprint_entries: u32,
    tx_disk_read_entries: u32,
    tx_disk_read_bytes: u32,
    tx_write_entries: u32,
    tx_write_bytes: u32,
    tx_size: u32,
    tx_events: u32,
    ledger_disk_read_entries: u32,
    ledger_disk_read_bytes: u32,
    ledger_write_entries: u32,
    ledger_write_bytes: u32,
    ledger_txs_size: u32,
    ledger_tx_count: u32,
    clusters: u32,
    min_persistent_ttl: u32,
    min_temporary_ttl: u32,
    contract_size: u32,
    key_size: u32,
    entry_size: u32,
    /// Soroban resource prices are divided by this, rounded up.
    price_divisor: i64,
}

const MAINNET: Numbers = Numbers {
    ledger_instructions: 580_000_000,
    tx_instructions: 400_000_000,
    tx_memory: 41_943_040,
    tx_footprint_entries: 400,
    tx_disk_read_entries: 200,
    tx_disk_read_bytes: 200_000,
    tx_write_entries: 200,
    tx_write_bytes: 132_096,
    tx_size: 132_096,
    tx_events: 16_384,
    ledger_disk_read_entries: 1_000,
    ledger_disk_read_bytes: 400_000,
    ledger_write_entries: 1_000,
    ledger_write_bytes: 286_720,
    ledger_txs_size: 266_240,
    ledger_tx_count: 2_000,
    clusters: 2,
    min_persistent_ttl: 2_073_600,
    min_temporary_ttl: 17_280,
    contract_size: 131_072,
    key_size: 250,
    entry_size: 65_536,
    price_divisor: 1,
};

const TESTNET: Numbers = Numbers {
    ledger_instructions: 500_000_000,
    tx_instructions: 100_000_000,
    tx_footprint_entries: 100,
    tx_disk_read_entries: 100,
    tx_write_entries: 50,
    ledger_disk_read_entries: 500,
    ledger_disk_read_bytes: 3_500_000,
    ledger_write_entries: 250,
    ledger_write_bytes: 143_360,
    ledger_txs_size: 133_120,
    ledger_tx_count: 100,
    min_persistent_ttl: 120_960,
    min_temporary_ttl: 720,
    ..MAINNET
};

const SLP7: Numbers = Numbers {
    ledger_disk_read_entries: 2_000,
    ledger_write_entries: 2_000,
    ledger_write_bytes: 297_000,
    ledger_txs_size: 864_000,
    clusters: 4,
    price_divisor: 2,
    ..MAINNET
};

const UNLIMITED: Numbers = Numbers {
    ledger_instructions: i64::MAX / 4,
    tx_instructions: u32::MAX as i64,
    tx_memory: u32::MAX,
    tx_footprint_entries: u32::MAX,
    tx_disk_read_entries: u32::MAX,
    tx_disk_read_bytes: u32::MAX,
    tx_write_entries: u32::MAX,
    tx_write_bytes: u32::MAX,
    tx_size: u32::MAX,
    tx_events: u32::MAX,
    ledger_disk_read_entries: u32::MAX,
    ledger_disk_read_bytes: u32::MAX,
    ledger_write_entries: u32::MAX,
    ledger_write_bytes: u32::MAX,
    ledger_txs_size: u32::MAX,
    ledger_tx_count: u32::MAX,
    contract_size: u32::MAX,
    entry_size: u32::MAX,
    ..MAINNET
};

/// Every ConfigSetting entry of a network with this profile that aims at a ledger every `target_close_ms`.
pub fn settings(profile: LimitsProfile, target_close_ms: u32) -> Vec<Setting> {
    let numbers = match profile {
        LimitsProfile::Mainnet => MAINNET,
        LimitsProfile::Testnet => TESTNET,
        LimitsProfile::Slp7 => SLP7,
        LimitsProfile::Unlimited => UNLIMITED,
    };
    let mut settings = sizes_and_archival(&numbers);
    settings.extend(priced(&numbers));
    settings.push(Setting::ScpTiming(ConfigSettingScpTiming {
        ledger_target_close_time_milliseconds: target_close_ms,
        nomination_timeout_initial_milliseconds: 1_000,
        nomination_timeout_increment_milliseconds: 1_000,
        ballot_timeout_initial_milliseconds: 1_000,
        ballot_timeout_increment_milliseconds: 1_000,
    }));
    settings
}

fn sizes_and_archival(numbers: &Numbers) -> Vec<Setting> {
    let window = vec![LIVE_SOROBAN_STATE_BYTES; STATE_SIZE_SAMPLES as usize];
    vec![
        Setting::ContractMaxSizeBytes(numbers.contract_size),
        Setting::ContractDataKeySizeBytes(numbers.key_size),
        Setting::ContractDataEntrySizeBytes(numbers.entry_size),
        Setting::ContractCostParamsCpuInstructions(cost_parameters::cpu_instructions()),
        Setting::ContractCostParamsMemoryBytes(cost_parameters::memory_bytes()),
        Setting::StateArchival(StateArchivalSettings {
            max_entry_ttl: 3_110_400,
            min_temporary_ttl: numbers.min_temporary_ttl,
            min_persistent_ttl: numbers.min_persistent_ttl,
            persistent_rent_rate_denominator: 1_215,
            temp_rent_rate_denominator: 2_430,
            max_entries_to_archive: 1_000,
            live_soroban_state_size_window_sample_size: STATE_SIZE_SAMPLES,
            live_soroban_state_size_window_sample_period: 64,
            eviction_scan_size: 500_000,
            starting_eviction_scan_level: 7,
        }),
        Setting::LiveSorobanStateSizeWindow(window.try_into().unwrap_or_default()),
        Setting::EvictionIterator(EvictionIterator {
            bucket_list_level: 7,
            is_curr_bucket: true,
            bucket_file_offset: 0,
        }),
        Setting::ContractParallelComputeV0(ConfigSettingContractParallelComputeV0 {
            ledger_max_dependent_tx_clusters: numbers.clusters,
        }),
        Setting::ContractExecutionLanes(ConfigSettingContractExecutionLanesV0 {
            ledger_max_tx_count: numbers.ledger_tx_count,
        }),
        Setting::FrozenLedgerKeys(FrozenLedgerKeys { keys: VecM::default() }),
        Setting::FreezeBypassTxs(FreezeBypassTxs { tx_hashes: VecM::default() }),
    ]
}

fn priced(numbers: &Numbers) -> Vec<Setting> {
    let price = |stroops: i64| (stroops + numbers.price_divisor - 1) / numbers.price_divisor;
    vec![
        Setting::ContractComputeV0(ConfigSettingContractComputeV0 {
            ledger_max_instructions: numbers.ledger_instructions,
            tx_max_instructions: numbers.tx_instructions,
            fee_rate_per_instructions_increment: price(7),
            tx_memory_limit: numbers.tx_memory,
        }),
        Setting::ContractLedgerCostV0(ConfigSettingContractLedgerCostV0 {
            ledger_max_disk_read_entries: numbers.ledger_disk_read_entries,
            ledger_max_disk_read_bytes: numbers.ledger_disk_read_bytes,
            ledger_max_write_ledger_entries: numbers.ledger_write_entries,
            ledger_max_write_bytes: numbers.ledger_write_bytes,
            tx_max_disk_read_entries: numbers.tx_disk_read_entries,
            tx_max_disk_read_bytes: numbers.tx_disk_read_bytes,
            tx_max_write_ledger_entries: numbers.tx_write_entries,
            tx_max_write_bytes: numbers.tx_write_bytes,
            fee_disk_read_ledger_entry: price(1_563),
            fee_write_ledger_entry: price(2_500),
            fee_disk_read1_kb: price(447),
            soroban_state_target_size_bytes: 3_000_000_000,
            rent_fee1_kb_soroban_state_size_low: -17_000 / numbers.price_divisor,
            rent_fee1_kb_soroban_state_size_high: price(10_000),
            soroban_state_rent_fee_growth_factor: 5_000,
        }),
        Setting::ContractLedgerCostExtV0(ConfigSettingContractLedgerCostExtV0 {
            tx_max_footprint_entries: numbers.tx_footprint_entries,
            fee_write1_kb: price(875),
        }),
        Setting::ContractHistoricalDataV0(ConfigSettingContractHistoricalDataV0 {
            fee_historical1_kb: price(4_059),
        }),
        Setting::ContractEventsV0(ConfigSettingContractEventsV0 {
            tx_max_contract_events_size_bytes: numbers.tx_events,
            fee_contract_events1_kb: price(5_000),
        }),
        Setting::ContractBandwidthV0(ConfigSettingContractBandwidthV0 {
            ledger_max_txs_size_bytes: numbers.ledger_txs_size,
            tx_max_size_bytes: numbers.tx_size,
            fee_tx_size1_kb: price(406),
        }),
    ]
}
