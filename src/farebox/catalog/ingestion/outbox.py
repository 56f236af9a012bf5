"""Process the outbox: list settlements that no `/settle` response listed, and verify takeovers.

Every replica runs both loops; a claim on a settlement expires.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

import structlog

from farebox.catalog.ingestion import outbox_store
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.listing_outcome import (
    ListingRejected,
    OwnershipCheckPending,
    RejectionReason,
)
from farebox.catalog.ingestion.outbox_store import OutboxClaim, OutboxItem
from farebox.catalog.listing import Resource
from farebox.catalog.settled_payment import SettledDiscovery, SettledResource
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable, LimitExceeded
from farebox.storage.pool import Database

# Takeovers that wait for a result. Every read of the outbox skips over them.
MAX_PENDING_PER_RECIPIENT: Final = 50
MAX_PENDING_TAKEOVERS: Final = 2_000
_OUTAGES_TO_STOP: Final = 2  # of settlements of one batch; it is the dependency's, then

log = structlog.get_logger(__name__)


class OwnershipVerdict(StrEnum):
    """Whether a resource's own 402 confirms that the recipient may take over its key."""

    CONFIRMED = "confirmed"
    DENIED = "denied"
    UNKNOWN = "unknown"  # unreachable, or no readable response
    NOT_CHECKED = "not_checked"  # this service had no capacity for the request


class OwnershipVerifier(Protocol):
    """Checks a resource over the network, within a deadline of its own."""

    async def verify(
        self, resource: Resource, network: Network, pay_to: Address
    ) -> OwnershipVerdict: ...


@dataclass(frozen=True, slots=True)
class OutboxTimes:
    """Intervals in seconds, and limits of attempts."""

    every_s: float = 1.0  # between two batches when the last one was empty
    pause_s: float = 0.02  # between two others: payments have priority
    settle_grace_s: float = 3.0  # after finality, in which the `/settle` response lists
    claim_s: float = 20.0  # longer than a batch takes; an outage ends one
    max_outage_wait_s: float = 10.0  # between two batches while the database is unavailable
    retry_s: float = 5.0  # after the first failure; doubles with each further one
    max_retry_s: float = 600.0
    failures: int = 5  # of one settlement by bugs, after which it is rejected
    checks: int = 6  # of ownership without a result, after which the takeover is rejected
    recheck_s: float = 60.0  # after the first check without a result; then eight times as long each
    max_recheck_s: float = 4 * 3600.0
    not_checked_s: float = 60.0  # after a check that this service had no capacity for


