"""Watch the ledgers of one network for all envelopes that were sent, with few calls."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.stellar.rpc import (
    RpcUnavailable,
    TransactionFound,
    TransactionNotFound,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.submission.fate import (
    Dead,
    Indeterminate,
    SentEnvelope,
    intersect_absences,
    judge_absences,
)

_LARGEST: Final = 200  # the most a node gives; some 12 KB each, below the most an answer may have
_SMALLEST: Final = 25


class PageSize:
    """The page size of a listing: it shrinks after a failure and grows after a success."""

    def __init__(self) -> None:
        self.limit = _LARGEST

    def succeeded(self) -> None:
        """Record a page of this size."""
        self.limit = min(_LARGEST, self.limit * 2)

    def failed(self, outage: RpcUnavailable) -> None:
        """Record a failure; a refusal by the node itself has nothing to do with the size."""
        if outage.code is None:
            self.limit = max(_SMALLEST, self.limit // 2)


async def look_up_inner(
    rpc: SorobanRpc, sent: SentEnvelope, inner_hash: bytes
) -> TransactionFound | TransactionNotFound:
    """Look up the inner transaction, which a stranger may have landed in their own fee bump.

    The envelope may have landed between the two look-ups, and two nodes may share one address. So
    the envelope is looked up again once its inner transaction is found. A stranger landed it only
    where the node that lacks the envelope has passed the ledger with the inner transaction; until
    then its absence is returned, which is no proof.
    """
    inner = await rpc.get_transaction(inner_hash.hex())
    if isinstance(inner, TransactionNotFound):
        return inner
    outer = await rpc.get_transaction(sent.tx_hash.hex())
    is_absent = isinstance(outer, TransactionNotFound) and outer.latest_ledger > inner.ledger
    return inner if is_absent else outer


# A look-up by hash costs a call for each envelope, a listing costs the bytes of whole ledgers
# (3.7 MB for a full one on pubnet).
_FEW: Final = 16  # envelopes that are looked up by hash
_LEDGERS_TO_LAND: Final = 2  # most need no more
_NEAR_S: Final = 0.25  # between two looks when a ledger is about to close: the longest delay
_LEAD_S: Final = 0.3  # how long before the expected close the frequent looks begin
_BLIND_S: Final = 0.5  # between two looks when the next close cannot be estimated

log = structlog.get_logger(__name__)


class PolledLedgers(Ledgers, Protocol):
    """The ledger clock: polls the node for its newest ledger, and estimates the next close."""

    def next_close_in(self) -> float | None: ...

    def report(self, sequence: int, close_at: datetime) -> None: ...

    async def poll(self) -> bool: ...


@dataclass(eq=False, slots=True)
class _Watched:
    sent: SentEnvelope
    fate: "asyncio.Future[TransactionFound | Dead]"
    searched_to: int  # the last ledger that is known not to hold it
    looked_up_at: int = 0  # the newest ledger when it was last looked up by hash

    def is_due(self, newest: int) -> bool:
        """Whether a ledger that may hold it was not searched yet."""
        return not self.fate.done() and self.searched_to < newest

    @property
    def is_overdue(self) -> bool:
        """Whether it should have landed by now, so that a listing may have missed it."""
        return self.searched_to > self.sent.sent_after_ledger + _LEDGERS_TO_LAND


class LedgerWatcher:
    """Searches new ledgers while an envelope is watched, and resolves the fate of each.

    A small call gets the newest ledger. A newer one is searched once: for few envelopes by their
    hashes, for many by listing its transactions. No cursor outlives a look, because nodes
    differ in the cursor at the end of a ledger. Looks are frequent only around the moment a
    ledger is expected to close; otherwise they come every `idle_s`.
    """

    def __init__(
        self, rpc: SorobanRpc, ledgers: PolledLedgers, clock: Clock, *, idle_s: float
    ) -> None:
        self._rpc, self._ledgers, self._clock, self._idle_s = rpc, ledgers, clock, idle_s
        self._watched: dict[bytes, _Watched] = {}
        self._is_watching = asyncio.Event()
        self._listed_to = 0  # the last ledger of which everything was listed
        self._page = PageSize()

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate:
        """The fate of `sent` by `until` (monotonic), seen from its first possible ledger on."""
        fate: asyncio.Future[TransactionFound | Dead]
        fate = asyncio.get_running_loop().create_future()
        watched = _Watched(sent, fate, searched_to=sent.made_after_ledger())
        self._watched[sent.tx_hash] = watched
        self._is_watching.set()
        timer: asyncio.Future[None] = asyncio.ensure_future(
            self._clock.sleep(max(0.0, until - self._clock.monotonic()))
        )
        try:
            either: set[asyncio.Future[Any]] = {watched.fate, timer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return watched.fate.result() if watched.fate.done() else Indeterminate()
        finally:
            timer.cancel()
            if self._watched.get(sent.tx_hash) is watched:
                del self._watched[sent.tx_hash]

    async def run(self) -> None:
        """Look while an envelope is watched, until cancelled; an outage of the node is logged."""
        while True:
            if not self._watched:
                self._is_watching.clear()
                await self._is_watching.wait()
            try:
                await self.look()
            except RpcUnavailable as outage:
                log.info("watch.outage", part=outage.part)
            await self._clock.sleep(self.rest_s())

    def rest_s(self) -> float:
        """Seconds until the next look."""
        due_in = self._ledgers.next_close_in()
        if due_in is None:
            return min(self._idle_s, _BLIND_S)
        return min(self._idle_s, _NEAR_S if due_in <= _LEAD_S else due_in - _LEAD_S)

    async def look(self) -> None:
        """Search the ledgers that closed since the last look, if any did.

        Raises:
            RpcUnavailable: part of them may have been searched; the next look searches the rest.
        """
        if not await self._ledgers.poll():
            return
        try:
            newest = self._ledgers.now().sequence
        except ClockStale:
            return
        self._forget_ledgers_after(newest)
        due = [each for each in self._watched.values() if each.is_due(newest)]
        if len(due) <= _FEW:
            await self._look_up(due, newest)
            return
        passed = [each for each in due if each.searched_to < self._listed_to]
        await self._list([each for each in due if each.searched_to >= self._listed_to])
        doubtful = passed + [each for each in due if each.is_overdue and not each.fate.done()]
        doubtful.sort(key=lambda each: each.looked_up_at)
        await self._look_up(doubtful[:_FEW], newest)

    def _forget_ledgers_after(self, newest: int) -> None:
        """Search again after the clock was set back: ledgers after `newest` never closed."""
        self._listed_to = min(self._listed_to, newest)
        for each in self._watched.values():
            if each.searched_to > newest:
                each.searched_to = each.sent.made_after_ledger()

    async def _look_up(self, due: Sequence[_Watched], newest: int) -> None:
        """Look each up by its hash; an outage for one of them does not affect the others."""
        for each in due:
            each.looked_up_at = newest
        answers = await asyncio.gather(*map(self._look_up_one, due), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _look_up_one(self, watched: _Watched) -> None:
        absences = []
        for sent in watched.sent.every():
            answer = await self._rpc.get_transaction(sent.tx_hash.hex())
            if isinstance(answer, TransactionNotFound) and sent.inner_hash and watched.is_overdue:
                answer = await look_up_inner(self._rpc, sent, sent.inner_hash)
            if isinstance(answer, TransactionFound):
                self._resolve(watched, answer)
            else:
                self._ledgers.report(answer.latest_ledger, answer.latest_close_at)
                absences.append(answer)
        if len(absences) == len(watched.sent.every()):
            self._resolve(watched, reduce(intersect_absences, absences))

    async def _list(self, due: Sequence[_Watched]) -> None:
        """List the ledgers since the first of `due` was searched to, page by page."""
        if not due:
            return
        by_hash = {text: each for each in due for text in each.sent.hashes()}
        first, cursor = min(each.searched_to for each in due) + 1, ""
        while True:
            limit = self._page.limit
            try:
                page = await self._rpc.transactions(
                    frozenset(by_hash), from_ledger=first, cursor=cursor, limit=limit
                )
            except RpcUnavailable as outage:
                self._page.failed(outage)
                raise
            self._page.succeeded()
            for found in page.found:
                watched = by_hash.get(found.hash) or by_hash.get(found.inner_hash or "")
                if watched is not None:
                    self._resolve(watched, found)
            if page.listed < limit:
                self._finish(due, page.absence)
                return
            cursor = page.cursor
            self._note_searched(due, (page.last_ledger or 0) - 1)

    def _finish(self, due: Sequence[_Watched], absence: TransactionNotFound) -> None:
        """Everything up to the absence's ledger is listed."""
        self._ledgers.report(absence.latest_ledger, absence.latest_close_at)
        self._listed_to = max(self._listed_to, absence.latest_ledger)
        for each in due:
            self._resolve(each, absence)

    def _resolve(self, watched: _Watched, seen: TransactionFound | TransactionNotFound) -> None:
        if watched.fate.done():
            return
        if isinstance(seen, TransactionFound):
            if watched.sent.is_decided_by(seen):
                watched.fate.set_result(seen)
            return
        self._note_searched([watched], seen.latest_ledger)
        fate = judge_absences(watched.sent, seen)
        if isinstance(fate, Dead):
            watched.fate.set_result(fate)

    def _note_searched(self, due: Iterable[_Watched], ledger: int) -> None:
        for each in due:
            each.searched_to = max(each.searched_to, ledger)
