"""The counted connections, and the buffer that writes a head with the first part of its body."""

import asyncio
from ipaddress import IPv4Network

import pytest

from farebox.web.connections import (
    MAX_UNPARSED_BYTES,
    PIECE_BYTES,
    ConnectionLimits,
    HeadBuffer,
    OpenConnections,
)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Recorded(asyncio.Transport):
    """Keeps each write, as the system would see it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []

    def write(self, data: object) -> None:
        self.seen.append(bytes(data))  # type: ignore[call-overload]

    def close(self) -> None:
        self.seen.append(b"closed")

    def abort(self) -> None:
        self.seen.append(b"aborted")

    set_protocol = is_closing = get_extra_info = lambda *_: None  # type: ignore[assignment]
    pause_reading = resume_reading = lambda *_: None


def _pair() -> tuple[HeadBuffer, Recorded]:
    real = Recorded()
    return HeadBuffer(real, asyncio.get_running_loop(), lambda: False), real


async def test_head_and_body_are_one_write() -> None:
    held, real = _pair()
    held.write(HEAD)
    held.write(b"ok")
    assert real.seen == [HEAD + b"ok"]


async def test_head_is_not_copied_together_with_a_large_body() -> None:
    held, real = _pair()
    large = memoryview(bytes(PIECE_BYTES + 1))
    held.write(HEAD)
    held.write(large)
    assert real.seen == [HEAD, large]


async def test_head_without_a_body_is_written_in_the_next_loop_iteration() -> None:
    held, real = _pair()
    held.write(HEAD)
    assert real.seen == []
    await asyncio.sleep(0)
    assert real.seen == [HEAD]


async def test_streamed_body_is_written_part_by_part() -> None:
    held, real = _pair()
    for part in (HEAD, b"one", b"two"):
        held.write(part)
    assert real.seen == [HEAD + b"one", b"two"]


async def test_close_writes_the_buffered_head_first() -> None:
    held, real = _pair()
    held.write(HEAD)
    held.close()
    assert real.seen == [HEAD, b"closed"]


async def test_abort_writes_nothing_more() -> None:
    held, real = _pair()
    held.write(HEAD)
    held.abort()
    await asyncio.sleep(0)
    assert real.seen == [b"aborted"]


class _Waiting:
    """A connection that waits for its first request."""

    is_busy = has_served = False

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.is_over = asyncio.Event()

    def time_out(self) -> None:
        self.seen.append("timed out")
        self.is_over.set()

    def shed(self) -> None:
        self.seen.append("closed")


async def test_connection_of_the_client_with_most_unparsed_bytes_is_closed() -> None:
    connections = OpenConnections(ConnectionLimits(100, 0))
    honest = _Waiting()
    greedy = [_Waiting() for _ in range(5)]
    connections.add(honest, "203.0.113.7")
    connections.set_unparsed(honest, 1_000)
    for each in greedy:
        connections.add(each, "198.51.100.9")
        connections.set_unparsed(each, MAX_UNPARSED_BYTES // 5)
    assert [each.seen for each in greedy] == [["closed"], ["closed"], [], [], []]
    assert honest.seen == []


async def test_connections_of_a_proxy_are_not_one_client() -> None:
    limits = ConnectionLimits(100, 0, [IPv4Network("192.0.2.0/24")])
    connections = OpenConnections(limits)
    proxied = [_Waiting() for _ in range(5)]
    greedy = _Waiting()
    for each in proxied:
        connections.add(each, "192.0.2.1")
        connections.set_unparsed(each, MAX_UNPARSED_BYTES // 8)
    connections.add(greedy, "198.51.100.9")
    connections.set_unparsed(greedy, MAX_UNPARSED_BYTES // 4)
    connections.set_unparsed(greedy, MAX_UNPARSED_BYTES // 8 * 3 + 1)
    assert (greedy.seen, [each.seen for each in proxied]) == (["closed"], [[]] * 5)


async def test_connection_that_is_not_counted_makes_no_room_for_another() -> None:
    """One that was refused closes as well; it has no place to give."""
    connections, loop = OpenConnections(ConnectionLimits(1, 0)), asyncio.get_running_loop()
    counted, refused = _Waiting(), _Waiting()
    connections.add(counted, "203.0.113.7")
    connections.set_timeout(refused, 20, loop)
    assert not connections.make_room()
    connections.set_timeout(counted, 20, loop)
    assert connections.make_room()
    assert (counted.seen, refused.seen) == (["closed"], [])


class _Faulty(_Waiting):
    """Raises where it is to time out."""

    def time_out(self) -> None:
        raise OSError


async def test_connection_that_fails_to_time_out_keeps_no_other_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("farebox.web.connections.CHECK_EVERY_S", 0.01)
    loop, faults = asyncio.get_running_loop(), list[object]()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: faults.append(context["exception"]))
    try:
        connections, other = OpenConnections(ConnectionLimits(8, 0)), _Waiting()
        for each, seconds in ((_Faulty(), 0.0), (other, 0.03)):
            connections.add(each, "203.0.113.7")
            connections.set_timeout(each, seconds, loop)
        async with asyncio.timeout(5):
            await other.is_over.wait()
    finally:
        loop.set_exception_handler(before)
    assert [type(each) for each in faults] == [OSError]
