"""The headers of a paid response."""

from typing import Final

import pytest

from farebox.gateway.relay import response_headers
from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.gateway.relay.response_headers import OWN_HEADERS, forward_response_headers

HOST = "api.example.com"
OF_THE_GATEWAY: Final = [
    "Connection", "Transfer-Encoding", "Content-Length", "Set-Cookie", "Location", "Refresh",
    "PAYMENT-RESPONSE", "Payment-Required", "Extension-Responses", "WWW-Authenticate",
    "Strict-Transport-Security", "Access-Control-Allow-Origin", "Cache-Control", "Link",
    "Content-Security-Policy", "Clear-Site-Data", "Service-Worker-Allowed", "X-Request-Id",
    "Server", "Date", "Age", "Via", "Set-Cookie2", "X-Farebox-Attempt", "Keep-Alive",
    "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Upgrade",
    "Payment", "Payment-Signature", "Settlement-Overrides", "X-PAYMENT", "X-PAYMENT-RESPONSE",
    "Alt-Svc", "Alt-Used", "Content-Base", "Content-Location", "Expires", "Forwarded", "Pragma",
]  # fmt: skip
OF_SERVERS_AND_CACHES: Final = [
    "X-Sendfile", "X-Sendfile2", "X-Send-File", "X-Lighttpd-Send-File", "X-LIGHTTPD-send-tempfile",
    "X-LiteSpeed-Location", "X-Reproxy-URL", "X-Accel-Redirect", "CDN-Cache-Control", "CDN-Loop",
    "Cloudflare-CDN-Cache-Control", "Vercel-CDN-Cache-Control", "Netlify-Vary", "Edge-Control",
    "Edge-Cache-Tag", "Surrogate-Control", "Surrogate-Key", "Cache-Tag", "Cache-Groups",
    "Cache-Group-Invalidation",
]  # fmt: skip
OF_BROWSERS: Final = [
    "Accept-CH", "Accept-CH-Lifetime", "Critical-CH", "Origin-Agent-Cluster", "Origin-Trial",
    "Speculation-Rules", "Use-As-Dictionary", "Set-Login", "Activate-Storage-Access",
    "Sec-Session-Registration", "Sec-Session-Challenge", "Secure-Session-Registration",
    "Attribution-Reporting-Register-Source", "Attribution-Reporting-Register-Trigger",
    "Observe-Browsing-Topics", "Permissions-Policy", "Permissions-Policy-Report-Only",
    "Document-Policy", "Feature-Policy", "Integrity-Policy", "Referrer-Policy",
    "Cross-Origin-Opener-Policy", "Document-Isolation-Policy", "Supports-Loading-Mode",
    "No-Vary-Search", "Reporting-Endpoints", "Report-To", "NEL", "Timing-Allow-Origin",
    "Ad-Auction-Allowed", "Shared-Storage-Write", "X-DNS-Prefetch-Control", "X-UA-Compatible",
    "X-Permitted-Cross-Domain-Policies", "SourceMap", "X-SourceMap", "Connection-Allowlist",
    "Content-DPR", "Default-Style", "Expect-CT", "IdP-SignIn-Status", "Login-Status",
    "Origin-Isolation", "P3P", "PICS-Label", "Private-Network-Access-Name", "Public-Key-Pins",
    "Require-Document-Policy", "Run-Ad-Auction-Result", "Tk", "Window-Target",
    "X-Allow-FLEDGE", "X-Content-Security-Policy", "X-Content-Type-Options", "X-Download-Options",
    "X-Frame-Options", "X-Robots-Tag", "X-WebKit-CSP", "X-XSS-Protection",
]  # fmt: skip
FORWARDED: Final = [
    "Accept-Patch", "Accept-Post", "Accept-Query", "Accept-Ranges", "Allow", "Content-Disposition",
    "Content-Language", "Content-Range", "Deprecation", "ETag", "Last-Modified", "Link-Template",
    "RateLimit-Policy", "Repr-Digest", "Retry-After", "Server-Timing", "Sunset", "Vary",
    "Refund-Policy", "Model-Version", "Setup-Id", "Second", "Critical-Count", "Report-Token",
    "X-Powered-By", "X-Policy", "X-RateLimit-Remaining", "Openai-Processing-Ms", "Request-Id",
]  # fmt: skip


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


@pytest.mark.parametrize("name", OF_THE_GATEWAY)
def test_header_of_the_connection_the_origin_or_the_gateway_is_not_forwarded(name: str) -> None:
    assert forward((name, "x")) == []


@pytest.mark.parametrize("name", OF_SERVERS_AND_CACHES)
def test_order_to_a_server_or_cache_is_not_forwarded(name: str) -> None:
    assert forward((name, "x")) == []


@pytest.mark.parametrize("name", OF_BROWSERS)
def test_header_that_browsers_act_upon_is_not_forwarded(name: str) -> None:
    assert forward((name, "x")) == []


@pytest.mark.parametrize("name", FORWARDED)
def test_header_of_the_representation_or_of_the_seller_s_own_is_forwarded(name: str) -> None:
    assert forward((name, "x")) == [(name.lower().encode(), b"x")]


@pytest.mark.parametrize(
    "part", ["_NOT_FORWARDED", "_PREFIXES", "_PASSED", "PAYMENT", "HOP_BY_HOP"]
)
def test_control_each_rule_for_names_decides_one_of_these(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rule can be lost without one of the tests above failing."""
    rules = getattr(response_headers, part)
    for rule in rules:
        monkeypatch.setattr(response_headers, part, type(rules)(set(rules) - {rule}))
        refused = [*OF_THE_GATEWAY, *OF_SERVERS_AND_CACHES, *OF_BROWSERS]
        is_lost = any(forward((name, "x")) for name in refused)
        assert is_lost or not all(forward((name, "x")) for name in FORWARDED), rule


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
