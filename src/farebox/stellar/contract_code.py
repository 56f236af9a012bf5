"""The ledger entry of a contract's code, and the custom sections of WebAssembly in it."""

import hashlib
from typing import Final

from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_CODE_BYTES: Final = 262_144  # twice the largest code that the networks take
_CONTRACT_CODE: Final = 7  # LedgerEntryType
_COSTS: Final = 4 + 10 * 4  # an extension point and ten counters
_MAGIC: Final = b"\0asm\x01\0\0\0"
_CUSTOM: Final = 0
_MAX_SECTIONS: Final = 1_000
_LEB_BYTES: Final = 5  # of a u32 in LEB128
_MAX_U32: Final = 2**32 - 1


def read_code(data: bytes, wasm_hash: bytes) -> bytes | None:
    """Read the code with this hash from its ledger entry; None when `data` is not that."""
    reader = XdrReader(data)
    try:
        reader.expect(_CONTRACT_CODE)
        if reader.flag():
            reader.expect(0)
            reader.skip(_COSTS)
        is_named = reader.take(wasm_hash)
        code = reader.opaque(MAX_CODE_BYTES)
        reader.finish()
    except Malformed:
        return None
    return code if is_named and hashlib.sha256(code).digest() == wasm_hash else None


def find_custom_section(code: bytes, name: str) -> bytes | None:
    """The content of the first custom section of this name; None without one.

    Raises:
        Malformed: it is no WebAssembly of version 1, or a section does not end where it says.
    """
    if not code.startswith(_MAGIC):
        raise Malformed
    wanted, at = name.encode(), len(_MAGIC)
    for _ in range(_MAX_SECTIONS):
        if at == len(code):
            return None
        size, start = _read_u32(code, at + 1)
        end = start + size
        if end > len(code):
            raise Malformed
        if code[at] == _CUSTOM:
            length, begin = _read_u32(code, start)
            if begin + length > end:
                raise Malformed
            if code[begin : begin + length] == wanted:
                return code[begin + length : end]
        at = end
    raise Malformed


def _read_u32(code: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 of 32 bits, and the place behind it."""
    value = 0
    for place, byte in enumerate(code[at : at + _LEB_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            if value > _MAX_U32:
                break
            return value, at + place + 1
    raise Malformed
