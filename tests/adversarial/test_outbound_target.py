"""Cases 3.1: the targets of outbound calls."""

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from farebox.local.certificates import Authority
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import CallNotSent, CallRefusalReason, CallRefused, NotSentReason
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress, PublicResolver
from farebox.outbound.target import TargetFault
from support.outbound import LOOPBACK, SELLER, URL, lookup, seller
from support.promises import case, promise
from support.upstream import answers, upstream


async def assert_refused(*urls: str) -> None:
    """Assert that a client that would find any name on this machine refuses to call each URL."""
    async with OutboundClient(PublicResolver(lookup({}))) as client:
        for url in urls:
            with pytest.raises(CallRefused) as refused:
                async with client.call(OutboundRequest(url)):
                    pass
            assert refused.value.reason in set(TargetFault), url


@case("GW-016")
@pytest.mark.parametrize(
    ("names", "expired"),
    [
        (["other.example.com"], False), (["127.0.0.1"], False), (["example.com"], False),
        (["*.com"], False), ([f"*.{SELLER}"], False), ([SELLER], True),
    ],
)  # fmt: skip
async def test_certificate_of_another_name_is_refused(
    tmp_path: Path, names: Sequence[str], expired: bool
) -> None:
    async with seller(tmp_path, answers(), certificate=names, expired=expired) as at:
        with pytest.raises(CallNotSent) as unsent:
            await at.call()
    assert unsent.value.reason is NotSentReason.CERTIFICATE
    assert at.upstream.requests == []


@case("GW-016")
async def test_unknown_certificate_authority_is_not_trusted(tmp_path: Path) -> None:
    own = Authority(tmp_path)
    async with upstream(own.server(SELLER), answers()) as served:
        resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, served.port)}, FixedLookup({}))
        for client in (
            OutboundClient(resolver),
            OutboundClient(resolver, authority=Authority(tmp_path).file),
        ):
            async with client:
                with pytest.raises(CallNotSent) as unsent:
                    async with client.call(OutboundRequest(URL)):
                        pass
            assert unsent.value.reason is NotSentReason.CERTIFICATE
    assert served.requests == []


@case("GW-016")
async def test_plain_text_and_old_tls_versions_are_refused(tmp_path: Path) -> None:
    own = Authority(tmp_path)
    old = own.server(SELLER)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    for context in (None, old):
        async with upstream(context, answers()) as served:
            resolver = LoopbackResolver(
                {SELLER: PinnedAddress(LOOPBACK, served.port)}, FixedLookup({})
            )
            async with OutboundClient(resolver, authority=own.file) as client:
                with pytest.raises(CallNotSent):
                    async with client.call(OutboundRequest(URL, deadline_s=0.5)):
                        pass
        assert served.requests == []


USER_INFO = (
    "https://user@example.com/", "https://user:pw@example.com/", "https://:pw@example.com/",
    "https://@example.com/", "https://a.example.com%40evil.example/",
    "https://a.example.com\\@evil.example/", "https://evil.example#@a.example.com/",
    "https://a.example.com#@evil.example/", "https://a.example.com;@evil.example/",
    "https://a.example.com&@evil.example/", "https://a.example.com\\evil.example/",
    "https://a@b@example.com/", "https://a.example.com:443@evil.example/",
)  # fmt: skip


@case("GW-017")
async def test_user_info_is_refused_in_every_spelling() -> None:
    await assert_refused(*USER_INFO)


NOT_HTTPS = (
    "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
    "ws://example.com/", "wss://example.com/", "data:text/html,x", "javascript:alert(1)",
    "HTTPS://example.com/", "Https://example.com/", " https://example.com/",
    "https://example.com/ ", "\thttps://example.com/", "ht\ntps://example.com/",
    "https:/example.com/", "https:example.com/", "https:///example.com/",
    "https:\\\\example.com/", "https//example.com/", "//example.com/", "/path", "example.com", "",
    "https://", "https:///", "https://?", "https://example.com/\r\nHost: evil.example",
    "https://example.com/a b", "https://example.com/\0", "https://example.com/é",
    "https://example.com\\path",
)  # fmt: skip


@case("GW-018")
async def test_url_that_is_not_plain_https_is_refused() -> None:
    await assert_refused(*NOT_HTTPS)


PORTS = (
    "22", "25", "80", "6379", "5432", "0", "65535", "65536", "99999", "999999", "", "+443", "-1",
    "٤٤٣", "４４３", "0x1bb", "443 ", "4 43", "443:443", "1e3", "08443x",
)  # fmt: skip


@case("GW-019")
async def test_port_outside_the_list_is_refused() -> None:
    await assert_refused(*(f"https://example.com:{port}/" for port in PORTS))


HOSTS = (
    "%65xample.com", "example%2ecom", "127.0.0.1%00.example.com", "example.com%00",
    "exam\0ple.com", "ex\tample.com", "exаmple.com", "例え.jp", "１２７.0.0.1", "①②⑦.0.0.1",
    "127。0。0。1", "example。com", "a" * 300 + ".com", "a" * 64 + ".com",
    ".".join(["a" * 60] * 5) + ".com", "exa_mple.com", "example.com.", "example..com", "[::1]",
    "[::ffff:7f00:1]", "127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1",
    "1.1.1.1", "*.example.com", "xn--",
)  # fmt: skip


