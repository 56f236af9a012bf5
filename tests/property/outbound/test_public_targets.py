"""No spelling of a URL and no DNS answer leads a call to an address that is not public."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from farebox.outbound.address_ranges import RESERVED, is_public
from farebox.outbound.client import _url
from farebox.outbound.faults import CallRefused
from farebox.outbound.resolve import PublicResolver
from farebox.outbound.target import PORTS, Target, parse_target
from support.examples import examples
from support.outbound import SELLER, lookup

addresses = st.one_of(
    st.ip_addresses(v=4),
    st.ip_addresses(v=6),
    st.ip_addresses(v=4).map(lambda four: IPv6Address(0xFFFF_0000_0000 | int(four))),
    st.ip_addresses(v=4).map(lambda four: IPv6Address((0x64FF9B << 96) | int(four))),
    st.ip_addresses(v=4).map(lambda four: IPv6Address((0x2002 << 112) | (int(four) << 80))),
    st.sampled_from([each.block for each in RESERVED]).flatmap(
        lambda block: st.integers(0, block.num_addresses - 1).map(lambda at: block[at])
    ),
)
pieces = st.sampled_from(
    [
        *("https", "http", "HTTPS", ":", "/", "//", "\\", "@", "#", "?", ".", "..", "%2e", "%00"),
        *("%40", "[", "]", "::1", "127.0.0.1", "0x7f", "2130706433", "localhost", "example.com"),
        *("evil.org", "443", "80", ":443", ":8443", "a", "é", "。", "\t", "\n", " ", "xn--", "-"),
        *("*", "user:pw@"),
    ]
)
spellings = st.one_of(
    st.text(max_size=60),
    st.text(max_size=60).map("https://".__add__),
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=12).map(lambda found: "https://" + "".join(found)),
    st.tuples(st.lists(pieces, max_size=4), st.lists(pieces, max_size=4)).map(
        lambda pair: "https://" + "".join(pair[0]) + "example.com" + "".join(pair[1])
    ),
)
NAME = re.compile(r"(?!\d+\Z)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]\Z", re.ASCII)


@settings(max_examples=examples(400), deadline=None)
@given(spellings)
def test_accepted_target_has_one_public_host_for_every_url_parser(url: str) -> None:
    read = parse_target(url)
    if not isinstance(read, Target):
        return
    assert NAME.match(read.host), read.host
    assert read.port in PORTS
    assert read.host.rpartition(".")[2] not in ("localhost", "local", "internal", "arpa")
    split, other = urlsplit(url), URL(url, encoded=True)
    assert (split.scheme, split.hostname, split.port or 443) == ("https", read.host, read.port)
    assert (other.scheme, (other.raw_host or "").lower(), other.port) == (
        "https",
        read.host,
        read.port,
    )
    sent = _url(read)
    assert (sent.raw_host, sent.port, sent.raw_path_qs.partition("?")[0]) == (
        read.host,
        read.port,
        read.path,
    )
    assert sent.user is None
    assert url.startswith("https://")
    assert not any(ord(char) <= 32 or ord(char) >= 127 for char in read.path_and_query)


@settings(max_examples=examples(500), deadline=None)
@given(addresses)
def test_is_public_is_false_in_every_reserved_range(address: IPv4Address | IPv6Address) -> None:
    inside = [each for each in RESERVED if address in each.block]
    if is_public(address):
        assert inside == []
        assert address.is_global
        assert not address.is_multicast
        assert ip_address(str(address)) == address


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(addresses, min_size=1, max_size=5))
async def test_resolver_pins_a_name_to_a_public_address_or_refuses(
    found: list[IPv4Address | IPv6Address],
) -> None:
    resolver = PublicResolver(lookup({SELLER: [str(each) for each in found]}))
    try:
        pinned = await resolver.pin(Target(SELLER, 443, "/", "", False))
    except CallRefused:
        assert not all(map(is_public, found))
    else:
        assert pinned.address in found
        assert all(map(is_public, found))
