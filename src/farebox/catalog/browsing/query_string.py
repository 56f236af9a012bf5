"""Strict parsing of the query strings of browse and search.

A filter's value is compared literally, so one that no listing has gives an empty page. A parameter
with two different values or an empty one is refused: ignoring it would answer another query. The
response names unknown parameters (`unappliedFilters`).
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from farebox.catalog.listing import ListingFilters
from farebox.kernel.addresses import parse_party
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal

MAX_BYTES: Final = 16_384  # of the query string
MAX_PARAMETERS: Final = 64
MAX_VALUE: Final = 1_000  # characters of a filter's value
DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100  # listings on a page
MOST_ASKED: Final = 2**31  # for a page: as many as clients' integers have
MAX_OFFSET: Final = 2**63 - 1
FILTER_NAMES: Final = frozenset(("type", "network", "payTo", "scheme", "extensions", "extension"))
_DIGITS: Final = re.compile(r"[0-9]+\Z", re.ASCII)
_MAX_DIGITS: Final = 20  # those of the largest offset, and one more
_MAX_SHOWN_NAME: Final = 64  # characters of an unknown parameter's name in the response


class InvalidQueryString(Refusal):
    """The query string breaks a rule of this module."""


@dataclass(frozen=True, slots=True)
class QueryParameters:
    """Each name with its values, decoded, in the order of the query string."""

    values: Mapping[str, tuple[str, ...]]


def read_query_string(raw: bytes) -> QueryParameters:
    """Decode the parameters of a query string.

    Raises:
        InvalidQueryString: it is too long, has too many parameters or is not UTF-8 once decoded.
    """
    if len(raw) > MAX_BYTES:
        raise InvalidQueryString(
            ErrorCode.QUERY_STRING_TOO_LONG, f"A query has at most {MAX_BYTES} bytes."
        )
    pairs = [pair for pair in raw.split(b"&") if pair]
    if len(pairs) > MAX_PARAMETERS:
        words = f"A query has at most {MAX_PARAMETERS} parameters."
        raise InvalidQueryString(ErrorCode.TOO_MANY_PARAMETERS, words)
    values: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        key = _decode(name)
        values[key] = (*values.get(key, ()), _decode(value))
    return QueryParameters(values)


def _decode(raw: bytes) -> str:
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        words = "A query is UTF-8 once its percent escapes are decoded."
        raise InvalidQueryString(ErrorCode.INVALID_QUERY_STRING, words) from None


def read_text(parameters: QueryParameters, name: str, *, max_length: int = MAX_VALUE) -> str | None:
    """Read the value of a parameter; None when it is absent.

    Raises:
        InvalidQueryString: it has two values, an empty one, one of more than `max_length`
            characters or one with control characters.
    """
    distinct = set(parameters.values.get(name, ()))
    if not distinct:
        return None
    if len(distinct) > 1:
        raise InvalidQueryString(
            ErrorCode.REPEATED_PARAMETER, f"The parameter {name} has two values."
        )
    (value,) = distinct
    if not value:
        raise InvalidQueryString(
            ErrorCode.EMPTY_PARAMETER, f"The parameter {name} has an empty value."
        )
    if len(value) > max_length:
        words = f"The parameter {name} has more than {max_length} characters."
        raise InvalidQueryString(ErrorCode.INVALID_QUERY_STRING, words)
    if any(unicodedata.category(character) == "Cc" for character in value):
        words = f"The parameter {name} contains control characters."
        raise InvalidQueryString(ErrorCode.CONTROL_CHARACTERS, words)
    return value


def read_filters(parameters: QueryParameters) -> ListingFilters:
    """Read the filters; `extension` is an alias of `extensions`.

    Raises:
        InvalidQueryString: as `read_text`, or the alias has another value.
    """
    extensions, extension = (read_text(parameters, name) for name in ("extensions", "extension"))
    if None not in (extensions, extension) and extensions != extension:
        words = "The parameters extensions and extension mean the same and differ."
        raise InvalidQueryString(ErrorCode.CONFLICTING_PARAMETERS, words)
    return ListingFilters(
        type=read_text(parameters, "type"),
        network=read_text(parameters, "network"),
        pay_to=_normalize_recipient(read_text(parameters, "payTo")),
        scheme=read_text(parameters, "scheme"),
        extension=extensions or extension,
    )


def _normalize_recipient(text: str | None) -> str | None:
    """Normalize an address in lower case; other text stays as it is."""
    return parse_party(text.upper()) or text if text else None


def read_limit(parameters: QueryParameters, *, most: int = MAX_LIMIT) -> int:
    """Read the page size: at least 1, capped at `most`.

    Raises:
        InvalidQueryString: it is not a positive whole number in plain digits, or above 2³¹.
    """
    text = read_text(parameters, "limit", max_length=MAX_BYTES)
    limit = DEFAULT_LIMIT if text is None else _parse_whole_number(text)
    if not limit or limit > MOST_ASKED:
        raise InvalidQueryString(ErrorCode.INVALID_LIMIT)
    return min(limit, most)


def read_offset(parameters: QueryParameters) -> int:
    """Read the number of listings to skip.

    Raises:
        InvalidQueryString: it is not a whole number from 0 on in plain digits, or does not
            fit 63 bits.
    """
    text = read_text(parameters, "offset", max_length=MAX_BYTES)
    offset = 0 if text is None else _parse_whole_number(text)
    if offset is None or offset > MAX_OFFSET:
        raise InvalidQueryString(ErrorCode.INVALID_OFFSET)
    return offset


def _parse_whole_number(text: str) -> int | None:
    """Parse digits, None for anything else; only the first `_MAX_DIGITS` count."""
    if not _DIGITS.match(text):
        return None
    return int(text.lstrip("0")[:_MAX_DIGITS] or "0")


def read_flag(parameters: QueryParameters, name: str) -> bool:
    """Read a flag: true for `true` and `1`, false when absent.

    Raises:
        InvalidQueryString: it is none of `true`, `1`, `false` and `0`.
    """
    text = read_text(parameters, name)
    if text not in (None, "true", "1", "false", "0"):
        raise InvalidQueryString(ErrorCode.INVALID_FLAG, f"The parameter {name} is true or false.")
    return text in ("true", "1")


def find_unapplied(parameters: QueryParameters, known: frozenset[str]) -> tuple[str, ...]:
    """Find the parameters that have no effect, in order, with bounded and printable names."""
    names = dict.fromkeys(
        "".join(c if c.isprintable() else "?" for c in name[:_MAX_SHOWN_NAME])
        for name in parameters.values
        if name not in known
    )
    return tuple(names)
