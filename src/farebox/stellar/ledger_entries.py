"""Ledger entries: their keys, an account's balance and reserves, a contract's code."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import AccountState
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

_ACCOUNT: Final = 0  # LedgerEntryType, and the arm of its key
_ED25519: Final = 0  # PublicKeyType
_RESERVE: Final = 5_000_000  # stroops an entry, on every public network for years
_OWN_ENTRIES: Final = 2  # an account itself counts as two
_MAX_SIGNERS: Final = 20
_DOMAIN_BYTES: Final = 32
_THRESHOLD_BYTES: Final = 4
_KEY_BYTES: Final = 32
_PAYLOAD_SIGNER: Final = 3
_MAX_PAYLOAD_BYTES: Final = 64


def account_key(account: Address) -> bytes:
    """The ledger key (XDR) of a G… account."""
    return struct.pack(">II", _ACCOUNT, _ED25519) + raw_key(account)


def read_account(data: bytes, account: Address, *, as_of_ledger: int) -> AccountState | None:
    """Read balance and sequence number of `account`; None when `data` is not that account's entry.

    The fields after its reserves are not read: they differ between protocols.
    """
    reader = XdrReader(data)
    try:
        if not reader.take(account_key(account)):
            return None
        balance, sequence = reader.int64(), reader.int64()
    except Malformed:
        return None
    if balance < 0 or sequence < 0:
        return None
    return AccountState(sequence, Stroops(balance), as_of_ledger, Stroops(_reserved(reader)))


def _reserved(reader: XdrReader) -> int:
    """The stroops reserved, by the fields after the sequence number; 0 for an unknown form."""
    try:
        entries = reader.uint32()
        if reader.flag():
            _skip_key(reader)  # the inflation destination
        reader.skip(4)  # flags
        reader.opaque(_DOMAIN_BYTES)
        reader.skip(_THRESHOLD_BYTES)
        for _ in range(reader.count(_MAX_SIGNERS)):
            _skip_signer(reader)
        selling, sponsored, sponsoring = 0, 0, 0
        if reader.uint32() == 1:
            reader.int64()  # bought by its offers
            selling = reader.int64()
            if reader.uint32() == 2:
                sponsored, sponsoring = reader.uint32(), reader.uint32()
    except Malformed:
        return 0
    return (_OWN_ENTRIES + entries + sponsoring - sponsored) * _RESERVE + selling


def _skip_key(reader: XdrReader) -> None:
    reader.expect(_ED25519)
    reader.skip(_KEY_BYTES)


def _skip_signer(reader: XdrReader) -> None:
    kind = reader.uint32()
    reader.skip(_KEY_BYTES)
    if kind == _PAYLOAD_SIGNER:
        reader.opaque(_MAX_PAYLOAD_BYTES)
    reader.skip(4)  # its weight


_CONTRACT_DATA: Final = 6  # LedgerEntryType, and the arm of its key
_CONTRACT: Final = 1  # SCAddressType
_PERSISTENT: Final = 1  # ContractDataDurability


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