@case("GW-020")
async def test_host_that_is_not_a_plain_name_is_refused() -> None:
    await assert_refused(*(f"https://{host}/" for host in HOSTS))


@case("GW-021")
async def test_call_of_the_service_itself_is_refused_under_any_name(tmp_path: Path) -> None:
    own = ("https://localhost:8443/settle", "https://127.0.0.1/settle", "https://[::1]/")
    await assert_refused(*own)
    for address in ("127.0.0.1", "127.0.0.53", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"):
        resolver = PublicResolver(lookup({"pay.example.com": [address]}))
        async with OutboundClient(resolver) as client:
            with pytest.raises(CallRefused) as refused:
                async with client.call(OutboundRequest("https://pay.example.com/settle")):
                    pass
        assert refused.value.reason is CallRefusalReason.ADDRESS


@case("GW-022")
@pytest.mark.parametrize(
    "headers",
    [
        ("Location: http://169.254.169.254/latest/meta-data/",),
        (f"Location: {URL}",),
        ("Location: /elsewhere", "Location: https://[::1"),
        ("Refresh: 0; url=https://localhost/",),
        ("URI: https://localhost/", "Content-Location: https://localhost/"),
        (),
    ],
)
async def test_redirect_is_not_followed(tmp_path: Path, headers: tuple[str, ...]) -> None:
    statuses = ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent", "200 OK")
    async with seller(tmp_path, answers()) as at:
        for status in statuses:
            at.upstream.answer = answers(b"here", status=status, headers=headers)
            for method in ("GET", "POST"):
                called = await at.call(OutboundRequest(URL, method=method))
                assert (called.status, called.body) == (int(status[:3]), b"here")
    wanted = 2 * len(statuses)
    assert (len(at.upstream.requests), at.upstream.connections) == (wanted, wanted)


@case("GW-023")
async def test_environment_proxies_and_netrc_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {SELLER} login secret password secret\n")
    netrc.chmod(0o600)
    async with upstream(None, answers()) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NETRC", str(netrc))
        async with seller(tmp_path, answers(b"direct")) as at:
            assert (await at.call()).body == b"direct"
    assert proxy.connections == 0
    assert b"authorization" not in at.upstream.requests[0].lower()


@case("GW-024")
@pytest.mark.parametrize(
    "addresses",
    [
        ["0.0.0.0"], ["::"], ["fe80::1%1"], ["fe80::1"], ["169.254.1.1"], ["2606:4700::1%3"],
        ["1.1.1.1", "0.0.0.0"], ["1.1.1.1", "192.168.0.1"], ["2606:4700::1", "::ffff:10.0.0.1"],
        ["64:ff9b::7f00:1"],
    ],
)  # fmt: skip
async def test_name_with_a_non_public_address_is_not_called(
    addresses: Sequence[str],
) -> None:
    async with OutboundClient(PublicResolver(lookup({SELLER: addresses}))) as client:
        with pytest.raises(CallRefused) as refused:
            async with client.call(OutboundRequest(URL)):
                pass
    assert refused.value.reason is CallRefusalReason.ADDRESS


@case("GW-024")
@promise("outbound:pinned")
async def test_dns_change_between_check_and_connection_has_no_effect(
    tmp_path: Path,
) -> None:
    """The name is looked up once, and what was found is connected to."""

    class Rebinding:
        requests = 0

        def __init__(self, port: int) -> None:
            self._port = port

        async def pin(self, target: object, owner: object = None) -> PinnedAddress:
            self.requests += 1
            return PinnedAddress(LOOPBACK, self._port if self.requests == 1 else 1)

    authority = Authority(tmp_path)
    async with upstream(authority.server(SELLER), answers(b"first")) as served:
        resolver = Rebinding(served.port)
        client = OutboundClient(resolver, authority=authority.file)
        async with client, client.call(OutboundRequest(URL)) as answer:
            assert await answer.read() == b"first"
    assert resolver.requests == 1


@case("GW-024")
async def test_connection_to_another_address_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other end is compared once more: a route or a library may have other ideas."""
    async with seller(tmp_path, answers()) as at:
        connect = asyncio.get_running_loop().sock_connect

        async def elsewhere(sock: object, place: tuple[str, int]) -> None:
            await connect(sock, ("127.0.0.1", at.upstream.port))  # type: ignore[arg-type]

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", elsewhere)
        other = PinnedAddress(LOOPBACK + 1, at.upstream.port)
        client = OutboundClient(
            LoopbackResolver({SELLER: other}, FixedLookup({})), authority=at.client._authority
        )
        async with client:
            with pytest.raises(CallNotSent) as unsent:
                async with client.call(OutboundRequest(URL)):
                    pass
    assert unsent.value.reason is NotSentReason.PEER
    assert at.upstream.requests == []
