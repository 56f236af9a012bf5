"""The buyer's connection while a response is passed on."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from farebox.gateway.cross_origin import OPEN
from farebox.gateway.delivery.pass_response import BuyerLeft
from farebox.gateway.payment import GatewayPayment
from farebox.gateway.relay.received_body import ReceivedBody
from farebox.gateway.relay.response_headers import RawHeader
from farebox.gateway.responses import receipt_header
from farebox.web.request_body import BodyTooLarge, BodyTooSlow
from farebox.web.written_bytes import UNTIL_TAKEN

UPLOAD_S: Final = 60.0  # for the whole body of a request
STALL_S: Final = 30.0  # that the buyer may keep a response waiting
PIECE_BYTES: Final = 16 * 1024  # that wait for a slow buyer at a time
PIECE_S: Final = 1.0  # that each piece it has taken adds to this time
# the member of a scope that says how long a body may be, for a caller that shows whole ones alone
RESPONSE_LIMIT: Final = "farebox.response_limit_bytes"


class BuyerConnection:
    """Receives the body of a request, and writes the parts of a paid response.

    Once the body was received, the connection is watched until `close`: a server drops what is
    written to a connection that is gone, and says nothing.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.limit_bytes: int | None = scope.get(RESPONSE_LIMIT)
        self._knows_taken = UNTIL_TAKEN in scope.get("extensions", ())
        self.has_left = False
        self._watch: asyncio.Task[None] | None = None
        self._waiting: asyncio.Timeout | None = None  # ends once the buyer has left
        self._time_left_s = STALL_S  # of the buyer's, in all
        self._ends_at = math.inf  # of the event loop's clock
        self.status = 0  # 0: no response was started
        self.received_bytes = self.sent_bytes = 0  # of bodies
        self.payment: GatewayPayment | None = None  # whose receipt is shown

    async def receive_body(self, body: ReceivedBody, *, limit_bytes: int) -> None:
        """Receive the whole body of the request into `body`.

        Raises:
            BodyTooLarge: it has more bytes than the wrapper takes.
            BodyTooSlow: it did not end in time.
            BuyerLeft: the connection is gone.
        """
        try:
            async with asyncio.timeout(UPLOAD_S):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise BuyerLeft
                    body.add(message.get("body", b""))
                    self.received_bytes = body.length
                    if body.length > limit_bytes:
                        raise BodyTooLarge(limit_bytes)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise BodyTooSlow from None
        self._watch = asyncio.create_task(self._wait_until_left())

    async def _wait_until_left(self) -> None:
        """Wait for the disconnect: behind the body of a request nothing else is received."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self.has_left = True
        if self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def while_connected(self) -> AsyncIterator[None]:
        """End what waits in the block once the buyer has left.

        Raises:
            BuyerLeft: the connection is gone.
        """
        self._check()
        waiting = asyncio.timeout(None)
        try:
            async with waiting:
                self._waiting = waiting
                yield
        except TimeoutError:
            if waiting.expired():
                raise BuyerLeft from None
            raise
        finally:
            self._waiting = None

    def close(self) -> None:
        """Stop watching the connection."""
        if self._watch is not None:
            self._watch.cancel()

    def limit_time(self, within_s: float) -> None:
        """Bound the time from now until the buyer has taken the last byte."""
        self._ends_at = asyncio.get_running_loop().time() + within_s

    def show_receipt(self, payment: GatewayPayment) -> None:
        """Add the receipt of the payment to the response."""
        self.payment = payment

    async def start(self, status: int, headers: list[RawHeader], *, length: int | None) -> None:
        """Write status and headers.

        Raises:
            BuyerLeft: the connection is gone, or takes too little; by `write` as well.
        """
        self.status = status
        own = [*headers, *OPEN]
        if self.payment is not None:
            own.append(receipt_header(self.payment))
        if length is not None:
            own.append((b"content-length", b"%d" % length))
        await self._pass({"type": "http.response.start", "status": status, "headers": own})

    async def write(self, part: bytes, *, is_last: bool = False) -> None:
        """Write a part of the body, and wait until the connection takes more."""
        for start in range(0, max(1, len(part)), PIECE_BYTES):
            piece = part[start : start + PIECE_BYTES]
            more = not is_last or start + PIECE_BYTES < len(part)
            await self._pass({"type": "http.response.body", "body": piece, "more_body": more})
            self._time_left_s += PIECE_S * len(piece) / PIECE_BYTES
        self.sent_bytes += len(part)

    async def wait_until_taken(self) -> None:
        """Wait until the buyer has every byte that was written, as far as its machine tells.

        It has its time for each piece, as when they were written. Before the response, one that has
        ended its sending side, as one that has left does, is asked for a sign.

        Raises:
            BuyerLeft: the connection is gone, or the time of the buyer is used up.
        """
        self._check()
        if self._knows_taken:
            for left in range(self.sent_bytes, -PIECE_BYTES, -PIECE_BYTES):
                await self._pass({"type": UNTIL_TAKEN, "but": max(0, left)})

    async def _pass(self, message: Message) -> None:
        self._check()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            ends_at = min(began + min(STALL_S, self._time_left_s), self._ends_at)
            async with asyncio.timeout_at(ends_at):
                await self._send(message)
        except (TimeoutError, OSError):
            raise BuyerLeft from None
        finally:
            self._time_left_s -= loop.time() - began
        if message.get("more_body", True):  # behind the end every connection is gone
            self._check()

    def _check(self) -> None:
        if self.has_left:
            raise BuyerLeft
