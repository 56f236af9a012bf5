"""The URL of an upstream request: the wrapper's base URL, and the path and query of the buyer.

The buyer's part never leaves the base path. A path that an upstream might read in two ways is
refused, whichever way is harmless.
"""

import re
from enum import StrEnum
from typing import Final
from urllib.parse import unquote_to_bytes

MAX_PATH_CHARS: Final = 4096  # of the buyer's part
_SEGMENT: Final = re.compile(r"(?:[A-Za-z0-9._~:@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*\Z", re.ASCII)
_QUERY: Final = re.compile(r"(?:[A-Za-z0-9._~:/?@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})*\Z", re.ASCII)
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_SEPARATORS: Final = b"/\\"
_DOTS: Final = frozenset({b".", b".."})
_MAX_DECODINGS: Final = 8  # of a segment that is encoded again and again


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
        The URL, or a fault: the path has dot segments, encoded separators or empty segments in any
        encoding, or a character that no URL has (RFC 3986).
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
    if path == "":
        return True
    if not path.startswith("/") or len(path) > MAX_PATH_CHARS:
        return False
    segments = path[1:].split("/")
    if "" in segments[:-1]:  # only the last may be empty: a trailing slash
        return False
    return all(map(_is_plain, segments))


def _is_plain(segment: str) -> bool:
    """Whether a segment is one segment, and no dot segment, after any number of decodings."""
    if not _SEGMENT.match(segment):
        return False
    decoded = segment.encode("ascii")
    for _ in range(_MAX_DECODINGS):
        name = decoded.partition(b";")[0]  # some servers cut the parameters of a segment off
        if name in _DOTS or any(byte < 0x20 or byte in _SEPARATORS for byte in decoded):
            return False
        if not _ESCAPE.search(decoded):
            return True
        decoded = unquote_to_bytes(decoded)
    return False
