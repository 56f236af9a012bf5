"""The headers of an upstream request."""

import pytest

from farebox.gateway.relay.request_headers import forward_request_headers
from farebox.kernel.secret import Secret

OURS = [("X-Farebox-Payment", "ab" * 32), ("X-Farebox-Attempt", "2")]


def forward(
    *headers: tuple[bytes, bytes], credential: tuple[str, str] | None = None
) -> list[tuple[str, str]] | None:
    given = None if credential is None else (credential[0], Secret(credential[1]))
    return forward_request_headers(headers, transaction="ab" * 32, attempt=2, credential=given)


def test_end_to_end_headers_are_forwarded_unchanged_and_in_order() -> None:
    sent = (
        (b"Accept", b"application/json"),
        (b"accept-encoding", b"zstd;q=0.5, x-made-up"),
        (b"range", b"bytes=0-1"),
        (b"if-none-match", b'"a"'),
        (b"x-repeated", b"1"),
        (b"x-repeated", b"2"),
        (b"content-type", b"text/plain"),
    )
    expected = [(name.decode(), value.decode()) for name, value in sent]
    assert forward(*sent) == expected + OURS


@pytest.mark.parametrize(
    "name",
    [
        "connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
        "Transfer-Encoding", "Upgrade", "Proxy-Authenticate",
    ],
)  # fmt: skip
def test_hop_by_hop_header_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"x")) == OURS


def test_headers_that_connection_nominates_are_not_forwarded() -> None:
    sent = [(b"Connection", b"close, X-One"), (b"connection", b"x-two")]
    sent += [(b"x-one", b"1"), (b"X-Two", b"2"), (b"x-three", b"3")]
    assert forward(*sent) == [("x-three", "3"), *OURS]


@pytest.mark.parametrize(
    "name",
    [
        "PAYMENT-SIGNATURE", "payment-required", "Payment-Response", "X-PAYMENT",
        "x-payment-response", "Extension-Responses", "Settlement-Overrides",
    ],
)  # fmt: skip
def test_payment_header_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"e30=")) == OURS


@pytest.mark.parametrize(
    "name",
    [
        "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via", "Host", "X-Real-IP", "Cookie",
        "Authorization", "X-API-Key", "X-Farebox-Payment", "x-farebox-attempt", "X_Forwarded_For",
        "X-Original-URL", "Expect", "Content-Length", "Origin", "Referer", "Sec-Fetch-Site",
    ],
)  # fmt: skip
def test_credential_forwarding_or_own_header_of_buyer_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"forged")) == OURS


def test_credential_is_the_last_header_and_replaces_that_of_the_buyer() -> None:
    forwarded = forward((b"x-token", b"forged"), (b"a", b"b"), credential=("X-Token", "s3cr3t"))
    assert forwarded == [("a", "b"), *OURS, ("X-Token", "s3cr3t")]


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\0b", b"caf\xc3\xa9", b"\x7f", b"a\x0bb"])
def test_value_with_control_characters_or_foreign_bytes_is_refused(value: bytes) -> None:
    assert forward((b"x-a", value)) is None
    assert forward((b"x-a", b"\t plain ")) == [("x-a", "plain"), *OURS]


def test_more_headers_than_an_upstream_request_may_have_are_refused() -> None:
    assert forward(*[(b"x-a", b"1")] * 90) is not None
    assert forward(*[(b"x-a", b"1")] * 91) is None
