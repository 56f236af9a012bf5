"""The headers by which pages of every origin may buy at the gateway (CORS, without cookies)."""

from typing import Final

_METHODS: Final = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
OPEN: Final = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Retry-After, X-Request-Id",
    ),
)


def preflight_headers(requested: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of the response to a preflight request.

    `requested` is `Access-Control-Request-Headers`, which is allowed as it stands: a wrapper's API
    may take any header.
    """
    return (
        *OPEN,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", requested or b"*"),
        (b"access-control-max-age", b"86400"),
    )
