"""The mean fee of the newest payments of each network, refreshed in the background."""

from collections.abc import Collection
from typing import Final

import structlog

from farebox.facilitator.budgets.budget_store import read_mean_fee
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_REFRESH_S: Final = 5.0

log = structlog.get_logger(__name__)


class MeanFees:
    """What the newest payments cost on average, as of some seconds ago; read without a call."""

    def __init__(self, database: Database, clock: Clock, networks: Collection[Network]) -> None:
        self._database, self._clock, self._networks = database, clock, networks
        self._fees: dict[Network, Stroops | None] = {}

    def of(self, network: Network) -> Stroops | None:
        """The mean fee in stroops; None without a payment, or before it was read once."""
        return self._fees.get(network)

    async def refresh(self) -> None:
        """Read the fees.

        Raises:
            DatabaseUnavailable: the last ones are kept.
        """
        async with self._database.connection() as db:
            self._fees = {each: await read_mean_fee(db, each) for each in self._networks}

    async def run(self) -> None:
        """Refresh every five seconds until cancelled."""
        while True:
            try:
                await self.refresh()
            except DatabaseUnavailable:
                log.warning("mean_fees.database_unavailable")
            await self._clock.sleep(_REFRESH_S)
