"""Take out what is past its retention, a bounded batch at a time."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Connection, Database

EVERY_S: Final = 600.0  # the shortest retention is a day: ten minutes more say nothing
_FIRST_AFTER_S: Final = 60.0  # by then the clocks that rules ask are running
BATCH: Final = 500  # rows a statement: some 20 ms, and it waits for no lock
PAUSE_S: Final = 0.1  # between two batches, for whoever settles at the same time

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PruneRule:
    """One kind of row or column: `batch` takes at most so many out and says how many it were."""

    name: str
    batch: Callable[[Connection, int], Awaitable[int]]


class Pruner:
    """A background loop over rules; any number of replicas may run it.

    Batches pass over rows that others hold, and each is a transaction of its own. A rule that
    meets an outage is left until the next pass, and the others go on.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        rules: Sequence[PruneRule],
        *,
        batch: int = BATCH,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._database, self._clock, self._rules = database, clock, rules
        self._batch, self._pause_s = batch, pause_s

    async def run(self) -> NoReturn:
        """Prune for ever, from a minute after the start on."""
        await self._clock.sleep(_FIRST_AFTER_S)
        while True:
            pruned = await self.prune()
            if any(pruned.values()):
                log.info("prune.done", **pruned)
            await self._clock.sleep(EVERY_S)

    async def prune(self) -> dict[str, int]:
        """Everything that is past its retention is out; how many rows of each rule that were."""
        return {rule.name: await self._all_of(rule) for rule in self._rules}

    async def _all_of(self, rule: PruneRule) -> int:
        pruned, count = 0, self._batch
        while count >= self._batch:
            try:
                async with self._database.connection() as db:
                    count = await rule.batch(db, self._batch)
            except Outage as outage:
                log.warning("prune.waits", rule=rule.name, part=outage.part)
                return pruned
            pruned += count
            if count >= self._batch:
                await self._clock.sleep(self._pause_s)
        return pruned
