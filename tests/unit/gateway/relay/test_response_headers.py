"""The headers of a paid response."""

import pytest

from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.gateway.relay.response_headers import OWN_HEADERS, forward_response_headers

HOST = "api.example.com"


def forward(*headers: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    forwarded = forward_response_headers(headers, upstream_host=HOST, hidden=HiddenValue(None))
    assert tuple(forwarded[-len(OWN_HEADERS) :]) == OWN_HEADERS
    return forwarded[: -len(OWN_HEADERS)]


def test_end_to_end_headers_are_forwarded_with_their_bytes() -> None:
    headers = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("content-encoding", "br"),
        ("etag", '"a"'),
        ("x-name", "caf\u00e9"),
        ("vary", "accept"),
    ]
    expected = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    assert forward(*headers) == expected


@pytest.mark.parametrize(
    "name",
    [
        "Connection", "Transfer-Encoding", "Content-Length", "Set-Cookie", "Location", "Refresh",
        "PAYMENT-RESPONSE", "Payment-Required", "Extension-Responses", "WWW-Authenticate",
        "Strict-Transport-Security", "Access-Control-Allow-Origin", "Cache-Control", "Link",
        "Content-Security-Policy", "Clear-Site-Data", "Service-Worker-Allowed", "X-Request-Id",
    ],
)  # fmt: skip
def test_header_of_the_connection_the_origin_or_the_gateway_is_not_forwarded(name: str) -> None:
    assert forward((name, "x")) == []


def test_headers_that_connection_nominates_are_not_forwarded() -> None:
    assert forward(("connection", "x-a"), ("X-A", "1"), ("x-b", "2")) == [(b"x-b", b"2")]


def test_header_that_mentions_the_upstream_host_is_not_forwarded() -> None:
    assert forward(("x-served-by", f"node 7 of {HOST.upper()}"), ("x-b", "2")) == [(b"x-b", b"2")]


def test_malformed_name_or_value_is_left_out() -> None:
    assert forward(("x a", "1"), ("x-a", "1\r\nx-b: 2"), ("x-c", "3")) == [(b"x-c", b"3")]


def test_headers_beyond_sixteen_kilobytes_are_left_out() -> None:
    kept = forward(*[(f"x-{number}", "v" * 1000) for number in range(20)])
    assert 15 <= len(kept) < 17


def test_paid_response_is_private_and_sandboxed() -> None:
    assert dict(OWN_HEADERS) == {
        b"cache-control": b"private, no-store",
        b"content-security-policy": b"sandbox; frame-ancestors 'none'",
    }
