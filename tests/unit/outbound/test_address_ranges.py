"""Public addresses, compared with the standard library."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest

from farebox.outbound.address_ranges import RESERVED, is_public, reserved_range

# Global by the standard library, or by one version of it, and refused by us: no server is there.
STRICTER_THAN_LIBRARY = (
    IPv4Network("168.63.129.16/32"),
    IPv4Network("192.31.196.0/24"),
    IPv4Network("192.52.193.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("192.175.48.0/24"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("224.0.0.0/4"),
    IPv6Network("::/3"),  # without the translation prefix, below
    IPv6Network("2001::/23"),
    IPv6Network("2002::/16"),
    IPv6Network("2620:4f:8000::/48"),
    IPv6Network("3ffe::/16"),
    IPv6Network("3fff::/20"),
    IPv6Network("4000::/2"),
    IPv6Network("8000::/1"),
)


def test_reserved_range_is_not_public_from_first_to_last_address() -> None:
    blocks = [each.block for each in RESERVED]
    within = [each[place] for each in blocks for place in (0, -1, each.num_addresses // 2)]
    assert [address for address in within if is_public(address)] == []


@pytest.mark.parametrize(
    "text",
    [
        *("1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
        *("126.255.255.255", "128.0.0.0", "168.63.129.15", "169.253.255.255", "169.255.0.0"),
        *("172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0"),
        *("198.17.255.255", "198.20.0.0", "223.255.255.255", "2000::1", "2001:200::1"),
        *("2001:db7:ffff::1", "2001:db9::", "2606:4700:4700::1111", "2a00:1450::1"),
        "64:ff9b::1.1.1.1",
    ],
)
def test_neighbours_of_reserved_ranges_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0.0.0.0", "this network"),
        ("169.254.169.254", "link-local, metadata of clouds"),
        ("100.100.100.200", "shared by carriers"),
        ("255.255.255.255", "reserved, limited broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "IPv4-mapped"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::ffff:0:8.8.8.8", "IPv4-translated"),
        ("::127.0.0.1", "IPv4-compatible"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("64:ff9b::10.0.0.1", "private use"),
        ("64:ff9b::169.254.169.254", "link-local, metadata of clouds"),
        ("64:ff9b:1::8.8.8.8", "translation of local use"),
        ("64:ff9b:0:1::8.8.8.8", "not global unicast"),
        ("2002:7f00:1::", "6to4"),
        ("2002:808:808::1", "6to4"),
        ("2001:0:808:808:0:ffff:f5ff:fffe", "Teredo"),
        ("100::1", "discard"),
        ("100:0:0:1::1", "dummy prefix"),
        ("5f00::1", "SRv6 segments"),
        ("fd00:ec2::254", "unique local"),
        ("fe80::1", "link-local"),
        ("fe80::1%2", "not global unicast"),
        ("2606:4700::1%2", "not global unicast"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("4000::1", "not global unicast"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
    ],
)
def test_reserved_range_names_the_purpose_of_an_address(text: str, what: str) -> None:
    found = reserved_range(ip_address(text))
    assert found is not None
    assert found.purpose == what
    assert found.source


def _edges() -> list[IPv4Address | IPv6Address]:
    """Both sides of every border there is, of ours and of every /8 and /16 of the old and new."""
    blocks = [each.block for each in RESERVED]
    blocks += [IPv4Network((n << 24, 8)) for n in range(256)]
    blocks += [IPv6Network((n << 112, 16)) for n in range(0, 65536, 7)]
    found: list[IPv4Address | IPv6Address] = []
    for block in blocks:
        kind, top = type(block[0]), 2**block.max_prefixlen
        first, last = int(block[0]), int(block[-1])
        found += [kind(n) for n in (first - 1, first, first + 1, last, last + 1) if 0 <= n < top]
    return found


def test_address_is_stricter_than_the_standard_library_and_only_in_listed_ranges() -> None:
    wrong, stricter = [], []
    for each in _edges():
        if not is_public(each):
            if each.is_global:
                stricter.append(each)
        elif not each.is_global or each.is_multicast or ip_address(str(each)) != each:
            wrong.append(each)
    assert wrong == []
    unsaid = [
        each for each in stricter if not any(each in block for block in STRICTER_THAN_LIBRARY)
    ]
    assert unsaid == []
    assert len(stricter) > 50  # else nothing was compared
