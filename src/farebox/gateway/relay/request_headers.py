"""The headers of an upstream request, made from those of the buyer."""

from collections.abc import Sequence
from typing import Final

from farebox.gateway.relay.header_rules import (
    DIRECTIVES,
    PAYMENT,
    TOKEN,
    Header,
    nominated_names,
)
from farebox.kernel.secret import Secret
from farebox.outbound.request import HOP_BY_HOP, VALUE

PAYMENT_HEADER: Final = "X-Farebox-Payment"  # the transaction hash
ATTEMPT_HEADER: Final = "X-Farebox-Attempt"  # 1 for the first
_MAX_FIELDS: Final = 90  # below the 100 of an outbound request, with ours
# written by the gateway itself, for this service alone, or about the way to it
_NOT_FORWARDED: Final = frozenset(
    {
        "access-control-expose-headers",  # stock buyers send it with a payment
        "authorization",
        "cf-connecting-ip",
        "client-ip",
        "content-length",
        "cookie",
        "cookie2",
        "expect",
        "fastly-client-ip",
        "forwarded",
        "host",
        "http2-settings",
        "origin",
        "proxy",  # a CGI program takes it for the proxy of its own calls: HTTP_PROXY (RFC 3875)
        "referer",
        "service-worker",
        "true-client-ip",
        "via",
        "x-api-key",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-real-ip",
    }
)
# the request line and Host by another name: another method or path than the one that was paid for
_OVERRIDES: Final = frozenset(
    {
        "http-method",
        "method-override",
        "request-uri",
        "x-host",
        "x-http-destinationurl",
        "x-http-host-override",
        "x-http-path-override",
        "x-method",
        "x-method-override",
        "x-original-host",
        "x-original-method",
        "x-original-uri",
        "x-original-url",
        "x-override-url",
        "x-rewrite-method",
        "x-rewrite-uri",
        "x-rewrite-url",
    }
)
# RFC 9110, section 13.1: a 304 or a 412 would use a paid attempt up
_CONDITIONS: Final = frozenset(
    {"if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"}
)
# By these a buyer would have an echoed credential in a form that the search does not find.
_REPRESENTATIONS: Final = frozenset(
    {"a-im", "accept-charset", "accept-encoding", "available-dictionary", "range"}
)
_IF_RANGE: Final = "if-range"
_IF_CACHED: Final = "only-if-cached"  # a directive of Cache-Control: a 504 unless a cache has it
_PREFIXES: Final = (
    *DIRECTIVES,
    "access-control-",
    "sec-fetch-",
    "x-farebox-",
    "x-forwarded",
    "x-http-method",
)


def is_forwarded(name: str) -> bool:
    """Whether a buyer's header of this name (lower case) may reach an upstream."""
    if name in HOP_BY_HOP or name in PAYMENT or name in _NOT_FORWARDED:
        return False
    return name not in _OVERRIDES and name not in _CONDITIONS and not name.startswith(_PREFIXES)


def forward_request_headers(
    headers: Sequence[tuple[bytes, bytes]],
    *,
    transaction: str,
    attempt: int,
    credential: tuple[str, Secret[str]] | None,
) -> list[Header] | None:
    """Make the headers of an upstream request.

    The credential is added last. The buyer's header of the same name is not forwarded, so that the
    upstream sees the credential once; nor does the buyer then choose a coding or a range of the
    response. Without its condition a range would join parts of two versions, so it goes as well.
    Names with underscores are left out: a server behind CGI takes them for the same names with
    hyphens.

    Args:
        headers: the buyer's headers as they were received.
        transaction: the hash of the payment's transaction.
        attempt: the number of this attempt to deliver, from 1.
        credential: the header that carries the wrapper's secret, and its whole value.

    Returns:
        The headers in the buyer's order; None when a value has control characters or bytes outside
        ASCII, or when there are too many.
    """
    read = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    left_out = _left_out(read, None if credential is None else credential[0])
    kept = [
        (name, value.strip("\t "))
        for name, value in read
        if TOKEN.match(name) and is_forwarded(name.lower()) and name.lower() not in left_out
    ]
    if len(kept) > _MAX_FIELDS or not all(VALUE.match(value) for _, value in kept):
        return None
    kept += [(PAYMENT_HEADER, transaction), (ATTEMPT_HEADER, str(attempt))]
    if credential is not None:
        name, secret = credential
        kept.append((name, secret.reveal()))
    return kept


def _left_out(headers: Sequence[Header], credential: str | None) -> frozenset[str]:
    """Return the names that are left out of this request; `credential` is the header of one."""
    left_out = nominated_names(headers)
    if credential is not None:
        left_out |= {credential.lower()} | _REPRESENTATIONS
    for name, value in headers:
        if name.lower() == _IF_RANGE:
            left_out |= {"range"}
        elif name.lower() == "cache-control" and _IF_CACHED in value.lower():
            left_out |= {"cache-control"}
    return left_out
