"""What runs as long as the service runs, and the order in which it stops."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from farebox.app.assembly import Loop, Services
from farebox.kernel.errors import Outage, Refusal

log = structlog.get_logger()


class LoopEnded(Exception):
    """A background loop returned, which none may do while the service runs."""


class Lifespan:
    """Opens the resources, runs the loops, and closes in reverse.

    The loops run until everybody is answered: a settlement that is waited for needs them.

    A loop that dies takes the process with it: `stop` is called, requests that were begun are
    still answered with every resource open, and the death is raised at the end.
    """

    def __init__(self, services: Services, *, stop: Callable[[], None]) -> None:
        self._services, self._stop = services, stop
        self._leaving: asyncio.Future[None] | None = None
        self.failure: Exception | None = None  # why the service did not start or had to stop

    @asynccontextmanager
    async def __call__(self, app: object) -> AsyncIterator[None]:
        """The service is able to work inside this context."""
        async with AsyncExitStack() as opened:
            await self._open(opened)
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
        """Everybody is answered, now or soon; several may ask, it is done once."""
        if self._leaving is None:
            self._leaving = asyncio.ensure_future(self._services.leave())
        await asyncio.shield(self._leaving)

    async def _open(self, opened: AsyncExitStack) -> None:
        try:
            for resource in self._services.resources:
                await opened.enter_async_context(resource)
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
