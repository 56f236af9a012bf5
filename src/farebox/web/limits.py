"""How much a request may send, how long it may take over it, and in what form."""

import asyncio
from time import monotonic
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.kernel.errors import Refusal
from farebox.web.body_deadlines import BodyDeadlines, DeadlinePassed

BODY_LIMIT_BYTES: Final = 256 * 1024
BODY_DEADLINE_S: Final = 15.0
# Of a body that is too large so much more is read and thrown away, for so long: a caller that is
# still sending would see its connection reset instead of the answer.
DISCARD_BYTES: Final = 4 * 1024 * 1024
DISCARD_S: Final = 2.0


class BodyTooLarge(Refusal):
    """More bytes arrived than a body may have."""

    def __init__(self) -> None:
        super().__init__("body_too_large", "The body is larger than 256 KB.")


class BodyTooSlow(Refusal):
    """The body did not end in time."""

    def __init__(self) -> None:
        super().__init__("request_timeout", "The body did not arrive in time.")


class EncodedBody(Refusal):
    """The body is compressed, so its size cannot be judged before it is opened."""

    def __init__(self) -> None:
        words = "The body must be sent without a content encoding."
        super().__init__("unsupported_media_type", words)


class BodyLimit:
    """Refuses encoded bodies, and bodies while they arrive: counted, not believed from a header."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limit_bytes: int = BODY_LIMIT_BYTES,
        deadline_s: float = BODY_DEADLINE_S,
        deadlines: BodyDeadlines | None = None,
    ) -> None:
        self._app, self._limit_bytes, self._deadline_s = app, limit_bytes, deadline_s
        self._deadlines = deadlines or BodyDeadlines()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope["headers"]:
            if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
                raise EncodedBody
        await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        received = 0
        is_whole = False
        deadline_at = 0.0

        async def counted() -> Message:
            nonlocal received, is_whole, deadline_at
            if is_whole:
                return await receive()
            deadline_at = deadline_at or monotonic() + self._deadline_s
            try:
                message = await self._deadlines.wait(deadline_at, receive)
            except DeadlinePassed:
                raise BodyTooSlow from None
            received += len(message.get("body", b""))
            if received > self._limit_bytes:
                await _discard(receive, message)
                raise BodyTooLarge
            is_whole = not message.get("more_body", False)
            return message

        return counted


async def _discard(receive: Receive, message: Message) -> None:
    discarded = 0
    try:
        async with asyncio.timeout(DISCARD_S):
            while message.get("more_body", False) and discarded < DISCARD_BYTES:
                message = await receive()
                discarded += len(message.get("body", b""))
    except TimeoutError:
        return


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request.

    Raises:
        ClientDisconnect: the caller left before the body was whole.
        Refusal: the body is too large or too slow.
    """
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        return bytes(message.get("body", b""))
    chunks = []
    while True:
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)
        message = await receive()
