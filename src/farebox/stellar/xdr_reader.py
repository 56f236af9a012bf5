"""A strict cursor over XDR (RFC 4506): every document it accepts has exactly one encoding.

Every read checks the bytes that are left, padding must be zero, a boolean is 0 or 1, and a count is
compared with a limit and with the bytes that could hold so many items before anything is made.
"""

import base64
import binascii
import struct
from typing import Final

_UINT32 = struct.Struct(">I").unpack_from
_INT64 = struct.Struct(">q").unpack_from
_UINT64 = struct.Struct(">Q").unpack_from
_ITEM_MIN_BYTES: Final = 4  # nothing in XDR that is counted here takes less
_FALSE: Final = bytes(4)
_TRUE: Final = b"\0\0\0\1"

MAX_ITEMS: Final = 2_000  # of all counted collections together; far above any payment


class Malformed(Exception):
    """The bytes are not strict XDR of the expected form."""


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

    Methods raise `Malformed`, and nothing else, for every byte string. They call no other method,
    because a Python call takes longer than the reading itself.
    """

    __slots__ = ("_end", "_items_left", "at", "raw")

    def __init__(self, raw: bytes, *, max_items: int = MAX_ITEMS) -> None:
        self.raw = raw
        self.at = 0
        self._end = len(raw)
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
        word = self.raw[self.at : self.at + 4]
        if word not in (_FALSE, _TRUE):
            raise Malformed
        self.at += 4
        return word == _TRUE

    def expect(self, value: int) -> None:
        """Move past a discriminant of which only `value` is known."""
        try:
            found: int = _UINT32(self.raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        if found != value:
            raise Malformed
        self.at += 4

    def skip_only_arm(self, length: int) -> None:
        """Move past a union of which only arm 0 is known, with `length` bytes (a multiple of 4)."""
        end = self.at + 4 + length
        if end > self._end or not self.raw.startswith(_FALSE, self.at):
            raise Malformed
        self.at = end

    def fixed(self, length: int) -> bytes:
        """The next `length` bytes; a multiple of four, so there is no padding."""
        start = self.at
        end = start + length
        if end > self._end:
            raise Malformed
        self.at = end
        return self.raw[start:end]

    def skip(self, length: int) -> None:
        """Move past `length` bytes; a multiple of four."""
        end = self.at + length
        if end > self._end:
            raise Malformed
        self.at = end

    def opaque(self, limit: int) -> bytes:
        """Variable-length bytes, `limit` at most."""
        raw, start = self.raw, self.at + 4
        try:
            length: int = _UINT32(raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        last, padding = start + length, -length & 3
        if length > limit or last + padding > self._end:
            raise Malformed
        if padding and not raw.startswith(_FALSE[:padding], last):
            raise Malformed
        self.at = last + padding
        return raw[start:last]

    def count(self, limit: int) -> int:
        """The number of items that follow: `limit` at most, and as many as the rest can hold."""
        try:
            items: int = _UINT32(self.raw, self.at)[0]
        except struct.error:
            raise Malformed from None
        self.at += 4
        left = self._end - self.at
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
        """Check that nothing is left."""
        if self.at != self._end:
            raise Malformed
