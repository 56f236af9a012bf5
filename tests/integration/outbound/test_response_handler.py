"""Responses whose connection closes, on each event loop: complete ones, and truncated ones.

The server makes the records of TLS by hand, so that it ends a connection as it likes.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import pytest
import uvloop

from farebox.local.certificates import Authority
from farebox.outbound import response_handler
from farebox.outbound.client import OutboundClient, OutboundResponse
from farebox.outbound.faults import CallOutcomeUnknown, UnknownOutcomeReason
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress
from support.outbound import DAMAGED, LOOPBACK, SELLER, URL

OK: Final = "HTTP/1.1 200 OK\r\n"
CHUNKS: Final = b"4\r\nhalf\r\n0\r\n\r\n"
LOOPS: Final = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
VERSIONS: Final = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
DROPPED: Final = UnknownOutcomeReason.DROPPED
MALFORMED: Final = UnknownOutcomeReason.MALFORMED


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


class TlsPeer:
    """The server's side of a connection."""

    def __init__(
        self, tls: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self._reader, self._writer = reader, writer

    async def take_request(self) -> None:
        await self._until_done(self.tls.do_handshake)
        request = b""
        while b"\r\n\r\n" not in request:
            request += await self._until_done(lambda: self.tls.read(65_536))
        self._taken = len(request.partition(b"\r\n\r\n")[2])

    async def take_body(self, size: int) -> None:
        """Take the rest of a request's body."""
        try:
            while self._taken < size:
                taken = await self._until_done(lambda: self.tls.read(65_536))
                assert taken, f"the request ended after {self._taken} bytes"
                self._taken += len(taken)
        except OSError:
            raise AssertionError(f"the request broke off after {self._taken} bytes") from None

    async def flush(self) -> None:
        self._writer.write(self.outgoing.read())
        await self._writer.drain()

    async def wait_for_alert(self) -> None:
        """Wait until the client has sent something: its closure alert."""
        await self._reader.read(65_536)

    async def wait_for_close(self) -> None:
        """Wait until the client has closed."""
        while await self._reader.read(65_536):
            pass

    async def _until_done(self, step: Callable[[], Any]) -> Any:
        while True:
            with suppress(ssl.SSLWantReadError):
                done = step()
                await self.flush()
                return done
            await self.flush()
            received = await self._reader.read(65_536)
            if not received:
                raise ConnectionResetError
            self.incoming.write(received)


def closes(peer: TlsPeer) -> None:
    """Send the closure alert."""
    with suppress(ssl.SSLWantReadError):
        peer.tls.unwrap()


def fails(peer: TlsPeer) -> None:
    """Send a fatal alert, as for a record that somebody on the way has put in."""
    peer.incoming.write(DAMAGED)
    with pytest.raises(ssl.SSLError):
        peer.tls.read(1)


def is_disturbed(peer: TlsPeer) -> None:
    """Send plain text among the records, as a proxy on the way does."""
    peer.outgoing.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")


def leaves(peer: TlsPeer) -> None:
    """Send nothing."""
    del peer


def stays(peer: TlsPeer) -> None:
    """Send nothing, and keep the connection until the client closes it."""
    del peer


def fails_late(peer: TlsPeer) -> None:
    """Send a fatal alert behind the client's closure alert."""
    fails(peer)


def keeps_sending(peer: TlsPeer) -> None:
    """Send until the client ends the connection."""
    del peer


@dataclass(frozen=True, slots=True)
class Script:
    """What the server sends: the first bytes, what follows at once or later, and the end.

    It takes the body of the request behind them.
    """

    first: bytes
    end: Callable[[TlsPeer], None]
    later: bytes = b""
    pause_s: float = 0.1  # in which the library gives out the head
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    request: bytes = b""


@asynccontextmanager
async def calling(authority: Authority, script: Script) -> AsyncIterator[OutboundResponse]:
    """Call the server of a script."""
    tls = authority.server(SELLER)
    tls.maximum_version = script.version

    served = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await play(TlsPeer(tls, reader, writer), script)
            writer.close()
            await writer.wait_closed()
        except OSError:  # its client has left
            writer.close()
        except AssertionError as failure:
            writer.transport.abort()
            served.set_exception(failure)
        if not served.done():
            served.set_result(None)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
    port = server.sockets[0].getsockname()[1]
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, port)}, FixedLookup({}))
    try:
        async with (
            OutboundClient(resolver, authority=authority.file) as client,
            client.call(OutboundRequest(URL, method="POST", body=script.request)) as response,
        ):
            yield response
    finally:
        server.close()
        async with asyncio.timeout(10):
            await served


async def play(peer: TlsPeer, script: Script) -> None:
    """Answer a request as the script has it."""
    await peer.take_request()
    peer.tls.write(script.first)
    if script.pause_s:
        await peer.flush()
        await asyncio.sleep(script.pause_s)
    if script.later:
        peer.tls.write(script.later)
    if script.request:
        await peer.flush()
        await asyncio.sleep(0.1)  # in which a client that has gone would reset the connection
        await peer.take_body(len(script.request))
    if script.end is fails_late:
        await peer.wait_for_alert()
    script.end(peer)
    await peer.flush()
    try:
        async with asyncio.timeout(5):
            if script.end is stays:
                await peer.wait_for_close()
            while script.end is keeps_sending:
                peer.tls.write(bytes(16_000))
                await peer.flush()
    except TimeoutError:
        raise AssertionError("the client did not end the connection") from None


