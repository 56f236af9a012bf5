"""Which ledgers a watch searches, with which calls, and what it concludes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import (
    LedgerStatus,
    RpcUnavailable,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
)
from farebox.submission.fate import Dead, Indeterminate, SentEnvelope
from farebox.submission.watch import LedgerWatcher
from support.manual_clock import START, ManualClock

MANY = range(100, 120)  # tags of more envelopes than are looked up one by one
Task = asyncio.Task[TransactionFound | Dead | Indeterminate]


def sent(tag: int, *, after: int = 100, inner: int | None = None) -> SentEnvelope:
    return SentEnvelope(
        tx_hash=bytes([tag]) * 32,
        inner_hash=None if inner is None else bytes([inner]) * 32,
        envelope=Secret(b""),
        source=account_address(bytes([tag]) * 32),
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(1),
        sent_after_ledger=after,
    )


def landed(tag: int, ledger: int, *, inner: int | None = None) -> TransactionFound:
    return TransactionFound(
        f"{tag:02x}" * 32,
        LedgerStatus.SUCCESS,
        ledger,
        START,
        "txSUCCESS",
        None,
        Stroops(100),
        (),
        None if inner is None else f"{inner:02x}" * 32,
    )


def outage(code: int | None = None) -> RpcUnavailable:
    return RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=False, code=code)


@dataclass
class Ledgers:
    """Ledgers of five seconds each, from 100 at the start; the node and the clock in one."""

    transactions_by_ledger: dict[int, list[TransactionFound]] = field(default_factory=dict)
    latest: int = 100
    named: int | None = None  # the newest ledger by the clock, where it is another
    asked: list[tuple[int, str]] = field(default_factory=list)  # pages, by start and cursor
    looked_up: list[str] = field(default_factory=list)
    polls: int = 0
    heard_of: list[int] = field(default_factory=list)
    due_in: float | None = None
    outage: RpcUnavailable | None = None
    is_hidden: bool = False  # nothing is listed

    def now(self) -> LedgerReading:
        if self.latest == 0:
            raise ClockStale(Network.TESTNET)
        return LedgerReading(self.named or self.latest, self._close_at(), 5.0, 0.0)

    def next_close_in(self) -> float | None:
        return self.due_in

    def heard(self, sequence: int, close_at: datetime) -> None:
        del close_at
        self.heard_of.append(sequence)

    async def poll(self) -> bool:
        self.polls += 1
        return True

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        self.looked_up.append(tx_hash)
        if self.outage is not None:
            raise self.outage
        for _, each in self._after(0):
            if tx_hash in (each.hash, each.inner_hash):
                return each
        return self._absence()

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        self.asked.append((from_ledger, cursor))
        if self.outage is not None:
            raise self.outage
        if not cursor and from_ledger > self.latest:
            raise outage(-32600)
        start = int(cursor) if cursor else from_ledger << 12
        listed = [] if self.is_hidden else self._after(start)[:limit]
        found = tuple(
            each for _, each in listed if each.hash in wanted or each.inner_hash in wanted
        )
        end, last = (str(listed[-1][0]), listed[-1][1].ledger) if listed else ("0", None)
        return TransactionsPage(found, len(listed), end, self._absence(), last)

    def _absence(self) -> TransactionNotFound:
        return TransactionNotFound(self.latest, self._close_at(), 1, START - timedelta(hours=1))

    def _close_at(self) -> datetime:
        return START + timedelta(seconds=5 * (self.latest - 100))

    def _after(self, start: int) -> Sequence[tuple[int, TransactionFound]]:
        every = [
            ((ledger << 12) + order + 1, each)
            for ledger, transactions in sorted(self.transactions_by_ledger.items())
            if ledger <= self.latest
            for order, each in enumerate(transactions)
        ]
        return [(toid, each) for toid, each in every if toid > start]


class Watching:
    """A watcher, its ledgers, and what it was asked to watch."""

    def __init__(self) -> None:
        self.ledgers, self.clock = Ledgers(), ManualClock()
        patient = _Patient(self.clock)
        self.watcher = LedgerWatcher(self.ledgers, self.ledgers, patient, idle_s=1)

    async def watch(self, envelope: SentEnvelope) -> Task:
        task = asyncio.create_task(self.watcher.fate(envelope, until=1e9))
        await asyncio.sleep(0)
        return task

    async def watch_many(self) -> list[Task]:
        """So many that ledgers are listed."""
        return [await self.watch(sent(tag)) for tag in MANY]

    async def close(self, *transactions: TransactionFound) -> None:
        self.ledgers.latest += 1
        self.ledgers.transactions_by_ledger[self.ledgers.latest] = list(transactions)
        await self.look()

    async def look(self) -> None:
        await self.watcher.look()
        await asyncio.sleep(0)


class _Patient(ManualClock):
    """Nobody's patience ends while the test is not about it."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.Event().wait()


