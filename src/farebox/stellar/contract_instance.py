"""The ledger entry of a contract's instance: its key, and the code that the contract runs."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.scval import (
    MAX_BLOB_BYTES,
    ScBytes,
    ScKind,
    ScMap,
    ScValue,
    read_address,
    read_map_entries,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader

_CONTRACT_DATA: Final = 6  # LedgerEntryType, and the arm of its key
_CONTRACT: Final = 1  # SCAddressType
_PERSISTENT: Final = 1  # ContractDataDurability
_MAX_ITEMS: Final = 8_000


class _Executable(IntEnum):
    WASM = 0
    ASSET = 1
    EXTERNAL = 2


@dataclass(frozen=True, slots=True)
class WasmCode:
    """Code of its own, by its hash."""

    wasm_hash: bytes


@dataclass(frozen=True, slots=True)
class AssetCode:
    """The network's own code for a classic asset; `name` is the one in the contract's metadata."""

    name: str | None


@dataclass(frozen=True, slots=True)
class ExternalCode:
    """Code chosen by another contract or account, which may exchange it (CAP-85)."""

    owner: Address | None


ContractCode = WasmCode | AssetCode | ExternalCode


def instance_key(contract: Address) -> bytes:
    """The ledger key (XDR) of a C… contract's instance."""
    return (
        struct.pack(">II", _CONTRACT_DATA, _CONTRACT)
        + raw_key(contract)
        + struct.pack(">II", ScKind.LEDGER_KEY_CONTRACT_INSTANCE, _PERSISTENT)
    )


def read_contract_code(data: bytes, contract: Address) -> ContractCode | None:
    """Read the code of the instance of `contract`; None when `data` is not that instance."""
    reader = XdrReader(data)
    try:
        reader.expect(_CONTRACT_DATA)
        reader.expect(0)  # the one extension
        if not reader.take(instance_key(contract)[4:]):
            return None
        reader.expect(ScKind.CONTRACT_INSTANCE)
        return _read_code(reader)
    except Malformed:
        return None


def read_instance_storage(data: bytes, contract: Address) -> ScMap | None:
    """Read what a contract with code of its own keeps in its instance; None for any other data."""
    reader = XdrReader(data, max_items=_MAX_ITEMS)
    try:
        reader.expect(_CONTRACT_DATA)
        reader.expect(0)  # the one extension
        if not reader.take(instance_key(contract)[4:]):
            return None
        reader.expect(ScKind.CONTRACT_INSTANCE)
        reader.expect(_Executable.WASM)
        reader.skip(32)
        return ScMap(read_map_entries(reader))
    except Malformed:
        return None


def _read_code(reader: XdrReader) -> ContractCode:
    arm = reader.uint32()
    if arm == _Executable.WASM:
        return WasmCode(reader.fixed(32))
    if arm == _Executable.ASSET:
        return AssetCode(_name(ScMap(read_map_entries(reader))))
    if arm == _Executable.EXTERNAL:
        owner = read_address(reader)
        reader.opaque(MAX_BLOB_BYTES)  # the tag
        return ExternalCode(owner.plain)
    raise Malformed


def _name(storage: ScMap) -> str | None:
    """`native` or `CODE:ISSUER`, from the token metadata in the instance's storage."""
    name = _member(_member(storage, b"METADATA"), b"name")
    if isinstance(name, ScBytes) and name.kind is ScKind.STRING:
        return name.raw.decode("ascii", "replace")
    return None


def _member(value: ScValue | None, name: bytes) -> ScValue | None:
    entries = value.entries if isinstance(value, ScMap) else None
    return next((held for key, held in entries or () if key == ScBytes(ScKind.SYMBOL, name)), None)
