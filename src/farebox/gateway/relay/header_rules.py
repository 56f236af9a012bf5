"""The headers that the gateway does not pass on, in one direction or in both."""

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

Header: TypeAlias = tuple[str, str]

# x402 version 2, HTTP transport, and the names of version 1
PAYMENT: Final = frozenset(
    {
        "extension-responses",
        "payment",
        "payment-required",
        "payment-response",
        "payment-signature",
        "settlement-overrides",
        "x-payment",
        "x-payment-response",
    }
)
# orders to servers and caches on the way: of files to send, of copies to keep
DIRECTIVES: Final = (
    "cdn-",
    "edge-cache-",
    "edge-control",
    "surrogate-",
    "x-accel-",
    "x-lighttpd-",
    "x-litespeed-",
    "x-reproxy-",
    "x-sendfile",
    "x-send-file",
)
TOKEN: Final = re.compile(r"[!#$%&'*+.^`|~0-9A-Za-z-]{1,256}\Z", re.ASCII)  # without underscores


def nominated_names(headers: Iterable[Header]) -> frozenset[str]:
    """Return the names that the `Connection` headers nominate, in lower case."""
    values = (value for name, value in headers if name.lower() == "connection")
    return frozenset(name.strip().lower() for value in values for name in value.split(","))
