"""Release claims whose settlement a failing database interrupted before anything was sent."""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import structlog

from farebox.facilitator.settlement import Claim, PaymentIdentity
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable

_RETRY_S: Final = 0.5
_MAX_WAITING: Final = 10_000  # claims beyond these are released as stale, by their age

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class ClaimJournal(Protocol):
    """The two statements that free an identity."""

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool: ...

    async def withdraw(
        self, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID
    ) -> bool: ...


@dataclass(frozen=True, slots=True)
class InterruptedClaim:
    """A claim, and the envelope that may have been recorded under it and was never sent."""

    claim: Claim
    tx_hash: bytes | None = None


class ClaimReleaser:
    """Releases claims at once, or every half second until the database answers.

    Without this a claim blocks its payment until it is stale, long after the database is well.
    """

    def __init__(self, journal: ClaimJournal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._waiting: list[InterruptedClaim] = []
        self._has_waiting = asyncio.Event()

    async def release(self, interrupted: InterruptedClaim) -> None:
        """Release the claim now, or as soon as the database answers; never raises an outage."""
        if not await self._attempt(interrupted) and len(self._waiting) < _MAX_WAITING:
            self._waiting.append(interrupted)
            self._has_waiting.set()

    async def run(self) -> None:
        """Retry waiting claims until cancelled."""
        while True:
            await self._has_waiting.wait()
            await self._clock.sleep(_RETRY_S)
            waiting, self._waiting = self._waiting, []
            for index, each in enumerate(waiting):
                if not await self._attempt(each):
                    self._waiting = [*waiting[index:], *self._waiting]
                    break
            if not self._waiting:
                self._has_waiting.clear()

    async def _attempt(self, interrupted: InterruptedClaim) -> bool:
        claim, tx_hash = interrupted.claim, interrupted.tx_hash
        try:
            # in this order: a statement that still runs turns a claim into an envelope
            is_free = await self._journal.release(claim.identity, claim.claim_id)
            if tx_hash is not None and not is_free:
                await self._journal.withdraw(claim.identity, tx_hash, claim_id=claim.claim_id)
        except DatabaseUnavailable:
            return False
        log.info("settlement.claim_released", payer=claim.identity.payer)
        return True
