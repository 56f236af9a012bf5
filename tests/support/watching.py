"""A watch under test: its ledgers, which are the node and the ledger clock in one."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

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
from support.fake_rpc import FakeRpc
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
class Ledgers(FakeRpc):
    """Ledgers of five seconds each, from 100 at the start; the node and the clock in one."""

    transactions_by_ledger: dict[int, list[TransactionFound]] = field(default_factory=dict)
    latest: int = 100
    named: int | None = None  # the newest ledger by the clock, where it is another
    listings: list[tuple[int, str]] = field(default_factory=list)  # pages, by start and cursor
    looked_up: list[str] = field(default_factory=list)
    polls: int = 0
    reported: list[int] = field(default_factory=list)
    due_in: float | None = None
    outage: RpcUnavailable | None = None
    is_hidden: bool = False  # nothing is listed

    def now(self) -> LedgerReading:
        if self.latest == 0:
            raise ClockStale(Network.TESTNET)
        return LedgerReading(self.named or self.latest, self._close_at(), 5.0, 0.0)

    def next_close_in(self) -> float | None:
        return self.due_in

    def report(self, sequence: int, close_at: datetime) -> None:
        del close_at
        self.reported.append(sequence)

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
        self.listings.append((from_ledger, cursor))
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
    """A watcher with its ledgers and its clock."""

    def __init__(self) -> None:
        self.ledgers, self.clock = Ledgers(), ManualClock()
        patient = _Patient(self.clock)
        self.watcher = LedgerWatcher(self.ledgers, self.ledgers, patient, idle_s=1)

    async def watch(self, envelope: SentEnvelope) -> Task:
        task = asyncio.create_task(self.watcher.fate(envelope, until=1e9))
        await asyncio.sleep(0)
        return task

    async def watch_many(self) -> list[Task]:
        """Watch so many envelopes that ledgers are listed."""
        return [await self.watch(sent(tag)) for tag in MANY]

    async def close(self, *transactions: TransactionFound) -> None:
        self.ledgers.latest += 1
        self.ledgers.transactions_by_ledger[self.ledgers.latest] = list(transactions)
        await self.look()

    async def look(self) -> None:
        await self.watcher.look()
        await asyncio.sleep(0)


class _Patient(ManualClock):
    """A clock whose sleeps never end: no deadline passes unless the test is about it."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.Event().wait()
