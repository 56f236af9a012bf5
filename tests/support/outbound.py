"""A client that trusts a test authority and finds its names on loopback."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from farebox.local.certificates import Authority
from farebox.outbound.address_ranges import IPAddress
from farebox.outbound.client import MAX_CALLS, OutboundClient
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress
from support.upstream import Answer, Upstream, upstream

SELLER: Final = "seller.example.com"
URL: Final = f"https://{SELLER}/weather?city=Paris"
LOOPBACK: Final = ip_address("127.0.0.1")
DAMAGED: Final = b"\x17\x03\x03\x00\x40" + bytes(64)  # a record of TLS


@dataclass(frozen=True, slots=True)
class Called:
    """A whole answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Seller:
    """A client, and the server it finds under `SELLER`."""

    client: OutboundClient
    upstream: Upstream

    async def call(self, request: OutboundRequest | None = None) -> Called:
        """The answer to `request`, read whole."""
        async with self.client.call(request or OutboundRequest(URL)) as answer:
            return Called(answer.status, answer.headers, await answer.read())


@asynccontextmanager
async def seller(
    folder: Path,
    answer: Answer,
    *,
    certificate: Sequence[str] = (SELLER,),
    expired: bool = False,
    max_calls: int = MAX_CALLS,
) -> AsyncIterator[Seller]:
    """A seller with a certificate the client trusts, unless it is made otherwise."""
    authority = Authority(folder)
    async with AsyncExitStack() as opened:
        tls = authority.server(*certificate, is_expired=expired)
        served = await opened.enter_async_context(upstream(tls, answer))
        resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, served.port)}, FixedLookup({}))
        client = OutboundClient(resolver, authority=authority.file, max_calls=max_calls)
        yield Seller(await opened.enter_async_context(client), served)


def lookup(names: Mapping[str, Sequence[str]]) -> FixedLookup:
    """A nameserver that knows these names."""
    found: dict[str, Sequence[IPAddress]] = {
        name: tuple(map(ip_address, texts)) for name, texts in names.items()
    }
    return FixedLookup(found)
