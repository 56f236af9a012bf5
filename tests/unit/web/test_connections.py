"""The counted connections, and the buffer that writes a head with the first part of its body."""

import asyncio

from farebox.web.connections import ConnectionLimits, HeadBuffer, OpenConnections

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
    return HeadBuffer(real, asyncio.get_running_loop(), lambda: None), real


async def test_head_and_body_are_one_write() -> None:
    held, real = _pair()
    held.write(HEAD)
    held.write(b"ok")
    assert real.seen == [HEAD + b"ok"]


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

    def time_out(self) -> None:
        self.seen.append("timed out")

    def shed(self) -> None:
        self.seen.append("closed")


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
