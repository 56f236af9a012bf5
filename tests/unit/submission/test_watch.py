"""The watch for envelopes: the ledgers it searches, the calls it makes, and its conclusions."""

import asyncio

import pytest

from farebox.stellar.rpc import RpcUnavailable, TransactionsPage
from farebox.submission.fate import Dead, Indeterminate
from farebox.submission.watch import LedgerWatcher
from support.manual_clock import ManualClock
from support.watching import MANY, Ledgers, Task, Watching, landed, outage, sent


async def test_few_envelopes_are_looked_up_by_hash_without_a_listing() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(tag)) for tag in (1, 2, 3)]
    await watching.close(landed(9, 101), landed(1, 101), landed(3, 101))
    assert await tasks[0] == landed(1, 101)
    assert await tasks[2] == landed(3, 101)
    assert not tasks[1].done()
    await watching.close(landed(2, 102))
    assert await tasks[1] == landed(2, 102)
    assert watching.ledgers.listings == []
    assert len(watching.ledgers.looked_up) == 4


async def test_many_envelopes_are_found_in_one_listing() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    await watching.close(*(landed(tag, 101) for tag in MANY))
    assert [await task for task in tasks] == [landed(tag, 101) for tag in MANY]
    assert (watching.ledgers.listings, watching.ledgers.looked_up) == ([(101, "")], [])


async def test_only_the_clock_is_polled_until_a_ledger_closes() -> None:
    watching = Watching()
    await watching.watch_many()
    for _ in range(5):
        await watching.look()
    assert watching.ledgers.polls == 5
    assert (watching.ledgers.listings, watching.ledgers.looked_up) == ([], [])


async def test_listed_ledger_is_not_listed_again() -> None:
    watching = Watching()
    await watching.watch_many()
    await watching.close(landed(9, 101))
    for _ in range(5):
        await watching.look()
    await watching.close(landed(9, 102))
    assert watching.ledgers.listings == [(101, ""), (102, "")]
    assert watching.ledgers.looked_up == [], "what a listing covers costs no call of its own"


async def test_foreign_fee_bump_of_a_watched_transaction_is_found_in_a_listing() -> None:
    watching = Watching()
    await watching.watch_many()
    task = await watching.watch(sent(1, inner=5))
    await watching.close(landed(8, 101, inner=5))
    assert await task == landed(8, 101, inner=5)


async def test_foreign_fee_bump_is_looked_up_when_the_envelope_is_overdue() -> None:
    watching = Watching()
    task = await watching.watch(sent(1, inner=5))
    await watching.close(landed(8, 101, inner=5))
    for _ in range(4):
        await watching.close()
    assert await asyncio.wait_for(task, 1) == landed(8, 101, inner=5)


async def test_envelope_that_never_landed_is_dead_once_a_ledger_closed_past_its_bound() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    for _ in range(9):  # 45 seconds
        await watching.close()
    assert not task.done()
    await watching.close()
    assert await task == Dead(110)


async def test_response_of_a_lagging_node_counts_up_to_its_own_ledger() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(1)), *await watching.watch_many()]
    watching.ledgers.named = 110
    watching.ledgers.latest = 104
    await watching.look()
    assert not any(task.done() for task in tasks)
    with pytest.raises(RpcUnavailable):  # the node has not reached the ledger requested
        await watching.look()
    assert watching.ledgers.listings == [(101, ""), (105, "")]
    watching.ledgers.named, watching.ledgers.latest = None, 109
    await watching.close(landed(1, 110))
    assert await tasks[0] == landed(1, 110)
    assert watching.ledgers.listings[-1] == (105, "")


async def test_listing_refused_by_a_lagging_node_keeps_its_page_size() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    watching.ledgers.named = 102
    for _ in range(3):
        with pytest.raises(RpcUnavailable):
            await watching.look()
    watching.ledgers.named = None
    await watching.close(*[landed(9, 101)] * 180, landed(MANY[0], 101))
    assert await tasks[0] == landed(MANY[0], 101)
    assert len([page for page in watching.ledgers.listings if page[1]]) == 0, "one page is enough"


async def test_ledgers_are_searched_again_when_the_clock_is_set_back() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    watching.ledgers.latest = 108  # a node that is wrong
    await watching.look()
    watching.ledgers.latest = 100
    await watching.close(landed(1, 101))
    assert await asyncio.wait_for(task, 1) == landed(1, 101)


async def test_envelope_watched_late_is_found_without_another_listing() -> None:
    watching = Watching()
    await watching.watch_many()
    watching.ledgers.transactions_by_ledger[103] = [landed(2, 103)]
    watching.ledgers.latest = 104
    await watching.close()
    late = await watching.watch(sent(2, after=101))
    await watching.close()
    assert await late == landed(2, 103)
    assert watching.ledgers.listings == [(101, ""), (106, "")]


