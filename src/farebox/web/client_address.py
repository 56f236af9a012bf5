"""The client address of a request: one value for every rate limit and for the log.

Forwarding headers are trusted only from proxies that the operator named, and are read from the
nearest hop on: a stranger wrote all that stands beyond the first address that is not one of them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.web.request_context import context_of

KEY: Final = "farebox.client"
UNKNOWN: Final = "unknown"
Address = IPv4Address | IPv6Address
TrustedProxies = Sequence[IPv4Network | IPv6Network]
Headers = Sequence[tuple[bytes, bytes]]

_MAX_HOPS: Final = 32
_MAX_ELEMENT: Final = 256  # characters that one proxy adds
_MAX_ADDRESS: Final = 64  # with brackets, zone and port
_IPV6_PREFIX_BITS: Final = 64  # of one subscriber; an address inside it costs nothing
_IPV6_SITE_BITS: Final = 48  # of one site, which has 65,536 of those (RFC 6177)
_WITH_PORT: Final = re.compile(r"\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?\Z", re.ASCII)
_V4_WITH_PORT: Final = re.compile(r"([0-9.]{7,15}):[0-9]{1,5}\Z", re.ASCII)
_FOR: Final = re.compile(r"(?:^|;)[ \t]*for=(\"[^\"]*\"|[^;\" \t]+)[ \t]*(?=;|$)", re.IGNORECASE)


def client_address(peer: str, headers: Headers, trusted: TrustedProxies) -> str:
    """Return the nearest address on the request's path that is no trusted proxy; or `unknown`.

    `X-Forwarded-For` and `Forwarded` are read from right to left. A hop that cannot be read ends
    the path, and when the two headers lead to different clients the last proxy counts.
    """
    if not trusted:
        return _normalize(peer)
    address = _address(peer)
    if address is None:
        return UNKNOWN
    if not _is_trusted(address, trusted):
        return str(address)
    forwarded_for, forwarded = _hops(headers, b"x-forwarded-for"), _hops(headers, b"forwarded")
    clients = [
        _follow(address, hops, trusted)
        for hops in (forwarded_for, [_node_of(hop) for hop in forwarded])
        if hops
    ]
    return str(clients[0]) if clients and len(set(clients)) == 1 else str(address)


@lru_cache(maxsize=4096)  # the server's own peer address: no stranger chooses its length
def _normalize(peer: str) -> str:
    address = _address(peer)
    return UNKNOWN if address is None else str(address)


@lru_cache(maxsize=4096)
def client_name(address: str) -> str:
    """Return the name that an address is counted under: one that costs something to change."""
    return _network_name(address, _IPV6_PREFIX_BITS)


@lru_cache(maxsize=4096)
def site_name(address: str) -> str:
    """Return the name that quotas and shares of new callers are counted under.

    They are parts of a total that is everybody's, so that one site, with all of its networks,
    counts as one new caller.
    """
    return _network_name(address, _IPV6_SITE_BITS)


def _network_name(address: str, bits: int) -> str:
    parsed = _address(address)
    if parsed is None:
        return UNKNOWN
    if isinstance(parsed, IPv6Address):
        shift = 128 - bits
        return f"{IPv6Address(int(parsed) >> shift << shift)}/{bits}"
    return str(parsed)


def _follow(peer: Address, hops: Sequence[str], trusted: TrustedProxies) -> Address:
    current = peer
    for hop in reversed(hops):
        if not _is_trusted(current, trusted):
            break
        further = _address(hop)
        if further is None:
            break
        current = further
    return current


def _hops(headers: Headers, name: bytes) -> list[str]:
    """Return the last entries of a header, all of its lines taken as one list."""
    lines = [value for each, value in headers if each == name]
    hops = b",".join(lines).rsplit(b",", _MAX_HOPS)[-_MAX_HOPS:] if lines else []
    return [hop.decode("latin-1").strip(" \t") for hop in hops]


def _node_of(element: str) -> str:
    """Return the node that an element of `Forwarded` names with `for`; empty for none or two.

    Also empty when the element may be part of a quoted text, such as a host name that a stranger
    chose.
    """
    if len(element) > _MAX_ELEMENT or element.count('"') % 2 or "\\" in element:
        return ""
    nodes = _FOR.findall(element)
    return nodes[0].strip('"') if len(nodes) == 1 else ""


def _address(text: str) -> Address | None:
    """Parse an address with or without a port; an IPv4 address inside IPv6 becomes IPv4."""
    return _read_address(text) if len(text) <= _MAX_ADDRESS else None


@lru_cache(maxsize=4096)
def _read_address(text: str) -> Address | None:
    bare = _WITH_PORT.match(text) or _V4_WITH_PORT.match(text)
    try:
        parsed = ip_address((bare.group(1) if bare else text).partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


def is_trusted_peer(peer: str, trusted: TrustedProxies) -> bool:
    """Return whether a connection comes from a proxy that the operator named."""
    address = _address(peer)
    return address is not None and _is_trusted(address, trusted)


def _is_trusted(address: Address, trusted: TrustedProxies) -> bool:
    return any(address in network for network in trusted)


class ClientAddress:
    """Finds the client address of every request; `client_of` returns it, and it is logged."""

    def __init__(self, app: ASGIApp, trusted: TrustedProxies) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = str(scope["client"][0]) if scope.get("client") else ""
        scope[KEY] = client_address(peer, scope["headers"], self._trusted)
        context_of(scope).add_log_fields(client=scope[KEY])
        await self._app(scope, receive, send)


def client_of(scope: Scope) -> str:
    """Return the client address of a request; without the middleware, the peer's own."""
    address: str | None = scope.get(KEY)
    if address is not None:
        return address
    return str(scope["client"][0]) if scope.get("client") else UNKNOWN
