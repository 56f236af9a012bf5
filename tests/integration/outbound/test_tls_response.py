"""The end of a response that ends with its connection, as OpenSSL tells of it."""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from farebox.local.certificates import Authority
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import CallOutcomeUnknown, UnknownOutcomeReason
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress
from support.outbound import LOOPBACK, SELLER, URL

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
CHUNKS = b"4\r\nhalf\r\n0\r\n\r\n"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


class TlsPeer:
    """The server's side of a connection, whose records are made by hand."""

    def __init__(
        self, tls: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self.incoming, self._outgoing, server_side=True)
        self._reader, self._writer = reader, writer

    async def handshake(self) -> None:
        while True:
            with suppress(ssl.SSLWantReadError):
                self.tls.do_handshake()
                await self.flush()
                return
            await self.flush()
            self.incoming.write(await self._reader.read(65_536))

    async def read_request(self) -> None:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            with suppress(ssl.SSLWantReadError):
                request += self.tls.read(65_536)
                continue
            self.incoming.write(await self._reader.read(65_536))

    async def write(self, raw: bytes) -> None:
        self.tls.write(raw)
        await self.flush()
        await asyncio.sleep(0.1)  # the library gives out the head before what follows comes

    async def flush(self) -> None:
        self._writer.write(self._outgoing.read())
        await self._writer.drain()


async def closes(peer: TlsPeer) -> None:
    """Send the closure alert."""
    with suppress(ssl.SSLWantReadError):
        peer.tls.unwrap()


async def fails(peer: TlsPeer) -> None:
    """Send a fatal alert, as for a record that somebody on the way has put in."""
    peer.incoming.write(b"\x17\x03\x03\x00\x40" + secrets.token_bytes(64))
    with pytest.raises(ssl.SSLError):
        peer.tls.read(1)


async def leaves(peer: TlsPeer) -> None:
    """Send nothing."""
    del peer


End = Callable[[TlsPeer], Awaitable[None]]


@asynccontextmanager
async def calling(
    folder: Path, raw: bytes, end: End, version: ssl.TLSVersion
) -> AsyncIterator[bytes]:
    """The body of a response of these bytes, whose connection ends so."""
    authority = Authority(folder)
    tls = authority.server(SELLER)
    tls.maximum_version = version

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = TlsPeer(tls, reader, writer)
        await peer.handshake()
        await peer.read_request()
        await peer.write(raw)
        await end(peer)
        await peer.flush()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, port)}, FixedLookup({}))
    async with (
        server,
        OutboundClient(resolver, authority=authority.file) as client,
        client.call(OutboundRequest(URL)) as response,
    ):
        yield await response.read()


@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("body", [b"", b"half", b"x" * 200_000], ids=["empty", "short", "long"])
@pytest.mark.parametrize("end", [fails, leaves], ids=lambda each: each.__name__)
async def test_body_without_an_end_of_its_own_is_whole_with_the_closure_alert_alone(
    tmp_path: Path, end: End, body: bytes, version: ssl.TLSVersion
) -> None:
    with pytest.raises(CallOutcomeUnknown) as unknown:
        async with calling(tmp_path, HEAD + body, end, version):
            pass
    assert unknown.value.reason is UnknownOutcomeReason.DROPPED
    control = tmp_path / "closes"
    control.mkdir()
    async with calling(control, HEAD + body, closes, version) as read:
        assert read == body


@pytest.mark.parametrize(
    "coding",
    ["chunked\t", "gzip,\r\n chunked", "chunked\r\n ", "chunked\x0b", "chun\u212aed"],
    ids=["tab", "folded", "folded end", "vertical tab", "Kelvin"],
)
async def test_coding_that_the_parser_does_not_take_for_chunks_ends_no_body(
    tmp_path: Path, coding: str
) -> None:
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n".encode()
    with pytest.raises(CallOutcomeUnknown):
        async with calling(tmp_path, head + CHUNKS, leaves, VERSIONS[1]):
            pass


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Transfer-Encoding: chunked", CHUNKS),
        ("Transfer-Encoding: Chunked\r\nTransfer-Encoding:", CHUNKS),
        ("Transfer-Encoding : chunked", CHUNKS),
        ("Content-Length: 4", b"half"),
        ("Content-Length : 4", b"half"),
        ("Transfer-Encoding: chunked", b"0\r\n\r\n"),
        ("Content-Length: 0", b""),
    ],
)
async def test_body_with_an_end_of_its_own_needs_no_closure_alert(
    tmp_path: Path, fields: str, body: bytes
) -> None:
    head = f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode()
    async with calling(tmp_path, head + body, leaves, VERSIONS[1]) as read:
        assert read == (b"half" if b"half" in body else b"")
