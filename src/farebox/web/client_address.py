"""From which address a request comes: one value for every limit and for the log.

What a proxy says is believed only of proxies that the operator named, and read from the nearest
hop on: everything beyond the first address that is not one of them was written by a stranger.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.web.request_note import note_of

KEY: Final = "farebox.client"
UNKNOWN: Final = "unknown"
Address = IPv4Address | IPv6Address
TrustedProxies = Sequence[IPv4Network | IPv6Network]
Headers = Sequence[tuple[bytes, bytes]]

_MOST_HOPS: Final = 32
_LONGEST_ELEMENT: Final = 256  # characters of what one proxy says
_LONGEST_ADDRESS: Final = 64  # with brackets, zone and port
_IPV6_PREFIX_BITS: Final = 64  # what one subscriber has; an address inside it costs nothing
_WITH_PORT: Final = re.compile(r"\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?\Z", re.ASCII)
_V4_WITH_PORT: Final = re.compile(r"([0-9.]{7,15}):[0-9]{1,5}\Z", re.ASCII)
_FOR: Final = re.compile(r"(?:^|;)[ \t]*for=(\"[^\"]*\"|[^;\" \t]+)[ \t]*(?=;|$)", re.IGNORECASE)


def client_address(peer: str, headers: Headers, trusted: TrustedProxies) -> str:
    """The nearest address on the request's way that is no trusted proxy; `unknown` without one.

    `X-Forwarded-For` and `Forwarded` are read from right to left. What cannot be read ends the
    way, and two headers that lead to different clients lead to none: the last proxy counts then.
    """
    if not trusted:
        return _spelled(peer)
    address = _address(peer)
    if address is None:
        return UNKNOWN
    if not _is_trusted(address, trusted):
        return str(address)
    forwarded_for, forwarded = _hops(headers, b"x-forwarded-for"), _hops(headers, b"forwarded")
    ways = [
        _walk(address, hops, trusted)
        for hops in (forwarded_for, [_named_in(hop) for hop in forwarded])
        if hops
    ]
    return str(ways[0]) if ways and len(set(ways)) == 1 else str(address)


@lru_cache(maxsize=4096)  # what a server was told of a connection: nobody chooses its length
def _spelled(peer: str) -> str:
    address = _address(peer)
    return UNKNOWN if address is None else str(address)


@lru_cache(maxsize=4096)
def client_name(address: str) -> str:
    """The name under which an address is counted: one that costs something to change."""
    parsed = _address(address)
    if parsed is None:
        return UNKNOWN
    if isinstance(parsed, IPv6Address):
        shift = 128 - _IPV6_PREFIX_BITS
        return f"{IPv6Address(int(parsed) >> shift << shift)}/{_IPV6_PREFIX_BITS}"
    return str(parsed)


def _walk(peer: Address, hops: Sequence[str], trusted: TrustedProxies) -> Address:
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
    """The last entries of a header, all of its lines taken as one list."""
    lines = [value for each, value in headers if each == name]
    hops = b",".join(lines).rsplit(b",", _MOST_HOPS)[-_MOST_HOPS:] if lines else []
    return [hop.decode("latin-1").strip(" \t") for hop in hops]


def _named_in(element: str) -> str:
    """The node an element of `Forwarded` names with `for`; nothing when it names none or two.

    Nor when it may be a part of a quoted text, such as a name of the host that a stranger chose.
    """
    if len(element) > _LONGEST_ELEMENT or element.count('"') % 2 or "\\" in element:
        return ""
    found = _FOR.findall(element)
    return found[0].strip('"') if len(found) == 1 else ""


def _address(text: str) -> Address | None:
    """An address with or without a port; one of IPv4 inside IPv6 is that of IPv4."""
    return _read_address(text) if len(text) <= _LONGEST_ADDRESS else None


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


def _is_trusted(address: Address, trusted: TrustedProxies) -> bool:
    return any(address in network for network in trusted)


class ClientAddress:
    """Finds the address of every request; `client_of` tells it, and the log has it."""

    def __init__(self, app: ASGIApp, trusted: TrustedProxies) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = str(scope["client"][0]) if scope.get("client") else ""
        scope[KEY] = client_address(peer, scope["headers"], self._trusted)
        note_of(scope).say(client=scope[KEY])
        await self._app(scope, receive, send)


def client_of(scope: Scope) -> str:
    """The address a request comes from; the peer's own where nobody looked further."""
    found: str | None = scope.get(KEY)
    if found is not None:
        return found
    return str(scope["client"][0]) if scope.get("client") else UNKNOWN
