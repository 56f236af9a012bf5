"""A part of a bench in a process of its own: its report comes back, and its failure is told."""

import asyncio
import os

import msgspec
import pytest

from bench.load import Result
from bench.measure import Requests, load
from bench.part import generate_load, heard, start_part
from e2e.machine import RunFailed

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"


class NoPlan(msgspec.Struct):
    """What no load generator can follow."""

    nothing: int = 0


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readuntil(b"body"):
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def test_a_load_is_generated_elsewhere_and_its_result_comes_back() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        requests = Requests("/", (b"body",), ("good",))
        result = await load(f"http://127.0.0.1:{port}", requests, seconds=0.1, in_flight=1)
    assert isinstance(result, Result)
    assert result.answers > 0
    assert result.unexpected == 0


async def test_a_generator_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(RunFailed, match="missing required field"):
        await generate_load("load", NoPlan())


async def test_a_part_that_is_not_waited_for_any_more_is_gone() -> None:
    part = await start_part("load")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await heard(part)
    with pytest.raises(ProcessLookupError):
        os.kill(part.pid, 0)
