"""What the cases of the wire call a fault: a server that answers wrongly is found."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from e2e.stated import _bounds, _examples, beyond, stated
from e2e.wire import (
    JSON_TYPE,
    Answered,
    RawCase,
    WireCase,
    answers_of,
    faults_in,
    post,
    raw_faults_of,
)

CHALLENGE = base64.b64encode(b'{"queryParams": {"type": "object"}}').decode()
ANSWER = (
    "HTTP/1.1 402 Payment Required\r\nContent-Length: 13\r\nConnection: close\r\n"
    f'PAYMENT-REQUIRED: {CHALLENGE}\r\n\r\n{{"id": "own"}}'
).encode()
RIGHT = WireCase(
    "/a|b", 402, there=("payment-required",), absent=("retry-after",),
    says=('"id":"own"', '"queryParams":{"type":"object"}'), omits=("hidden",),
)  # fmt: skip


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Serve one answer to everybody, once the head has come."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1")
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
async def answered() -> list[Answered]:
    """What both clients get for one case."""
    async with answering(ANSWER) as url:
        return await answers_of(url, [RIGHT])


def test_answer_that_is_right_has_no_fault(answered: list[Answered]) -> None:
    assert [each.client for each in answered] == ["curl", "fetch"]
    assert faults_in(answered) == []


@pytest.mark.parametrize(
    "wrong",
    [
        WireCase("/", 200),
        WireCase("/", 402, there=("retry-after",)),
        WireCase("/", 402, absent=("content-length",)),
        WireCase("/", 402, says=('"id":null',)),
        WireCase("/", 402, omits=('"own"',)),
        WireCase("/", 402, omits=("queryParams",)),
        WireCase("/", 402, judge=lambda body: "" if body == {"id": "other"} else "another body"),
    ],
)
def test_control_every_wrong_part_of_an_answer_is_a_fault_of_both_clients(
    answered: list[Answered], wrong: WireCase
) -> None:
    faults = faults_in(replace(each, case=wrong) for each in answered)
    assert [each.split()[0] for each in faults] == ["curl", "fetch"]


@pytest.mark.parametrize(
    ("answer", "there", "is_right"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"", True),
        (b"HTTP/1.1 200 OK\r\n\r\nIsPaid", b"ispaid", True),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"ispaid", False),
        (b"HTTP/1.1 400 No\r\n\r\n", b"", False),
        (b"", b"", False),
    ],
)
async def test_half_closed_case_wants_its_response(
    answer: bytes, there: bytes, is_right: bool
) -> None:
    case = RawCase("half-closed", post("/", "{}"), (200,), half_closed=True, there=there)
    async with answering(answer) as url:
        assert (await raw_faults_of(url, [case]) == []) is is_right


async def test_raw_case_wants_what_is_absent_to_be_absent() -> None:
    case = RawCase("deleted", post("/", ""), (204,), absent=b"content-length")
    async with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as url:
        assert await raw_faults_of(url, [case]) == []
    async with answering(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n") as url:
        assert len(await raw_faults_of(url, [case])) == 1


def test_values_of_a_schema_and_values_beyond_it() -> None:
    whole = {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
    assert (stated(whole), beyond(whole)) == ([1, 50, 10], [0, 1.5, 51])
    listed = {"enum": ["GET", "POST"]}
    assert (stated(listed), beyond(listed)) == (["GET"], ["none of them"])
    assert beyond({"maxLength": 3}) == ["xxxx"]


def test_requests_to_hold_a_service_to_its_schema() -> None:
    limit = {"name": "limit", "in": "query", "required": False, "schema": {"maximum": 3}}
    query = {"name": "query", "in": "query", "required": True, "schema": {"maxLength": 9_000}}
    found = {"get": {"parameters": [limit, query]}}
    paths = {
        "/discovery/resources": {"get": {"parameters": [limit]}},
        "/discovery/search": found,
        "/v1/payments": {"get": {"parameters": [limit]}},
    }
    assert [each.target for each in _bounds(paths, JSON_TYPE)] == [
        "/discovery/resources?limit=4",
        "/discovery/search?query=x&limit=4",
        "/v1/payments?role=settled&limit=4",
    ]
    content = {"application/json": {"example": {"a": 1}}}
    taken = {"post": {"requestBody": {"content": content}}}
    assert [each.target for each in _examples({"/a": taken, "/{id}": taken}, JSON_TYPE)] == ["/a"]
