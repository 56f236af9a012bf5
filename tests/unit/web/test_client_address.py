"""The address of the client, read from the peer and the forwarding headers of trusted proxies."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

import pytest

from farebox.app.setting_fields import InvalidText
from farebox.app.setting_rules import proxies
from farebox.web.client_address import client_address, client_name, site_name

PROXY: Final = "10.0.0.1"
CLIENT: Final = "203.0.113.7"
TRUSTED: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    ip_network("10.0.0.0/8"),
    ip_network("2001:db8:aa::/48"),
)


def address_of(peer: str, *headers: tuple[str, str]) -> str:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return client_address(peer, raw, TRUSTED)


def by(value: str, peer: str = PROXY) -> str:
    return address_of(peer, ("x-forwarded-for", value))


def via(value: str, peer: str = PROXY) -> str:
    return address_of(peer, ("forwarded", value))


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
def test_forwarding_headers_of_an_untrusted_peer_are_ignored(header: str) -> None:
    value = "198.51.100.1" if header == "x-forwarded-for" else "for=198.51.100.1"
    assert address_of(CLIENT, (header, value)) == CLIENT
    assert client_address(PROXY, [(header.encode(), value.encode())], ()) == PROXY


@pytest.mark.parametrize(
    ("value", "client"),
    [
        (CLIENT, CLIENT),
        (f"1.1.1.1, {CLIENT}", CLIENT),
        (f"1.1.1.1, {CLIENT}, 10.9.9.9", CLIENT),
        (f"1.1.1.1,{CLIENT}\t,10.9.9.9 , 2001:db8:aa::9", CLIENT),
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (f"{CLIENT}:4711", CLIENT),
        ("[2001:db8::5]:443", "2001:db8::5"),
        ("2001:db8::5", "2001:db8::5"),
        ("::ffff:203.0.113.7", CLIENT),
        (f"{CLIENT}, ::ffff:10.0.0.2", CLIENT),
    ],
)
def test_client_is_the_last_address_before_the_trusted_proxies(value: str, client: str) -> None:
    assert by(value) == client


@pytest.mark.parametrize(
    "value",
    [
        *("", ",", "unknown", "_hidden", "1.1.1.1, nonsense", "1.1.1.1,", "999.1.1.1", "\xff\xfe"),
        *("1.2.3.4:port", "[::1", "localhost", "0x7f.1", "1.1.1.1 2.2.2.2", "9" * 5_000),
    ],
)
def test_client_is_the_proxy_when_its_header_is_malformed(value: str) -> None:
    assert by(value) == PROXY


@pytest.mark.parametrize("peer", ["::ffff:10.0.0.1", "::FFFF:a00:1", "10.0.0.1"])
@pytest.mark.parametrize(
    "trusted", ["10.0.0.0/8", "::ffff:10.0.0.0/104", "::ffff:a00:1", "fd00::/8, ::ffff:10.0.0.1"]
)
def test_proxy_is_trusted_in_every_form_of_its_address(peer: str, trusted: str) -> None:
    """A server that listens on `::` sees IPv4 peers in the form of IPv6."""
    trusted_networks = proxies(trusted)
    for header, value in (("x-forwarded-for", CLIENT), ("forwarded", f"for={CLIENT}")):
        raw = [(header.encode(), value.encode())]
        assert client_address(peer, raw, trusted_networks) == CLIENT
        assert client_address("::ffff:11.0.0.1", raw, trusted_networks) == "11.0.0.1"
        chained = [(header.encode(), f"{value}, {value.replace(CLIENT, '10.0.0.1')}".encode())]
        assert client_address(peer, chained, trusted_networks) == CLIENT


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:0:0/98", "0.0.0.0/2"),
        ("2001:db8:aa::/48", "2001:db8:aa::/48"),
        ("::/128", "::/128"),
    ],
)
def test_proxy_network_is_read_from_ipv4_mapped_form(text: str, read: str) -> None:
    assert proxies(text) == (ip_network(read),)


@pytest.mark.parametrize(
    "text",
    [
        *("::ffff:0:0/96", "0.0.0.0/0", "::/0", "::/1", "::/80", "10.0.0.1/8"),
        *("::ffff:10.0.0.1/104", "0.0.0.0/1,128.0.0.0/1", "::/1, 8000::/1", "::ffff:0:0/97"),
        *("0.0.0.0/2,64.0.0.0/3,96.0.0.0/3", "0.0.0.0/2,0.0.0.0/1", "4000::/2,8000::/2"),
    ],
)
def test_proxy_networks_are_refused_when_they_cover_half_of_all_addresses(text: str) -> None:
    for given in (text, f"10.0.0.0/8, {text}"):
        with pytest.raises(InvalidText, match="fewer than half"):
            proxies(given)


def test_overlapping_proxy_networks_are_counted_once() -> None:
    assert len(proxies("0.0.0.0/2, 0.0.0.0/2, 10.0.0.0/8, 4000::/2, 4000::/3")) == 5


def test_repeated_header_lines_are_read_as_one_list() -> None:
    lines = (("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", f"{CLIENT}, 10.0.0.7"))
    assert address_of(PROXY, *lines) == CLIENT


def test_forwarded_list_of_ten_thousand_addresses_is_read() -> None:
    assert by(", ".join(["1.1.1.1"] * 10_000 + [CLIENT])) == CLIENT
    assert by(", ".join([CLIENT] + ["10.0.0.9"] * 10_000)) == "10.0.0.9"


@pytest.mark.parametrize(
    ("value", "client"),
    [
        (f"for={CLIENT}", CLIENT),
        (f'For="{CLIENT}:80";proto=https;by=10.0.0.1', CLIENT),
        (f"proto=https; for={CLIENT}", CLIENT),
        ('for="[2001:db8::5]:1"', "2001:db8::5"),
        (f"for=1.1.1.1, for={CLIENT};by=10.0.0.2, for=10.0.0.2", CLIENT),
        ("for=unknown", PROXY),
        ("for=_secret", PROXY),
        ("by=10.0.0.1;proto=http", PROXY),
        ("for=1.1.1.1;for=2.2.2.2", PROXY),
        (f'for="1.1.1.1, for={CLIENT}', CLIENT),
        ("for=" + "1" * 300, PROXY),
    ],
)
def test_forwarded_header_is_read_like_x_forwarded_for(value: str, client: str) -> None:
    assert via(value) == client


def test_client_is_the_proxy_when_its_headers_disagree() -> None:
    agreed = (("x-forwarded-for", CLIENT), ("forwarded", f"for={CLIENT}"))
    assert address_of(PROXY, *agreed) == CLIENT
    spoofed = (("x-forwarded-for", CLIENT), ("forwarded", "for=198.51.100.1"))
    assert address_of(PROXY, *spoofed) == PROXY


@pytest.mark.parametrize("peer", ["", "testclient", "/run/socket"])
def test_peer_without_an_address_is_unknown(peer: str) -> None:
    assert by(CLIENT, peer) == "unknown"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::99", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::99", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", "unknown"),
        ("testclient", "unknown"),
    ],
)
def test_client_name_is_an_ipv4_address_or_an_ipv6_prefix(address: str, name: str) -> None:
    assert client_name(address) == name


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1::1", "2001:db8:1::/48"),
        ("2001:db8:1:ffff::1", "2001:db8:1::/48"),
        ("2001:db8:2::1", "2001:db8:2::/48"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("testclient", "unknown"),
    ],
)
def test_site_name_is_an_ipv4_address_or_the_prefix_of_a_site(address: str, name: str) -> None:
    assert site_name(address) == name


@pytest.mark.parametrize(
    "host",
    [
        "x,for=198.51.100.9;y",
        "x, for=198.51.100.9",
        ",for=198.51.100.9;y",
        'a\\",for=198.51.100.9;y',
    ],
)
@pytest.mark.parametrize("tail", ["", ";proto=https", ';by=\\"z', ';by="_p"'])
def test_quoted_host_in_forwarded_does_not_change_the_client(host: str, tail: str) -> None:
    """Commas end an element only outside quotes: inside them the client may have written them."""
    assert via(f'for={CLIENT};host="{host}"{tail}') in (CLIENT, PROXY)
