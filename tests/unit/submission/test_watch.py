import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
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


@dataclass
class Ledgers:
    """Ledgers of five seconds each, from 100 at the start; answers pages as a node does."""

    transactions_by_ledger: dict[int, list[TransactionFound]] = field(default_factory=dict)
    latest: int = 100
    asked: list[tuple[int, str]] = field(default_factory=list)
    outage: RpcUnavailable | None = None

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        self.asked.append((from_ledger, cursor))
        if self.outage is not None:
            raise self.outage
        listed = self._after(int(cursor) if cursor else (from_ledger << 12))[:limit]
        end = listed[-1][0] if listed else (int(cursor) if cursor else 0)
        found = tuple(
            each for _, each in listed if each.hash in wanted or each.inner_hash in wanted
        )
        at = START + timedelta(seconds=5 * (self.latest - 100))
        absence = TransactionNotFound(self.latest, at, 1, START - timedelta(hours=1))
        return TransactionsPage(found, len(listed), str(end) if end else "", absence)

    def _after(self, start: int) -> Sequence[tuple[int, TransactionFound]]:
        every = [
            ((ledger << 12) + order + 1, each)
            for ledger, transactions in sorted(self.transactions_by_ledger.items())
            if ledger <= self.latest
            for order, each in enumerate(transactions)
        ]
        return [(toid, each) for toid, each in every if toid > start]


@dataclass
class Closes:
    """A ledger clock: what it was told, and when it expects the next ledger."""

    due_in: float | None = None
    heard_of: list[int] = field(default_factory=list)

    def next_close_in(self) -> float | None:
        return self.due_in

    def heard(self, sequence: int, close_at: datetime) -> None:
        del close_at
        self.heard_of.append(sequence)


class Watching:
    """A watcher, its ledgers, and what it was asked to watch."""

    def __init__(self) -> None:
        self.ledgers, self.closes, self.clock = Ledgers(), Closes(), ManualClock()
        self.watcher = LedgerWatcher(self.ledgers, self.closes, _Patient(self.clock), idle_s=1)

    async def watch(
        self, envelope: SentEnvelope
    ) -> "asyncio.Task[TransactionFound | Dead | Indeterminate]":
        task = asyncio.create_task(self.watcher.fate(envelope, until=1e9))
        await asyncio.sleep(0)
        return task

    async def close(self, *transactions: TransactionFound) -> None:
        self.ledgers.latest += 1
        self.ledgers.transactions_by_ledger[self.ledgers.latest] = list(transactions)
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


async def test_every_watched_envelope_learns_its_fate_from_one_look() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(tag)) for tag in (1, 2, 3)]
    await watching.close(landed(9, 101), landed(1, 101), landed(3, 101))
    assert await tasks[0] == landed(1, 101)
    assert await tasks[2] == landed(3, 101)
    assert not tasks[1].done()
    assert len(watching.ledgers.asked) == 1
    await watching.close(landed(2, 102))
    assert await tasks[1] == landed(2, 102)


async def test_a_strangers_fee_bump_of_our_transaction_is_our_landing() -> None:
    watching = Watching()
    task = await watching.watch(sent(1, inner=5))
    await watching.close(landed(8, 101, inner=5))
    assert await task == landed(8, 101, inner=5)


async def test_a_long_ledger_is_listed_to_its_end() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    await watching.close(*[landed(9, 101)] * 450, landed(1, 101))
    assert await task == landed(1, 101)
    assert len(watching.ledgers.asked) == 3


async def test_what_never_landed_is_dead_once_a_ledger_closed_past_its_bound() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    for _ in range(9):  # 45 seconds
        await watching.close()
    assert not task.done()
    await watching.close()
    assert await task == Dead()


async def test_a_node_that_lags_proves_nothing() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    for _ in range(9):
        await watching.close()
    watching.ledgers.latest += 1
    ahead, watching.ledgers.latest = watching.ledgers.latest, 104
    await watching.watcher.look()
    assert not task.done()
    watching.ledgers.latest = ahead
    await watching.watcher.look()
    assert await task == Dead()


