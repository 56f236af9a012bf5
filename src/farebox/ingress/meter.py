"""The meter: each caller's requests, counted in memory and written every second."""

from dataclasses import dataclass
from datetime import UTC, date
from enum import StrEnum
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from farebox.ingress import usage_store
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable, attempt
from farebox.storage.pool import Database

_WRITE_EVERY_S: Final = 1.0
_WRITE_FAILED: Final = "usage.not_written"


class MeteredResult(StrEnum):
    """The results that are counted here; a settlement's status stands in its own row."""

    VERIFY_ACCEPTED = "verify_accepted"
    VERIFY_REFUSED = "verify_refused"
    SETTLE_REFUSED = "settle_refused"  # nothing was sent


@dataclass(frozen=True, slots=True)
class Tally:
    """The key of one counter."""

    owner: OwnerId
    used_on: date
    network: Network
    result: MeteredResult


class Meter:
    """Counts without waiting, and writes the totals of each day every second.

    A total written twice is the same total, so a write with an unknown outcome may be repeated.
    Use it as a context manager inside the database's: the last totals are written on exit. A
    process that is killed loses its last second.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._process = uuid4()
        self._totals: dict[Tally, int] = {}
        self._changed: set[Tally] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await attempt(self.write, missed=_WRITE_FAILED)

    def count_verification(self, owner: OwnerId, network: Network, *, is_accepted: bool) -> None:
        """Count a verification of this caller."""
        result = MeteredResult.VERIFY_ACCEPTED if is_accepted else MeteredResult.VERIFY_REFUSED
        self._add(owner, network, result)

    def count_refused_settlement(self, owner: OwnerId, network: Network) -> None:
        """Count a settlement that was refused to this caller before anything was sent."""
        self._add(owner, network, MeteredResult.SETTLE_REFUSED)

    def _add(self, owner: OwnerId, network: Network, result: MeteredResult) -> None:
        tally = Tally(owner, self._clock.now().astimezone(UTC).date(), network, result)
        self._totals[tally] = self._totals.get(tally, 0) + 1
        self._changed.add(tally)

    async def write(self) -> None:
        """Write every total that has changed.

        Raises:
            DatabaseUnavailable: the totals are kept for the next write.
        """
        changed, self._changed = self._changed, set()
        if not changed:
            return
        totals = {tally: self._totals[tally] for tally in changed}
        try:
            async with self._database.connection() as db:
                await usage_store.write_totals(
                    db,
                    [
                        (each.owner, each.used_on, each.network.value, each.result.value, total)
                        for each, total in totals.items()
                    ],
                    counted_by=self._process,
                )
        except DatabaseUnavailable:
            self._changed |= changed
            raise
        self._forget_past_days()

    def _forget_past_days(self) -> None:
        today = self._clock.now().astimezone(UTC).date()
        past = [tally for tally in self._totals if tally.used_on < today]
        for tally in past:
            if tally not in self._changed:
                del self._totals[tally]

    async def run(self) -> None:
        """Write for ever; while the database is unavailable the totals are kept."""
        while True:
            await self._clock.sleep(_WRITE_EVERY_S)
            await attempt(self.write, missed=_WRITE_FAILED)
