"""The URLs that may be called, judged by their text alone, before any name is looked up."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_URL_CHARS: Final = 72 * 1024  # a query of 64 KB fits
MAX_HOST_CHARS: Final = 253  # RFC 1035
PORTS: Final = frozenset({443, 8443})
_HTTPS_PORT: Final = 443
# One spelling: a URL that a lenient parser would repair is refused, so that no two parsers differ.
_URL: Final = re.compile(r"https://([^/?#]*)(/[^?#]*)?(\?[^#]*)?\Z", re.ASCII)
_AUTHORITY: Final = re.compile(r"([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?\Z", re.ASCII)
# Path and query are sent as they were given: all that a request line carries. Only the authority
# says where a request goes.
_CHARACTERS: Final = re.compile(r"[!\"$-~]*\Z", re.ASCII)
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII)
# The last label of a name is never a number, in any base: what is one, is an address.
_TOP_LABEL: Final = re.compile(r"(?:[a-z]{2,63}|xn--[a-z0-9-]{0,58}[a-z0-9])\Z", re.ASCII)
_LOCAL_TOPS: Final = frozenset(
    {
        "alt",  # RFC 9476
        "arpa",  # RFC 3172, home.arpa of RFC 8375 among it
        "corp",
        "home",
        "internal",  # reserved by ICANN for private use
        "intranet",
        "invalid",  # RFC 6761
        "lan",
        "local",  # RFC 6762
        "localdomain",
        "localhost",  # RFC 6761
        "mail",
        "onion",  # RFC 7686
        "private",
    }
)


class TargetFault(StrEnum):
    """Why a URL is not called."""

    TOO_LONG = "url_too_long"
    NOT_HTTPS = "url_not_https"
    MALFORMED = "url_malformed"
    CREDENTIALS = "url_has_credentials"
    FRAGMENT = "url_has_fragment"
    NOT_A_NAME = "host_not_a_name"
    LOCAL_NAME = "host_is_local"
    PORT = "port_not_allowed"


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be called if its name resolves to public addresses only."""

    host: str  # lower case, LDH labels, no trailing dot, never an address
    port: int
    path: str  # as it was given; "/" where there was none
    query: str  # as it was given, without the question mark
    has_query: bool  # an empty query is sent as one

    @property
    def path_and_query(self) -> str:
        """The request target of the request line."""
        return f"{self.path}?{self.query}" if self.has_query else self.path


def parse_target(url: str) -> Target | TargetFault:
    """Read an absolute URL; a fault for one that is not called."""
    if len(url) > MAX_URL_CHARS:
        return TargetFault.TOO_LONG
    if not url.startswith("https://"):
        return TargetFault.NOT_HTTPS
    if "#" in url:
        return TargetFault.FRAGMENT
    parts = _URL.match(url)
    if parts is None:
        return TargetFault.MALFORMED
    authority, path, query = parts.group(1), parts.group(2) or "/", parts.group(3)
    if "@" in authority:
        return TargetFault.CREDENTIALS
    if not _CHARACTERS.match(path) or not _CHARACTERS.match(query or ""):
        return TargetFault.MALFORMED
    parsed = _parse_authority(authority)
    if isinstance(parsed, TargetFault):
        return parsed
    host, port = parsed
    return Target(host, port, path, (query or "?")[1:], query is not None)


def _parse_authority(authority: str) -> tuple[str, int] | TargetFault:
    found = _AUTHORITY.match(authority)
    if found is None:
        return TargetFault.NOT_A_NAME if authority.startswith("[") else TargetFault.MALFORMED
    host = found.group(1).lower()
    port = int(found.group(2) or _HTTPS_PORT)
    return _host_fault(host) or (TargetFault.PORT if port not in PORTS else (host, port))


def _host_fault(host: str) -> TargetFault | None:
    labels = host.split(".")
    if len(host) > MAX_HOST_CHARS or not all(map(_LABEL.match, labels)):
        return TargetFault.NOT_A_NAME
    if labels[-1] in _LOCAL_TOPS:
        return TargetFault.LOCAL_NAME
    if len(labels) < 2 or not _TOP_LABEL.match(labels[-1]):
        return TargetFault.NOT_A_NAME
    return None