async def test_an_envelope_sent_before_the_others_makes_the_watch_go_back() -> None:
    watching = Watching()
    first = await watching.watch(sent(1, after=104))
    watching.ledgers.latest = 104
    watching.ledgers.transactions_by_ledger[103] = [landed(2, 103)]
    await watching.close()
    second = await watching.watch(sent(2, after=101))
    await watching.close(landed(1, 106))
    assert await second == landed(2, 103)
    assert await first == landed(1, 106)


async def test_an_outage_shows_nothing_and_the_watch_goes_on() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    watching.ledgers.outage = RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=False)
    with pytest.raises(RpcUnavailable):
        await watching.close(landed(1, 101))
    assert not task.done()
    watching.ledgers.outage = None
    await watching.watcher.look()
    assert await task == landed(1, 101)


async def test_nobody_waits_longer_than_they_said() -> None:
    clock = ManualClock()
    watcher = LedgerWatcher(Ledgers(), Closes(), clock, idle_s=1)
    assert await watcher.fate(sent(1), until=30) == Indeterminate()
    assert clock.monotonic() == 30


async def test_without_anybody_waiting_the_node_is_left_alone() -> None:
    ledgers = Ledgers()
    running = asyncio.create_task(LedgerWatcher(ledgers, Closes(), ManualClock(), idle_s=1).run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert ledgers.asked == []
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
    watcher = LedgerWatcher(Ledgers(), Closes(due_in), ManualClock(), idle_s=2)
    assert watcher.rest_s() == pytest.approx(rest_s)
    hurried = LedgerWatcher(Ledgers(), Closes(due_in), ManualClock(), idle_s=0.1)
    assert hurried.rest_s() <= 0.1


async def test_every_look_tells_the_ledger_clock_what_it_saw() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    await watching.close()
    await watching.close(landed(1, 102))
    assert watching.closes.heard_of == [101, 102]
    assert await task == landed(1, 102)


async def test_a_ledger_of_666_is_read_in_four_pages() -> None:
    watching = Watching()
    tasks = [await watching.watch(sent(tag)) for tag in range(1, 8)]
    strangers = [landed(9, 101)] * 659
    await watching.close(*strangers, *(landed(tag, 101) for tag in range(1, 8)))
    assert [await task for task in tasks] == [landed(tag, 101) for tag in range(1, 8)]
    assert len(watching.ledgers.asked) == 4


async def test_pages_that_fail_get_smaller_until_one_comes_through() -> None:
    watching = Watching()
    task = await watching.watch(sent(1))
    limits: list[int] = []
    honest = watching.ledgers.transactions

    async def too_long(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        limits.append(limit)
        if limit > 60:
            raise RpcUnavailable(Network.TESTNET, "too large", certainly_not_sent=False)
        return await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)

    watching.ledgers.transactions = too_long  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(RpcUnavailable):
            await watching.close()
    await watching.close(landed(1, 103))
    assert limits[:3] == [200, 100, 50]
    assert await task == landed(1, 103)


@pytest.mark.parametrize("others", [0, 1])
async def test_who_comes_while_the_node_answers_is_looked_for_in_that_ledger_too(
    others: int,
) -> None:
    watching = Watching()
    first = [await watching.watch(sent(1, after=100 - others)) for _ in range(1)]
    honest = watching.ledgers.transactions
    came: list[asyncio.Task[TransactionFound | Dead | Indeterminate]] = []

    async def slowly(
        wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        page = await honest(wanted, from_ledger=from_ledger, cursor=cursor, limit=limit)
        if not came:  # sent before this ledger closed, taken in by it, watched only now
            came.append(await watching.watch(sent(2)))
        return page

    watching.ledgers.transactions = slowly  # type: ignore[method-assign]
    await watching.close(landed(2, 101))
    assert await asyncio.wait_for(came[0], 1) == landed(2, 101)
    await watching.close(landed(1, 102))
    assert await first[0] == landed(1, 102)
