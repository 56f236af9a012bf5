"""The network's own settings for contract calls (ConfigSettingEntry), those Farebox uses."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.stellar.xdr_reader import Malformed, XdrReader

_CONFIG_SETTING: Final = 8  # LedgerEntryType, and the arm of its key


class _Setting(IntEnum):
    """ConfigSettingID."""

    COMPUTE = 1
    LEDGER_COST = 2
    HISTORICAL_DATA = 3
    EVENTS = 4
    BANDWIDTH = 5
    EXECUTION_LANES = 11
    PARALLEL_COMPUTE = 14
    LEDGER_COST_EXTENSION = 15
    TIMING = 16


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """The limits on one contract call."""

    instructions: int
    memory_bytes: int
    disk_read_entries: int
    write_entries: int
    write_bytes: int
    footprint_entries: int
    size_bytes: int
    event_bytes: int


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """The limits on the contract calls of one ledger together."""

    instructions: int  # in each cluster
    clusters: int  # that run side by side
    disk_read_entries: int
    write_entries: int
    write_bytes: int
    transaction_bytes: int
    transactions: int


@dataclass(frozen=True, slots=True)
class ResourceFees:
    """Prices in stroops; rent is left to simulation."""

    per_10_000_instructions: int
    per_disk_read_entry: int
    per_disk_read_kb: int
    per_write_entry: int
    per_write_kb: int
    per_historical_kb: int
    per_event_kb: int
    per_transaction_kb: int


@dataclass(frozen=True, slots=True)
class ConfigSettings:
    """Limits, prices and the target close time, as voted by its validators."""

    transaction: TransactionLimits
    ledger: LedgerLimits
    fees: ResourceFees
    target_close_ms: int


def setting_keys() -> tuple[bytes, ...]:
    """The ledger keys (XDR) of the settings that are read."""
    return tuple(_key(setting) for setting in _Setting)


def read_network_settings(entries: Mapping[bytes, bytes]) -> ConfigSettings | None:
    """The settings out of entry data by key; None when one is missing or of another form.

    Strict: a setting with a new member is not understood, and so not used.
    """
    try:
        values = {setting: _read(setting, entries) for setting in _Setting}
    except Malformed:
        return None
    if any(value < 0 for setting in values.values() for value in setting):
        return None
    return _config_settings(values)


def _config_settings(values: Mapping[_Setting, tuple[int, ...]]) -> ConfigSettings:
    compute, cost = values[_Setting.COMPUTE], values[_Setting.LEDGER_COST]
    bandwidth, extension = values[_Setting.BANDWIDTH], values[_Setting.LEDGER_COST_EXTENSION]
    events = values[_Setting.EVENTS]
    return ConfigSettings(
        transaction=TransactionLimits(
            instructions=compute[1],
            memory_bytes=compute[3],
            disk_read_entries=cost[4],
            write_entries=cost[6],
            write_bytes=cost[7],
            footprint_entries=extension[0],
            size_bytes=bandwidth[1],
            event_bytes=events[0],
        ),
        ledger=LedgerLimits(
            instructions=compute[0],
            clusters=values[_Setting.PARALLEL_COMPUTE][0],
            disk_read_entries=cost[0],
            write_entries=cost[2],
            write_bytes=cost[3],
            transaction_bytes=bandwidth[0],
            transactions=values[_Setting.EXECUTION_LANES][0],
        ),
        fees=ResourceFees(
            per_10_000_instructions=compute[2],
            per_disk_read_entry=cost[8],
            per_disk_read_kb=cost[10],
            per_write_entry=cost[9],
            per_write_kb=extension[1],
            per_historical_kb=values[_Setting.HISTORICAL_DATA][0],
            per_event_kb=events[1],
            per_transaction_kb=bandwidth[2],
        ),
        target_close_ms=values[_Setting.TIMING][0],
    )


def _key(setting: _Setting) -> bytes:
    return struct.pack(">II", _CONFIG_SETTING, setting)


def _read(setting: _Setting, entries: Mapping[bytes, bytes]) -> tuple[int, ...]:
    """The members of one setting, in their order on the wire."""
    data = entries.get(_key(setting))
    if data is None:
        raise Malformed
    reader = XdrReader(data)
    reader.expect(_CONFIG_SETTING)
    reader.expect(setting)
    values = tuple(read(reader) for read in _FORMS[setting])
    reader.finish()
    return values[: len(values) - _RENT_MEMBERS] if setting is _Setting.LEDGER_COST else values


_INT: Final[Callable[[XdrReader], int]] = XdrReader.uint32
_LONG: Final[Callable[[XdrReader], int]] = XdrReader.int64
_RENT_MEMBERS: Final = 4  # one of them is negative on a network with little state
_FORMS: Final[Mapping[_Setting, tuple[Callable[[XdrReader], int], ...]]] = {
    _Setting.COMPUTE: (_LONG, _LONG, _LONG, _INT),
    _Setting.LEDGER_COST: (_INT,) * 8 + (_LONG,) * 6 + (_INT,),
    _Setting.HISTORICAL_DATA: (_LONG,),
    _Setting.EVENTS: (_INT, _LONG),
    _Setting.BANDWIDTH: (_INT, _INT, _LONG),
    _Setting.EXECUTION_LANES: (_INT,),
    _Setting.PARALLEL_COMPUTE: (_INT,),
    _Setting.LEDGER_COST_EXTENSION: (_INT, _LONG),
    _Setting.TIMING: (_INT,) * 5,
}
