"""Members of contract values by their Soroban types; every other form is `Malformed`."""

import re
from collections.abc import Mapping
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.scval import (
    ScAddress,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScOther,
    ScValue,
    ScVec,
)
from farebox.stellar.xdr_reader import Malformed

_SYMBOL: Final = re.compile(rb"[A-Za-z0-9_]{1,32}\Z")
_FLAGS: Final = {
    ScOther(ScKind.BOOL, bytes(4)): False,
    ScOther(ScKind.BOOL, (1).to_bytes(4, "big")): True,
}


def members_in(value: ScValue | None) -> Mapping[str, ScValue]:
    """The members of a struct by their names."""
    return {symbol_in(name): member for name, member in pairs_in(value)}


def pairs_in(value: ScValue | None) -> tuple[tuple[ScValue, ScValue], ...]:
    """The entries of a map."""
    if not isinstance(value, ScMap) or value.entries is None:
        raise Malformed
    return value.entries


def items_in(value: ScValue | None) -> tuple[ScValue, ...]:
    """The items of a vector."""
    if not isinstance(value, ScVec) or value.items is None:
        raise Malformed
    return value.items


def number_in(value: ScValue | None, kind: ScKind) -> int:
    """A number of one kind."""
    if not isinstance(value, ScNumber) or value.kind is not kind:
        raise Malformed
    return value.value


def symbol_in(value: ScValue | None) -> str:
    """A symbol."""
    if not isinstance(value, ScBytes) or value.kind is not ScKind.SYMBOL:
        raise Malformed
    if not _SYMBOL.match(value.raw):
        raise Malformed
    return value.raw.decode()


def bytes_in(value: ScValue | None) -> bytes:
    """Bytes."""
    if not isinstance(value, ScBytes) or value.kind is not ScKind.BYTES:
        raise Malformed
    return value.raw


def address_in(value: ScValue | None) -> Address:
    """An address that is no muxed one."""
    plain = value.plain if isinstance(value, ScAddress) else None
    if plain is None:
        raise Malformed
    return plain


def flag_in(value: ScValue | None) -> bool:
    """A boolean."""
    if not isinstance(value, ScOther) or value not in _FLAGS:
        raise Malformed
    return _FLAGS[value]
