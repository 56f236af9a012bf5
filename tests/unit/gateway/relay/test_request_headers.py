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
        (b"cache-control", b"no-cache"),
        (b"x-payment-method", b"a seller's own"),
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
        "Proxy",
    ],
)  # fmt: skip
def test_credential_forwarding_or_own_header_of_buyer_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"forged")) == OURS


@pytest.mark.parametrize(
    "name",
    [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method",
        "X-Rewrite-URL", "X-Original-URI", "X-Host", "X-HTTP-Host-Override",
    ],
)  # fmt: skip
def test_other_method_path_or_host_than_the_paid_one_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"DELETE")) == OURS


@pytest.mark.parametrize(
    "name", ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"]
)
def test_condition_that_could_turn_a_response_into_an_owed_one_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b'"a"')) == OURS


def test_range_is_not_forwarded_without_its_condition() -> None:
    assert forward((b"Range", b"bytes=0-1"), (b"If-Range", b'"a"'), (b"a", b"b")) == [
        ("a", "b"), *OURS,
    ]  # fmt: skip


def test_request_for_a_cached_response_alone_is_not_forwarded() -> None:
    assert forward((b"Cache-Control", b"max-age=9, Only-If-Cached")) == OURS


@pytest.mark.parametrize(
    "name",
    [
        "Cookie2", "X-Sendfile-Type", "X-Accel-Mapping", "X-Lighttpd-Send-File", "Edge-Control",
        "CDN-Loop", "Surrogate-Capability",
    ],
)  # fmt: skip
def test_order_to_a_server_or_cache_is_not_forwarded(name: str) -> None:
    assert forward((name.encode(), b"x")) == OURS


@pytest.mark.parametrize(
    "name", ["Accept-Encoding", "Range", "Accept-Charset", "A-IM", "Available-Dictionary"]
)
def test_buyer_of_a_wrapper_with_a_credential_chooses_no_coding_and_no_range(name: str) -> None:
    sent = (name.encode(), b"x")
    assert forward(sent) == [(name, "x"), *OURS]
    assert forward(sent, credential=("A", "s3cr3t")) == [*OURS, ("A", "s3cr3t")]


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
