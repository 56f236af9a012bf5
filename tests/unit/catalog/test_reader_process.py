"""Discovery data is read in a process of its own; its faults do not reach the service."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable
from io import BytesIO
from typing import TypeVar

import pytest

from farebox.catalog.discovery.discovered_resource import parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.reader import DirectReader, ReaderUnavailable, ReadFailed
from farebox.catalog.discovery.reader_child import (
    LENGTH_BYTES,
    ReadRequest,
    decode_response,
    encode_frame,
    main,
)
from farebox.catalog.discovery.reader_process import ReaderProcess
from support.discovery import LOCAL_HOSTS, SELLER, discovery, http_info, schema_of, tool_info

T = TypeVar("T")

TEXTS = (
    discovery(),
    discovery(info=tool_info(), resource={"description": "says the weather", "tags": ["a", "b"]}),
    discovery(resource={"serviceName": 7, "iconUrl": "javascript:x"}, routeTemplate="/v1/:what"),
    discovery(f"https://{LOCAL_HOSTS[0]}/x"),
    b"[]",
    b"",
)
# the slowest kind that is admitted: as much to compile, and to walk, as the bounds allow
SLOW = discovery(
    info={**http_info(), "more": [["x"] * 60] * 60},
    schema={
        **schema_of(http_info()),
        "allOf": [{"properties": {f"p{n}": {"pattern": f"^{n}\\S{{49}}$"}}} for n in range(32)],
    },
)


async def longest_stall(work: Awaitable[T]) -> tuple[T, float]:
    """The result, and the longest time in seconds that the event loop stood still meanwhile."""
    longest, last = 0.0, time.perf_counter()

    async def watch() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        result = await work
        await asyncio.sleep(0)
    finally:
        watching.cancel()
    return result, longest


async def test_reader_process_reads_like_the_rules() -> None:
    async with ReaderProcess() as reader:
        for text in TEXTS:
            assert await reader.read(text, pay_to=SELLER) == parse_discovery(text, pay_to=SELLER)
    async with ReaderProcess(is_local_allowed=True) as reader:
        found = await reader.read(TEXTS[3], pay_to=SELLER)
    assert found == parse_discovery(TEXTS[3], pay_to=SELLER, is_local_allowed=True)
    assert found == await DirectReader(is_local_allowed=True).read(TEXTS[3], pay_to=SELLER)
    assert not isinstance(found, Dropped)


async def test_reader_process_starts_before_its_first_text() -> None:
    async with ReaderProcess() as reader:
        before = reader.process_id
        await reader.start()
        started = reader.process_id
        assert before is None
        assert started is not None
        await reader.read(TEXTS[0], pay_to=SELLER)
        await reader.start()
        assert reader.process_id == started


async def test_event_loop_continues_while_the_slowest_text_is_read() -> None:
    async with ReaderProcess() as reader:
        await reader.read(TEXTS[0], pay_to=SELLER)  # the process runs
        fastest = 1.0
        for _ in range(5):
            found, stall_s = await longest_stall(reader.read(SLOW, pay_to=SELLER))
            assert not isinstance(found, Dropped), found
            fastest = min(fastest, stall_s)
    _, direct_s = await longest_stall(DirectReader().read(SLOW, pay_to=SELLER))
    assert fastest < 0.05
    assert direct_s > 2 * fastest  # on the loop itself it would be felt


async def test_dead_reader_process_fails_at_most_one_text() -> None:
    async with ReaderProcess() as reader:
        await reader.read(TEXTS[0], pay_to=SELLER)
        first = reader.process_id
        assert first is not None
        os.kill(first, signal.SIGKILL)
        for _ in range(2):
            try:
                await reader.read(TEXTS[0], pay_to=SELLER)
                break
            except ReadFailed:
                pass
        else:
            raise AssertionError("no text is read after a process died")
        assert reader.process_id not in (None, first)


async def test_text_not_read_in_time_fails_and_the_next_one_is_read() -> None:
    async with ReaderProcess() as reader:
        process_id = await _started(reader)
        os.kill(process_id, signal.SIGSTOP)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ReadFailed):
            # shorter than a process takes to start, which the others have time for
            patch.setattr(reader, "_deadline_s", 0.2)
            await reader.read(TEXTS[0], pay_to=SELLER)
        with pytest.raises(ProcessLookupError):
            os.kill(process_id, 0)
        assert await _started(reader) != process_id


async def _started(reader: ReaderProcess) -> int:
    """The process, which has read a text."""
    await reader.read(TEXTS[0], pay_to=SELLER)
    assert reader.process_id is not None
    return reader.process_id


async def test_cancelled_read_mixes_up_no_responses() -> None:
    async with ReaderProcess() as reader:
        await reader.read(TEXTS[0], pay_to=SELLER)
        left = asyncio.create_task(reader.read(SLOW, pay_to=SELLER))
        await asyncio.sleep(0.005)  # the process is reading it now
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        assert await reader.read(b"[]", pay_to=SELLER) == Dropped(DropReason.DISCOVERY_UNREADABLE)


async def test_reader_refuses_texts_over_its_queue_limit_and_after_its_end() -> None:
    async with ReaderProcess(max_waiting=2) as reader:
        reads = [asyncio.create_task(reader.read(text, pay_to=SELLER)) for text in TEXTS[:3]]
        results = await asyncio.gather(*reads, return_exceptions=True)
        assert [isinstance(each, ReaderUnavailable) for each in results] == [False, False, True]
    with pytest.raises(ReaderUnavailable):
        await reader.read(TEXTS[0], pay_to=SELLER)


async def test_reader_process_has_no_settings_and_ends_with_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAREBOX_MASTER_KEYS", "1:secret")
    async with ReaderProcess() as reader:
        await reader.read(TEXTS[0], pay_to=SELLER)
        process_id = reader.process_id
        with open(f"/proc/{process_id}/environ", "rb") as environment:  # noqa: ASYNC230 - tiny
            assert b"FAREBOX" not in environment.read()
    assert process_id is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


async def test_reader_is_unavailable_when_its_process_cannot_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    async with ReaderProcess() as reader:
        await reader.start()
        with pytest.raises(ReaderUnavailable):
            await reader.read(TEXTS[0], pay_to=SELLER)


def test_reader_child_responds_in_order_until_its_input_ends() -> None:
    replies = BytesIO()
    questions = b"".join(encode_frame(ReadRequest(text, SELLER, False)) for text in TEXTS)
    main(BytesIO(questions + b"\0"), replies)
    replies.seek(0)
    for text in TEXTS:
        reply = decode_response(replies.read(int.from_bytes(replies.read(LENGTH_BYTES), "big")))
        assert (reply.resource or reply.dropped) == parse_discovery(text, pay_to=SELLER)
    assert replies.read() == b""
