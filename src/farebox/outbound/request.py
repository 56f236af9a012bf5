"""A request to a public address, and the checks of its method and headers."""

import re
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from farebox.kernel.slots import Share
from farebox.outbound.faults import CallRefusalReason, CallRefused

Headers: TypeAlias = Sequence[tuple[str, str]]

METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
MAX_HEADERS: Final = 100
MAX_HEADER_CHARS: Final = 64 * 1024  # of all names and values
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}\Z", re.ASCII)
VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?\Z", re.ASCII)
# RFC 9110, section 7.6.1, and the headers that belong to one connection by custom
HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_RESERVED: Final = HOP_BY_HOP | {"content-length", "expect", "host"}  # the client writes them


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """One request, sent at most once."""

    url: str
    method: str = "GET"
    headers: Headers = field(default=(), repr=False)  # a credential may be among them
    body: bytes | AsyncIterable[bytes] | None = field(default=None, repr=False)
    body_length: int | None = None  # of a body in parts; without it the body is sent chunked
    deadline_s: float = 10.0  # from the first lookup to the last byte, while anybody waits for it
    max_answer_bytes: int = 1024 * 1024  # of the body
    owner: Share | None = None  # of who caused it; None: nobody in particular


def check_request(request: OutboundRequest) -> None:
    """Check that the method and the headers are allowed.

    Raises:
        CallRefused: one of them is not.
    """
    if request.method not in METHODS:
        raise CallRefused(CallRefusalReason.METHOD)
    size = sum(len(name) + len(value) for name, value in request.headers)
    if len(request.headers) > MAX_HEADERS or size > MAX_HEADER_CHARS:
        raise CallRefused(CallRefusalReason.HEADER)
    for name, value in request.headers:
        if not _NAME.match(name) or not VALUE.match(value) or name.lower() in _RESERVED:
            raise CallRefused(CallRefusalReason.HEADER)
