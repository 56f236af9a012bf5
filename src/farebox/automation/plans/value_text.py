"""Contract values as people read them."""

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
from farebox.stellar.scval_writer import VOID, write_value

_TRUE: Final = b"\0\0\0\1"
_NO_NAMES: Final[Mapping[Address, str]] = {}
_PRINTABLE: Final = range(0x20, 0x7F)
_ESCAPED: Final = b'"\\'


def show_value(value: ScValue, names: Mapping[Address, str] = _NO_NAMES) -> str:
    """The whole value as text; two values that differ have two texts.

    Numbers that are no i128 are followed by their type. Text of a contract is shown with every
    byte escaped that is not printable ASCII, so that no sentence can be put into it. `names` are
    shown in place of the addresses of tokens.
    """
    match value:
        case ScNumber(kind, number):
            return str(number) if kind is ScKind.I128 else f"{number} ({kind.name.lower()})"
        case ScAddress(plain=str(address)):
            return names.get(Address(address), address)
        case ScBytes():
            return _show_bytes(value)
        case ScVec(tuple(items)):
            return f"[{', '.join(show_value(each, names) for each in items)}]"
        case ScMap(tuple(entries)):
            shown = (
                f"{show_value(key, names)}: {show_value(each, names)}" for key, each in entries
            )
            return f"{{{', '.join(shown)}}}"
        case _:
            return _show_other(value)


def _show_bytes(value: ScBytes) -> str:
    if value.kind is ScKind.BYTES:
        return f"bytes {value.raw.hex()}"
    quoted = f'"{"".join(map(_escape, value.raw))}"'
    kind = value.kind.name.lower().replace("_", " ")
    return quoted if value.kind is ScKind.STRING else f"{kind} {quoted}"


def _escape(byte: int) -> str:
    if byte not in _PRINTABLE:
        return f"\\x{byte:02x}"
    return f"\\{byte:c}" if byte in _ESCAPED else f"{byte:c}"


def _show_other(value: ScValue) -> str:
    if value == VOID:
        return "nothing"
    if isinstance(value, ScOther) and value.kind is ScKind.BOOL:
        return "true" if value.raw == _TRUE else "false"
    return f"the XDR {write_value(value).hex()}"
