"""Watch the ledgers of one network for everything that is on its way, with one look for all."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.stellar.rpc import (
    RpcUnavailable,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
)
from farebox.submission.fate import Dead, Indeterminate, SentEnvelope, judge_absence

_PAGE: Final = 200  # the most a node gives; some 12 KB each, below the most an answer may have
_SMALL_PAGE: Final = 25  # when larger ones fail
_NEAR_S: Final = 0.25  # between two looks when a ledger is about to close: how late one is seen
_LEAD_S: Final = 0.3  # how long before the expected close the frequent looks begin
_BLIND_S: Final = 0.5  # between two looks when nobody knows when a ledger will close

log = structlog.get_logger(__name__)


class Rpc(Protocol):
    """The call a watch makes."""

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage: ...


class Ledgers(Protocol):
    """The ledger clock: it is told what the node says, and says when to look."""

    def next_close_in(self) -> float | None: ...

    def heard(self, sequence: int, close_at: datetime) -> None: ...


@dataclass(eq=False, slots=True)
class _Watched:
    sent: SentEnvelope
    fate: "asyncio.Future[TransactionFound | Dead]"


class LedgerWatcher:
    """Lists new ledgers while somebody waits, and tells each waiter what became of its envelope.

    A look costs one call, and one more for each 200 transactions that landed meanwhile, however
    many are watched. Looks are frequent only around the moment a ledger is expected to close;
    otherwise they come every `idle_s`, in which case the answers keep the ledger clock as well.
    """

    def __init__(self, rpc: Rpc, ledgers: Ledgers, clock: Clock, *, idle_s: float) -> None:
        self._rpc, self._ledgers, self._clock, self._idle_s = rpc, ledgers, clock, idle_s
        self._watched: dict[bytes, _Watched] = {}
        self._by_hash: dict[str, _Watched] = {}
        self._somebody_waits = asyncio.Event()
        self._cursor = ""
        self._listed_to = 0  # the last ledger of which everything was listed
        self._page = _PAGE
        self._came: list[int] = []  # first ledgers of those who came since the node was asked

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate:
        """What became of `sent` by `until` (monotonic), seen from its first possible ledger on."""
        watched = _Watched(sent, asyncio.get_running_loop().create_future())
        self._watch(watched)
        timer: asyncio.Future[None] = asyncio.ensure_future(
            self._clock.sleep(max(0.0, until - self._clock.monotonic()))
        )
        try:
            either: set[asyncio.Future[Any]] = {watched.fate, timer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return watched.fate.result() if watched.fate.done() else Indeterminate()
        finally:
            timer.cancel()
            self._forget(watched)

    async def run(self) -> None:
        """Look for ever, while somebody waits; an outage of the node shows nothing."""
        while True:
            if not self._watched:
                self._somebody_waits.clear()
                await self._somebody_waits.wait()
            try:
                await self.look()
            except RpcUnavailable as outage:
                log.info("watch.outage", part=outage.part)
            await self._clock.sleep(self.rest_s())

    def rest_s(self) -> float:
        """How long to rest until the next look, seconds."""
        due_in = self._ledgers.next_close_in()
        if due_in is None:
            return min(self._idle_s, _BLIND_S)
        return min(self._idle_s, _NEAR_S if due_in <= _LEAD_S else due_in - _LEAD_S)

    async def look(self) -> None:
        """List what is new and settle every fate it shows.

        Raises:
            RpcUnavailable: part of it may have been listed; nothing is lost by it.
        """
        while self._watched:
            limit, wanted = self._page, frozenset(self._by_hash)
            self._came.clear()
            try:
                page = await self._rpc.transactions(
                    wanted, from_ledger=self._listed_to + 1, cursor=self._cursor, limit=limit
                )
            except RpcUnavailable:
                self._page = max(_SMALL_PAGE, limit // 2)  # its answer may have been too long
                raise
            self._page = min(_PAGE, limit * 2)
            self._ledgers.heard(page.absence.latest_ledger, page.absence.latest_close_at)
            self._tell_landed(page.found)
            if self._came and min(self._came) <= page.absence.latest_ledger:
                # who came while the node answered was not looked for in what it listed
                self._listed_to, self._cursor = min(self._came) - 2, ""
                continue
            self._cursor = page.cursor or self._cursor
            if page.listed < limit:
                self._tell_absent(page.absence)
                return

    def _watch(self, watched: _Watched) -> None:
        """From here on every ledger counts for it: go back if its first one was passed."""
        first = watched.sent.sent_after_ledger + 1
        if not self._watched or first <= self._listed_to:
            self._listed_to, self._cursor = first - 2, ""
        self._came.append(first)
        self._watched[watched.sent.tx_hash] = watched
        self._by_hash |= dict.fromkeys(watched.sent.hashes(), watched)
        self._somebody_waits.set()

    def _forget(self, watched: _Watched) -> None:
        if self._watched.get(watched.sent.tx_hash) is watched:
            del self._watched[watched.sent.tx_hash]
        for text in watched.sent.hashes():
            if self._by_hash.get(text) is watched:
                del self._by_hash[text]

    def _tell_landed(self, found: tuple[TransactionFound, ...]) -> None:
        for transaction in found:
            watched = self._by_hash.get(transaction.hash)
            watched = watched or self._by_hash.get(transaction.inner_hash or "")
            if watched is not None and not watched.fate.done():
                watched.fate.set_result(transaction)

    def _tell_absent(self, absence: TransactionNotFound) -> None:
        """Everything up to the absence's ledger was listed: who is missing may be dead."""
        if absence.latest_ledger < self._listed_to:
            return  # a node that lags behind what was listed already
        self._listed_to = absence.latest_ledger
        for watched in list(self._watched.values()):
            if watched.fate.done():
                continue
            if isinstance(judge_absence(watched.sent, absence, None), Dead):
                watched.fate.set_result(Dead())
