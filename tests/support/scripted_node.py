"""A node on loopback that answers as a test scripts it, down to the bytes and the connection."""

import asyncio
import json
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from types import TracebackType
from typing import Any, Self

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc

Act = Callable[[asyncio.StreamWriter, "ReceivedRequest"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it came in."""

    head: str
    body: bytes

    @property
    def call(self) -> dict[str, Any]:
        """The JSON-RPC request."""
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


@dataclass(slots=True)
class ScriptedNode:
    """Serves each request with the next act of the script; the last one repeats.

    `resets_unread` drops every connection as soon as it is made.
    """

    script: list[Act] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    resets_unread: bool = False
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    _server: asyncio.Server | None = None
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Its address, with a path that stands for a key."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self.port}/key-4f1c9e"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        if self.resets_unread:
            reset(writer)
            return
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                request = ReceivedRequest(head, body)
                act = self.script[min(len(self.requests), len(self.script) - 1)]
                self.requests.append(request)
                await act(writer, request)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """Drop the connection with a TCP reset."""
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def result(value: object) -> Act:
    """Answer with a JSON-RPC result."""
    return answering(lambda _request: value)


def answering(answer: Callable[[ReceivedRequest], object]) -> Act:
    """Answer with the JSON-RPC result that `answer` makes of the request."""
    return _json(
        lambda request: {"jsonrpc": "2.0", "id": request.call["id"], "result": answer(request)}
    )


def by_method(acts: Mapping[str, Act]) -> Act:
    """Act as the request's method says."""

    async def act(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
        await acts[request.call["method"]](writer, request)

    return act


def fault(code: int, message: str) -> Act:
    """Answer with a JSON-RPC error."""
    error = {"code": code, "message": message}
    return _json(lambda request: {"jsonrpc": "2.0", "id": request.call["id"], "error": error})


def raw(body: bytes, *, status: str = "200 OK", headers: str = "") -> Act:
    """Answer with exactly these bytes."""

    async def act(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return act


def endless(megabytes: int) -> Act:
    """Answer in chunks, without saying how much will come."""

    async def act(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))
        for _ in range(megabytes):
            writer.write(chunk)
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    return act


async def silent(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
    """Read the request and never answer."""
    await asyncio.Event().wait()


async def dripping(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
    """Answer so slowly that it never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def dropped(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
    """Read the request, then reset the connection."""
    reset(writer)


async def cut_short(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
    """Close in the middle of the answer."""
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"jsonrpc":"2.0",')
    await writer.drain()
    writer.close()


def _json(answer: Callable[[ReceivedRequest], object]) -> Act:
    async def act(writer: asyncio.StreamWriter, request: ReceivedRequest) -> None:
        await raw(json.dumps(answer(request)).encode())(writer, request)

    return act


@asynccontextmanager
async def scripted_rpc(*acts: Act) -> AsyncIterator[tuple[HttpSorobanRpc, ScriptedNode]]:
    """A client of the testnet, and the scripted node that it calls."""
    async with (
        ScriptedNode(list(acts)) as node,
        HttpSorobanRpc(Network.TESTNET, Secret(node.url)) as rpc,
    ):
        yield rpc, node
