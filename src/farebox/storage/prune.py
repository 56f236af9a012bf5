"""Delete rows past their retention, in bounded batches."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Connection, Database

EVERY_S: Final = 600.0  # the shortest retention is a day: ten minutes more do not matter
_FIRST_AFTER_S: Final = 60.0  # by then the clocks that rules use are running
BATCH: Final = 500  # rows a statement: some 20 ms, and it waits for no lock
PAUSE_S: Final = 0.1  # between two batches, for settlements at the same time

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PruneRule:
    """One kind of row or column: `batch` deletes up to a number of them and returns the count."""

    name: str
    batch: Callable[[Connection, int], Awaitable[int]]


class Pruner:
    """A background loop over rules; any number of replicas may run it.

    Batches skip rows that others have locked, and each is a transaction of its own. A rule that
    meets an outage or a fault waits for the next pass; the others continue.
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
        """Prune until cancelled, from a minute after the start on."""
        await self._clock.sleep(_FIRST_AFTER_S)
        while True:
            pruned = await self.prune()
            if any(pruned.values()):
                log.info("prune.done", **pruned)
            await self._clock.sleep(EVERY_S)

    async def prune(self) -> dict[str, int]:
        """Delete everything past its retention; the number of rows by rule."""
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
            except Exception:
                log.exception("prune.failed", rule=rule.name)
                return pruned
            pruned += count
            if count >= self._batch:
                await self._clock.sleep(self._pause_s)
        return pruned
