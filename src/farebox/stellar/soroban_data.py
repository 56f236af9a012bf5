"""The resource part of a transaction (SorobanTransactionData): checked whole, read where needed."""

import struct
from dataclasses import dataclass
from typing import Final

from farebox.stellar.scval import skip_address, skip_value
from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_FOOTPRINT_KEYS: Final = 1_000  # pubnet admits 400
_DATA_NAME_MAX_BYTES: Final = 64
_CONFIG_SETTINGS: Final = 21
_DURABILITIES: Final = 2
_NUMBERS: Final = struct.Struct(">IIIq")  # instructions, bytes read and written, resource fee


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources a transaction declares, and the fee for them."""

    read_only_keys: int
    read_write_keys: int
    archived_entries: int  # restored on the way, at the fee payer's cost
    instructions: int
    disk_read_bytes: int
    write_bytes: int
    resource_fee: int  # stroops


def read_resources(reader: XdrReader) -> Resources:
    """The resource data at the cursor.

    Raises:
        Malformed: an unknown arm, a negative fee, or more keys than the bound.
    """
    has_archived = reader.flag()  # extension arm 1 lists them, arm 0 has none
    archived = reader.count(MAX_FOOTPRINT_KEYS) if has_archived else 0
    reader.skip(4 * archived)
    read_only = _skip_keys(reader)
    read_write = _skip_keys(reader)
    numbers = reader.fixed(_NUMBERS.size)
    instructions, disk_read_bytes, write_bytes, resource_fee = _NUMBERS.unpack(numbers)
    if resource_fee < 0:
        raise Malformed
    return Resources(
        read_only_keys=read_only,
        read_write_keys=read_write,
        archived_entries=archived,
        instructions=instructions,
        disk_read_bytes=disk_read_bytes,
        write_bytes=write_bytes,
        resource_fee=resource_fee,
    )


def skip_asset(reader: XdrReader) -> None:
    """Move past a classic asset: native, or a code of 4 or 12 bytes with its issuer."""
    if not _skip_asset_arm(reader, reader.uint32()):
        raise Malformed


def _skip_asset_arm(reader: XdrReader, arm: int) -> bool:
    if arm == 1:
        reader.skip(4)
        reader.skip_only_arm(32)  # the issuer
    elif arm == 2:
        reader.skip(12)
        reader.skip_only_arm(32)  # the issuer
    return arm <= 2


def _skip_keys(reader: XdrReader) -> int:
    keys = reader.count(MAX_FOOTPRINT_KEYS)
    for _ in range(keys):
        arm = reader.uint32()
        if arm >= len(_LEDGER_KEYS):
            raise Malformed
        _LEDGER_KEYS[arm](reader)
    return keys


def _skip_account(reader: XdrReader) -> None:
    reader.skip_only_arm(32)  # the one kind of public key


def _skip_trust_line(reader: XdrReader) -> None:
    reader.skip_only_arm(32)
    arm = reader.uint32()
    if arm == 3:  # a share of a liquidity pool
        reader.skip(32)
    elif not _skip_asset_arm(reader, arm):
        raise Malformed


def _skip_offer(reader: XdrReader) -> None:
    reader.skip_only_arm(32)
    reader.skip(8)


def _skip_data(reader: XdrReader) -> None:
    reader.skip_only_arm(32)
    reader.opaque(_DATA_NAME_MAX_BYTES)


def _skip_hash(reader: XdrReader) -> None:
    reader.skip(32)


def _skip_contract_data(reader: XdrReader) -> None:
    skip_address(reader)
    skip_value(reader)
    if reader.uint32() >= _DURABILITIES:
        raise Malformed


def _skip_config_setting(reader: XdrReader) -> None:
    if reader.uint32() >= _CONFIG_SETTINGS:
        raise Malformed


_LEDGER_KEYS: Final = (  # by arm of LedgerKey
    _skip_account,
    _skip_trust_line,
    _skip_offer,
    _skip_data,
    _skip_account,  # claimable balance: one kind of id as well
    _skip_hash,  # liquidity pool
    _skip_contract_data,
    _skip_hash,  # contract code
    _skip_config_setting,
    _skip_hash,  # time to live
)
