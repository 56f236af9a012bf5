"""The limits of a request body: its size, its encoding and its time."""

import asyncio
from contextlib import AsyncExitStack
from ipaddress import IPv4Network

import orjson
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.web.client_address import ClientAddress
from farebox.web.endpoint import FailureShape
from farebox.web.error_responses import ErrorMiddleware, Failure
from farebox.web.request_body import BODY_LIMIT_BYTES, BodyLimit, BodyTimeouts, read_body
from farebox.web.request_context import RequestLog
from farebox.web.responses import send_json
from support.recording_log import RecordingLog
from support.routes import endpoint
from support.serving import connected, exchange, serving
from testing.waiting import until


async def _measure(scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(receive)
    await send_json(send, 200, b'{"bytes":%d}' % len(body))


def _own_shape(failure: Failure) -> bytes:
    return orjson.dumps({"isValid": False, "invalidReason": failure.code})


def _app() -> ASGIApp:
    return Application(
        Services(
            endpoints=[
                endpoint("POST", "/measure", _measure),
                endpoint("POST", "/verify", _measure, failure=FailureShape(dict, _own_shape)),
            ],
        ),
        stop=lambda: None,
    )


def _head(path: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


def _chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def _body(answer: bytes) -> object:
    return orjson.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize(
    ("size", "status"), [(0, 200), (BODY_LIMIT_BYTES, 200), (BODY_LIMIT_BYTES + 1, 413)]
)
async def test_body_limit_is_exact_for_declared_length(size: int, status: int) -> None:
    async with serving(_app()) as address:
        answer = await exchange(address, _head("/measure", f"Content-Length: {size}") + b"x" * size)
    assert _status(answer) == status


@pytest.mark.parametrize(
    ("size", "status"), [(BODY_LIMIT_BYTES, 200), (BODY_LIMIT_BYTES + 1, 413), (2_000_000, 413)]
)
async def test_body_limit_is_exact_without_content_length(size: int, status: int) -> None:
    async with serving(_app()) as address:
        sent = _head("/measure", "Transfer-Encoding: chunked") + _chunked(b"x" * size, 5000)
        answer = await exchange(address, sent)
    assert _status(answer) == status


async def test_refused_body_has_error_response_of_its_route() -> None:
    size = BODY_LIMIT_BYTES + 1
    async with serving(_app()) as address:
        answer = await exchange(address, _head("/verify", f"Content-Length: {size}") + b"x" * size)
    assert (_status(answer), _body(answer)) == (
        413,
        {"isValid": False, "invalidReason": "body_too_large"},
    )


async def test_client_sending_30_megabytes_receives_413() -> None:
    async with serving(_app()) as address:
        reader, writer = await asyncio.open_connection(*address)
        size = 30_000_000
        writer.write(b"POST /measure HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        writer.write(b"x" * size)
        assert (await reader.readline()).split()[1] == b"413"
        writer.transport.abort()


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "GZIP", "gzip, identity"])
async def test_encoded_body_is_refused_before_it_is_read(coding: str) -> None:
    async with serving(_app()) as address:
        head = _head("/verify", f"Content-Encoding: {coding}", "Content-Length: 3")
        answer = await exchange(address, head + b"abc")
    assert (_status(answer), _body(answer)) == (
        415,
        {"isValid": False, "invalidReason": "unsupported_media_type"},
    )


async def test_identity_content_encoding_is_accepted() -> None:
    async with serving(_app()) as address:
        head = _head("/measure", "Content-Encoding: identity", "Content-Length: 3")
        answer = await exchange(address, head + b"abc")
    assert _body(answer) == {"bytes": 3}


async def test_body_shorter_than_content_length_gets_no_200() -> None:
    async with serving(_app()) as address:
        head = _head("/measure", "Content-Length: 10")
        assert b"200" not in await exchange(address, head + b"abc", ends=True)


async def test_bytes_after_content_length_are_not_part_of_body() -> None:
    async with serving(_app()) as address:
        head = _head("/measure", "Content-Length: 3")
        answer = await exchange(address, head + b"abcdefgh")
    assert _body(answer) == {"bytes": 3}


async def test_body_is_refused_when_it_does_not_end_in_time() -> None:
    timeouts = BodyTimeouts(check_every_s=0.01)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Application(Services(endpoints=[]), stop=lambda: None)(scope, receive, send)
        else:
            limited = BodyLimit(_measure, deadline_s=0.05, timeouts=timeouts)
            await RequestLog(ErrorMiddleware(limited, {}), RecordingLog())(scope, receive, send)

    async with serving(app) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(_head("/measure", "Content-Length: 10") + b"abc")
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert _status(answer) == 408


async def test_small_body_that_arrives_slowly_outlives_those_of_a_client_that_sends_more() -> None:
    timeouts, begun = BodyTimeouts(max_bytes=300_000), list[str]()
    readers: list[asyncio.StreamReader] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Application(Services(endpoints=[]), stop=lambda: None)(scope, receive, send)
            return
        begun.append(scope["path"])
        answered = ErrorMiddleware(BodyLimit(_measure, timeouts=timeouts), {})
        proxies = [IPv4Network("127.0.0.0/8")]
        await RequestLog(ClientAddress(answered, proxies), RecordingLog())(scope, receive, send)

    def part(client: str, size: int) -> bytes:
        head = _head("/measure", f"X-Forwarded-For: {client}", f"Content-Length: {size + 10}")
        return head + b"x" * size

    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(part("203.0.113.7", 100_000))
        await until(lambda: begun)
        async with AsyncExitStack() as greedy:
            for number in range(4):  # addresses of one subscriber
                other = await greedy.enter_async_context(connected(address))
                other[1].write(part(f"2001:db8::{number + 1}", 60_000))
                readers.append(other[0])
                await until(lambda: len(begun) == len(readers) + 1)
            assert _status(await asyncio.wait_for(readers[0].read(), 10)) == 408
            writer.write(b"x" * 10)
            assert _body(await asyncio.wait_for(reader.read(), 10)) == {"bytes": 100_010}
