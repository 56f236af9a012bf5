"""Probe listed resources for liveness and ownership.

The results are shown with the listing and hide none. Every replica runs the loop; a claim on a
due probe expires.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import structlog

from farebox.catalog.origin import probe_store
from farebox.catalog.origin.payment_required import OriginClient
from farebox.catalog.origin.probe_history import ProbeHistory, add_result, probe_result
from farebox.catalog.origin.probe_store import DueProbe, ProbeClaim, ProbeRecord
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """Intervals in seconds, and batch sizes."""

    batch: int = 4  # probes at the same time
    pause_s: float = 2.0  # between two batches: with `batch`, it bounds a replica's request rate
    idle_s: float = 30.0  # after a batch that was empty
    every_s: float = 24 * 3600.0  # between two probes of a listing whose state is stable
    unstable_s: float = 900.0  # between two probes while the last result differs from the state
    spread_s: float = 600.0  # over which the first probes of new listings are spread
    claim_s: float = 120.0  # much longer than a batch takes
    new_listings: int = 1000  # read for each batch


class Prober:
    """A loop that probes due listings, a bounded batch at a time."""

    def __init__(
        self,
        database: Database,
        origins: OriginClient,
        clock: Clock,
        *,
        times: ProbeTimes = ProbeTimes(),
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._database, self._origins, self._clock = database, origins, clock
        self._times, self._chance = times, chance

    async def run(self) -> None:
        """Probe batch after batch."""
        while True:
            try:
                count = await self.probe()
            except DatabaseUnavailable:
                log.warning("probe.database_unavailable")
                count = 0
            await self._clock.sleep(self._times.pause_s if count else self._times.idle_s)

    async def probe(self) -> int:
        """Claim and probe one batch; return how many were claimed.

        Raises:
            DatabaseUnavailable: the claims expire.
        """
        now, times = self._clock.now(), self._times
        claim = ProbeClaim(
            now=now,
            claimed_until=now + timedelta(seconds=times.claim_s),
            removed_until=now + timedelta(seconds=times.every_s),
            limit=times.batch,
        )
        async with self._database.connection() as db:
            await probe_store.insert_missing_probes(
                db, now=now, spread_s=times.spread_s, limit=times.new_listings
            )
            due = await probe_store.claim_due(db, claim)
        first, others = _split_by_host(due)
        await self._postpone(others)
        for result in await asyncio.gather(*map(self._isolate, first), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        return len(due)

    async def _isolate(self, due: DueProbe) -> None:
        """Probe one resource; a fault that it meets postpones it and stops no other."""
        try:
            await self._probe_one(due)
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("probe.failed", listing_id=due.listing_id)
            await self._postpone([due])

    async def _postpone(self, probes: Sequence[DueProbe]) -> None:
        """Postpone probes by a random part of `spread_s`."""
        for each in probes:
            until = self._clock.now() + timedelta(seconds=self._times.spread_s * self._chance())
            async with self._database.connection() as db:
                await probe_store.postpone(db, [each.listing_id], until=until)

    async def _probe_one(self, due: DueProbe) -> None:
        response = await self._origins.fetch_payment_required(due.url, method=due.method)
        result = probe_result(response, due.network, due.pay_to)
        if result is None:
            await self._postpone([due])
            return
        history = add_result(due.history, result)
        now = self._clock.now()
        next_at = now + timedelta(seconds=self._wait_s(history))
        async with self._database.transaction() as db:
            await probe_store.record_result(db, ProbeRecord(due, history, at=now, next_at=next_at))
        if history.state is not due.history.state:
            log.info("probe.changed", listing_id=due.listing_id, state=history.state.value)

    def _wait_s(self, history: ProbeHistory) -> float:
        """The interval until the next probe, 10 % more or less so that bursts spread out."""
        times = self._times
        wait_s = times.every_s if history.is_stable else times.unstable_s
        return wait_s * (0.9 + 0.2 * self._chance())


def _split_by_host(due: Sequence[DueProbe]) -> tuple[list[DueProbe], list[DueProbe]]:
    """The first probe of each host, and all others."""
    hosts: set[str] = set()
    first: list[DueProbe] = []
    others: list[DueProbe] = []
    for each in due:
        host = urlsplit(each.url).netloc
        (others if host in hosts else first).append(each)
        hosts.add(host)
    return first, others
