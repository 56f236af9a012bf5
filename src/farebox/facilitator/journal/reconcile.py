"""End every settlement whose outcome nobody waits for, from the ledger, without a caller's help."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Settlement
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Indeterminate, Seen, SentEnvelope

_BATCH: Final = 500

log = structlog.get_logger(__name__)


class Observer(Protocol):
    """Looks once for what became of envelopes."""

    async def observe_all(self, sents: Sequence[SentEnvelope]) -> list[Seen]: ...


@dataclass(frozen=True, slots=True)
class ReconcileTimes:
    """When the reconciler acts, seconds."""

    every_s: float  # between two passes
    leave_to_callers_s: float  # from a claim on: so long may a call live that owns the row
    stale_claim_s: float  # from a claim on: by then a living one is written down or given back


class Reconciler:
    """Observes the unresolved envelopes of one network; it never sends one.

    It takes the rows that no living call can own, or that were handed over. A claim that was not
    signed for `stale_claim_s` is given back; should its call live after all, it finds the claim
    lost and sends nothing.
    """

    def __init__(
        self,
        network: Network,
        observer: Observer,
        conclusions: Conclusions,
        journal: SettlementJournal,
        clock: Clock,
        times: ReconcileTimes,
    ) -> None:
        self._network, self._observer, self._conclusions = network, observer, conclusions
        self._journal, self._clock, self._times = journal, clock, times

    async def run(self) -> None:
        """Reconcile for ever: everything at the start, later what no call waits for any more."""
        older_than_s = 0.0
        while True:
            try:
                await self.reconcile(older_than_s=older_than_s)
                older_than_s = self._times.leave_to_callers_s
            except DatabaseUnavailable:
                log.warning("reconcile.database_away", network=self._network)
            await self._clock.sleep(self._times.every_s)

    async def reconcile(self, *, older_than_s: float) -> int:
        """One pass over rows claimed `older_than_s` ago or handed over; how many it ended.

        Raises:
            DatabaseUnavailable: the pass stopped; nothing is lost by it.
        """
        await self._journal.release_stale(self._network, older_than_s=self._times.stale_claim_s)
        rows = await self._journal.unresolved(
            self._network, older_than_s=older_than_s, limit=_BATCH
        )
        seen = await self._observer.observe_all([row.sent for row in rows if row.sent is not None])
        pairs = zip((row for row in rows if row.sent is not None), seen, strict=True)
        return sum(await asyncio.gather(*(self._resolve(row, fate) for row, fate in pairs)))

    async def _resolve(self, row: Settlement, fate: Seen) -> bool:
        if row.sent is None or isinstance(fate, Indeterminate):
            return False
        ending = await self._conclusions.ending(fate, row, row.sent)
        if ending is None:
            return False
        ended = await self._journal.end(row.sent.tx_hash, ending)
        if ended:
            log.info("settlement.reconciled", tx_hash=row.tx_hash, state=ending.state)
        return ended