async def test_few_envelopes_are_looked_up_by_hash_and_no_ledger_is_listed() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(tag)) for tag in (1, 2, 3)]
    await watching.close(landed(9, 101), landed(1, 101), landed(3, 101))
    assert await tasks[0] == landed(1, 101)
    assert await tasks[2] == landed(3, 101)
    assert not tasks[1].done()
    await watching.close(landed(2, 102))
    assert await tasks[1] == landed(2, 102)
    assert watching.ledgers.asked == []
    assert len(watching.ledgers.looked_up) == 4


async def test_many_envelopes_are_found_in_one_listing() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    await watching.close(*(landed(tag, 101) for tag in MANY))
    assert [await task for task in tasks] == [landed(tag, 101) for tag in MANY]
    assert (watching.ledgers.asked, watching.ledgers.looked_up) == ([(101, "")], [])


async def test_nothing_is_asked_but_the_clock_until_a_ledger_closes() -> None:
    watching = Watching()
    await watching.watch_many()
    for _ in range(5):
        await watching.look()
    assert watching.ledgers.polls == 5
    assert (watching.ledgers.asked, watching.ledgers.looked_up) == ([], [])


async def test_a_ledger_that_was_listed_is_not_downloaded_again() -> None:
    watching = Watching()
    await watching.watch_many()
    await watching.close(landed(9, 101))
    for _ in range(5):
        await watching.look()
    await watching.close(landed(9, 102))
    assert watching.ledgers.asked == [(101, ""), (102, "")]


async def test_a_strangers_fee_bump_of_our_transaction_is_our_landing_in_a_listing() -> None:
    watching = Watching()
    await watching.watch_many()
    task = await watching.watch(sent(1, inner=5))
    await watching.close(landed(8, 101, inner=5))
    assert await task == landed(8, 101, inner=5)


async def test_a_strangers_fee_bump_is_looked_up_once_the_envelope_is_overdue() -> None:
    watching = Watching()
    task = await watching.watch(sent(1, inner=5))
    await watching.close(landed(8, 101, inner=5))
    for _ in range(4):
        await watching.close()
    assert await asyncio.wait_for(task, 1) == landed(8, 101, inner=5)


async def test_what_never_landed_is_dead_once_a_ledger_closed_past_its_bound() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    for _ in range(9):  # 45 seconds
        await watching.close()
    assert not task.done()
    await watching.close()
    assert await task == Dead(110)


async def test_an_answer_of_a_node_that_lags_counts_for_its_own_ledger_alone() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(1)), *await watching.watch_many()]
    watching.ledgers.named = 110
    watching.ledgers.latest = 104
    await watching.look()
    assert not any(task.done() for task in tasks)
    with pytest.raises(RpcUnavailable):  # it has not got as far as it is asked
        await watching.look()
    assert watching.ledgers.asked == [(101, ""), (105, "")]
    watching.ledgers.named, watching.ledgers.latest = None, 109
    await watching.close(landed(1, 110))
    assert await tasks[0] == landed(1, 110)
    assert watching.ledgers.asked[-1] == (105, "")


async def test_a_listing_refused_by_a_node_that_lags_keeps_its_page_size() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    watching.ledgers.named = 102
    for _ in range(3):
        with pytest.raises(RpcUnavailable):
            await watching.look()
    watching.ledgers.named = None
    await watching.close(*[landed(9, 101)] * 180, landed(MANY[0], 101))
    assert await tasks[0] == landed(MANY[0], 101)
    assert len([page for page in watching.ledgers.asked if page[1]]) == 0, "one page is enough"


async def test_ledgers_that_never_closed_are_searched_again_once_the_clock_is_set_back() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    watching.ledgers.latest = 108  # a node that is wrong
    await watching.look()
    watching.ledgers.latest = 100
    await watching.close(landed(1, 101))
    assert await asyncio.wait_for(task, 1) == landed(1, 101)


