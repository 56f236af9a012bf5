"""Waits for a condition, each with a deadline."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, overload

from farebox.storage.pool import Database

T = TypeVar("T")
WITHIN_S: Final = 20.0  # far more than any condition takes on a busy machine
_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.1  # a condition that takes seconds is not asked for every moment
_LOCK_WAITERS: Final = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@overload
async def until(
    condition: Callable[[], Awaitable[T | None]],
    within_s: float = WITHIN_S,
    *,
    pause_s: float | None = None,
) -> T: ...


@overload
async def until(
    condition: Callable[[], object], within_s: float = WITHIN_S, *, pause_s: float | None = None
) -> object: ...


async def until(
    condition: Callable[[], Any], within_s: float = WITHIN_S, *, pause_s: float | None = None
) -> Any:
    """Return the first true value of `condition`, which may be a coroutine function.

    It is asked for every `pause_s` seconds, or without them more and more rarely.

    Raises:
        TimeoutError: the condition was not met within `within_s` seconds.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        waited_s = time.monotonic() - began
        if waited_s > within_s:
            late = TimeoutError(f"the condition stays {value!r} for {within_s} s")
            late.add_note(_describe_tasks())
            raise late
        await asyncio.sleep(pause_s or min(max(_PAUSE_S, waited_s / 20), _LONGEST_PAUSE_S))


def _describe_tasks() -> str:
    """Where every task of the loop waits, a line each: what a condition that stays false lacks."""
    lines = []
    for task in asyncio.all_tasks():
        frames = task.get_stack()
        at = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "its end"
        lines.append(f"{task.get_name()} {task.get_coro()!r} waits at {at}")
    return "\n".join(sorted(lines))


async def until_lock_is_waited_for(database: Database, sessions: int = 1) -> None:
    """Return once so many sessions of the database wait for a lock that another one holds."""

    async def is_waited_for() -> bool:
        async with database.connection() as db:
            return int(await db.fetchval(_LOCK_WAITERS)) >= sessions

    await until(is_waited_for)


def until_blocking(
    condition: Callable[[], T | None], within_s: float = WITHIN_S, *, pause_s: float = _PAUSE_S
) -> T:
    """Return the first true value of `condition`, for a test without an event loop.

    Raises:
        TimeoutError: the condition was not met within `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition stays {value!r} for {within_s} s")
        time.sleep(pause_s)
    return value
