"""The prune loop: bounded batches, and rules that do not delay each other."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from structlog.testing import capture_logs

from farebox.storage import prune
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.storage.prune import Pruner, PruneRule
from support.manual_clock import ManualClock

Batch = Callable[[Connection, int], Coroutine[object, object, int]]


def rule_over(left: list[int], batches: list[int]) -> Batch:
    """Takes out of `left` and notes how many each time."""

    async def batch(db: Connection, limit: int) -> int:
        assert await db.fetchval("SELECT 1") == 1
        taken = min(limit, len(left))
        del left[:taken]
        batches.append(taken)
        return taken

    return batch


async def test_pruner_deletes_in_batches_with_pauses(
    database: Database, clock: ManualClock
) -> None:
    batches: list[int] = []
    rule = PruneRule("rows", rule_over(list(range(7)), batches))
    assert await Pruner(database, clock, [rule], batch=3, pause_s=0.5).prune() == {"rows": 7}
    assert (batches, clock.slept) == ([3, 3, 1], [0.5, 0.5])


async def test_pruner_continues_with_other_rules_after_an_outage(
    database: Database, clock: ManualClock
) -> None:
    async def away(db: Connection, limit: int) -> int:
        raise DatabaseUnavailable("a lock, or a clock that is stale")

    left = [1, 2]
    rules = [PruneRule("away", away), PruneRule("rows", rule_over(left, []))]
    assert await Pruner(database, clock, rules).prune() == {"away": 0, "rows": 2}
    assert left == []


async def test_pruner_continues_with_other_rules_after_a_fault_of_one(
    database: Database, clock: ManualClock
) -> None:
    async def broken(db: Connection, limit: int) -> int:
        raise ZeroDivisionError

    rules = [PruneRule("broken", broken), PruneRule("rows", rule_over([1, 2], []))]
    with capture_logs() as logged:
        assert await Pruner(database, clock, rules).prune() == {"broken": 0, "rows": 2}
    assert [(each["event"], each["rule"]) for each in logged] == [("prune.failed", "broken")]


async def test_pruner_loop_repeats(database: Database, clock: ManualClock) -> None:
    batches: list[int] = []
    often = asyncio.Event()
    counted = rule_over([1, 2, 3], batches)

    async def batch(db: Connection, limit: int) -> int:
        count = await counted(db, limit)
        if len(batches) >= 4:
            often.set()
        return count

    running = asyncio.create_task(
        Pruner(database, clock, [PruneRule("rows", batch)], batch=2).run()
    )
    await often.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert batches[:4] == [2, 1, 0, 0]
    assert prune.EVERY_S in clock.slept
