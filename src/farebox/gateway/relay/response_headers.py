"""The headers of a buyer's response, made from those of the upstream."""

import re
from collections.abc import Sequence
from typing import Final

from farebox.gateway.relay.header_rules import PAYMENT, TOKEN, Header, nominated_names
from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.outbound.request import HOP_BY_HOP

RawHeader = tuple[bytes, bytes]

_MAX_BYTES: Final = 16 * 1024  # of all forwarded headers; clients refuse more beside a receipt
# for this origin as a whole, about the upstream's own place, or written by the gateway
_NOT_FORWARDED: Final = frozenset(
    {
        "alt-svc",
        "age",
        "cache-control",
        "clear-site-data",
        "content-length",
        "content-location",
        "content-security-policy",
        "content-security-policy-report-only",
        "expect-ct",
        "expires",
        "forwarded",
        "link",
        "location",
        "nel",
        "pragma",
        "public-key-pins",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
        "set-cookie",
        "set-cookie2",
        "sourcemap",
        "strict-transport-security",
        "surrogate-control",
        "via",
        "www-authenticate",
        "x-content-type-options",
        "x-frame-options",
        "x-request-id",
        "x-sourcemap",
    }
)
_PREFIXES: Final = ("access-control-", "x-farebox-", "x-accel-", "cdn-", "cross-origin-")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
# An upstream's page must not run as a page of this origin, which has sessions of its own.
OWN_HEADERS: Final[tuple[RawHeader, ...]] = (
    (b"cache-control", b"private, no-store"),
    (b"content-security-policy", b"sandbox; frame-ancestors 'none'"),
)


def forward_response_headers(
    headers: Sequence[Header], *, upstream_host: str, hidden: HiddenValue
) -> list[RawHeader]:
    """Make the headers of a paid response, without the receipt and the body's length.

    Args:
        headers: the upstream's headers, each byte as one character.
        upstream_host: the upstream's host name. A header that mentions it is left out: the buyer
            does not learn where the upstream is.
        hidden: the upstream's credential; a header that holds it is left out.
    """
    left_out = nominated_names(headers)
    host = upstream_host.lower()
    kept: list[RawHeader] = []
    size = 0
    for name, value in headers:
        lowered = name.lower()
        if not _is_forwarded(lowered) or lowered in left_out or host in value.lower():
            continue
        if hidden.is_in(value.encode("latin-1", "replace")):
            continue
        size += len(name) + len(value)
        if TOKEN.match(name) and _VALUE.match(value) and size <= _MAX_BYTES:
            kept.append((lowered.encode(), value.encode("latin-1")))
    return [*kept, *OWN_HEADERS]


def _is_forwarded(name: str) -> bool:
    if name in HOP_BY_HOP or name in PAYMENT or name in _NOT_FORWARDED:
        return False
    return not name.startswith(_PREFIXES)
