"""Watch the ledgers of one network for everything that is on its way, with one look for all."""

import asyncio
from dataclasses import dataclass
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

_PAGE: Final = 100  # some 12 KB each: well below the most an answer may have

log = structlog.get_logger(__name__)


class Rpc(Protocol):
    """The call a watch makes."""

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage: ...


@dataclass(eq=False, slots=True)
class _Watched:
    sent: SentEnvelope
    fate: "asyncio.Future[TransactionFound | Dead]"


class LedgerWatcher:
    """Lists new ledgers while somebody waits, and tells each waiter what became of its envelope.

    A look costs one call, and one more for each hundred transactions that landed meanwhile,
    however many are watched.
    """

    def __init__(self, rpc: Rpc, clock: Clock, *, look_s: float) -> None:
        self._rpc, self._clock, self._look_s = rpc, clock, look_s
        self._watched: dict[bytes, _Watched] = {}
        self._somebody_waits = asyncio.Event()
        self._cursor = ""
        self._listed_to = 0  # the last ledger of which everything was listed

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
            self._watched.pop(sent.tx_hash, None)

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
            await self._clock.sleep(self._look_s)

    async def look(self) -> None:
        """List what is new and settle every fate it shows.

        Raises:
            RpcUnavailable: part of it may have been listed; nothing is lost by it.
        """
        while self._watched:
            page = await self._rpc.transactions(
                self._wanted(), from_ledger=self._listed_to + 1, cursor=self._cursor, limit=_PAGE
            )
            self._cursor = page.cursor or self._cursor
            self._tell_landed(page.found)
            if page.listed < _PAGE:
                self._tell_absent(page.absence)
                return

    def _watch(self, watched: _Watched) -> None:
        """From here on every ledger counts for it: go back if its first one was passed."""
        first = watched.sent.sent_after_ledger + 1
        if not self._watched or first <= self._listed_to:
            self._listed_to, self._cursor = watched.sent.sent_after_ledger - 1, ""
        self._watched[watched.sent.tx_hash] = watched
        self._somebody_waits.set()

    def _wanted(self) -> frozenset[str]:
        return frozenset(text for each in self._watched.values() for text in each.sent.hashes())

    def _tell_landed(self, found: tuple[TransactionFound, ...]) -> None:
        by_hash = {text: each for each in self._watched.values() for text in each.sent.hashes()}
        for transaction in found:
            watched = by_hash.get(transaction.hash) or by_hash.get(transaction.inner_hash or "")
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
