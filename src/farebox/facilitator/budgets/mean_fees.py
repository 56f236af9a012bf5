"""The mean fee of the newest payments, read from the journal."""

from farebox.facilitator.budgets.budget_store import read_mean_fee
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database


class MeanFees:
    """Reads what the newest payments of a network cost on average."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, network: Network) -> Stroops | None:
        """The mean fee in stroops; None without a payment, or while the database is unavailable."""
        try:
            async with self._database.connection() as db:
                return await read_mean_fee(db, network)
        except DatabaseUnavailable:
            return None
