"""The URL of an upstream request: the wrapper's base URL, and the path and query of the buyer.

The buyer's part is forwarded byte for byte and never leaves the base path. Upstreams differ in how
they read a path: what is checked and what is priced is every reading of it, not one.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, TypeAlias

Reading: TypeAlias = tuple[str, ...]  # the segments of a path
MAX_PATH_CHARS: Final = 4096  # of the buyer's part
# what a request line can carry: neither a blank nor a control, nor what ends the part
_PATH: Final = re.compile(r"(?:/[!\"$->@-~]*)?\Z", re.ASCII)
_QUERY: Final = re.compile(r"[!\"$-~]*\Z", re.ASCII)
_ESCAPE: Final = re.compile(rb"%(?:[uU]00)?([0-9A-Fa-f]{2})")  # `%u002e` is an escape of IIS
# ASCII in more bytes than UTF-8 allows (RFC 3629, section 10), as in `%c0%ae` for a dot
_OVERLONG: Final = re.compile(rb"[\xc0\xc1][\x80-\xbf]|(?:\xe0|\xf0\x80)[\x80\x81][\x80-\xbf]")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_REPAIRS: Final = (  # of a path, by some upstreams, each with or without the others
    (re.compile(rb"[?#].*", re.DOTALL), b""),
    (re.compile(rb"\\"), b"/"),
    (re.compile(rb"//+"), b"/"),
)
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


def read_path(path: str) -> tuple[Reading, ...]:
    """Return every path that an upstream may take this one for, the literal one first.

    An upstream may decode a path once or several times before it splits it, take a backslash for a
    slash, several slashes for one, drop the blanks around a segment, and take what was an encoded
    `?` or `#` for the end.

    Returns:
        The readings; none when the path is not forwarded, as `join_upstream_url` says.
    """
    if len(path) > MAX_PATH_CHARS or not _PATH.match(path):
        return ()
    readings: dict[Reading, None] = {}
    text = path.encode("ascii")
    for _ in range(_MAX_DECODINGS):
        decoded = _decode(text)
        if _CONTROL.search(decoded):
            return ()
        for variant in _variants(text):
            names = read_segments(variant)
            if any(name.strip(_BLANKS) in _DOTS for name in names):
                return ()
            readings.setdefault(names)
            readings.setdefault(_without_end(name.strip(_BLANKS).rstrip(_ENDS) for name in names))
        if decoded == text:
            return tuple(readings)
        text = decoded
    return ()


def read_segments(path: bytes) -> Reading:
    """Return the segments of a path, folded: in lower case, decoded, without parameters (`;a=1`).

    A trailing slash is dropped.
    """
    if path.isascii() and b"%" not in path and b";" not in path:
        return _without_end(path.decode().lower().split("/")[1:])
    return _without_end(_name_of(segment) for segment in path.split(b"/")[1:])


def _name_of(segment: bytes) -> str:
    decoded = _decode(segment.partition(b";")[0])
    try:
        return decoded.decode().lower()
    except UnicodeDecodeError:
        return decoded.decode("latin-1").lower()


def _without_end(names: Iterable[str]) -> Reading:
    kept = list(names)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


def _variants(text: bytes) -> Iterable[bytes]:
    """Return a path as it stands, and as upstreams take it that repair it."""
    variants = [text]
    for pattern, repaired in _REPAIRS:
        variants += [
            changed for each in variants if (changed := pattern.sub(repaired, each)) != each
        ]
    return variants


def _decode(text: bytes) -> bytes:
    """Decode the escapes of a text once; a `%` that begins none stands for itself."""
    plain = _ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), text)
    return _OVERLONG.sub(_shorten, plain)


def _shorten(found: re.Match[bytes]) -> bytes:
    *_, high, low = found[0]
    return bytes(((high & 3) << 6 | low & 0x3F,))
