"""The lifespan of the service: resources, background loops and graceful shutdown."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import structlog

from farebox.app.assembly import Loop, Services
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage, Refusal

_RESTART_S: Final = 10.0

log = structlog.get_logger()


class LoopEnded(Exception):
    """A background loop returned while the service runs."""


class Lifespan:
    """Opens the resources, runs the loops, and closes the resources in reverse order.

    The loops run until all requests are answered, because pending settlements need them. When a
    loop fails, `stop` is called, open requests are answered, and the failure is raised at the end.
    """

    def __init__(self, services: Services, *, stop: Callable[[], None]) -> None:
        self._services, self._stop = services, stop
        self._draining: asyncio.Future[None] | None = None
        self.failure: Exception | None = None  # why the service did not start or had to stop

    @asynccontextmanager
    async def __call__(self, app: object) -> AsyncIterator[None]:
        """Run the service inside this context."""
        async with AsyncExitStack() as stack:
            await self._open(stack)
            async with asyncio.TaskGroup() as group:
                running = [
                    group.create_task(self._run(loop), name=loop.name)
                    for loop in self._services.tasks
                ]
                try:
                    yield
                finally:
                    await self.leave()
                    for task in running:
                        task.cancel()
        if self.failure is not None:
            raise self.failure

    async def leave(self) -> None:
        """Wait until all requests are answered; repeated calls wait for the same drain."""
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._services.leave())
        await asyncio.shield(self._draining)

    async def _open(self, stack: AsyncExitStack) -> None:
        try:
            for resource in self._services.resources:
                await stack.enter_async_context(resource)
        except Exception as error:
            self.failure = error
            if not isinstance(error, Outage | Refusal):
                log.exception("service.not_started")
            raise

    async def _run(self, loop: Loop) -> None:
        try:
            await loop.run()
            self.failure = LoopEnded(loop.name)
            log.error("loop.ended", loop=loop.name)
        except Exception as error:
            self.failure = error
            log.exception("loop.died", loop=loop.name)
        self._stop()


def restart_on_failure(loop: Loop, clock: Clock) -> Loop:
    """Wrap a loop so that it is restarted after a pause whenever it ends; its work can wait."""
    return Loop(loop.name, partial(_run_repeatedly, loop, clock))


async def _run_repeatedly(loop: Loop, clock: Clock) -> None:
    while True:
        try:
            await loop.run()
            log.error("loop.ended", loop=loop.name)
        except Exception:
            log.exception("loop.broken", loop=loop.name)
        await clock.sleep(_RESTART_S)
