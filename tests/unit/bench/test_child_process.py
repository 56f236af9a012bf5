"""A part of a bench in a process of its own: its report and its failure."""

import asyncio
import os

import msgspec
import pytest

from bench.child_process import finish, generate_load, start_process
from bench.load import Result
from bench.measure import Requests, load
from testing.machine import RunFailed

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"


class NoPlan(msgspec.Struct):
    """A plan that no load generator can follow."""

    nothing: int = 0


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readuntil(b"body"):
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def test_load_is_generated_in_another_process_and_returns_its_result() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        requests = Requests("/", (b"body",), ("good",))
        result = await load(f"http://127.0.0.1:{port}", requests, seconds=0.1, in_flight=1)
    assert isinstance(result, Result)
    assert result.answers > 0
    assert result.unexpected == 0


async def test_failed_generator_raises_with_its_last_line() -> None:
    with pytest.raises(RunFailed, match="missing required field"):
        await generate_load("load", NoPlan())


async def test_part_ends_when_it_is_no_longer_waited_for() -> None:
    part = await start_process("load")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await finish(part)
    with pytest.raises(ProcessLookupError):
        os.kill(part.pid, 0)
