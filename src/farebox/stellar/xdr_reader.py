"""A strict cursor over XDR (RFC 4506): what it accepts has exactly one encoding.

Every read checks what is left, padding must be zero, a boolean is 0 or 1, and a count is held
against a limit and against the bytes that could hold so many items before anything is made.
"""

import base64
import binascii
import struct
from typing import Final

_UINT32 = struct.Struct(">I").unpack_from
_INT64 = struct.Struct(">q").unpack_from
_UINT64 = struct.Struct(">Q").unpack_from
_ITEM_MIN_BYTES: Final = 4  # nothing in XDR that is counted here takes less
_ZEROS: Final = b"\0\0\0"

MAX_ITEMS: Final = 2_000  # of all counted collections together; far above any payment


class Malformed(Exception):
    """The bytes are not what strict XDR allows at this point."""


def decode_base64(text: str, *, max_bytes: int) -> bytes:
    """The bytes of strict base64 text; its length is checked before anything is decoded.

    Raises:
        Malformed: another alphabet, wrong padding, or more than `max_bytes`.
    """
    if len(text) > -(-max_bytes // 3) * 4:
        raise Malformed
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed from None


class XdrReader:
    """Reads one document from the front; each method returns one value and moves past it.

    Methods raise `Malformed`, and nothing else, for every byte string.
    """

    __slots__ = ("_items_left", "at", "raw")

    def __init__(self, raw: bytes, *, max_items: int = MAX_ITEMS) -> None:
        self.raw = raw
        self.at = 0
        self._items_left = max_items

    def uint32(self) -> int:
        """The next four bytes, unsigned; enum and union discriminants are read with it too."""
        try:
            value: int = _UINT32(self.raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        self.at += 4
        return value

    def int64(self) -> int:
        """The next eight bytes, signed."""
        try:
            value: int = _INT64(self.raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        self.at += 8
        return value

    def uint64(self) -> int:
        """The next eight bytes, unsigned."""
        try:
            value: int = _UINT64(self.raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        self.at += 8
        return value

    def flag(self) -> bool:
        """A boolean, or whether an optional value follows."""
        value = self.uint32()
        if value > 1:
            raise Malformed
        return value == 1

    def expect(self, value: int) -> None:
        """Move past a discriminant of which only `value` is known."""
        if self.uint32() != value:
            raise Malformed

    def fixed(self, length: int) -> bytes:
        """The next `length` bytes; a multiple of four, so there is no padding."""
        start = self.at
        self.skip(length)
        return self.raw[start : self.at]

    def skip(self, length: int) -> None:
        """Move past `length` bytes; a multiple of four."""
        end = self.at + length
        if end > len(self.raw):
            raise Malformed
        self.at = end

    def opaque(self, limit: int) -> bytes:
        """Variable-length bytes, `limit` at most."""
        length = self.uint32()
        if length > limit:
            raise Malformed
        start = self.at
        self.skip(length + (-length & 3))
        self._check_padding(start + length)
        return self.raw[start : start + length]

    def count(self, limit: int) -> int:
        """How many items follow, `limit` at most and no more than the bytes left could hold."""
        items = self.uint32()
        left = len(self.raw) - self.at
        if items > limit or items * _ITEM_MIN_BYTES > left or items > self._items_left:
            raise Malformed
        self._items_left -= items
        return items

    def since(self, start: int) -> bytes:
        """The bytes read since the cursor stood at `start`."""
        return self.raw[start : self.at]

    def take(self, expected: bytes) -> bool:
        """Move past `expected` if it comes next; whether it did."""
        if not self.raw.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def finish(self) -> None:
        """Nothing is left."""
        if self.at != len(self.raw):
            raise Malformed

    def _check_padding(self, start: int) -> None:
        padding = self.raw[start : self.at]
        if padding != _ZEROS[: len(padding)]:
            raise Malformed
