"""A loop that can wait is begun again, whatever it ended with."""

import asyncio

import pytest

from farebox.app.assembly import Loop
from farebox.app.restarted_loop import restarted
from support.manual_clock import ManualClock


async def test_a_loop_that_breaks_or_ends_is_begun_again_after_a_pause(clock: ManualClock) -> None:
    begun = 0

    async def run() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise ValueError("a bug")
        if begun == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await restarted(Loop("of the catalog", run), clock).run()
    assert begun == 3
    assert len(clock.slept) == 2
    assert min(clock.slept) > 1
