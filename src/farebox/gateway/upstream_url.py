"""The URL of an upstream request: the wrapper's base URL, and the path and query of the buyer.

The buyer's part is forwarded byte for byte and never leaves the base path. Upstreams differ in how
they read a path: what is checked and what is priced is every reading of it, not one.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

Reading: TypeAlias = tuple[str, ...]  # the names of a path's segments; of the base URL none
MAX_PATH_CHARS: Final = 4096  # of the buyer's part
# of all readings of a path together, each with its slashes: what is longer is not read
MAX_READ_CHARS: Final = 8 * MAX_PATH_CHARS
# what a request line can carry: neither a blank nor a control, nor what ends the part
_PATH: Final = re.compile(r"(?:/[!\"$->@-~]*)?\Z", re.ASCII)
_QUERY: Final = re.compile(r"[!\"$-~]*\Z", re.ASCII)
_IIS_ESCAPE: Final = re.compile(rb"%[uU]00(?=[0-9A-Fa-f]{2})")  # as in `%u002e`
# ASCII in more bytes than UTF-8 allows (RFC 3629, section 10), as in `%c0%ae` for a dot
_OVERLONG: Final = re.compile(rb"[\xc0\xc1][\x80-\xbf]|(?:\xe0|\xf0\x80)[\x80\x81][\x80-\xbf]")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_REPAIRS: Final = (  # of a path, by some upstreams, each with or without the others
    (re.compile(rb";[^/]*"), b""),
    (re.compile(rb"[?#].*", re.DOTALL), b""),
    (re.compile(rb"\\"), b"/"),
    (re.compile(rb"//+"), b"/"),
)
_BETWEEN: Final = "\0"  # segments whose names are decoded; no path that is read has one
_DOTS: Final = frozenset({".", ".."})
_BLANKS: Final = "+" + "".join(filter(str.isspace, map(chr, range(0x3001))))  # `+`: as in forms
_ENDS: Final = f"{_BLANKS}."  # what some file systems drop from the end of a name
_MAX_DECODINGS: Final = 8  # of a path that is encoded again and again


class UpstreamUrlFault(StrEnum):
    """Why a buyer's path or query is not forwarded."""

    PATH = "path_not_forwarded"
    QUERY = "query_not_forwarded"


def join_upstream_url(
    base_url: str, path: str, query: str | None, *, base_query: str | None = None
) -> str | UpstreamUrlFault:
    """Append the buyer's path and query to the wrapper's URL.

    Args:
        base_url: scheme, host and path of the upstream, without a query.
        path: the rest of the request's path after the slug, not decoded; empty or with a leading
            slash.
        query: the query as it was sent; None when the URL has no question mark.
        base_query: the query of the upstream's own URL, sent before the buyer's.

    Returns:
        The URL, or a fault: the path has dot segments or controls in any encoding, or a part has a
        character that no request line carries.
    """
    if not is_path_confined(path):
        return UpstreamUrlFault.PATH
    if query is not None and not _QUERY.match(query):
        return UpstreamUrlFault.QUERY
    joined = base_url if path in ("", "/") else base_url.removesuffix("/") + path
    given = [each for each in (base_query, query) if each]
    if given:
        return f"{joined}?{'&'.join(given)}"
    return f"{joined}?" if query is not None or base_query is not None else joined


def is_path_confined(path: str) -> bool:
    """Whether a path appended to a base path stays below it, however the upstream reads it."""
    return bool(read_path(path))


@lru_cache(maxsize=16)  # a request is checked and priced
def read_path(path: str) -> tuple[Reading, ...]:
    """Return every path that an upstream may take this one for, the literal one first.

    An upstream may decode a path once or several times before it splits it, take a backslash for a
    slash, several slashes for one, drop the parameters (`;a=1`) and the blanks around a segment,
    and take what was an encoded `?` or `#` for the end, in any order: it may be several servers. It
    may also drop the segments that are empty then, and take capitals for small letters: who
    compares readings does both.

    Returns:
        The readings; none when the path is not forwarded, as `join_upstream_url` says, or has so
        many long ones that it is made to be costly.
    """
    if len(path) > MAX_PATH_CHARS or not _PATH.match(path):
        return ()
    readings: dict[Reading, None] = {}
    left = MAX_READ_CHARS
    texts = {path.encode("ascii"): 0}  # by how often they are decoded
    waiting = list(texts)
    for text in waiting:
        if texts[text] == _MAX_DECODINGS or _CONTROL.search(text):
            return ()
        for split in _split(text, is_decoded=texts[text] > 0):
            left -= len(split)
            if left < 0:
                return ()
            trimmed = _trim(_names_of(split))
            if not _DOTS.isdisjoint(trimmed[2]):
                return ()
            readings.update(dict.fromkeys(map(_reading_of, trimmed)))
        taken_for = {_decode(text): texts[text] + 1}
        for pattern, repaired in _REPAIRS:
            taken_for.setdefault(pattern.sub(repaired, text), texts[text])
        waiting += [each for each in taken_for if each not in texts]
        texts = taken_for | texts
    return tuple(readings)


def read_segments(path: str) -> Reading:
    """Return the names of a path's segments, decoded once."""
    return _reading_of(_names_of(_decode(path.encode().replace(b"/", _BETWEEN.encode()))))


def _reading_of(names: list[str]) -> Reading:
    return () if names == [""] else tuple(names)


def _split(text: bytes, *, is_decoded: bool) -> dict[bytes, None]:
    """Return the segments of a path, their names decoded once, or no more as well.

    The slashes between the segments are `_BETWEEN` there; others are part of a name.
    """
    split = text.replace(b"/", _BETWEEN.encode())
    return dict.fromkeys((_decode(split), split) if is_decoded else (_decode(split),))


def _names_of(split: bytes) -> list[str]:
    try:
        return split.decode().split(_BETWEEN)[1:]
    except UnicodeDecodeError:
        return [_text_of(each) for each in split.split(_BETWEEN.encode())[1:]]


def _text_of(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


def _trim(names: list[str]) -> tuple[list[str], ...]:
    """Return the names, without the blanks around them, and without their last dots as well."""
    bare = [name.strip(_BLANKS) for name in names]
    spaceless = [name.strip() for name in names]
    return names, spaceless, bare, [name.rstrip(_ENDS) for name in bare]


def _decode(text: bytes) -> bytes:
    """Decode the escapes of a text once; a `%` that begins none stands for itself."""
    return _OVERLONG.sub(_shorten, unquote_to_bytes(_IIS_ESCAPE.sub(b"%", text)))


def _shorten(found: re.Match[bytes]) -> bytes:
    *_, high, low = found[0]
    return bytes(((high & 3) << 6 | low & 0x3F,))
