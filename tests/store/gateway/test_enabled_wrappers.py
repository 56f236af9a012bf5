"""The enabled wrappers by slug: one reading for all who ask, kept for a second."""

import asyncio

import pytest

from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.enabled_wrappers import FRESH_S, EnabledWrappers
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from support.vault import new_owner
from support.wrappers import wrapper_fields, wrappers_of


async def enabled_wrapper(database: Database) -> Wrapper:
    """Create an enabled wrapper with the slug "city"."""
    caller, wrappers = new_owner(), wrappers_of(database)
    created = await wrappers.create(caller, "r", wrapper_fields(), slug="city")
    return await wrappers.enable(caller, "r", created.id)


async def test_many_who_ask_at_once_take_one_connection(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    # with no wait for a free connection, a second one that asks for it is refused at once
    one = database.share(1, wait_s=0, within_s=5)
    enabled = EnabledWrappers(one, ManualClock())
    found = await asyncio.gather(*(enabled.find("city") for _ in range(50)))
    assert found == [wrapper] * 50


async def test_caller_that_leaves_does_not_end_the_reading_of_others(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    enabled = EnabledWrappers(database, ManualClock())
    first, second = (asyncio.create_task(enabled.find("city")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == wrapper
    assert first.cancelled()


async def test_wrapper_is_read_again_after_a_second(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    clock = ManualClock()
    enabled = EnabledWrappers(database, clock)
    assert await enabled.find("city") == wrapper
    async with database.connection() as db:
        await db.execute("DELETE FROM wrappers")
    clock.turn(FRESH_S * 0.9)
    assert await enabled.find("city") == wrapper
    clock.turn(FRESH_S * 0.2)
    assert await enabled.find("city") is None


async def test_failed_reading_is_not_kept(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    one = database.share(1, wait_s=0, within_s=5)
    enabled = EnabledWrappers(one, ManualClock())
    async with one.connection():
        with pytest.raises(DatabaseUnavailable):
            await enabled.find("city")
    assert await enabled.find("city") == wrapper


async def test_slugs_that_were_read_last_are_kept(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    enabled = EnabledWrappers(database, ManualClock(), max_known=2)
    for slug in ("city", "town", "village"):
        await enabled.find(slug)
    async with database.connection() as db:
        await db.execute("DELETE FROM wrappers")
    assert wrapper.slug == "city"
    assert await enabled.find("city") is None
