"""Callers that take all connections of one address, or of the service, and what the next one gets.

The addresses are those of the loopback, of which Linux takes every one.
"""

import asyncio
import contextlib
from typing import Final
from urllib.parse import urlsplit

PER_ADDRESS: Final = 128
IN_ALL: Final = 2 * PER_ADDRESS
CONNECTIONS: Final = {
    "FAREBOX_CONNECTIONS_PER_ADDRESS": str(PER_ADDRESS),
    "FAREBOX_CONNECTIONS": str(IN_ALL),
}
CROWD_STATUSES: Final = (429, 503)
_CROWD: Final = ("127.0.0.2", "127.0.0.3")
_NEXT: Final = (_CROWD[0], "127.0.0.4")  # whose address has no place left; whose service has none
_ANSWER_S: Final = 20.0
_WAITING: Final = (  # a request whose body does not come keeps its connection
    b"POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
)
_LIVE: Final = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def crowd_faults(url: str) -> list[str]:
    """Take every connection of a service with the settings `CONNECTIONS`; return what was wrong.

    The next caller of a full address gets 429, the next one of a full service 503, and both
    `Retry-After`.
    """
    faults = []
    async with contextlib.AsyncExitStack() as stack:
        for address in _CROWD:
            for _ in range(PER_ADDRESS):
                reader, writer = await _connect(url, address)
                stack.callback(writer.close)
                writer.write(_WAITING)
                await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _ANSWER_S)
        for status, address in zip(CROWD_STATUSES, _NEXT, strict=True):
            reader, writer = await _connect(url, address)
            stack.callback(writer.close)
            answer = await asyncio.wait_for(reader.read(), _ANSWER_S)
            if not tells_when(answer, status):
                faults.append(f"a caller of {address} beside a crowd: {answer[:200]!r}")
    await asyncio.wait_for(_wait_for_room(url), _ANSWER_S)
    return faults


def tells_when(answer: bytes, status: int) -> bool:
    """Whether a response has the status, and says when to come again."""
    is_status = answer.startswith(b"HTTP/1.1 %d " % status)
    return is_status and b"\r\nretry-after: " in answer.lower()


async def _wait_for_room(url: str) -> None:
    """Return once the service has seen the crowd leave."""
    answer = b""
    while not answer.startswith(b"HTTP/1.1 200 "):
        reader, writer = await _connect(url, _NEXT[1])
        with contextlib.closing(writer):
            writer.write(_LIVE)
            answer = await reader.read()


async def _connect(url: str, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    target = urlsplit(url)
    return await asyncio.open_connection(target.hostname, target.port, local_addr=(address, 0))
