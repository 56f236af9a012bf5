"""A background loop that fails or ends is started again."""

import asyncio

import pytest

from farebox.app.assembly import Loop
from farebox.app.lifespan import restart_on_failure
from support.manual_clock import ManualClock


async def test_loop_restarts_after_a_pause_when_it_fails_or_ends(clock: ManualClock) -> None:
    starts = 0

    async def run() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise ValueError("a bug")
        if starts == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await restart_on_failure(Loop("of the catalog", run), clock).run()
    assert starts == 3
    assert len(clock.slept) == 2
    assert min(clock.slept) > 1
