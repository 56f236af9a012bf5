"""Contract values as people read them."""

from typing import Final

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

_MOST_CHARACTERS: Final = 200
_TRUE: Final = b"\0\0\0\1"


def show_value(value: ScValue) -> str:
    """The value as text; what is longer than 200 characters ends in its length.

    Text of a contract is shown with escapes, so that no sentence can be put into it.
    """
    shown = _show(value)
    if len(shown) <= _MOST_CHARACTERS:
        return shown
    return f"{shown[:_MOST_CHARACTERS]}… ({len(shown)} characters)"


def _show(value: ScValue) -> str:
    match value:
        case ScNumber(_, number):
            return str(number)
        case ScAddress():
            return value.plain or f"an address of kind {value.kind.name.lower()}"
        case ScBytes(ScKind.BYTES, raw):
            return f"bytes {raw.hex()}"
        case ScBytes(_, raw):
            return f'"{_escape(raw)}"'
        case ScVec(items):
            return f"[{', '.join(map(_show, items or ()))}]"
        case ScMap(entries):
            shown = (f"{_show(key)}: {_show(each)}" for key, each in entries or ())
            return f"{{{', '.join(shown)}}}"
        case ScOther():
            return _show_other(value)


def _show_other(value: ScOther) -> str:
    if value.kind is ScKind.BOOL:
        return "true" if value.raw == _TRUE else "false"
    return "nothing" if value.kind is ScKind.VOID else f"a value of kind {value.kind.name.lower()}"


def _escape(raw: bytes) -> str:
    text = ascii(raw.decode("utf-8", "backslashreplace"))[1:-1]
    return text.replace('"', '\\"')
