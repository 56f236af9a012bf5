"""Calls that share a statement, and what one of them may do to the others: nothing."""

import asyncio
from collections.abc import Sequence

import pytest

from farebox.storage.batch import Batch
from farebox.storage.faults import Conflict, DatabaseUnavailable


class Doubling:
    """Doubles numbers, many at once; 13 is refused, 99 loses the connection."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.worker: asyncio.Task[object] | None = None

    async def run(self, items: Sequence[int]) -> list[int]:
        self.worker = asyncio.current_task()
        self.batches.append(list(items))
        await self.may_go.wait()
        if 99 in items:
            raise DatabaseUnavailable("away")
        if 13 in items:
            raise Conflict("no_thirteen")
        return [2 * item for item in items]


async def test_a_lone_call_is_carried_out_at_once() -> None:
    doubling = Doubling()
    assert await Batch(doubling.run).add(4) == 8
    assert doubling.batches == [[4]]


async def test_what_comes_meanwhile_goes_together_and_each_has_its_own_answer() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run, most=3)
    doubling.may_go.clear()
    first = asyncio.create_task(batch.add(0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rest = [asyncio.create_task(batch.add(n)) for n in range(1, 6)]
    await asyncio.sleep(0)
    doubling.may_go.set()
    assert await asyncio.gather(first, *rest) == [0, 2, 4, 6, 8, 10]
    assert doubling.batches == [[0], [1, 2, 3], [4, 5]]


async def test_one_that_is_refused_harms_no_other() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    answers = await asyncio.gather(*map(batch.add, (1, 13, 3)), return_exceptions=True)
    assert (answers[0], answers[2]) == (2, 6)
    assert isinstance(answers[1], Conflict)
    assert doubling.batches == [[1, 13, 3], [1], [13], [3]]


async def test_a_lost_connection_fails_everyone_and_is_tried_for_nobody_again() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    answers = await asyncio.gather(*map(batch.add, (1, 99, 3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 3
    assert len({id(answer) for answer in answers}) == 3, "each raises one of its own"
    assert doubling.batches == [[1, 99, 3]]
    assert await batch.add(5) == 10, "the next call starts afresh"


async def test_a_connection_lost_one_by_one_leaves_what_was_done_before_it() -> None:
    doubling = Doubling()

    async def run(items: Sequence[int]) -> list[int]:
        if len(items) > 1:
            raise Conflict("together")
        return await doubling.run(items)

    answers = await asyncio.gather(*map(Batch(run).add, (1, 99, 3)), return_exceptions=True)
    assert answers[0] == 2
    assert [type(answer) for answer in answers[1:]] == [DatabaseUnavailable] * 2
    assert doubling.batches == [[1], [99]]


async def test_a_caller_who_leaves_takes_along_only_what_was_not_begun() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    doubling.may_go.clear()
    begun, neighbour = (asyncio.create_task(batch.add(n)) for n in (1, 2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting, last = (asyncio.create_task(batch.add(n)) for n in (3, 4))
    await asyncio.sleep(0)
    begun.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    doubling.may_go.set()
    assert await asyncio.gather(*[neighbour, last]) == [4, 8]
    assert doubling.batches == [[1, 2], [4]]


async def test_nobody_waits_for_ever_when_the_work_is_cancelled() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    doubling.may_go.clear()
    callers = [asyncio.create_task(batch.add(n)) for n in (1, 2)]
    await asyncio.sleep(0.01)
    assert doubling.worker is not None
    doubling.worker.cancel()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 2


@pytest.mark.parametrize("count", [1, 257])
async def test_no_batch_is_larger_than_allowed(count: int) -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    numbers = range(100, 100 + count)
    assert await asyncio.gather(*map(batch.add, numbers)) == [2 * n for n in numbers]
    assert max(map(len, doubling.batches)) <= 256
