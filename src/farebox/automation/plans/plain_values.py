"""Values of a contract's plain types, as callers write them."""

import re
from collections.abc import Mapping
from typing import Final

from farebox.automation.refusal import spec_mismatch
from farebox.kernel.addresses import parse_party
from farebox.stellar.scval import NUMBER_WIDTHS, ScBytes, ScKind, ScNumber, ScOther, ScValue
from farebox.stellar.scval_writer import VOID, address_of, symbol_of

MAX_TEXT_BYTES: Final = 4_096
_INTEGER: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,77})\Z", re.ASCII)
_SYMBOL: Final = re.compile(r"[A-Za-z0-9_]{0,32}\Z", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*\Z", re.ASCII)
_NUMBERS: Final[Mapping[str, ScKind]] = {
    "u32": ScKind.U32,
    "i32": ScKind.I32,
    "u64": ScKind.U64,
    "i64": ScKind.I64,
    "u128": ScKind.U128,
    "i128": ScKind.I128,
    "u256": ScKind.U256,
    "i256": ScKind.I256,
    "Timepoint": ScKind.TIMEPOINT,
    "Duration": ScKind.DURATION,
}
# the name of a plain type in typed values, where it is another one than in Rust
SPELLINGS: Final = {
    "Timepoint": "timepoint",
    "Duration": "duration",
    "Bytes": "bytes",
    "String": "string",
    "Symbol": "symbol",
    "MuxedAddress": "address",
    "Address": "address",
}
PLAIN_NAMES: Final = {spelled: name for name, spelled in SPELLINGS.items()}


def read_plain(value: object, name: str, field: str) -> ScValue:
    """Read the value of a plain type, by its name in Rust; by its name in Rust.

    Raises:
        AutomationRefused: `spec_mismatch`.
    """
    if name in _NUMBERS:
        return _read_number(value, _NUMBERS[name], field)
    match name, value:
        case "void", None:
            return VOID
        case "bool", bool():
            return ScOther(ScKind.BOOL, int(value).to_bytes(4, "big"))
        case "Bytes", _:
            return read_bytes(value, field)
        case "Symbol", str() if _SYMBOL.match(value):
            return symbol_of(value)
        case "String", str() if len(encoded := value.encode()) <= MAX_TEXT_BYTES:
            return ScBytes(ScKind.STRING, encoded)
        case (("Address" | "MuxedAddress"), str()) if (address := parse_party(value)) is not None:
            return address_of(address)
        case _:
            raise spec_mismatch(field, f"It is no {SPELLINGS.get(name, name)}.")


def _read_number(value: object, kind: ScKind, field: str) -> ScNumber:
    length, signed = NUMBER_WIDTHS[kind]
    if isinstance(value, str) and _INTEGER.match(value):
        number, bits = int(value), 8 * length
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if least <= number <= most:
            return ScNumber(kind, number)
    raise spec_mismatch(field, f"It is a whole number as text that fits {kind.name.lower()}.")


def read_bytes(value: object, field: str, length: int | None = None) -> ScBytes:
    """Read hexadecimal text, of `length` bytes where that is fixed; raises as `read_plain`."""
    if not isinstance(value, str) or not _HEX.match(value) or len(value) > 2 * MAX_TEXT_BYTES:
        raise spec_mismatch(field, "It is lower-case hexadecimal text.")
    raw = bytes.fromhex(value)
    if length is not None and len(raw) != length:
        raise spec_mismatch(field, f"It has {length} bytes.")
    return ScBytes(ScKind.BYTES, raw)
