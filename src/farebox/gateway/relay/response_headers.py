"""The headers of a buyer's response, made from those of the upstream."""

import re
from collections.abc import Sequence
from typing import Final

from farebox.gateway.relay.header_rules import (
    DIRECTIVES,
    PAYMENT,
    TOKEN,
    Header,
    nominated_names,
)
from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.outbound.request import HOP_BY_HOP

RawHeader = tuple[bytes, bytes]

_MAX_BYTES: Final = 16 * 1024  # of all forwarded headers; clients refuse more beside a receipt
# for this origin as a whole, about the upstream's own place, or written by the gateway
_NOT_FORWARDED: Final = frozenset(
    {
        "age",
        "alt-svc",
        "alt-used",
        "cache-group-invalidation",
        "cache-groups",
        "cache-tag",
        "clear-site-data",
        "content-base",
        "content-dpr",
        "content-length",
        "content-location",
        "date",
        "default-style",
        "expect-ct",
        "expires",
        "forwarded",
        "link",
        "location",
        "login-status",
        "nel",
        "p3p",
        "pics-label",
        "pragma",
        "refresh",
        "report-to",
        "server",
        "sourcemap",
        "strict-transport-security",
        "timing-allow-origin",
        "tk",
        "via",
        "window-target",
        "www-authenticate",
        "x-content-type-options",
        "x-dns-prefetch-control",
        "x-download-options",
        "x-frame-options",
        "x-request-id",
        "x-robots-tag",
        "x-sourcemap",
        "x-ua-compatible",
        "x-xss-protection",
    }
)
# Names that browsers and caches act upon, with those of their families that are still to come. A
# seller's own names are none of them.
_PREFIXES: Final = (
    *DIRECTIVES,
    "accept-",
    "access-control-",
    "activate-storage-",
    "ad-auction-",
    "attribution-reporting-",
    "connection-allowlist",
    "content-security-policy",
    "critical-ch",
    "cross-origin-",
    "document-isolation-",
    "document-policy",
    "feature-policy",
    "idp-signin-",
    "integrity-policy",
    "netlify-",
    "no-vary-search",
    "observe-browsing-",
    "origin-agent-",
    "origin-isolation",
    "origin-trial",
    "permissions-policy",
    "private-network-",
    "public-key-pins",
    "referrer-policy",
    "reporting-endpoints",
    "require-document-",
    "run-ad-auction",
    "sec-",
    "secure-session-",
    "service-worker-",
    "set-",
    "shared-storage-",
    "speculation-rules",
    "supports-loading-",
    "use-as-dictionary",
    "x-allow-fledge",
    "x-content-security-",
    "x-farebox-",
    "x-permitted-cross-domain-",
    "x-webkit-csp",
)
_ENDING: Final = "cache-control"  # of one cache or another
_PASSED: Final = frozenset({"accept-patch", "accept-post", "accept-query", "accept-ranges"})
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
        hidden: the upstream's credential; a header whose name or value holds it is left out.
    """
    left_out = nominated_names(headers)
    host = upstream_host.lower()
    kept: list[RawHeader] = []
    size = 0
    for name, value in headers:
        lowered = name.lower()
        if not _is_forwarded(lowered) or lowered in left_out or host in value.lower():
            continue
        if any(hidden.is_in(each.encode("latin-1", "replace")) for each in (name, value)):
            continue
        size += len(name) + len(value)
        if TOKEN.match(name) and _VALUE.match(value) and size <= _MAX_BYTES:
            kept.append((lowered.encode(), value.encode("latin-1")))
    return [*kept, *OWN_HEADERS]


def _is_forwarded(name: str) -> bool:
    if name in _PASSED:
        return True
    if name in HOP_BY_HOP or name in PAYMENT or name in _NOT_FORWARDED:
        return False
    return not name.startswith(_PREFIXES) and not name.endswith(_ENDING)
