"""When a final settlement's envelope is no longer kept."""

import math
from datetime import timedelta
from typing import Final, Protocol

from farebox.facilitator.journal import retention_store
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading
from farebox.storage.pool import Connection

# as long as stored answers are: until then a dispute can be held against the bytes that were sent
KEPT_AFTER_EXPIRY: Final = timedelta(hours=24)


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


def expired_before(now: LedgerReading) -> int:
    """An authorization that expired in an earlier ledger has been over for `KEPT_AFTER_EXPIRY`.

    Where ledgers closed faster in the meantime than now it is the finish that decides.
    """
    cadence_s = min(now.cadence_s, SLOWEST_CADENCE_S)
    return now.sequence - math.ceil(KEPT_AFTER_EXPIRY.total_seconds() / cadence_s)


class EnvelopeRetention:
    """Takes envelopes out of the final rows of one network.

    A row that is not final, or whose outcome is unproven, keeps its envelope; the table refuses
    anything else.
    """

    def __init__(self, network: Network, ledgers: Ledgers) -> None:
        self._network, self._ledgers = network, ledgers

    async def prune(self, db: Connection, limit: int) -> int:
        """Take out at most `limit` envelopes whose time is over; how many it were.

        Raises:
            ClockStale: nobody knows which authorizations have expired.
        """
        now = self._ledgers.now()
        return await retention_store.drop_envelopes(
            db,
            self._network,
            expired_before_ledger=expired_before(now),
            finished_before=now.close_at - KEPT_AFTER_EXPIRY,
            limit=limit,
        )
