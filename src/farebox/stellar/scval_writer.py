"""The XDR of contract values (SCVal), the inverse of `read_value` in `scval.py`."""

from collections.abc import Iterable
from typing import Final, assert_never

from farebox.kernel.addresses import Address, is_account, raw_key
from farebox.stellar.scval import (
    NUMBER_WIDTHS,
    AddressKind,
    ScAddress,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScOther,
    ScValue,
    ScVec,
)
from farebox.stellar.xdr_writer import opaque, uint32

VOID: Final = ScOther(ScKind.VOID, b"")
_TYPED_KEYS: Final = (AddressKind.ACCOUNT, AddressKind.CLAIMABLE_BALANCE)


def write_value(value: ScValue) -> bytes:
    """The XDR of a value.

    Raises:
        OverflowError: a number does not fit its kind.
    """
    match value:
        case ScNumber(kind, number):
            length, signed = NUMBER_WIDTHS[kind]
            return uint32(kind) + number.to_bytes(length, "big", signed=signed)
        case ScBytes(kind, raw):
            return uint32(kind) + opaque(raw)
        case ScAddress():
            return uint32(ScKind.ADDRESS) + _write_address(value)
        case ScVec(items):
            return uint32(ScKind.VEC) + _write_items(items)
        case ScMap(entries):
            flat = None if entries is None else [part for entry in entries for part in entry]
            return uint32(ScKind.MAP) + _write_items(flat, values_per_item=2)
        case ScOther(kind, raw):
            return uint32(kind) + raw
        case _:
            assert_never(value)


def address_of(address: Address) -> ScAddress:
    """The value of a G… or C… address."""
    kind = AddressKind.ACCOUNT if is_account(address) else AddressKind.CONTRACT
    return ScAddress(kind, raw_key(address))


def symbol_of(name: str) -> ScBytes:
    """The value of a symbol; `name` has 32 ASCII characters at most."""
    return ScBytes(ScKind.SYMBOL, name.encode())


def struct_of(**members: ScValue) -> ScMap:
    """The value of a struct: a map with a symbol for each member, in the order of their bytes."""
    return ScMap(tuple((symbol_of(name), members[name]) for name in sorted(members)))


def _write_items(items: Iterable[ScValue] | None, *, values_per_item: int = 1) -> bytes:
    if items is None:
        return uint32(0)
    written = [write_value(item) for item in items]
    return uint32(1) + uint32(len(written) // values_per_item) + b"".join(written)


def _write_address(address: ScAddress) -> bytes:
    head = uint32(address.kind)
    if address.mux_id is not None:
        return head + address.mux_id.to_bytes(8, "big") + address.key
    return head + (uint32(0) if address.kind in _TYPED_KEYS else b"") + address.key
