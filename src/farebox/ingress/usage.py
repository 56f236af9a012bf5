"""Tell a caller what it has used."""

from datetime import UTC, date

from farebox.ingress import usage_store
from farebox.ingress.usage_day import Answered, Period, Settled, UsageDay
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database


class Usage:
    """Reads what was counted for a caller, and what its settlements' own rows say."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def today(self) -> date:
        """The UTC day it is now."""
        return self._clock.now().astimezone(UTC).date()

    async def of(self, owner: OwnerId, period: Period) -> list[UsageDay]:
        """Every day and network on which the caller used something, the newest first.

        Raises:
            DatabaseUnavailable: nobody knows.
        """
        async with self._database.snapshot() as db:
            answered = await usage_store.answered(db, owner, first=period.first, last=period.last)
            settled = await usage_store.settled(db, owner, since=period.since, before=period.before)
        days = sorted(answered.keys() | settled.keys(), key=lambda key: key[1].value)
        days.sort(key=lambda key: key[0], reverse=True)
        return [
            UsageDay(*key, answered.get(key, Answered()), settled.get(key, Settled()))
            for key in days
        ]