async def read(authority: Authority, script: Script) -> bytes | UnknownOutcomeReason:
    """The body, or why there is none."""
    try:
        async with calling(authority, script) as response:
            return await response.read()
    except CallOutcomeUnknown as unknown:
        return unknown.reason


async def leave(authority: Authority, script: Script) -> bytes:
    """The first piece of a body whose reader leaves then."""
    async with calling(authority, script) as response:
        return await anext(aiter(response.chunks()))


async def read_late(authority: Authority, script: Script) -> bytes | UnknownOutcomeReason:
    """The body as a buyer takes it who is slow: a piece now, and the rest behind the end."""
    body = b""
    try:
        async with calling(authority, script) as response:
            async for piece in response.chunks():
                body += piece
                await asyncio.sleep(0.4 if len(body) == len(piece) else 0)
    except CallOutcomeUnknown as unknown:
        return unknown.reason
    return body


@dataclass(frozen=True, slots=True)
class Row:
    """A script, and what its reader gets: a body, or why there is none."""

    script: Script
    expected: bytes | UnknownOutcomeReason
    reader: Callable[[Authority, Script], Awaitable[bytes | UnknownOutcomeReason]] = read


def find_faults(loop: str, authority: Authority, rows: Mapping[object, Row]) -> list[str]:
    """Read all rows at once by a loop of that kind; return those that end otherwise.

    In a thread: this one has the loop of all tests. Production has uvloop.
    """

    async def read_all() -> list[bytes | UnknownOutcomeReason | BaseException]:
        reading = (row.reader(authority, row.script) for row in rows.values())
        return await asyncio.gather(*reading, return_exceptions=True)

    def run_here() -> list[bytes | UnknownOutcomeReason | BaseException]:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            return runner.run(read_all())

    with ThreadPoolExecutor(1) as pool:
        ends = pool.submit(run_here).result()
    return [
        f"{name}: {end!r:.60}"
        for (name, row), end in zip(rows.items(), ends, strict=True)
        if end != row.expected
    ]


