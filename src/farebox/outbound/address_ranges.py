"""The addresses of the public internet: all but the reserved ranges, each listed with its source.

The tables are our own and complete on purpose: the addresses that the standard library calls global
depend on the version of Python, and include ranges that only some networks use. The sources are the
two special-purpose registries of IANA, and the documents named at each range.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

IPAddress: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class ReservedRange:
    """A block of addresses that no public server has."""

    block: IPv4Network | IPv6Network
    purpose: str
    source: str


_IPV4: Final = (
    ("0.0.0.0/8", "this network", "RFC 791"),
    ("10.0.0.0/8", "private use", "RFC 1918"),
    ("100.64.0.0/10", "shared by carriers", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("168.63.129.16/32", "a cloud's host agent", "Azure, virtual public address"),
    ("169.254.0.0/16", "link-local, metadata of clouds", "RFC 3927"),
    ("172.16.0.0/12", "private use", "RFC 1918"),
    ("192.0.0.0/24", "protocol assignments", "RFC 6890"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.31.196.0/24", "AS112", "RFC 7535"),
    ("192.52.193.0/24", "multicast tunnelling", "RFC 7450"),
    ("192.88.99.0/24", "6to4 relays", "RFC 7526"),
    ("192.168.0.0/16", "private use", "RFC 1918"),
    ("192.175.48.0/24", "AS112", "RFC 7534"),
    ("198.18.0.0/15", "benchmarks", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved, limited broadcast", "RFC 1112, RFC 8190"),
)
# Only 2000::/3 is global unicast (RFC 4291, RFC 3513): addresses outside it are refused by that
# rule, and listed nonetheless, so that a refusal names the range.
_IPV6: Final = (
    ("::/128", "unspecified", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("::ffff:0:0/96", "IPv4-mapped", "RFC 4291"),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"),
    ("::/96", "IPv4-compatible", "RFC 4291"),
    ("64:ff9b:1::/48", "translation of local use", "RFC 8215"),
    ("100::/64", "discard", "RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    ("2001::/32", "Teredo", "RFC 4380"),
    ("2001:2::/48", "benchmarks", "RFC 5180"),
    ("2001:10::/28", "ORCHID", "RFC 4843"),
    ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
    ("2001:30::/28", "drone identities", "RFC 9374"),
    ("2001::/23", "protocol assignments", "RFC 2928"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2002::/16", "6to4", "RFC 3056, RFC 7526"),
    ("2620:4f:8000::/48", "AS112", "RFC 7534"),
    ("3ffe::/16", "6bone, returned", "RFC 3701"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("5f00::/16", "SRv6 segments", "RFC 9602"),
    ("fc00::/7", "unique local", "RFC 4193"),
    ("fe80::/10", "link-local", "RFC 4291"),
    ("fec0::/10", "site-local", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291"),
)
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NOT_GLOBAL: Final = ReservedRange(IPv6Network("::/0"), "not global unicast", "RFC 4291")
# An IPv6-only machine reaches every IPv4 server through this prefix (RFC 6052).
_NAT64: Final = IPv6Network("64:ff9b::/96")
_RESERVED_IPV4: Final = tuple(
    ReservedRange(IPv4Network(block), purpose, source) for block, purpose, source in _IPV4
)
_RESERVED_IPV6: Final = tuple(
    ReservedRange(IPv6Network(block), purpose, source) for block, purpose, source in _IPV6
)
RESERVED: Final = (*_RESERVED_IPV4, *_RESERVED_IPV6)


def reserved_range(address: IPAddress) -> ReservedRange | None:
    """The range that keeps `address` from being public; None for a public one.

    Ranges with embedded IPv4 addresses are refused whole, except the well-known translation
    prefix: there the embedded address decides.
    """
    if isinstance(address, IPv4Address):
        return _first(_RESERVED_IPV4, address)
    if address.scope_id is not None:
        return _NOT_GLOBAL
    if address in _NAT64:
        return _first(_RESERVED_IPV4, IPv4Address(int(address) & 0xFFFF_FFFF))
    found = _first(_RESERVED_IPV6, address)
    if found is None and address not in _GLOBAL_UNICAST:
        return _NOT_GLOBAL
    return found


def is_public(address: IPAddress) -> bool:
    """Whether a server on the public internet may have `address`."""
    return reserved_range(address) is None


def _first(ranges: tuple[ReservedRange, ...], address: IPAddress) -> ReservedRange | None:
    return next((each for each in ranges if address in each.block), None)
