"""The network's settings against the SDK's encoder."""

import pytest
from stellar_sdk import xdr

from farebox.stellar.network_settings import (
    ConfigSettings,
    LedgerLimits,
    ResourceFees,
    TransactionLimits,
    read_network_settings,
    setting_keys,
)

ID = xdr.ConfigSettingID


def i64(value: int) -> xdr.Int64:
    return xdr.Int64(value)


def u32(value: int) -> xdr.Uint32:
    return xdr.Uint32(value)


def mainnet() -> list[xdr.ConfigSettingEntry]:
    """Mainnet as of 2026-10-06; the one negative member is a rent price."""
    cost = xdr.ConfigSettingContractLedgerCostV0(
        ledger_max_disk_read_entries=u32(1_000),
        ledger_max_disk_read_bytes=u32(400_000),
        ledger_max_write_ledger_entries=u32(1_001),
        ledger_max_write_bytes=u32(286_720),
        tx_max_disk_read_entries=u32(200),
        tx_max_disk_read_bytes=u32(200_000),
        tx_max_write_ledger_entries=u32(201),
        tx_max_write_bytes=u32(132_096),
        fee_disk_read_ledger_entry=i64(1_563),
        fee_write_ledger_entry=i64(2_500),
        fee_disk_read1_kb=i64(447),
        soroban_state_target_size_bytes=i64(3_000_000_000),
        rent_fee1_kb_soroban_state_size_low=i64(-17_000),
        rent_fee1_kb_soroban_state_size_high=i64(10_000),
        soroban_state_rent_fee_growth_factor=u32(5_000),
    )
    compute = xdr.ConfigSettingContractComputeV0(
        i64(580_000_000), i64(400_000_000), i64(7), u32(41_943_040)
    )
    bandwidth = xdr.ConfigSettingContractBandwidthV0(u32(266_240), u32(132_097), i64(406))
    return [
        xdr.ConfigSettingEntry(ID.CONFIG_SETTING_CONTRACT_COMPUTE_V0, contract_compute=compute),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_LEDGER_COST_V0, contract_ledger_cost=cost
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_HISTORICAL_DATA_V0,
            contract_historical_data=xdr.ConfigSettingContractHistoricalDataV0(i64(4_059)),
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_EVENTS_V0,
            contract_events=xdr.ConfigSettingContractEventsV0(u32(16_384), i64(5_000)),
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_BANDWIDTH_V0, contract_bandwidth=bandwidth
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_EXECUTION_LANES,
            contract_execution_lanes=xdr.ConfigSettingContractExecutionLanesV0(u32(2_000)),
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_PARALLEL_COMPUTE_V0,
            contract_parallel_compute=xdr.ConfigSettingContractParallelComputeV0(u32(2)),
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_CONTRACT_LEDGER_COST_EXT_V0,
            contract_ledger_cost_ext=xdr.ConfigSettingContractLedgerCostExtV0(u32(400), i64(875)),
        ),
        xdr.ConfigSettingEntry(
            ID.CONFIG_SETTING_SCP_TIMING,
            contract_scp_timing=xdr.ConfigSettingSCPTiming(*(u32(n) for n in (5_000, 1, 2, 3, 4))),
        ),
    ]


def as_entries(settings: list[xdr.ConfigSettingEntry]) -> dict[bytes, bytes]:
    kind = xdr.LedgerEntryType.CONFIG_SETTING
    return {
        xdr.LedgerKey(
            kind, config_setting=xdr.LedgerKeyConfigSetting(setting.config_setting_id)
        ).to_xdr_bytes(): xdr.LedgerEntryData(kind, config_setting=setting).to_xdr_bytes()
        for setting in settings
    }


def test_setting_keys_are_the_keys_of_the_networks_settings() -> None:
    assert set(setting_keys()) == set(as_entries(mainnet()))


def test_settings_of_mainnet_are_read_whole() -> None:
    assert read_network_settings(as_entries(mainnet())) == ConfigSettings(
        transaction=TransactionLimits(
            instructions=400_000_000,
            memory_bytes=41_943_040,
            disk_read_entries=200,
            write_entries=201,
            write_bytes=132_096,
            footprint_entries=400,
            size_bytes=132_097,
            event_bytes=16_384,
        ),
        ledger=LedgerLimits(
            instructions=580_000_000,
            clusters=2,
            disk_read_entries=1_000,
            write_entries=1_001,
            write_bytes=286_720,
            transaction_bytes=266_240,
            transactions=2_000,
        ),
        fees=ResourceFees(
            per_10_000_instructions=7,
            per_disk_read_entry=1_563,
            per_disk_read_kb=447,
            per_write_entry=2_500,
            per_write_kb=875,
            per_historical_kb=4_059,
            per_event_kb=5_000,
            per_transaction_kb=406,
        ),
        target_close_ms=5_000,
    )


@pytest.mark.parametrize("key", setting_keys(), ids=lambda key: f"setting {key[-1]}")
def test_settings_are_none_when_one_is_missing_or_malformed(key: bytes) -> None:
    whole = as_entries(mainnet())
    data = whole[key]
    other_arm = data[:4] + (20).to_bytes(4, "big") + data[8:]
    for wrong in (b"", data[:-1], data[:-4], data + bytes(4), other_arm, bytes(4) + data[4:]):
        assert read_network_settings({**whole, key: wrong}) is None
    assert read_network_settings({k: v for k, v in whole.items() if k != key}) is None


def test_settings_with_a_negative_price_are_none() -> None:
    settings = mainnet()
    settings[2] = xdr.ConfigSettingEntry(
        ID.CONFIG_SETTING_CONTRACT_HISTORICAL_DATA_V0,
        contract_historical_data=xdr.ConfigSettingContractHistoricalDataV0(i64(-1)),
    )
    assert read_network_settings(as_entries(settings)) is None
