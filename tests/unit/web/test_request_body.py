"""Request bodies: timeouts, the bytes kept of incomplete ones, and errors of the JSON decoder."""

import asyncio
from time import monotonic
from typing import Literal

import msgspec
import pytest
from starlette.types import Message

from farebox.web.request_body import (
    BodyTimeouts,
    DeadlinePassed,
    UnreadableBody,
    member_of,
    read_json,
)


async def _arrive(bodies: BodyTimeouts, size: int, client: str = "203.0.113.7") -> str:
    bodies.add_bytes(size, client)
    try:
        await bodies.wait(monotonic() + 60, asyncio.Event().wait)
    except DeadlinePassed:
        return "timed out"
    finally:
        bodies.release_bytes()
    return "whole"


async def test_oldest_bodies_time_out_when_the_kept_bytes_exceed_the_maximum() -> None:
    bodies = BodyTimeouts(max_bytes=100)
    first, second, third = (asyncio.create_task(_arrive(bodies, size)) for size in (40, 40, 20))
    await asyncio.sleep(0)
    assert not any(each.done() for each in (first, second, third))
    newest = asyncio.create_task(_arrive(bodies, 10))
    assert await first == "timed out"
    assert not any(each.done() for each in (second, third, newest))
    for each in (second, third, newest):
        each.cancel()
    await asyncio.gather(second, third, newest, return_exceptions=True)


async def test_small_body_outlives_the_bodies_of_a_client_that_sends_more() -> None:
    bodies = BodyTimeouts(max_bytes=100)
    small = asyncio.create_task(_arrive(bodies, 10, "198.51.100.9"))
    await asyncio.sleep(0)
    large = [asyncio.create_task(_arrive(bodies, 25)) for _ in range(40)]
    assert await large[0] == "timed out"
    assert not small.done()
    for each in (small, *large):
        each.cancel()
    await asyncio.gather(small, *large, return_exceptions=True)


async def test_ended_body_releases_its_bytes() -> None:
    bodies = BodyTimeouts(max_bytes=100)
    for _ in range(10):
        task = asyncio.create_task(_arrive(bodies, 90))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    last = asyncio.create_task(_arrive(bodies, 90))
    await asyncio.sleep(0)
    assert not last.done()
    last.cancel()
    await asyncio.gather(last, return_exceptions=True)


async def _never() -> bytes:
    await asyncio.Event().wait()
    return b""


async def _at_once() -> bytes:
    return b"here"


async def test_wait_returns_what_arrives_in_time() -> None:
    assert await BodyTimeouts().wait(monotonic() + 5, _at_once) == b"here"


async def test_wait_raises_at_the_deadline_and_the_task_continues() -> None:
    deadlines = BodyTimeouts(check_every_s=0.005)
    with pytest.raises(DeadlinePassed):
        await deadlines.wait(monotonic() + 0.01, _never)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await deadlines.wait(monotonic() + 5, _at_once) == b"here"


async def test_each_wait_has_its_own_deadline() -> None:
    deadlines = BodyTimeouts(check_every_s=0.005)
    later = asyncio.create_task(deadlines.wait(monotonic() + 60, _never))
    with pytest.raises(DeadlinePassed):
        await deadlines.wait(monotonic() + 0.01, _never)
    assert not later.done()
    later.cancel()
    with pytest.raises(asyncio.CancelledError):
        await later


async def test_cancellation_from_outside_is_raised_as_such() -> None:
    deadlines = BodyTimeouts(check_every_s=0.005)
    waiting = asyncio.create_task(deadlines.wait(monotonic() + 60, _never))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


class _Term(msgspec.Struct, forbid_unknown_fields=True):
    amount: str


class _Body(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    display_name: str
    terms: list[_Term] = []
    mode: Literal["a", "b"] = "a"


DECODER = msgspec.json.Decoder(_Body)


@pytest.mark.parametrize(
    ("raw", "member"),
    [
        (b'{"displayName": 5}', "displayName"),
        (b'{"displayName": "n", "terms": [{"amount": "1"}, {"amount": 2}]}', "terms[1].amount"),
        (b'{"displayName": "n", "terms": [{}]}', "terms[0].amount"),
        (b"{}", "displayName"),
        (b'{"displayName": "n", "termz": []}', ""),
        (b'{"displayName": "n", "terms": [{"amount": "1", "evil": 1}]}', "terms[0]"),
        (b"[]", ""),
        (b"{", ""),
        (b'{"displayName": "n", "<script>": 1}', ""),
        (b'{"displayName": "n", "x` - at `$.evil": 1}', ""),
        (b'{"displayName": "n", "x\\u0060 - at \\u0060$.evil": 1}', ""),
        (b'{"displayName": "n", "terms": [{"amount": "1", "x` - at `$.evil": 1}]}', ""),
        (b'{"displayName": "a `name`", "terms": [{"amount": 1}]}', "terms[0].amount"),
        (b'{"displayName": "n", "mode": "missing required field `evil`"}', "mode"),
    ],
)
def test_member_of_names_the_member_of_a_decode_error(raw: bytes, member: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        DECODER.decode(raw)
    assert member_of(caught.value, raw) == member


async def test_read_json_error_names_the_member_and_no_value() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b'{"displayName": ["a secret"]}'}

    with pytest.raises(UnreadableBody) as caught:
        await read_json(receive, DECODER, "{displayName}")
    assert caught.value.field == "displayName"
    assert caught.value.message == "Look at displayName. Send JSON of this shape: {displayName}"
