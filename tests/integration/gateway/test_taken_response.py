"""A long response over a real connection: it is delivered once the buyer's machine has it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from starlette.types import Message, Receive, Scope, Send

from farebox.gateway import buyer_connection
from farebox.gateway.buyer_connection import PIECE_BYTES, BuyerConnection
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.pass_response import BuyerLeft, PassedResponse
from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.gateway.relay.received_body import BodySpool
from farebox.web.written_bytes import UNTIL_TAKEN
from support.serving import serving
from testing.waiting import until

BODY = bytes(1_000_000)  # what the kernel takes for a buyer who reads nothing
KEPT = 1000


class Upstream:
    """A response whose length is announced."""

    status = 200
    headers = (("Content-Length", str(len(BODY))),)

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name.title())

    async def chunks(self) -> AsyncIterator[bytes]:
        for at in range(0, len(BODY), 16_384):
            yield BODY[at : at + 16_384]


@dataclass(slots=True)
class Shop:
    """Answers one request, and records whether it was delivered."""

    is_delivered: bool = False
    is_left: bool = False
    connections: list[BuyerConnection] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        buyer = BuyerConnection(scope, receive, send)
        self.connections.append(buyer)
        with BodySpool().open("buyer") as body:
            await buyer.receive_body(body, limit_bytes=0)
        passed = PassedResponse(self, buyer, HiddenValue(None), KEPT)
        try:
            await passed.run(Upstream(), "seller.example.com")  # type: ignore[arg-type]
        except BuyerLeft:
            self.is_left = True
        finally:
            buyer.close()

    @property
    def has_written(self) -> bool:
        """Whether all but what marks the end was given to the kernel."""
        return bool(self.connections) and self.connections[0].sent_bytes >= len(BODY) - 1

    async def confirm(self) -> None:
        """See `DeliveryRecord`."""

    def check(self) -> None:
        """See `DeliveryRecord`."""

    async def deliver(self, status: int, response: KeptResponse | None) -> None:
        """See `DeliveryRecord`."""
        self.is_delivered = True


@asynccontextmanager
async def asking(shop: Shop) -> AsyncIterator[socket.socket]:
    """Ask for the response over a connection whose machine takes little at a time."""
    loop = asyncio.get_running_loop()
    async with serving(shop) as address:
        with socket.socket() as buyer:
            buyer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            buyer.setblocking(False)
            await loop.sock_connect(buyer, address)
            await loop.sock_sendall(buyer, b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
            await until(lambda: shop.has_written)
            yield buyer


async def leave(shop: Shop) -> None:
    """Close with the rest of the response in the other kernel."""
    async with asking(shop) as buyer:
        await asyncio.get_running_loop().sock_recv(buyer, 1000)
        buyer.close()
        await until(lambda: shop.is_left or shop.is_delivered)


async def test_buyer_who_leaves_the_rest_with_the_kernel_has_not_got_it() -> None:
    shop = Shop()
    await leave(shop)
    assert (shop.is_left, shop.is_delivered) == (True, False)


async def test_without_the_wait_such_a_response_would_be_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def at_once(buyer: BuyerConnection) -> None:
        """Wait for nothing."""

    monkeypatch.setattr(BuyerConnection, "wait_until_taken", at_once)
    shop = Shop()
    await leave(shop)
    assert shop.is_delivered


async def test_buyer_who_takes_nothing_has_left_at_the_end_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buyer_connection, "STALL_S", 1.0)
    shop = Shop()
    async with asking(shop):
        await until(lambda: shop.is_left or shop.is_delivered)
    assert not shop.is_delivered


async def test_buyer_who_reads_all_but_the_end_gets_the_end() -> None:
    shop, got = Shop(), 0
    async with asking(shop) as buyer:
        assert not shop.is_delivered
        while got < len(BODY):
            got += len(await asyncio.get_running_loop().sock_recv(buyer, 65_536))
        await until(lambda: shop.connections[0].sent_bytes == len(BODY))
    assert (shop.is_left, shop.is_delivered) == (False, True)


async def test_buyer_has_its_time_for_each_piece() -> None:
    asked: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == UNTIL_TAKEN:
            asked.append(message["but"])

    async def never() -> Message:
        raise AssertionError

    buyer = BuyerConnection({"extensions": {UNTIL_TAKEN: {}}}, never, send)
    await buyer.wait_until_taken()
    await buyer.write(bytes(2 * PIECE_BYTES + 5))
    await buyer.wait_until_taken()
    assert asked == [0, 2 * PIECE_BYTES + 5, PIECE_BYTES + 5, 5, 0]
    elsewhere = BuyerConnection({}, never, send)  # a server that does not know
    await elsewhere.write(b"x")
    await elsewhere.wait_until_taken()
    assert len(asked) == 5
