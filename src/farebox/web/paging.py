"""Lists in pages: the parameters `limit` and `cursor`, and the cursor of the next page."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.web.endpoint import Parameter, integer, text
from farebox.web.query_string import read_pairs

T = TypeVar("T")
Item = TypeVar("Item")
DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100
_MAX_CURSOR: Final = 512  # characters
PAGE_PARAMETERS: Final = (
    Parameter("limit", "How many at most; 100 are given at most.", integer(1, 999_999)),
    Parameter("cursor", "nextCursor of the page before.", text(max_length=_MAX_CURSOR)),
)
PAGE_ERRORS: Final = (
    ErrorCode.INVALID_QUERY_STRING,
    ErrorCode.INVALID_LIMIT,
    ErrorCode.INVALID_CURSOR,
)


class BadPage(Refusal):
    """The limit or the cursor is malformed."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A request for at most `limit` items, the first ones behind the position `after`."""

    limit: int = DEFAULT_LIMIT
    after: T | None = None  # None: from the beginning


def read_page(query: bytes, position: type[T]) -> Page[T]:
    """Read `limit` and `cursor` from a query string; other parameters are ignored.

    Anybody can write a cursor: `position` declares exactly which values it may hold, with `Meta`.

    Raises:
        BadPage: `invalid_query_string`, `invalid_limit` or `invalid_cursor`.
    """
    try:
        pairs = read_pairs(query)
    except ValueError:  # bytes that are not ASCII, or too many parameters
        raise BadPage(ErrorCode.INVALID_QUERY_STRING) from None
    limits = {value for name, value in pairs if name == "limit"}
    cursors = {value for name, value in pairs if name == "cursor"}
    return Page(_read_limit(limits), _read_cursor(cursors, position))


def _read_limit(values: set[str]) -> int:
    if not values:
        return DEFAULT_LIMIT
    digits = values.pop()
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 6 and int(digits) >= 1
    if values or not is_number:
        message = f"The limit is one whole number from 1 to {MAX_LIMIT}."
        raise BadPage(ErrorCode.INVALID_LIMIT, message)
    return min(int(digits), MAX_LIMIT)


def _read_cursor(values: set[str], position: type[T]) -> T | None:
    if not values:
        return None
    cursor = values.pop()
    refusal = BadPage(ErrorCode.INVALID_CURSOR)
    if values or len(cursor) > _MAX_CURSOR or not cursor.isascii():
        raise refusal
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.msgpack.decode(raw, type=position)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise refusal from None


def cut_page(
    items: Sequence[Item], limit: int, position_of: Callable[[Item], object]
) -> tuple[Sequence[Item], str | None]:
    """Return the page of `limit` + 1 items that were read, and the cursor of the next page.

    Args:
        items: one more than the page holds, if there is one more.
        position_of: the position of an item, as `read_page` reads it back.

    Returns:
        The items of the page, and the cursor; None when no page follows.
    """
    page = items[:limit]
    return page, write_cursor(position_of(page[-1])) if len(items) > limit else None


def write_cursor(position: object) -> str:
    return urlsafe_b64encode(msgspec.msgpack.encode(position)).rstrip(b"=").decode()
