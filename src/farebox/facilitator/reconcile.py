"""End every settlement whose outcome nobody waits for, from the ledger, without a caller's help."""

from typing import Final, Protocol

import structlog

from farebox.facilitator.conclude import Conclusions
from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.settlement import Settlement
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.rpc import TransactionFound
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Dead, Indeterminate, SentEnvelope, Unproven

_BATCH: Final = 100
_STALE_CLAIM_S: Final = 45.0  # a live claim is signed or given back long before

log = structlog.get_logger(__name__)


class Observer(Protocol):
    """Looks once for what became of an envelope."""

    async def observe(
        self, sent: SentEnvelope
    ) -> TransactionFound | Dead | Unproven | Indeterminate: ...


class Reconciler:
    """Observes the unresolved envelopes of one network; it never sends one.

    A pass costs one call to the node for each unresolved row that no living call can own.
    """

    def __init__(
        self,
        network: Network,
        observer: Observer,
        conclusions: Conclusions,
        journal: SettlementJournal,
        clock: Clock,
        *,
        every_s: float,
        leave_to_callers_s: float,
    ) -> None:
        self._network, self._observer, self._conclusions = network, observer, conclusions
        self._journal, self._clock = journal, clock
        self._every_s, self._leave_to_callers_s = every_s, leave_to_callers_s

    async def run(self) -> None:
        """Reconcile for ever: everything at the start, later what no call waits for any more."""
        older_than_s = 0.0
        while True:
            try:
                await self.reconcile(older_than_s=older_than_s)
                older_than_s = self._leave_to_callers_s
            except DatabaseUnavailable:
                log.warning("reconcile.database_away", network=self._network)
            await self._clock.sleep(self._every_s)

    async def reconcile(self, *, older_than_s: float) -> int:
        """One pass over rows claimed at least `older_than_s` ago; how many it ended.

        Raises:
            DatabaseUnavailable: the pass stopped; nothing is lost by it.
        """
        await self._journal.release_stale(self._network, older_than_s=_STALE_CLAIM_S)
        rows = await self._journal.unresolved(
            self._network, older_than_s=older_than_s, limit=_BATCH
        )
        return sum([await self._resolve(row) for row in rows])

    async def _resolve(self, row: Settlement) -> bool:
        if row.sent is None:
            return False
        fate = await self._observer.observe(row.sent)
        if isinstance(fate, Indeterminate):
            return False
        ending = await self._conclusions.ending(fate, row, row.sent)
        if ending is None:
            return False
        ended = await self._journal.end(row.sent.tx_hash, ending)
        if ended:
            log.info("settlement.reconciled", tx_hash=row.tx_hash, state=ending.state)
        return ended
