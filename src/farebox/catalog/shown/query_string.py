"""What a caller asks for in a URL's query string: read strictly, or refused with a code.

The rules: a value is compared as it stands, so a filter that nobody meets gives an empty page; a
parameter said twice with two values, or with an empty one, is refused, since leaving it out would
answer another question; a parameter we do not know is named in the answer, never obeyed silently.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from farebox.catalog.shown.filters import Filters
from farebox.kernel.addresses import parse_party
from farebox.kernel.errors import Refusal

MAX_BYTES: Final = 16_384  # of a whole query string
MAX_PARAMETERS: Final = 64
DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100
MAX_OFFSET: Final = 2**63 - 1
FILTER_NAMES: Final = frozenset(("type", "network", "payTo", "scheme", "extensions", "extension"))
_DIGITS: Final = re.compile(r"[0-9]+\Z", re.ASCII)
_LONG: Final = 20  # digits of the largest offset, and one more
_SHOWN_NAME: Final = 64  # characters of an unknown parameter's name that are repeated


class BadQuery(Refusal):
    """The query string cannot be obeyed as it stands."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Every name with the values it was given, decoded, in the order they came."""

    values: Mapping[str, tuple[str, ...]]


def read_query_string(raw: bytes) -> Parameters:
    """The parameters of a query string.

    Raises:
        BadQuery: it is too long, has too many parameters or is not UTF-8 once decoded.
    """
    if len(raw) > MAX_BYTES:
        raise BadQuery("query_string_too_long", f"A query has at most {MAX_BYTES} bytes.")
    pairs = [pair for pair in raw.split(b"&") if pair]
    if len(pairs) > MAX_PARAMETERS:
        words = f"A query has at most {MAX_PARAMETERS} parameters."
        raise BadQuery("too_many_parameters", words)
    values: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        key = _decoded(name)
        values[key] = (*values.get(key, ()), _decoded(value))
    return Parameters(values)


def _decoded(raw: bytes) -> str:
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        words = "A query is UTF-8 once its percent escapes are decoded."
        raise BadQuery("invalid_query_string", words) from None


def read_text(parameters: Parameters, name: str) -> str | None:
    """The value of a parameter; None when it is not there.

    Raises:
        BadQuery: it has two values, an empty one or one with control characters.
    """
    given = set(parameters.values.get(name, ()))
    if not given:
        return None
    if len(given) > 1:
        raise BadQuery("repeated_parameter", f"The parameter {name} has two values.")
    (value,) = given
    if not value:
        raise BadQuery("empty_parameter", f"The parameter {name} has an empty value.")
    if any(unicodedata.category(character) == "Cc" for character in value):
        words = f"The parameter {name} contains control characters."
        raise BadQuery("control_characters", words)
    return value


def read_filters(parameters: Parameters) -> Filters:
    """What the caller narrows by; `extension` is another spelling of `extensions`.

    Raises:
        BadQuery: as `read_text`, or the two spellings differ.
    """
    extensions, extension = (read_text(parameters, name) for name in ("extensions", "extension"))
    if None not in (extensions, extension) and extensions != extension:
        words = "The parameters extensions and extension mean the same and differ."
        raise BadQuery("conflicting_parameters", words)
    return Filters(
        type=read_text(parameters, "type"),
        network=read_text(parameters, "network"),
        pay_to=_recipient(read_text(parameters, "payTo")),
        scheme=read_text(parameters, "scheme"),
        extension=extensions or extension,
    )


def _recipient(text: str | None) -> str | None:
    """Addresses have one spelling; one in small letters is taken for the address it spells."""
    return parse_party(text.upper()) or text if text else None


def read_limit(parameters: Parameters, *, most: int = MAX_LIMIT) -> int:
    """How many to show on a page: at least 1, and at most `most` whatever was asked for.

    Raises:
        BadQuery: it is not a positive whole number in plain digits.
    """
    text = read_text(parameters, "limit")
    limit = DEFAULT_LIMIT if text is None else _whole_number(text)
    if not limit:
        raise BadQuery("invalid_limit", "The limit is a whole number from 1 on.")
    return min(limit, most)


def read_offset(parameters: Parameters) -> int:
    """How many to pass over.

    Raises:
        BadQuery: it is not a whole number from 0 on in plain digits, or does not fit 63 bits.
    """
    text = read_text(parameters, "offset")
    offset = 0 if text is None else _whole_number(text)
    if offset is None or offset > MAX_OFFSET:
        raise BadQuery("invalid_offset", "The offset is a whole number from 0 to 2^63-1.")
    return offset


def _whole_number(text: str) -> int | None:
    """None for anything but digits; more digits than any number here has are cut, not read."""
    if not _DIGITS.match(text):
        return None
    return int(text.lstrip("0")[:_LONG] or "0")


def read_flag(parameters: Parameters, name: str) -> bool:
    """Whether a switch is on: `true` or `1`; off when it is not there.

    Raises:
        BadQuery: it has another value than these, `false` and `0`.
    """
    text = read_text(parameters, name)
    if text not in (None, "true", "1", "false", "0"):
        raise BadQuery("invalid_flag", f"The parameter {name} is true or false.")
    return text in ("true", "1")


def unapplied(parameters: Parameters, known: frozenset[str]) -> tuple[str, ...]:
    """The parameters that had no effect, in their order, each name bounded and printable."""
    names = dict.fromkeys(
        "".join(c if c.isprintable() else "?" for c in name[:_SHOWN_NAME])
        for name in parameters.values
        if name not in known
    )
    return tuple(names)
