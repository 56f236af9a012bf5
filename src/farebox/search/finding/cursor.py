"""Cursors: where a walk stands, in a form that only this service can make.

A cursor carries the whole plan of its walk, so that a later page is found as the first one was
whatever has changed since, and stands for one query with its filters alone.
"""

import binascii
import hashlib
import hmac
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from farebox.catalog.listing import ListingFilters
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.search.finding.rank import Place
from farebox.search.finding.walk import Walk

CURSOR_LIFE: Final = timedelta(minutes=15)
MAX_CURSOR: Final = 12_000  # characters
_MAX_PLAIN: Final = 64_000  # bytes
_TAG: Final = 16  # bytes of the HMAC
_VERSION: Final = b"\x01"


class BadCursor(Refusal):
    """The cursor was not made here, is too old, or belongs to another search."""


@dataclass(frozen=True, slots=True)
class Standpoint:
    """A walk and the last place it has shown."""

    walk: Walk
    last: Place


class _Kept(msgspec.Struct, array_like=True):
    bound_to: bytes
    last: Place
    walk: Walk


def write_cursor(
    key: Secret[bytes], query: str, filters: ListingFilters, standpoint: Standpoint
) -> str:
    """The cursor for what stands behind `standpoint`."""
    kept = _Kept(_binding(query, filters), standpoint.last, standpoint.walk)
    body = _VERSION + zlib.compress(msgspec.msgpack.encode(kept), 1)
    return urlsafe_b64encode(_tag(key, body) + body).rstrip(b"=").decode()


def read_cursor(
    key: Secret[bytes], text: str, query: str, filters: ListingFilters, *, now: datetime
) -> Standpoint:
    """Where the cursor stands.

    Raises:
        BadCursor: `invalid_cursor`, `cursor_mismatch` or `cursor_expired`.
    """
    kept = _kept(key, text)
    if kept.bound_to != _binding(query, filters):
        raise BadCursor(ErrorCode.CURSOR_MISMATCH)
    if not timedelta(minutes=-1) <= now - kept.walk.at <= CURSOR_LIFE:
        raise BadCursor(ErrorCode.CURSOR_EXPIRED)
    return Standpoint(kept.walk, kept.last)


def _kept(key: Secret[bytes], text: str) -> _Kept:
    raw = _decoded(text)
    body = raw[_TAG:]
    if not hmac.compare_digest(raw[:_TAG], _tag(key, body)) or body[:1] != _VERSION:
        raise _invalid()
    try:  # ours by its tag; an older release may have written it another way
        plain = zlib.decompressobj().decompress(body[1:], _MAX_PLAIN)
        return msgspec.msgpack.decode(plain, type=_Kept)
    except (zlib.error, msgspec.DecodeError):
        raise _invalid() from None


def _decoded(text: str) -> bytes:
    if len(text) > MAX_CURSOR or not text.isascii():
        raise _invalid()
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise _invalid() from None
    if urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise _invalid()  # one spelling alone
    return raw


def _invalid() -> BadCursor:
    return BadCursor(ErrorCode.INVALID_CURSOR)


def _tag(key: Secret[bytes], body: bytes) -> bytes:
    return hmac.digest(key.reveal(), b"farebox search cursor" + body, hashlib.sha256)[:_TAG]


def _binding(query: str, filters: ListingFilters) -> bytes:
    narrowed = (filters.type, filters.network, filters.pay_to, filters.scheme, filters.extension)
    return hashlib.sha256(msgspec.msgpack.encode((query, *narrowed))).digest()[:16]
