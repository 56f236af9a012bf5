"""Loops that may fail without taking the service with them."""

from functools import partial
from typing import Final

import structlog

from farebox.app.assembly import Loop
from farebox.kernel.clock import Clock

_PAUSE_S: Final = 10.0

log = structlog.get_logger(__name__)


def restarted(loop: Loop, clock: Clock) -> Loop:
    """The loop, begun again after a pause whenever it ends: what it does can wait, payments not."""
    return Loop(loop.name, partial(_run, loop, clock))


async def _run(loop: Loop, clock: Clock) -> None:
    while True:
        try:
            await loop.run()
            log.error("loop.ended", loop=loop.name)
        except Exception:
            log.exception("loop.broken", loop=loop.name)
        await clock.sleep(_PAUSE_S)
