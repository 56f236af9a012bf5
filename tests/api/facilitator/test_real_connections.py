"""Disconnects, slow bodies and false lengths on real connections."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

import msgspec
import pytest

from support import node_proxy
from support.asgi import AsgiClient
from support.payments import Json
from support.promises import case, promise
from support.serve_process import ForkedServeProcess
from support.stage import Stage, environment_for, own_relayer
from support.stage_fixtures import Networks

LIMIT: Final = 256 * 1024
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
async def process(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[ForkedServeProcess]:
    """The service as a process of its own, with a relayer of its own."""
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)
    async with ForkedServeProcess(environment | await own_relayer(stage)) as process:
        yield process


@pytest.fixture
def served(stage: Stage, process: ForkedServeProcess) -> ForkedServeProcess:
    """The process on an empty journal, reached through sockets."""
    del stage
    return process


async def _connect(process: ForkedServeProcess) -> Connection:
    where = urlsplit(process.url)
    assert where.hostname is not None
    return await asyncio.open_connection(where.hostname, where.port)


def _head(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


async def _status(reader: asyncio.StreamReader) -> int:
    line = await asyncio.wait_for(reader.readline(), 20)
    return int(line.split()[1])


def _notice_sending(stage: Stage) -> asyncio.Event:
    """Return what is set when the node has answered that it has an envelope."""
    sent = asyncio.Event()

    async def noticed(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        del call
        answer: Json = await forward()
        sent.set()
        return answer

    stage.node().on("sendTransaction", noticed)
    return sent


@case("PV-158")
@promise("error:never-a-double-charge")
async def test_disconnected_caller_collects_its_success_later(
    stage: Stage, served: ForkedServeProcess
) -> None:
    body = (await stage.draft()).request()
    sent = _notice_sending(stage)
    raw = msgspec.json.encode(body)
    _, writer = await _connect(served)
    writer.write(_head("/settle", f"content-length: {len(raw)}") + raw)
    await writer.drain()
    await asyncio.wait_for(sent.wait(), 20)
    writer.close()
    await writer.wait_closed()
    outcome = await served.settle(body)
    assert outcome["success"] is True
    assert stage.node().counts()["sendTransaction"] == 1
    assert (await served.settle(body))["errorReason"] == "duplicate_settlement"


@pytest.mark.parametrize("leaves", [False, True])
async def test_half_closed_caller_gets_its_success_unless_it_leaves(
    stage: Stage, served: ForkedServeProcess, leaves: bool
) -> None:
    """A caller that has closed looks like one that waits, until it is asked for a sign."""
    body = (await stage.draft()).request()
    sent = _notice_sending(stage)
    raw = msgspec.json.encode(body)
    reader, writer = await _connect(served)
    writer.write(_head("/settle", f"content-length: {len(raw)}") + raw)
    writer.write_eof()
    if leaves:
        await asyncio.wait_for(sent.wait(), 20)
    else:
        answer = await asyncio.wait_for(reader.read(), 20)
        assert b'"success":true' in answer.rpartition(b"\r\n\r\n")[2]
    writer.close()
    await writer.wait_closed()
    outcome = await served.settle(body)
    assert outcome["success"] is leaves
    assert stage.node().counts()["sendTransaction"] == 1


@case("PV-003")
@promise("limit:body-256-kb")
async def test_chunked_body_is_not_read_beyond_limit(
    served: ForkedServeProcess,
) -> None:
    reader, writer = await _connect(served)
    writer.write(_head("/verify", "transfer-encoding: chunked"))
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(LIMIT // 0x10000 + 1):
        writer.write(piece)
    await writer.drain()
    assert await _status(reader) == 413, "answered although the body has not ended"
    writer.close()


@case("PV-003")
async def test_content_length_above_limit_delays_no_other_request(
    stage: Stage, served: ForkedServeProcess
) -> None:
    _, writer = await _connect(served)
    writer.write(_head("/verify", "content-length: 200000") + b'{"paymentPayload":')
    await writer.drain()
    outcome = await served.settle((await stage.draft()).request())
    assert outcome["success"] is True
    writer.close()


@case("PV-003")
@pytest.mark.parametrize("length", ["-1", "1e3", "10, 20", "99999999999999999999"])
async def test_malformed_content_length_is_a_400(served: ForkedServeProcess, length: str) -> None:
    reader, writer = await _connect(served)
    writer.write(_head("/verify", f"content-length: {length}") + b"{}")
    await writer.drain()
    assert 400 <= await _status(reader) < 500
    writer.close()
