"""The headers of an upstream request, made from those of the buyer."""

from collections.abc import Sequence
from typing import Final

from farebox.gateway.relay.header_rules import (
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
        "cdn-loop",
        "cf-connecting-ip",
        "client-ip",
        "content-length",
        "cookie",
        "expect",
        "fastly-client-ip",
        "forwarded",
        "host",
        "http2-settings",
        "origin",
        "referer",
        "service-worker",
        "true-client-ip",
        "via",
        "x-api-key",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-host",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    }
)
_PREFIXES: Final = ("x-farebox-", "x-forwarded", "sec-fetch-", "access-control-")


def is_forwarded(name: str) -> bool:
    """Whether a buyer's header of this name (lower case) may reach an upstream."""
    if name in HOP_BY_HOP or name in PAYMENT or name in _NOT_FORWARDED:
        return False
    return not name.startswith(_PREFIXES)


def forward_request_headers(
    headers: Sequence[tuple[bytes, bytes]],
    *,
    transaction: str,
    attempt: int,
    credential: tuple[str, Secret[str]] | None,
) -> list[Header] | None:
    """Make the headers of an upstream request.

    The credential is added last. The buyer's header of the same name is not forwarded, so that the
    upstream sees the credential once. Names with underscores are left out: a server behind CGI
    takes them for the same names with hyphens.

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
    left_out = nominated_names(read)
    if credential is not None:
        left_out |= {credential[0].lower()}
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
