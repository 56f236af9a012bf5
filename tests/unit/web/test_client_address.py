"""From which address a request comes, whatever its headers say."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

import pytest

from farebox.app.setting_rules import Unwanted, proxies
from farebox.web.client_address import client_address, client_name

PROXY: Final = "10.0.0.1"
CLIENT: Final = "203.0.113.7"
TRUSTED: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    ip_network("10.0.0.0/8"),
    ip_network("2001:db8:aa::/48"),
)


def told(peer: str, *headers: tuple[str, str]) -> str:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return client_address(peer, raw, TRUSTED)


def by(value: str, peer: str = PROXY) -> str:
    return told(peer, ("x-forwarded-for", value))


def via(value: str, peer: str = PROXY) -> str:
    return told(peer, ("forwarded", value))


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
def test_a_stranger_is_who_it_is_whatever_it_says(header: str) -> None:
    said = "198.51.100.1" if header == "x-forwarded-for" else "for=198.51.100.1"
    assert told(CLIENT, (header, said)) == CLIENT
    assert client_address(PROXY, [(header.encode(), said.encode())], ()) == PROXY


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
def test_a_proxy_is_believed_up_to_the_first_address_that_is_none(value: str, client: str) -> None:
    assert by(value) == client


@pytest.mark.parametrize(
    "value",
    [
        *("", ",", "unknown", "_hidden", "1.1.1.1, nonsense", "1.1.1.1,", "999.1.1.1", "\xff\xfe"),
        *("1.2.3.4:port", "[::1", "localhost", "0x7f.1", "1.1.1.1 2.2.2.2", "9" * 5_000),
    ],
)
def test_what_cannot_be_read_ends_the_way_at_the_proxy_that_said_it(value: str) -> None:
    assert by(value) == PROXY


@pytest.mark.parametrize("peer", ["::ffff:10.0.0.1", "::FFFF:a00:1", "10.0.0.1"])
@pytest.mark.parametrize(
    "trusted", ["10.0.0.0/8", "::ffff:10.0.0.0/104", "::ffff:a00:1", "fd00::/8, ::ffff:10.0.0.1"]
)
def test_a_proxy_is_the_same_however_its_address_is_written(peer: str, trusted: str) -> None:
    """A server that listens on `::` is told of IPv4 peers in the form of IPv6."""
    believed = proxies(trusted)
    for header, said in (("x-forwarded-for", CLIENT), ("forwarded", f"for={CLIENT}")):
        raw = [(header.encode(), said.encode())]
        assert client_address(peer, raw, believed) == CLIENT
        assert client_address("::ffff:11.0.0.1", raw, believed) == "11.0.0.1"
        chained = [(header.encode(), f"{said}, {said.replace(CLIENT, '10.0.0.1')}".encode())]
        assert client_address(peer, chained, believed) == CLIENT


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:0:0/97", "0.0.0.0/1"),
        ("2001:db8:aa::/48", "2001:db8:aa::/48"),
        ("::/128", "::/128"),
    ],
)
def test_a_network_of_proxies_is_read_as_what_it_means(text: str, read: str) -> None:
    assert proxies(text) == (ip_network(read),)


@pytest.mark.parametrize(
    "text",
    ["::ffff:0:0/96", "0.0.0.0/0", "::/0", "::/1", "::/80", "10.0.0.1/8", "::ffff:10.0.0.1/104"],
)
def test_a_network_of_everybody_is_no_proxys(text: str) -> None:
    for given in (text, f"10.0.0.0/8, {text}"):
        with pytest.raises(Unwanted, match="not all there are"):
            proxies(given)


def test_lines_of_one_header_are_one_list() -> None:
    lines = (("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", f"{CLIENT}, 10.0.0.7"))
    assert told(PROXY, *lines) == CLIENT


def test_no_list_is_too_long() -> None:
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
def test_the_standard_header_is_read_alike(value: str, client: str) -> None:
    assert via(value) == client


def test_two_headers_that_disagree_lead_to_nobody_else() -> None:
    agreed = (("x-forwarded-for", CLIENT), ("forwarded", f"for={CLIENT}"))
    assert told(PROXY, *agreed) == CLIENT
    spoofed = (("x-forwarded-for", CLIENT), ("forwarded", "for=198.51.100.1"))
    assert told(PROXY, *spoofed) == PROXY


@pytest.mark.parametrize("peer", ["", "testclient", "/run/socket"])
def test_a_peer_without_an_address_is_unknown(peer: str) -> None:
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
def test_a_client_is_counted_by_what_costs_something_to_change(address: str, name: str) -> None:
    assert client_name(address) == name


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
def test_a_host_that_a_proxy_quotes_says_nothing_of_the_client(host: str, tail: str) -> None:
    """Commas end an element only outside quotes: inside them a stranger may have written them."""
    assert via(f'for={CLIENT};host="{host}"{tail}') in (CLIENT, PROXY)
