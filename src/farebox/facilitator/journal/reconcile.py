"""Reconcile unresolved settlements with the ledger, without a caller."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.status_resolver import FinalFate, StatusResolver
from farebox.facilitator.settlement import Settlement, SettlementState
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Indeterminate, ObservedFate, SentEnvelope, Unproven

_MAX_ROWS: Final = 500  # of one pass
_MAX_UNPROVEN: Final = 50  # likewise, and each costs calls of its own

log = structlog.get_logger(__name__)


class FateObserver(Protocol):
    """Looks once for the fates of envelopes."""

    async def observe_all(self, sents: Sequence[SentEnvelope]) -> list[ObservedFate]: ...


@dataclass(frozen=True, slots=True)
class ReconcileTimes:
    """The intervals of the reconciler, in seconds."""

    every_s: float  # between two passes
    leave_to_callers_s: float  # from the claim: the row is left to its call
    stale_claim_s: float  # from the claim: by then a live one is recorded or released


class Reconciler:
    """Finalizes the unresolved rows of one network; it never sends an envelope.

    It takes the rows that no live call can own, and those handed over. A claim that has no envelope
    for `stale_claim_s` is released; if its call is alive after all, it finds the claim lost and
    sends nothing.

    A row that stays undecided is looked at again after a tenth of its age, a minute at most; one
    whose outcome is unproven every hour, since a node with a longer history may prove it yet.
    """

    def __init__(
        self,
        network: Network,
        observer: FateObserver,
        statuses: StatusResolver,
        journal: SettlementJournal,
        clock: Clock,
        times: ReconcileTimes,
    ) -> None:
        self._network, self._observer, self._statuses = network, observer, statuses
        self._journal, self._clock, self._times = journal, clock, times

    async def run(self) -> None:
        """Reconcile until cancelled: every row at the start, later those that no call owns."""
        older_than_s = 0.0
        while True:
            try:
                await self.reconcile(older_than_s=older_than_s)
                older_than_s = self._times.leave_to_callers_s
            except DatabaseUnavailable:
                log.warning("reconcile.database_unavailable", network=self._network)
            await self._clock.sleep(self._times.every_s)

    async def reconcile(self, *, older_than_s: float) -> int:
        """Make one pass over rows claimed `older_than_s` seconds ago or handed over.

        Returns the number of rows it finalized.

        Raises:
            DatabaseUnavailable: the pass stopped; the next one finds the same rows.
        """
        await self._journal.release_stale(self._network, older_than_s=self._times.stale_claim_s)
        unresolved = await self._journal.find_unresolved(
            self._network, older_than_s=older_than_s, limit=_MAX_ROWS
        )
        unproven = await self._journal.find_unproven(self._network, limit=_MAX_UNPROVEN)
        return await self._look(unresolved) + await self._look(unproven)

    async def _look(self, rows: Sequence[Settlement]) -> int:
        """Look once for the envelopes of the rows; return the number of rows that are final now.

        The next look at a row is set before this one, so that no fault brings it back at once.
        """
        pairs = [(row, row.sent) for row in rows if row.sent is not None]
        await self._journal.postpone_looks([sent.tx_hash for _, sent in pairs])
        fates = await self._observer.observe_all([sent for _, sent in pairs])
        looks = [
            self._resolve(row, sent, fate)
            for (row, sent), fate in zip(pairs, fates, strict=True)
            if not isinstance(fate, Indeterminate)
        ]
        return _count_ended(await asyncio.gather(*looks, return_exceptions=True))

    async def _resolve(self, row: Settlement, sent: SentEnvelope, fate: FinalFate) -> bool:
        if row.state is SettlementState.UNPROVEN and isinstance(fate, Unproven):
            return False
        if row.may_be_replaced(fate, now=self._clock.now()):
            return False
        final = await self._statuses.resolve(fate, row, sent)
        if final is None:
            return False
        is_recorded = await self._journal.record_final(sent.tx_hash, final)
        if is_recorded:
            log.info("settlement.reconciled", tx_hash=row.tx_hash, state=final.state)
        return is_recorded


def _count_ended(ended: Sequence[bool | BaseException]) -> int:
    """The number of rows that were ended; a fault of one row is logged, and holds up no other.

    Raises:
        DatabaseUnavailable: no row can be ended now.
    """
    for fault in (each for each in ended if isinstance(each, BaseException)):
        if isinstance(fault, DatabaseUnavailable) or not isinstance(fault, Exception):
            raise fault
        log.error("reconcile.row_failed", exc_info=fault)
    return sum(each is True for each in ended)
