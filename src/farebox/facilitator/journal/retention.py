"""Retention of the envelopes of final settlements (docs/decisions/0032)."""

import math
from datetime import timedelta
from typing import Final

from farebox.facilitator.journal import envelope_store
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading, Ledgers
from farebox.storage.pool import Connection

# as long as stored responses: until then the bytes that were sent can settle a dispute
KEPT_AFTER_EXPIRY: Final = timedelta(hours=24)


def expired_before(now: LedgerReading) -> int:
    """The ledger before which an authorization expired at least `KEPT_AFTER_EXPIRY` ago.

    Where ledgers closed faster in the meantime than now, the row's finish time decides.
    """
    cadence_s = min(now.cadence_s, SLOWEST_CADENCE_S)
    return now.sequence - math.ceil(KEPT_AFTER_EXPIRY.total_seconds() / cadence_s)


class EnvelopeRetention:
    """Drops envelopes from the final rows of one network.

    A row that is not final, or is unproven, keeps its envelope; a constraint of the table holds it.
    """

    def __init__(self, network: Network, ledgers: Ledgers) -> None:
        self._network, self._ledgers = network, ledgers

    async def prune(self, db: Connection, limit: int) -> int:
        """Drop at most `limit` expired envelopes; returns their number.

        Raises:
            ClockStale: the current ledger is unknown.
        """
        now = self._ledgers.now()
        return await envelope_store.drop_envelopes(
            db,
            self._network,
            expired_before_ledger=expired_before(now),
            finished_before=now.close_at - KEPT_AFTER_EXPIRY,
            limit=limit,
        )
