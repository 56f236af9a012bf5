import asyncio
from time import monotonic

import pytest

from farebox.web.body_deadlines import BodyDeadlines, DeadlinePassed


async def _never() -> bytes:
    await asyncio.Event().wait()
    return b""


async def _at_once() -> bytes:
    return b"here"


async def test_what_comes_in_time_is_returned() -> None:
    assert await BodyDeadlines().wait(monotonic() + 5, _at_once) == b"here"


async def test_what_does_not_come_is_interrupted_and_the_task_goes_on() -> None:
    deadlines = BodyDeadlines(sweep_every_s=0.005)
    with pytest.raises(DeadlinePassed):
        await deadlines.wait(monotonic() + 0.01, _never)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await deadlines.wait(monotonic() + 5, _at_once) == b"here"


async def test_each_wait_has_its_own_deadline() -> None:
    deadlines = BodyDeadlines(sweep_every_s=0.005)
    later = asyncio.create_task(deadlines.wait(monotonic() + 60, _never))
    with pytest.raises(DeadlinePassed):
        await deadlines.wait(monotonic() + 0.01, _never)
    assert not later.done()
    later.cancel()
    with pytest.raises(asyncio.CancelledError):
        await later


async def test_a_cancellation_from_outside_stays_one() -> None:
    deadlines = BodyDeadlines(sweep_every_s=0.005)
    waiting = asyncio.create_task(deadlines.wait(monotonic() + 60, _never))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
