import asyncio

from farebox.facilitator.settling.departure import Departure


async def test_work_is_done_until_the_departure() -> None:
    assert await Departure().until_then(asyncio.sleep(0, "done")) == "done"


async def test_work_is_broken_off_by_the_departure() -> None:
    departure = Departure()
    broken_off = asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            broken_off.set()
        return "never"

    waiting = asyncio.create_task(departure.until_then(work()))
    await asyncio.sleep(0.01)
    departure.begin()
    assert await asyncio.wait_for(waiting, 1) is None
    await asyncio.wait_for(broken_off.wait(), 1)
    assert departure.has_begun
