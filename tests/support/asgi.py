"""A client that calls the application in process and may disconnect at any point."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_GIVE_UP_S: Final = 90.0
_LIFESPAN_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body, which must be a JSON object."""
        return msgspec.json.decode(self.body, type=dict[str, Any])


class ClientDisconnected(Exception):
    """The client disconnected before the answer was whole."""


class AsgiClient:
    """Sends requests to an application without a socket between them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a server's requests by the application, whose lifespan is somebody else's."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Iterable[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        leave: asyncio.Event | None = None,
    ) -> Answer:
        """Send one request and read the whole answer; `leave`, once set, disconnects.

        Raises:
            ClientDisconnected: the client disconnected first.
        """
        chunks = [body] if isinstance(body, bytes) else list(body)
        exchange = _Exchange(chunks, leave)
        scope = _scope(method, path, headers or {})
        await asyncio.wait_for(self._app(scope, exchange.receive, exchange.send), _GIVE_UP_S)
        return exchange.answer()

    async def get(self, path: str) -> Answer:
        """GET a path."""
        return await self.request("GET", path)

    async def post(
        self, path: str, value: object, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """POST a value as JSON; bytes go out as they are."""
        body = value if isinstance(value, bytes) else msgspec.json.encode(value)
        sent = {"content-type": "application/json", "content-length": str(len(body))}
        return await self.request("POST", path, body=body, headers=sent | dict(headers or {}))


def _scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    path, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"farebox.test"), *raw],
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", 8402),
        "state": {},
    }


class _Exchange:
    """One request going in and one answer coming out."""

    def __init__(self, chunks: list[bytes], leave: asyncio.Event | None) -> None:
        self._chunks = chunks or [b""]
        self._sent = 0
        self._leave = leave
        self._start: Message | None = None
        self._body: list[bytes] = []
        self._done = asyncio.Event()

    async def receive(self) -> Message:
        if self._sent < len(self._chunks):
            chunk = self._chunks[self._sent]
            self._sent += 1
            more = self._sent < len(self._chunks)
            return {"type": "http.request", "body": chunk, "more_body": more}
        await (self._leave or self._done).wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._leave is not None and self._leave.is_set():
            raise OSError("the client is gone")
        if message["type"] == "http.response.start":
            self._start = message
        elif message["type"] == "http.response.body":
            self._body.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._done.set()

    def answer(self) -> Answer:
        if self._start is None or not self._done.is_set():
            raise ClientDisconnected
        headers = {name.decode().lower(): value.decode() for name, value in self._start["headers"]}
        return Answer(self._start["status"], headers, b"".join(self._body))


@contextlib.asynccontextmanager
async def started(app: ASGIApp) -> AsyncIterator[None]:
    """Run the application's lifespan around the block, as a server does."""
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    outbox: asyncio.Queue[Message] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    running = asyncio.ensure_future(_lifespan(app, scope, inbox, outbox))
    await inbox.put({"type": "lifespan.startup"})
    await _expect("startup", outbox, running)
    try:
        yield
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await _expect("shutdown", outbox, running)
        await running


async def _lifespan(
    app: ASGIApp,
    scope: dict[str, Any],
    inbox: asyncio.Queue[Message],
    outbox: asyncio.Queue[Message],
) -> None:
    await app(scope, inbox.get, outbox.put)


async def _expect(
    phase: str, outbox: asyncio.Queue[Message], running: asyncio.Future[None]
) -> None:
    received = asyncio.ensure_future(outbox.get())
    either: list[asyncio.Future[Any]] = [received, running]
    await asyncio.wait(either, timeout=_LIFESPAN_S, return_when=asyncio.FIRST_COMPLETED)
    if not received.done():
        received.cancel()
        if running.done():
            await running
        raise TimeoutError(f"no message about {phase}")
    message = received.result()
    assert message["type"] == f"lifespan.{phase}.complete", message
