"""One request and its response, also to a caller that has ended its sending side."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from farebox.web.connections import PIECE_BYTES
from farebox.web.written_bytes import FIRST_PAUSE_S, UNTIL_TAKEN, is_reset, wait_until_taken

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent

CUT: Final = "farebox.cut"  # the extension in a scope, and the type of its message
_INTERIM: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_LONGEST_LOOK_S: Final = 0.25  # between two looks for a reset


class HalfClosableCycle(RequestResponseCycle):
    """One request and its response, which a caller that has ended its sending side still gets.

    A caller that has closed its connection looks the same until its machine gets a byte, and then
    resets the connection. So one is written, an interim response (RFC 9110, section 15.2), as soon
    as a handler waits for its caller to leave, and whenever one asks by `UNTIL_TAKEN` before it
    responds: who takes it is there. None can be written in HTTP/1.0, or once the response has
    started: for a handler that waits, a caller that ends its sending side then has left.

    A large body is written in pieces, each once the caller has taken enough of those before it: the
    transport would keep a copy of the whole for every caller that reads slowly.
    """

    has_end = False  # no byte of the caller follows
    is_rendered = False  # the handler gives no more of the response, and waits for the caller alone
    _is_body_taken = False
    _is_watched = False

    def end(self) -> None:
        """Note that the caller has ended its sending side."""
        self.has_end = True
        self.message_event.set()

    async def send(self, message: "ASGISendEvent") -> None:
        """Send a part of the response, cut it, or wait until the caller has all that was sent.

        Raises:
            ConnectionResetError: the caller has not, and will not.
        """
        kind: str = message["type"]
        own: Mapping[str, Any] = message
        if kind == CUT:
            self._cut()
            return
        if kind != UNTIL_TAKEN:
            if len(own.get("body", b"")) > PIECE_BYTES:
                await self._send_in_pieces(own["body"], is_last=not own.get("more_body", False))
            else:
                await super().send(message)
            return
        if self.has_end and not self.response_started:
            self._ask_for_sign()
        if self.disconnected:
            raise ConnectionResetError
        if self.has_end or self.response_started:
            try:
                await wait_until_taken(self.transport, but=own["but"])
            except BaseException:  # the caller of `send` has no time left either
                self._drop()
                raise

    async def _send_in_pieces(self, body: bytes, *, is_last: bool) -> None:
        view = memoryview(body)
        self.is_rendered = is_last
        for start in range(0, len(view), PIECE_BYTES):
            end = start + PIECE_BYTES
            more = not is_last or end < len(view)
            piece = {"type": "http.response.body", "body": view[start:end], "more_body": more}
            await super().send(cast("ASGISendEvent", piece))

    async def receive(self) -> "ASGIReceiveEvent":
        """Return the next part of the body; behind it, the disconnect."""
        while True:
            if self._is_body_taken and self.has_end and not self._is_watched:
                self._watch()
            is_behind_body = self._is_body_taken
            message = await super().receive()
            if message["type"] == "http.disconnect":
                return message
            if not is_behind_body:  # else it was woken by the end of the sending side
                self._is_body_taken = not message.get("more_body", False)
                return message

    def _watch(self) -> None:
        """Ask for a sign of the caller, and look for a reset from now on.

        Nothing is read from the connection any more, so the loop would not tell of it.
        """
        self._is_watched = True
        self._ask_for_sign()
        if not self.disconnected:
            self._look_for_reset(FIRST_PAUSE_S)

    def _ask_for_sign(self) -> None:
        """Write an interim response; a caller that can get none has left."""
        if self.scope["http_version"] == "1.1" and not self.response_started:
            self.transport.write(_INTERIM)
        elif self.response_started:
            self._drop()
        else:
            self.disconnected = True
            self.transport.close()

    def _drop(self) -> None:
        """End the connection of a caller who has left.

        What waits to be sent is dropped: closing would wait for a caller that reads nothing.
        """
        self.disconnected = True
        self.transport.abort()

    def _cut(self) -> None:
        """Close the connection behind what was sent of a response, which has no end.

        The server logs an error of an application that leaves a response without one, and should
        where none has started. Behind a whole response a next request may be under way.
        """
        if not self.response_started or self.response_complete:
            return
        self.is_rendered = True
        self.disconnected = True
        self.transport.close()

    def _look_for_reset(self, pause_s: float) -> None:
        if self.response_complete or self.transport.is_closing():
            return
        if is_reset(self.transport):
            self._drop()
            self.message_event.set()
            return
        next_s = min(2 * pause_s, _LONGEST_LOOK_S)
        asyncio.get_running_loop().call_later(pause_s, self._look_for_reset, next_s)
