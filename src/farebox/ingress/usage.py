"""Read a caller's usage."""

from datetime import UTC, date

from farebox.ingress import usage_store
from farebox.ingress.usage_day import Period, RequestCounts, SettlementCounts, UsageDay
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database


class Usage:
    """Reads the usage of a caller."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def today(self) -> date:
        """Return the current UTC day."""
        return self._clock.now().astimezone(UTC).date()

    async def of(self, owner: OwnerId, period: Period) -> list[UsageDay]:
        """Return every day and network with usage of the caller, the newest first.

        Raises:
            DatabaseUnavailable: the usage cannot be read now.
        """
        async with self._database.snapshot() as db:
            requests = await usage_store.get_request_counts(db, owner, period)
            settlements = await usage_store.get_settlement_counts(db, owner, period)
        days = sorted(requests.keys() | settlements.keys(), key=lambda key: key[1].value)
        days.sort(key=lambda key: key[0], reverse=True)
        return [
            UsageDay(
                *key,
                requests.get(key, RequestCounts()),
                settlements.get(key, SettlementCounts()),
            )
            for key in days
        ]
