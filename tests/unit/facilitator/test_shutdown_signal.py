import asyncio

from farebox.facilitator.settling.shutdown_signal import ShutdownSignal


async def test_work_runs_to_its_end_before_the_shutdown_signal() -> None:
    assert await ShutdownSignal().run_until_set(asyncio.sleep(0, "done")) == "done"


async def test_work_is_cancelled_when_the_shutdown_signal_is_given() -> None:
    shutdown = ShutdownSignal()
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    waiting = asyncio.create_task(shutdown.run_until_set(work()))
    await started.wait()
    shutdown.set()
    assert await asyncio.wait_for(waiting, 1) is None
    await asyncio.wait_for(cancelled.wait(), 1)
    assert shutdown.is_set