def framed(framing: str, size: int) -> bytes:
    """A response with a body of so many bytes."""
    piece = b"x" * 1_000
    fields, body = {
        "length": (f"Content-Length: {size}\r\n", b"x" * size),
        "chunks": (
            "Transfer-Encoding: chunked\r\n",
            (b"3e8\r\n" + piece + b"\r\n") * (size // 1_000) + b"0\r\n\r\n",
        ),
        "connection": ("", b"x" * size),
    }[framing]
    return f"{OK}{fields}\r\n".encode() + body


@pytest.mark.parametrize("loop", LOOPS)
def test_body_without_an_end_of_its_own_is_whole_with_the_closure_alert_alone(
    authority: Authority, loop: str
) -> None:
    bodies, raw = (b"", b"half", b"x" * 200_000), f"{OK}\r\n".encode()
    rows: dict[object, Row] = {
        (len(body), version.name, end.__name__): Row(
            Script(raw + body, end, version=version), body if end is closes else DROPPED
        )
        for body, version, end in product(bodies, VERSIONS, (fails, leaves, closes))
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_coding_that_the_parser_does_not_take_for_chunks_ends_no_body(
    authority: Authority, loop: str
) -> None:
    codings = (
        "chunked\t",
        "gzip,\r\n chunked",
        "chunked\r\n ",
        "chunked\x0b",
        "chun\u212aed",
        "gzip",
    )
    rows: dict[object, Row] = {
        coding: Row(
            Script(f"{OK}Transfer-Encoding: {coding}\r\n\r\n".encode() + CHUNKS, leaves), DROPPED
        )
        for coding in codings
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_body_with_an_end_of_its_own_needs_no_closure_alert(
    authority: Authority, loop: str
) -> None:
    table = (
        (f"{OK}Transfer-Encoding: chunked", CHUNKS, b"half"),
        (f"{OK}Transfer-Encoding: Chunked\r\nTransfer-Encoding:", CHUNKS, b"half"),
        (f"{OK}Transfer-Encoding : chunked", CHUNKS, b"half"),
        (f"{OK}Content-Length: 4", b"half", b"half"),
        (f"{OK}Content-Length : 4", b"half", b"half"),
        (f"{OK}Transfer-Encoding: chunked", b"0\r\n\r\n", b""),
        (f"{OK}Content-Length: 0", b"", b""),
        ("HTTP/1.1 204 No Content", b"", b""),
    )
    rows: dict[object, Row] = {
        (head, body): Row(Script(f"{head}\r\n\r\n".encode() + body, leaves), expected)
        for head, body, expected in table
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_body_is_whole_although_tls_fails_in_the_read_that_ends_it(
    authority: Authority, loop: str
) -> None:
    rows: dict[object, Row] = {}
    for framing, size, end, version, cut in product(
        ("length", "chunks", "connection"),
        (1_000, 24_000),
        (fails, is_disturbed),
        VERSIONS,
        (0, 3),
    ):
        raw = framed(framing, size)
        script = Script(raw[: len(raw) - cut], end, pause_s=0, version=version)
        is_whole = framing != "connection" and not cut
        row = Row(script, b"x" * size if is_whole else DROPPED)
        rows[framing, size, end.__name__, version.name, cut] = row
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_reader_that_waits_for_a_malformed_body_fails_at_once(
    authority: Authority, loop: str
) -> None:
    first = f"{OK}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".encode()
    rows: dict[object, Row] = {
        end.__name__: Row(Script(first, end, later=b"zz\r\nxx", pause_s=0.3), DROPPED)
        for end in (closes, leaves, stays, keeps_sending)
    }
    for malformed in (b"HTTX/1.1 200 OK\r\n\r\n", first + b"zz\r\n"):
        rows[malformed] = Row(Script(malformed, stays, pause_s=0), MALFORMED)
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("close_s", "discard_bytes"), [(0.2, 2**40), (60.0, 100_000)])
def test_connection_of_a_reader_that_leaves_ends_although_its_server_keeps_sending(
    authority: Authority,
    loop: str,
    close_s: float,
    discard_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An event loop would read and discard for half a minute."""
    monkeypatch.setattr(response_handler, "_CLOSE_S", close_s)
    monkeypatch.setattr(response_handler, "_DISCARD_BYTES", discard_bytes)
    rows: dict[object, Row] = {
        framing: Row(Script(framed(framing, 3_000)[:-1], keeps_sending), b"x" * size, leave)
        for framing, size in (("length", 2_999), ("connection", 2_999))
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_server_that_answers_before_it_has_read_the_request_gets_all_of_it(
    authority: Authority, loop: str
) -> None:
    response = f"{OK}Content-Length: 4\r\n\r\nhalf".encode()
    rows: dict[object, Row] = {
        (size, version.name): Row(
            Script(response, closes, later=b"more", version=version, request=bytes(size)), b"half"
        )
        for size, version in product((100_000, 1_000_000), VERSIONS)
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_fatal_alert_behind_a_closed_connection_breaks_no_other_connection(
    authority: Authority, loop: str
) -> None:
    first = f"{OK}Content-Length: 4\r\n\r\n".encode()
    rows: dict[object, Row] = {}
    for version in VERSIONS:
        alert = Script(first + b"half", fails_late, version=version)
        rows[version.name, "alert"] = Row(alert, b"half")
        other = Script(first + b"h", closes, later=b"alf", pause_s=0.5, version=version)
        rows[version.name, "other"] = Row(other, b"half")
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_connection_that_has_ended_leaves_no_timer(
    authority: Authority, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[response_handler.WholeResponseHandler] = []
    lose = response_handler.WholeResponseHandler.connection_lost

    def connection_lost(
        handler: response_handler.WholeResponseHandler, exc: BaseException | None
    ) -> None:
        lose(handler, exc)
        ended.append(handler)

    handler = response_handler.WholeResponseHandler
    monkeypatch.setattr(handler, "connection_lost", connection_lost)
    rows: dict[object, Row] = {
        (framing, size): Row(Script(framed(framing, size), closes), b"x" * size)
        for framing, size in product(("length", "chunks", "connection"), (1_000, 24_000))
    }
    assert find_faults(loop, authority, rows) == []
    timers = [each._aborting for each in ended if each._aborting is not None]
    assert len(ended) == len(rows)
    assert all(each.cancelled() for each in timers)


@pytest.mark.parametrize("loop", LOOPS)
def test_stream_of_small_chunks_is_whole_for_a_slow_reader_whose_server_has_left(
    authority: Authority, loop: str
) -> None:
    """The parser pauses behind 1,024 chunks that nobody has read, here at the end of a record."""
    head, chunk = f"{OK}Transfer-Encoding: chunked\r\n\r\n".encode(), b"5\r\ntoken\r\n"
    first, later = head + 1_025 * chunk, 20 * chunk + b"0\r\n\r\n"
    rows: dict[object, Row] = {
        end.__name__: Row(Script(first, end, later, pause_s=0.2), 1_045 * b"token", read_late)
        for end in (closes, leaves)
    }
    assert find_faults(loop, authority, rows) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_response_is_whole_for_a_slow_reader_whose_server_has_left(
    authority: Authority, loop: str
) -> None:
    """Most servers close the connection behind a response, and buyers may be slower than they.

    It comes at once, or in two parts.
    """
    rows: dict[object, Row] = {}
    for framing, end, (size, kept) in product(
        ("length", "chunks", "connection"), (closes, leaves), ((40_000, 0), (48_000, 8_000))
    ):
        raw = framed(framing, size)
        cut = len(raw) - kept
        script = Script(raw[:cut], end, later=raw[cut:], pause_s=0.2 if kept else 0)
        is_whole = framing != "connection" or end is closes
        expected = b"x" * size if is_whole else DROPPED
        rows[framing, end.__name__, size] = Row(script, expected, read_late)
    assert find_faults(loop, authority, rows) == []