async def test_envelope_missing_from_a_listing_is_looked_up_when_overdue() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    watching.ledgers.is_hidden = True
    await watching.close(*(landed(tag, 101) for tag in MANY))
    for _ in range(5):
        await watching.close()
    assert [await asyncio.wait_for(task, 1) for task in tasks] == [landed(tag, 101) for tag in MANY]


async def test_watch_continues_after_an_outage() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    watching.ledgers.outage = outage()
    with pytest.raises(RpcUnavailable):
        await watching.close(landed(1, 101))
    assert not task.done()
    watching.ledgers.outage = None
    await watching.look()
    assert await task == landed(1, 101)


async def test_look_without_a_ledger_clock_searches_nothing() -> None:
    watching = Watching()
    await watching.watch(sent(1))
    watching.ledgers.latest = 0
    await watching.look()
    assert watching.ledgers.looked_up == []


async def test_watch_is_indeterminate_at_the_callers_deadline() -> None:
    clock = ManualClock()
    watcher = LedgerWatcher(Ledgers(), Ledgers(), clock, idle_s=1)
    assert await watcher.fate(sent(1), until=30) == Indeterminate()
    assert clock.monotonic() == 30


async def test_node_is_not_called_when_nothing_is_watched() -> None:
    ledgers = Ledgers()
    running = asyncio.create_task(LedgerWatcher(ledgers, ledgers, ManualClock(), idle_s=1).run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert (ledgers.polls, ledgers.listings) == (0, [])
    running.cancel()


@pytest.mark.parametrize(
    ("due_in", "rest_s"),
    [
        (4.0, 2.0),  # far away: as seldom as the clock itself would ask
        (1.3, 1.0),  # just before the close
        (0.2, 0.25),
        (-1.0, 0.25),  # late
        (None, 0.5),  # unknown
    ],
)
def test_looks_are_frequent_only_around_the_expected_close(
    due_in: float | None, rest_s: float
) -> None:
    watcher = LedgerWatcher(Ledgers(), Ledgers(due_in=due_in), ManualClock(), idle_s=2)
    assert watcher.rest_s() == pytest.approx(rest_s)
    hurried = LedgerWatcher(Ledgers(), Ledgers(due_in=due_in), ManualClock(), idle_s=0.1)
    assert hurried.rest_s() <= 0.1


async def test_searched_ledgers_are_reported_to_the_ledger_clock() -> None:
    watching = Watching()
    await watching.watch(sent(1))
    await watching.close()
    await watching.watch_many()
    await watching.close()
    assert set(watching.ledgers.reported) == {101, 102}


async def test_ledger_of_679_transactions_is_read_in_four_pages() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    others = [landed(9, 101)] * 659
    await watching.close(*others, *(landed(tag, 101) for tag in MANY))
    assert [await task for task in tasks] == [landed(tag, 101) for tag in MANY]
    assert len(watching.ledgers.listings) == 4


async def test_listing_that_fails_halfway_continues_from_its_ledger() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    honest = watching.ledgers.transactions

    async def once(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        if cursor:
            watching.ledgers.transactions = honest  # type: ignore[method-assign]
            raise outage()
        return await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)

    watching.ledgers.transactions = once  # type: ignore[method-assign]
    watching.ledgers.latest = 102
    watching.ledgers.transactions_by_ledger[101] = [landed(9, 101)] * 150
    watching.ledgers.transactions_by_ledger[102] = [landed(9, 102)] * 60
    with pytest.raises(RpcUnavailable):
        await watching.close(landed(MANY[0], 103))
    await watching.look()
    assert await tasks[0] == landed(MANY[0], 103)
    assert [start for start, cursor in watching.ledgers.listings if not cursor] == [101, 102]


async def test_page_size_shrinks_until_a_page_is_read() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    limits: list[int] = []
    honest = watching.ledgers.transactions

    async def too_long(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        limits.append(limit)
        if limit > 60:
            raise outage()
        return await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)

    watching.ledgers.transactions = too_long  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(RpcUnavailable):
            await watching.close()
    await watching.close(landed(MANY[0], 103))
    assert limits[:3] == [200, 100, 50]
    assert await tasks[0] == landed(MANY[0], 103)


async def test_envelope_watched_during_a_listing_is_found_in_that_ledger() -> None:
    watching = Watching()
    await watching.watch_many()
    honest = watching.ledgers.transactions
    late: list[Task] = []

    async def slowly(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        page = await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)
        if not late:  # sent before this ledger closed, taken in by it, watched only now
            late.append(await watching.watch(sent(2)))
        return page

    watching.ledgers.transactions = slowly  # type: ignore[method-assign]
    await watching.close(landed(2, 101))
    await watching.look()
    assert await asyncio.wait_for(late[0], 1) == landed(2, 101)
    assert watching.ledgers.listings == [(101, "")]