async def test_an_envelope_sent_before_the_others_is_found_without_another_listing() -> None:
    watching = Watching()
    await watching.watch_many()
    watching.ledgers.transactions_by_ledger[103] = [landed(2, 103)]
    watching.ledgers.latest = 104
    await watching.close()
    late = await watching.watch(sent(2, after=101))
    await watching.close()
    assert await late == landed(2, 103)
    assert watching.ledgers.asked == [(101, ""), (106, "")]


async def test_what_a_listing_does_not_show_is_looked_up_once_it_is_overdue() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    watching.ledgers.is_hidden = True
    await watching.close(*(landed(tag, 101) for tag in MANY))
    for _ in range(5):
        await watching.close()
    assert [await asyncio.wait_for(task, 1) for task in tasks] == [landed(tag, 101) for tag in MANY]


async def test_an_outage_shows_nothing_and_the_watch_goes_on() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    watching.ledgers.outage = outage()
    with pytest.raises(RpcUnavailable):
        await watching.close(landed(1, 101))
    assert not task.done()
    watching.ledgers.outage = None
    await watching.look()
    assert await task == landed(1, 101)


async def test_a_look_without_a_clock_searches_nothing() -> None:
    watching = Watching()
    await watching.watch(sent(1))
    watching.ledgers.latest = 0
    await watching.look()
    assert watching.ledgers.looked_up == []


async def test_nobody_waits_longer_than_they_said() -> None:
    clock = ManualClock()
    watcher = LedgerWatcher(Ledgers(), Ledgers(), clock, idle_s=1)
    assert await watcher.fate(sent(1), until=30) == Indeterminate()
    assert clock.monotonic() == 30


async def test_without_anybody_waiting_the_node_is_left_alone() -> None:
    ledgers = Ledgers()
    running = asyncio.create_task(LedgerWatcher(ledgers, ledgers, ManualClock(), idle_s=1).run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert (ledgers.polls, ledgers.asked) == (0, [])
    running.cancel()


@pytest.mark.parametrize(
    ("due_in", "rest_s"),
    [
        (4.0, 2.0),  # far away: as seldom as the clock itself would ask
        (1.3, 1.0),  # just before the close
        (0.2, 0.25),
        (-1.0, 0.25),  # late
        (None, 0.5),  # nobody knows
    ],
)
def test_looks_are_frequent_only_around_the_expected_close(
    due_in: float | None, rest_s: float
) -> None:
    watcher = LedgerWatcher(Ledgers(), Ledgers(due_in=due_in), ManualClock(), idle_s=2)
    assert watcher.rest_s() == pytest.approx(rest_s)
    hurried = LedgerWatcher(Ledgers(), Ledgers(due_in=due_in), ManualClock(), idle_s=0.1)
    assert hurried.rest_s() <= 0.1


async def test_the_ledger_clock_hears_of_what_was_searched() -> None:
    watching = Watching()
    await watching.watch(sent(1))
    await watching.close()
    await watching.watch_many()
    await watching.close()
    assert set(watching.ledgers.heard_of) == {101, 102}


async def test_a_ledger_of_679_is_read_in_four_pages() -> None:
    watching = Watching()
    tasks = await watching.watch_many()
    strangers = [landed(9, 101)] * 659
    await watching.close(*strangers, *(landed(tag, 101) for tag in MANY))
    assert [await task for task in tasks] == [landed(tag, 101) for tag in MANY]
    assert len(watching.ledgers.asked) == 4


async def test_a_listing_that_fails_halfway_goes_on_from_the_ledger_it_was_in() -> None:
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
    assert [start for start, cursor in watching.ledgers.asked if not cursor] == [101, 102]


async def test_pages_that_fail_get_smaller_until_one_comes_through() -> None:
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


async def test_an_envelope_that_comes_during_a_listing_is_looked_for_in_that_ledger_too() -> None:
    watching = Watching()
    await watching.watch_many()
    honest = watching.ledgers.transactions
    came: list[Task] = []

    async def slowly(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        page = await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)
        if not came:  # sent before this ledger closed, taken in by it, watched only now
            came.append(await watching.watch(sent(2)))
        return page

    watching.ledgers.transactions = slowly  # type: ignore[method-assign]
    await watching.close(landed(2, 101))
    await watching.look()
    assert await asyncio.wait_for(came[0], 1) == landed(2, 101)
    assert watching.ledgers.asked == [(101, "")]
