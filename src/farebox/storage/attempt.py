"""Work at the database that another attempt makes good later."""

from collections.abc import Awaitable, Callable

import structlog

from farebox.storage.faults import DatabaseUnavailable

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def attempt(work: Callable[[], Awaitable[object]], *, missed: str) -> bool:
    """Whether `work` was done; while the database is away the log says `missed` instead."""
    try:
        await work()
    except DatabaseUnavailable:
        log.info(missed)
        return False
    return True