class Outbox:
    """Two loops over settlements to be listed, a bounded batch at a time."""

    def __init__(
        self,
        database: Database,
        ingestion: Ingestion,
        clock: Clock,
        *,
        verifier: OwnershipVerifier | None = None,
        times: OutboxTimes = OutboxTimes(),
    ) -> None:
        self._database, self._ingestion, self._clock = database, ingestion, clock
        self._verifier, self._times = verifier, times

    async def run(self) -> None:
        """List settlements, batch after batch."""
        await self._repeat(self.list_batch)

    async def run_checks(self) -> None:
        """Verify takeovers, batch after batch."""
        await self._repeat(self.check_batch)

    async def list_batch(self, *, limit: int = 20) -> int:
        """Claim a batch and list or reject each settlement; return how many were claimed.

        An outage that a single settlement meets is its own: the others are listed all the same.

        Raises:
            Outage: two settlements met it; the remaining claims are released or expire.
        """
        items = await self._claim(limit, needs_check=False)
        remaining, met = [each.identity for each in items], list[PaymentIdentity]()
        try:
            for each in items:
                try:
                    await self._isolate(each, self._list)
                except Outage:
                    met.append(each.identity)
                    if len(met) == _OUTAGES_TO_STOP:
                        raise
                remaining.remove(each.identity)
        finally:  # those that met an outage are delayed: they may have caused it
            await self._release(met, until=self._retry_at(1))
            others = [identity for identity in remaining if identity not in met]
            await self._release(others, until=self._clock.now())
        return len(items)

    async def check_batch(self, *, limit: int = 12) -> int:
        """Claim a batch of takeovers and decide each; return how many were claimed.

        Raises:
            Outage: the claims expire.
        """
        items = await self._claim(limit, needs_check=True)
        checks = [self._isolate(each, self._check) for each in items]
        for result in await asyncio.gather(*checks, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        return len(items)

    async def _repeat(self, batch: Callable[[], Awaitable[int]]) -> None:
        wait_s = self._times.every_s
        while True:
            try:
                count = await batch()
                wait_s = self._times.pause_s if count else self._times.every_s
            except Outage as outage:
                log.warning("listing.interrupted", part=outage.part)
                wait_s = min(max(2 * wait_s, self._times.every_s), self._times.max_outage_wait_s)
            await self._clock.sleep(wait_s)

    async def _claim(self, limit: int, *, needs_check: bool) -> list[OutboxItem]:
        now, times = self._clock.now(), self._times
        claim = OutboxClaim(
            now=now,
            final_before=now - timedelta(seconds=times.settle_grace_s),
            claimed_until=now + timedelta(seconds=times.claim_s),
            limit=limit,
            needs_check=needs_check,
        )
        async with self._database.connection() as db:
            return await outbox_store.claim_open(db, claim)

    async def _release(self, identities: list[PaymentIdentity], *, until: datetime) -> None:
        if not identities:
            return
        try:
            async with self._database.connection() as db:
                await outbox_store.release(db, identities, until=until)
        except DatabaseUnavailable:
            log.info("listing.not_released")  # the claims expire

    async def _isolate(
        self, each: OutboxItem, work: Callable[[OutboxItem], Awaitable[None]]
    ) -> None:
        """Run `work`; a bug it meets is counted against this settlement and stops no other."""
        try:
            await work(each)
        except Exception as error:
            if isinstance(error, Outage) and not isinstance(error, LimitExceeded):
                raise
            log.exception("listing.failed")
            await self._record_failure(each.identity, each.failures + 1)

    async def _record_failure(self, identity: PaymentIdentity, failures: int) -> None:
        if failures >= self._times.failures:
            log.error("listing.given_up", payer=identity.payer, nonce=identity.nonce)
            await self._ingestion.close(identity, ListingRejected(RejectionReason.FAILED))
            return
        async with self._database.connection() as db:
            await outbox_store.record_failure(db, identity, until=self._retry_at(failures))

    async def _list(self, each: OutboxItem) -> None:
        if not isinstance(await self._ingestion.list(each.identity), OwnershipCheckPending):
            return
        if self._verifier is None:
            await self._reject(each)
            return
        async with self._database.connection() as db:
            await outbox_store.request_check(db, each.identity, at=self._clock.now())

    async def _check(self, each: OutboxItem) -> None:
        """Verify ownership, unless another payment has moved the key to the recipient meanwhile."""
        if not isinstance(await self._ingestion.list(each.identity), OwnershipCheckPending):
            return
        stored = await self._ingestion.find_discovery(each.identity)
        resource = None if stored is None else await self._ingestion.parse(stored)
        if stored is None or not isinstance(resource, Resource) or self._verifier is None:
            await self._reject(each)
            return
        verdict = await self._verifier.verify(
            resource, each.identity.network, stored.settled.terms.pay_to
        )
        log.info("listing.ownership", verdict=verdict, checks=each.checks)
        if verdict is OwnershipVerdict.CONFIRMED:
            new = SettledResource(stored.settled, resource)
            await self._ingestion.store(new, is_verified=True)
        elif verdict is OwnershipVerdict.NOT_CHECKED:
            until = self._clock.now() + timedelta(seconds=self._times.not_checked_s)
            await self._release([each.identity], until=until)
        elif verdict is OwnershipVerdict.DENIED or not await self._schedule_recheck(each, stored):
            await self._reject(each)

    async def _schedule_recheck(self, each: OutboxItem, stored: SettledDiscovery) -> bool:
        """Schedule the next check, over hours; False when a limit is reached."""
        times, checks = self._times, each.checks + 1
        if checks >= times.checks:
            return False
        wait_s = min(times.recheck_s * 8 ** (checks - 1), times.max_recheck_s)
        until = self._clock.now() + timedelta(seconds=wait_s)
        async with self._database.connection() as db:
            pending = await outbox_store.count_pending_takeovers(db, stored.settled.terms.pay_to)
            if pending.own >= MAX_PENDING_PER_RECIPIENT or pending.all >= MAX_PENDING_TAKEOVERS:
                return False
            await outbox_store.record_check(db, each.identity, until=until)
        return True

    async def _reject(self, each: OutboxItem) -> None:
        """Reject the settlement, unless another payment has listed its resource meanwhile."""
        pending = await self._ingestion.list(each.identity)
        if isinstance(pending, OwnershipCheckPending):
            await self._ingestion.close(each.identity, ListingRejected(pending.otherwise))

    def _retry_at(self, failures: int) -> datetime:
        wait_s = min(self._times.retry_s * 2 ** (failures - 1), self._times.max_retry_s)
        return self._clock.now() + timedelta(seconds=wait_s)
