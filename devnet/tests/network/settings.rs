//! The network's settings are ledger entries, and the host's cost model is the one that was frozen.

use crate::support::*;
use farebox_devnet::host::load_config;
use farebox_devnet::node::Node;
use farebox_devnet::options::{CloseMode, LimitsProfile, NodeOptions};
use farebox_devnet::settings::cost_parameters::COST_PARAMETERS;
use farebox_devnet::xdr::*;
use soroban_env_host::budget::Budget;

#[test]
fn the_crate_still_prints_the_frozen_cost_parameters() {
    let printed = format!("{:?}", Budget::default());
    let variants = ContractCostType::variants();
    assert_eq!(variants.len(), COST_PARAMETERS.len());
    for (kind, frozen) in variants.iter().zip(COST_PARAMETERS) {
        let name = format!("{kind:?}");
        let row = printed
            .lines()
            .find(|line| line.split_whitespace().next() == Some(&name))
            .unwrap_or_else(|| panic!("{name} is printed"));
        let columns: Vec<&str> = row.split_whitespace().collect();
        let numbers: Vec<i64> =
            columns[columns.len() - 4..].iter().map(|column| column.parse().unwrap()).collect();
        assert_eq!(numbers, frozen, "{name}");
    }
}

fn node(limits: LimitsProfile, close: CloseMode) -> Node {
    Node::start(NodeOptions { limits, close, simulation_threads: 1, ..NodeOptions::new(PASSPHRASE) })
}

fn setting(node: &Node, config_setting_id: ConfigSettingId) -> ConfigSettingEntry {
    let key = LedgerKey::ConfigSetting(LedgerKeyConfigSetting { config_setting_id });
    match node.state().entries.get(&key).expect("the setting is an entry").0.data.clone() {
        LedgerEntryData::ConfigSetting(setting) => setting,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_profile_is_read_back_from_its_own_ledger_entries() {
    let expected = [
        (LimitsProfile::Mainnet, 400_000_000, 266_240, 7),
        (LimitsProfile::Testnet, 100_000_000, 133_120, 7),
        (LimitsProfile::Slp7, 400_000_000, 864_000, 4),
        (LimitsProfile::Unlimited, i64::from(u32::MAX), u32::MAX, 7),
    ];
    for (profile, instructions, ledger_bytes, instruction_price) in expected {
        let node = node(profile, CloseMode::Manual);
        let state = node.state();
        let ConfigSettingEntry::ContractComputeV0(compute) =
            setting(&node, ConfigSettingId::ContractComputeV0)
        else {
            panic!("the compute setting has its own type")
        };
        assert_eq!(compute.tx_max_instructions, instructions);
        assert_eq!(compute.fee_rate_per_instructions_increment, instruction_price);
        let ConfigSettingEntry::ContractBandwidthV0(bandwidth) =
            setting(&node, ConfigSettingId::ContractBandwidthV0)
        else {
            panic!("the bandwidth setting has its own type")
        };
        assert_eq!(bandwidth.ledger_max_txs_size_bytes, ledger_bytes);
        assert_eq!(load_config(&state.entries).unwrap(), *state.config);
        assert_eq!(i64::from(state.limits.instructions), instructions);
    }
}

#[test]
fn the_announced_ledger_time_is_the_one_the_clock_keeps() {
    let announced = |close| match setting(&node(LimitsProfile::Mainnet, close), ConfigSettingId::ScpTiming) {
        ConfigSettingEntry::ScpTiming(timing) => timing.ledger_target_close_time_milliseconds,
        other => panic!("{other:?}"),
    };
    assert_eq!(announced(CloseMode::Manual), 5_000);
    assert_eq!(announced(CloseMode::EveryMs(750)), 750);
}

#[test]
fn a_setting_written_by_the_scene_holds_from_that_ledger_on() {
    let network = network();
    let ConfigSettingEntry::ContractBandwidthV0(bandwidth) =
        setting(&network.node, ConfigSettingId::ContractBandwidthV0)
    else {
        panic!("the bandwidth setting has its own type")
    };
    let changed = ConfigSettingContractBandwidthV0 { tx_max_size_bytes: 7_000, ..bandwidth };
    network.inject(vec![LedgerEntry {
        last_modified_ledger_seq: 0,
        data: LedgerEntryData::ConfigSetting(ConfigSettingEntry::ContractBandwidthV0(changed)),
        ext: LedgerEntryExt::V0,
    }]);
    assert_eq!(network.node.state().limits.envelope_bytes, 7_000);
}
