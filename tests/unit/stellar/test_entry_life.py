"""The longest life of an entry, against the SDK's encoder."""

from stellar_sdk import xdr

from farebox.stellar.entry_life import ARCHIVAL_KEY, read_max_entry_ttl


def settings(most: int) -> xdr.LedgerEntryData:
    """The settings of archival, of which the first is the longest life."""
    archival = xdr.StateArchivalSettings(
        max_entry_ttl=xdr.Uint32(most),
        min_temporary_ttl=xdr.Uint32(16),
        min_persistent_ttl=xdr.Uint32(4_096),
        persistent_rent_rate_denominator=xdr.Int64(1),
        temp_rent_rate_denominator=xdr.Int64(2),
        max_entries_to_archive=xdr.Uint32(3),
        live_soroban_state_size_window_sample_size=xdr.Uint32(4),
        live_soroban_state_size_window_sample_period=xdr.Uint32(5),
        eviction_scan_size=xdr.Uint32(6),
        starting_eviction_scan_level=xdr.Uint32(7),
    )
    entry = xdr.ConfigSettingEntry(
        xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL, state_archival_settings=archival
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.CONFIG_SETTING, config_setting=entry)


def test_key_is_that_of_the_settings_of_archival() -> None:
    named = xdr.LedgerKeyConfigSetting(xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL)
    key = xdr.LedgerKey(xdr.LedgerEntryType.CONFIG_SETTING, config_setting=named)
    assert key.to_xdr_bytes() == ARCHIVAL_KEY


def test_longest_life_is_read_from_the_settings() -> None:
    assert read_max_entry_ttl(settings(3_110_400).to_xdr_bytes()) == 3_110_400


def test_other_data_has_no_longest_life() -> None:
    whole = settings(3_110_400).to_xdr_bytes()
    assert read_max_entry_ttl(b"") is None
    assert read_max_entry_ttl(whole[:10]) is None
    assert read_max_entry_ttl(whole[4:]) is None
