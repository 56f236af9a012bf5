"""Request bodies: their limits of size and time, and how handlers read them."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.json_text import UNDECODABLE, decode_json
from farebox.web.client_address import client_name, client_of
from farebox.web.held_bytes import HeldBytes

T = TypeVar("T")
BODY_LIMIT_BYTES: Final = 256 * 1024
BODY_DEADLINE_S: Final = 15.0
CHECK_EVERY_S: Final = 0.5  # deadlines are noticed up to this late
MAX_BUFFERED_BYTES: Final = 32 * 1024 * 1024  # of unfinished bodies, over all requests
# Of a body that is too large so much more is read and thrown away, for so long: a caller that is
# still sending would see its connection reset instead of the response.
DISCARD_BYTES: Final = 4 * 1024 * 1024
DISCARD_S: Final = 2.0
_PATH: Final = re.compile(r" - at `\$\.?([\w.\[\]]{1,100})`\Z")
_MISSING: Final = re.compile(r"Object missing required field `(\w{1,64})`")
_UNKNOWN: Final = "Object contains unknown field"
_BACKTICK: Final = re.compile(rb"`|\\u0060")


class BodyTooLarge(Refusal):
    """More bytes arrived than a body of the route may have."""

    def __init__(self, limit_bytes: int = BODY_LIMIT_BYTES) -> None:
        message = f"The body is larger than {limit_bytes // 1024} KB."
        super().__init__(ErrorCode.BODY_TOO_LARGE, message)


class BodyTooSlow(Refusal):
    """The body did not end in time."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.REQUEST_TIMEOUT)


class EncodedBody(Refusal):
    """The body is compressed, so its size cannot be limited before it is decompressed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_MEDIA_TYPE)


class UnreadableBody(Refusal):
    """The body is not JSON of the shape the route takes.

    The message and `field` name the member at fault where there is one; no value is repeated.
    """

    def __init__(self, expected: str, member: str = "", why: str = "") -> None:
        """`expected` describes the shape, `why` the fault of the member in other words."""
        sentence = why if member and why else f"Send JSON of this shape: {expected}"
        super().__init__(ErrorCode.INVALID_REQUEST, with_member(member, sentence), field=member)


class DeadlinePassed(Exception):
    """The awaited message did not come in time."""


class BodyTimeouts:
    """Limits the time and the memory of all bodies that are still arriving.

    One timer checks every wait, up to `check_every_s` seconds late: a wait that ends at once,
    as nearly all do, costs an entry in a dictionary, where `asyncio.timeout` was measured at 6 to
    9 microseconds a request, a tenth of the whole response. When the parts that have arrived
    exceed `max_bytes`, the bodies of the client that sent the most of them time out, the oldest
    first; a body that comes in one part is never counted.
    """

    def __init__(
        self, *, check_every_s: float = CHECK_EVERY_S, max_bytes: int = MAX_BUFFERED_BYTES
    ) -> None:
        self._check_every_s = check_every_s
        self._deadlines: dict[asyncio.Task[object], float] = {}
        self._interrupted: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._bytes = HeldBytes[asyncio.Task[object]](max_bytes, self._interrupt)

    async def wait(self, deadline_at: float, receive: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `receive` if it comes before `time.monotonic()` is `deadline_at`.

        Raises:
            DeadlinePassed: it did not.
        """
        task = asyncio.current_task()
        if task is None:
            return await receive()
        self._deadlines[task] = deadline_at
        if self._timer is None:
            self._start_timer(asyncio.get_running_loop())
        try:
            return await receive()
        except asyncio.CancelledError:
            if task in self._interrupted and task.uncancel() == 0:
                raise DeadlinePassed from None
            raise
        finally:
            self._deadlines.pop(task, None)
            self._interrupted.discard(task)

    def add_bytes(self, size: int, client: str) -> None:
        """Count `size` bytes of the current task's body, of which more is to come."""
        if (task := asyncio.current_task()) is not None:
            self._bytes.add(task, size, client)

    def release_bytes(self) -> None:
        """Stop counting the current task's body."""
        if self._bytes and (task := asyncio.current_task()) is not None:
            self._bytes.release(task)

    def _interrupt(self, task: asyncio.Task[object]) -> bool:
        """End the wait of a task now; False when it waits for nothing."""
        if self._deadlines.pop(task, None) is None:
            return False
        self._interrupted.add(task)
        task.cancel()
        return True

    def _start_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._check_every_s, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = monotonic()
        for task in [task for task, at in self._deadlines.items() if at <= now]:
            self._interrupt(task)
        if self._deadlines:
            self._start_timer(loop)
        else:
            self._timer = None  # the next wait starts it again


class BodyLimit:
    """Refuses encoded bodies, and counts bytes as they arrive instead of trusting a header."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limit_bytes: int = BODY_LIMIT_BYTES,
        deadline_s: float = BODY_DEADLINE_S,
        timeouts: BodyTimeouts | None = None,
    ) -> None:
        self._app, self._limit_bytes, self._deadline_s = app, limit_bytes, deadline_s
        self._timeouts = timeouts or BodyTimeouts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope["headers"]:
            if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
                raise EncodedBody
        try:
            await self._app(scope, self._limited(scope, receive), send)
        finally:
            self._timeouts.release_bytes()

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        received = 0
        is_whole = False
        deadline_at = 0.0

        async def receive_limited() -> Message:
            nonlocal received, is_whole, deadline_at
            if is_whole:
                return await receive()
            deadline_at = deadline_at or monotonic() + self._deadline_s
            try:
                message = await self._timeouts.wait(deadline_at, receive)
            except DeadlinePassed:
                raise BodyTooSlow from None
            received += len(message.get("body", b""))
            if received > self._limit_bytes:
                await _discard(receive, message)
                raise BodyTooLarge(self._limit_bytes)
            is_whole = not message.get("more_body", False)
            if not is_whole:
                client = client_name(client_of(scope))
                self._timeouts.add_bytes(len(message["body"]), client)
            return message

        return receive_limited


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
    """Read the whole body of a request.

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


async def read_json(receive: Receive, decoder: msgspec.json.Decoder[T], expected: str) -> T:
    """Read and decode the body; `expected` describes its shape. An empty body is an empty object.

    Raises:
        UnreadableBody: it has another shape.
        ClientDisconnect: the caller left before the body was whole.
        Refusal: the body is too large or too slow.
    """
    return decode_body(await read_body(receive), decoder, expected)


def decode_body(body: bytes, decoder: msgspec.json.Decoder[T], expected: str) -> T:
    """Decode a body as `read_json` does.

    Raises:
        UnreadableBody: it has another shape, or an object of it repeats a member.
    """
    try:
        return decode_json(body or b"{}", decoder)
    except UNDECODABLE as error:
        raise UnreadableBody(expected, member_of(error, body)) from None


def with_member(member: str, sentence: str) -> str:
    """Put the name of the member at fault, where there is one, before the sentence."""
    return f"Look at {member}. {sentence}" if member else sentence


def member_of(error: Exception, body: bytes) -> str:
    """Return the path of the member that a decoder refuses, as in `accepts[0].amount`; or empty.

    It has names that the shape declares, and none that only the caller knows: of an unknown member
    it is the path of the object that has it. A name with a backtick would be taken for the end of
    the decoder's quotation, so that there is no path then.
    """
    text = str(error) if isinstance(error, msgspec.ValidationError) else ""
    if text.startswith(_UNKNOWN) and _BACKTICK.search(body):
        return ""
    path, missing = _PATH.search(text), _MISSING.match(text)
    parts = [path[1] if path else "", missing[1] if missing else ""]
    return ".".join(part for part in parts if part)
