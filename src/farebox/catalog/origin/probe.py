"""Ask listed resources now and then whether they are alive and whose they are.

What they say is shown beside the listing; it hides none. Every replica runs the loop, and who takes
a listing has it for a time.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import structlog

from farebox.catalog.origin import probe_store
from farebox.catalog.origin.offers import Origins
from farebox.catalog.origin.probe_state import Standing, follow, result_of
from farebox.catalog.origin.probe_store import Due, Result, Turn
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """How often and how many, seconds where it is a time."""

    batch: int = 4  # asked at the same time
    pause_s: float = 2.0  # between two batches: with `batch`, the most a replica asks in a second
    idle_s: float = 30.0  # between two looks that found nothing
    every_s: float = 24 * 3600.0  # while the results say what the state says
    doubt_s: float = 900.0  # while they say something else
    spread_s: float = 600.0  # over which new listings are asked first
    taken_s: float = 120.0  # far longer than a batch takes
    enrolled: int = 1000  # new listings a look


class Prober:
    """A loop over listings whose time has come, a bounded batch at a time."""

    def __init__(
        self,
        database: Database,
        origins: Origins,
        clock: Clock,
        *,
        times: ProbeTimes = ProbeTimes(),
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._database, self._origins, self._clock = database, origins, clock
        self._times, self._chance = times, chance

    async def run(self) -> None:
        """Ask for ever, one batch after the other."""
        while True:
            try:
                asked = await self.probe()
            except DatabaseUnavailable:
                log.warning("probe.database_away")
                asked = 0
            await self._clock.sleep(self._times.pause_s if asked else self._times.idle_s)

    async def probe(self) -> int:
        """Ask one batch; how many were taken.

        Raises:
            DatabaseUnavailable: what was taken comes free with time.
        """
        now, times = self._clock.now(), self._times
        turn = Turn(
            now=now,
            taken_until=now + timedelta(seconds=times.taken_s),
            hidden_until=now + timedelta(seconds=times.every_s),
            limit=times.batch,
        )
        async with self._database.connection() as db:
            await probe_store.enrol(db, now=now, spread_s=times.spread_s, limit=times.enrolled)
            due = await probe_store.take_due(db, turn)
        first, others = _one_a_host(due)
        await self._put_off(others)
        for result in await asyncio.gather(*map(self._ask, first), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        return len(due)

    async def _put_off(self, others: Sequence[Due]) -> None:
        """A host with many listings is asked for one of them at a time."""
        for each in others:
            until = self._clock.now() + timedelta(seconds=self._times.spread_s * self._chance())
            async with self._database.connection() as db:
                await probe_store.put_off(db, [each.listing_id], until=until)

    async def _ask(self, due: Due) -> None:
        said = await self._origins.offers(due.url, method=due.method)
        standing = follow(due.standing, result_of(said, due.network, due.pay_to))
        now = self._clock.now()
        next_at = now + timedelta(seconds=self._wait_s(standing))
        async with self._database.transaction() as db:
            await probe_store.note_result(db, Result(due, standing, at=now, next_at=next_at))
        if standing.state is not due.standing.state:
            log.info("probe.changed", listing_id=due.listing_id, state=standing.state.value)

    def _wait_s(self, standing: Standing) -> float:
        """Until the next question, a tenth more or less, so that bursts thin out."""
        times = self._times
        wait_s = times.every_s if standing.is_settled else times.doubt_s
        return wait_s * (0.9 + 0.2 * self._chance())


def _one_a_host(due: Sequence[Due]) -> tuple[list[Due], list[Due]]:
    hosts: set[str] = set()
    first: list[Due] = []
    others: list[Due] = []
    for each in due:
        host = urlsplit(each.url).netloc
        (others if host in hosts else first).append(each)
        hosts.add(host)
    return first, others
