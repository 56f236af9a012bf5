"""Lists that are walked in pages: how many are wanted, and behind which place they go on."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec

from farebox.kernel.errors import Refusal

T = TypeVar("T")
USUAL: Final = 20
MOST: Final = 100
_LONGEST: Final = 512  # characters of a cursor
_FIELDS: Final = 64


class BadPage(Refusal):
    """The limit or the cursor is not one."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """What is asked for: at most `limit` items, the first ones behind `after`."""

    limit: int = USUAL
    after: T | None = None  # None: from the beginning


def read_page(query: bytes, place: type[T]) -> Page[T]:
    """The page a query string asks for with `limit` and `cursor`; other parameters are not read.

    Anybody can write a cursor: `place` has to say exactly what may stand in it, with `Meta`.

    Raises:
        BadPage: `invalid_limit` or `invalid_cursor`.
    """
    try:
        given = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:  # bytes that are not ASCII, or too many parameters
        raise BadPage("invalid_query_string", "The query string cannot be read.") from None
    limits = {value for name, value in given if name == "limit"}
    cursors = {value for name, value in given if name == "cursor"}
    return Page(_limit(limits), _place(cursors, place))


def _limit(given: set[str]) -> int:
    if not given:
        return USUAL
    text = given.pop()
    if given or not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) >= 1):
        raise BadPage("invalid_limit", f"The limit is one whole number from 1 to {MOST}.")
    return min(int(text), MOST)


def _place(given: set[str], place: type[T]) -> T | None:
    if not given:
        return None
    text = given.pop()
    refused = BadPage("invalid_cursor", "The cursor is not one this service has given.")
    if given or len(text) > _LONGEST or not text.isascii():
        raise refused
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.msgpack.decode(raw, type=place)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise refused from None


def write_cursor(place: object) -> str:
    """The cursor of the page behind a place; `read_page` reads it back."""
    return urlsafe_b64encode(msgspec.msgpack.encode(place)).rstrip(b"=").decode()
