"""Work off the outbox: list what no answer listed, and ask resources whose they are.

Every replica runs both loops; who takes a settlement has it for a time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

import structlog

from farebox.catalog.ingestion import outbox_store
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.listing_outcome import NotListed, Rejected, Undecided
from farebox.catalog.ingestion.outbox_store import Open, Turn
from farebox.catalog.listing import Resource
from farebox.catalog.settled import SettledResource
from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

log = structlog.get_logger(__name__)


class Ownership(StrEnum):
    """What a resource itself says of a recipient."""

    NAMES_IT = "names it"
    NAMES_OTHERS = "names others"
    SILENT = "silent"  # away, or no answer that can be read: nothing is known


class Takeovers(Protocol):
    """Asks a resource, over the network and within a deadline of its own."""

    async def ask(self, resource: Resource, network: Network, pay_to: Address) -> Ownership: ...


@dataclass(frozen=True, slots=True)
class OutboxTimes:
    """When and how often, seconds where it is a time."""

    every_s: float = 1.0  # between two looks that found little
    left_to_answers_s: float = 3.0  # so long an answer may list what it settled
    taken_s: float = 20.0  # longer than a batch takes; an outage ends one
    longest_rest_s: float = 10.0  # while the database is away
    retry_s: float = 5.0  # after the first failure; twice as long after each further one
    longest_retry_s: float = 600.0
    failures: int = 5  # of the program on one settlement, until it is given up
    checks: int = 4  # of a resource that says nothing, until the claim on it is


class Outbox:
    """A loop over settlements that are still to be listed, a bounded batch at a time."""

    def __init__(
        self,
        database: Database,
        ingestion: Ingestion,
        clock: Clock,
        *,
        takeovers: Takeovers | None = None,
        times: OutboxTimes = OutboxTimes(),
    ) -> None:
        self._database, self._ingestion, self._clock = database, ingestion, clock
        self._takeovers, self._times = takeovers, times

    async def run(self) -> None:
        """List for ever whatever is left."""
        await self._for_ever(self.work_off)

    async def run_checks(self) -> None:
        """Ask for ever the resources that somebody else than their recipient was paid for."""
        await self._for_ever(self.check)

    async def work_off(self, *, limit: int = 20) -> int:
        """List or reject a batch; how many were taken.

        Raises:
            DatabaseUnavailable: what was not done is given back, or comes free with time.
        """
        taken = await self._take(limit, needs_check=False)
        left = [each.identity for each in taken]
        try:
            for each in taken:
                await self._guarded(each, self._list)
                left.remove(each.identity)
        finally:  # the one that was met by an outage stands back, for it may have brought it about
            await self._give_back(left[:1], until=self._later(1))
            await self._give_back(left[1:], until=self._clock.now())
        return len(taken)

    async def check(self, *, limit: int = 12) -> int:
        """Decide a batch of claims on keys that are bound to others; how many were taken.

        Raises:
            DatabaseUnavailable: likewise.
        """
        taken = await self._take(limit, needs_check=True)
        asked = [self._guarded(each, self._decide) for each in taken]
        for result in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        return len(taken)

    async def _for_ever(self, batch: Callable[[], Awaitable[int]]) -> None:
        wait_s = self._times.every_s
        while True:
            try:
                taken = await batch()
                wait_s = 0.0 if taken else self._times.every_s
            except DatabaseUnavailable:
                log.warning("listing.database_away")
                wait_s = min(max(2 * wait_s, self._times.every_s), self._times.longest_rest_s)
            await self._clock.sleep(wait_s)

    async def _take(self, limit: int, *, needs_check: bool) -> list[Open]:
        now, times = self._clock.now(), self._times
        turn = Turn(
            now=now,
            final_before=now - timedelta(seconds=times.left_to_answers_s),
            taken_until=now + timedelta(seconds=times.taken_s),
            limit=limit,
            needs_check=needs_check,
        )
        async with self._database.connection() as db:
            return await outbox_store.take_open(db, turn)

    async def _give_back(self, left: list[PaymentIdentity], *, until: datetime) -> None:
        if not left:
            return
        try:
            async with self._database.connection() as db:
                await outbox_store.give_back(db, left, until=until)
        except DatabaseUnavailable:
            log.info("listing.not_given_back")  # they come free with time

    async def _guarded(self, each: Open, work: Callable[[Open], Awaitable[None]]) -> None:
        """A bug met on one settlement is its own: noted, tried again later, given up at last."""
        try:
            await work(each)
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("listing.broken")
            await self._failed(each.identity, each.failures + 1)

    async def _failed(self, identity: PaymentIdentity, failures: int) -> None:
        if failures >= self._times.failures:
            log.error("listing.given_up", payer=identity.payer, nonce=identity.nonce)
            await self._ingestion.close(identity, Rejected(NotListed.FAILED))
            return
        async with self._database.connection() as db:
            await outbox_store.note_failure(db, identity, until=self._later(failures))

    async def _list(self, each: Open) -> None:
        if not isinstance(await self._ingestion.list(each.identity), Undecided):
            return
        if self._takeovers is None:
            await self._reject(each)
            return
        async with self._database.connection() as db:
            await outbox_store.ask_for_check(db, each.identity, at=self._clock.now())

    async def _decide(self, each: Open) -> None:
        """Ask the resource, unless the recipient has got the key by another payment meanwhile."""
        if not isinstance(await self._ingestion.list(each.identity), Undecided):
            return
        text = await self._ingestion.find_text(each.identity)
        found = None if text is None else self._ingestion.read(text)
        if text is None or not isinstance(found, Resource) or self._takeovers is None:
            await self._reject(each)
            return
        said = await self._takeovers.ask(found, each.identity.network, text.settled.terms.pay_to)
        log.info("listing.ownership", says=said, checks=each.checks)
        if said is Ownership.NAMES_IT:
            await self._ingestion.place(SettledResource(text.settled, found), is_proven=True)
        elif said is Ownership.NAMES_OTHERS or each.checks + 1 >= self._times.checks:
            await self._reject(each)
        else:
            async with self._database.connection() as db:
                until = self._later(each.checks + 1)
                await outbox_store.note_check(db, each.identity, until=until)

    async def _reject(self, each: Open) -> None:
        """The key stays where it is; with the recipient, if another payment has moved it there."""
        if isinstance(await self._ingestion.list(each.identity), Undecided):
            await self._ingestion.close(each.identity, Rejected(NotListed.BOUND_ELSEWHERE))

    def _later(self, times: int) -> datetime:
        wait_s = min(self._times.retry_s * 2 ** (times - 1), self._times.longest_retry_s)
        return self._clock.now() + timedelta(seconds=wait_s)
