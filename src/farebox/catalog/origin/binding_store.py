"""Who keys are bound to, in PostgreSQL, for whoever asks the resource itself."""

from farebox.catalog.origin.takeover import Bound
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Database


class StoredBindings:
    """Reads the binding of a key; nothing is locked, for the answer of a network is awaited."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def bound(self, network: Network, key: str) -> Bound | None:
        """The binding as it stands.

        Raises:
            DatabaseUnavailable: it cannot be read.
        """
        async with self._database.connection() as db:
            row = await db.fetchrow(
                """
                SELECT pay_to, coalesce(asked_url, '') AS asked_url, method FROM listings
                WHERE network = $1 AND resource_key = $2
                """,
                network.value,
                key,
            )
        return (
            None if row is None else Bound(Address(row["pay_to"]), row["asked_url"], row["method"])
        )
