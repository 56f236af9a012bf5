"""Calls that share a statement: no call affects another one."""

import asyncio
from collections.abc import Sequence

import pytest

from farebox.storage.batch import Batch
from farebox.storage.faults import Conflict, DatabaseUnavailable, LimitExceeded, StatementRefused
from testing.waiting import until


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


async def test_single_call_runs_at_once() -> None:
    doubling = Doubling()
    assert await Batch(doubling.run).add(4) == 8
    assert doubling.batches == [[4]]


async def test_calls_that_arrive_meanwhile_share_a_batch_with_results_of_their_own() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run, limit=3)
    doubling.may_go.clear()
    first = asyncio.create_task(batch.add(0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rest = [asyncio.create_task(batch.add(n)) for n in range(1, 6)]
    await asyncio.sleep(0)
    doubling.may_go.set()
    assert await asyncio.gather(first, *rest) == [0, 2, 4, 6, 8, 10]
    assert doubling.batches == [[0], [1, 2, 3], [4, 5]]


async def test_refused_item_fails_alone() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    answers = await asyncio.gather(*map(batch.add, (1, 13, 3)), return_exceptions=True)
    assert (answers[0], answers[2]) == (2, 6)
    assert isinstance(answers[1], Conflict)
    assert doubling.batches == [[1, 13, 3], [1], [13], [3]]


async def test_item_that_exceeds_a_limit_of_the_server_fails_alone() -> None:
    async def run(items: Sequence[int]) -> list[int]:
        if 13 in items:
            raise LimitExceeded("54000", "index row is too large")
        return list(items)

    answers = await asyncio.gather(*map(Batch(run).add, (1, 13, 3)), return_exceptions=True)
    assert (answers[0], answers[2]) == (1, 3)
    assert isinstance(answers[1], DatabaseUnavailable)


async def test_missing_grant_fails_the_whole_batch_at_once() -> None:
    batches: list[int] = []

    async def run(items: Sequence[int]) -> list[int]:
        batches.append(len(items))
        raise StatementRefused("42501", "permission denied for table t")

    answers = await asyncio.gather(*map(Batch(run).add, (1, 2, 3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 3
    assert batches == [3]


async def test_lost_connection_fails_the_whole_batch_without_a_retry() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    answers = await asyncio.gather(*map(batch.add, (1, 99, 3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 3
    assert len({id(answer) for answer in answers}) == 3, "each raises one of its own"
    assert doubling.batches == [[1, 99, 3]]
    assert await batch.add(5) == 10, "the next call starts a new batch"


async def test_connection_lost_between_single_items_keeps_the_earlier_results() -> None:
    doubling = Doubling()

    async def run(items: Sequence[int]) -> list[int]:
        if len(items) > 1:
            raise Conflict("together")
        return await doubling.run(items)

    answers = await asyncio.gather(*map(Batch(run).add, (1, 99, 3)), return_exceptions=True)
    assert answers[0] == 2
    assert [type(answer) for answer in answers[1:]] == [DatabaseUnavailable] * 2
    assert doubling.batches == [[1], [99]]


async def test_cancelled_caller_removes_only_an_item_that_has_not_started() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    doubling.may_go.clear()
    started, neighbour = (asyncio.create_task(batch.add(n)) for n in (1, 2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting, last = (asyncio.create_task(batch.add(n)) for n in (3, 4))
    await asyncio.sleep(0)
    started.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    doubling.may_go.set()
    assert await asyncio.gather(*[neighbour, last]) == [4, 8]
    assert doubling.batches == [[1, 2], [4]]


async def test_callers_fail_when_the_work_is_cancelled() -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    doubling.may_go.clear()
    callers = [asyncio.create_task(batch.add(n)) for n in (1, 2)]
    await until(lambda: doubling.batches)
    assert doubling.worker is not None
    doubling.worker.cancel()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 2


@pytest.mark.parametrize("count", [1, 257])
async def test_batch_is_never_larger_than_its_limit(count: int) -> None:
    doubling = Doubling()
    batch = Batch(doubling.run)
    numbers = range(100, 100 + count)
    assert await asyncio.gather(*map(batch.add, numbers)) == [2 * n for n in numbers]
    assert max(map(len, doubling.batches)) <= 256
