"""What each caller was answered, counted in memory and written now and then."""

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
from farebox.storage.attempt import attempt
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_WRITE_EVERY_S: Final = 1.0
_PRUNE_EVERY: Final = 3600  # writes
_KEPT_DAYS: Final = 400
_PRUNED_AT_ONCE: Final = 1_000
_MISSED: Final = "usage.not_written"


class Metered(StrEnum):
    """What is counted here; what a settlement came to stands in its own row."""

    VERIFY_ACCEPTED = "verify_accepted"
    VERIFY_REFUSED = "verify_refused"
    SETTLE_REFUSED = "settle_refused"  # nothing was sent


@dataclass(frozen=True, slots=True)
class Tally:
    """What one counter counts."""

    owner: OwnerId
    used_on: date
    network: Network
    metered: Metered


class Meter:
    """Counts without waiting, and writes each day's own totals every second.

    A total written twice is the same total, so that a write whose outcome is unknown may be
    repeated. Use it as a context manager inside the database's: what is counted at the end is
    written then. A process that is killed loses its last second.
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
        await attempt(self.write, missed=_MISSED)

    def verified(self, owner: OwnerId, network: Network, *, is_accepted: bool) -> None:
        """A payment was judged for this caller."""
        metered = Metered.VERIFY_ACCEPTED if is_accepted else Metered.VERIFY_REFUSED
        self._add(owner, network, metered)

    def not_settled(self, owner: OwnerId, network: Network) -> None:
        """A settlement was refused to this caller, and nothing was sent."""
        self._add(owner, network, Metered.SETTLE_REFUSED)

    def _add(self, owner: OwnerId, network: Network, metered: Metered) -> None:
        tally = Tally(owner, self._clock.now().astimezone(UTC).date(), network, metered)
        self._totals[tally] = self._totals.get(tally, 0) + 1
        self._changed.add(tally)

    async def write(self) -> None:
        """Every total that has changed is in the database.

        Raises:
            DatabaseUnavailable: it is to be written still.
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
                        (each.owner, each.used_on, each.network.value, each.metered.value, total)
                        for each, total in totals.items()
                    ],
                    counted_by=self._process,
                )
        except DatabaseUnavailable:
            self._changed |= changed
            raise
        self._forget_days_past()

    def _forget_days_past(self) -> None:
        today = self._clock.now().astimezone(UTC).date()
        over = [tally for tally in self._totals if tally.used_on < today]
        for tally in over:
            if tally not in self._changed:
                del self._totals[tally]

    async def run(self) -> None:
        """Write for ever; while the database is away the totals are kept."""
        writes = 1
        while True:
            await self._clock.sleep(_WRITE_EVERY_S)
            is_written = await attempt(self.write, missed=_MISSED)
            if is_written and writes % _PRUNE_EVERY == 0:
                await attempt(self._prune, missed="usage.not_pruned")
            writes += 1

    async def _prune(self) -> None:
        async with self._database.connection() as db:
            await usage_store.delete_old(
                db,
                today=self._clock.now().astimezone(UTC).date(),
                kept_days=_KEPT_DAYS,
                limit=_PRUNED_AT_ONCE,
            )
