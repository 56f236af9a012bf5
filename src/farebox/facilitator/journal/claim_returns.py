"""Give back claims that a failing database broke off before anything was sent."""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import structlog

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Claim
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable

_AGAIN_S: Final = 0.5
_MOST: Final = 10_000  # what is beyond is released as stale, by its age

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Journal(Protocol):
    """The steps that give an identity back."""

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool: ...

    async def withdraw(
        self, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID
    ) -> bool: ...


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """A claim, and the envelope that may have been written down under it and was never sent."""

    claim: Claim
    tx_hash: bytes | None = None


class ClaimReturns:
    """Tries at once, and again every half second until the database has taken it.

    Without this a claim blocks its payment until it is stale, long after the database is well.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._waiting: list[BrokenOff] = []
        self._is_due = asyncio.Event()

    async def give_back(self, broken_off: BrokenOff) -> None:
        """Release the claim now, or as soon as the database answers; never raises an outage."""
        if not await self._attempt(broken_off) and len(self._waiting) < _MOST:
            self._waiting.append(broken_off)
            self._is_due.set()

    async def run(self) -> None:
        """Try what is left until cancelled."""
        while True:
            await self._is_due.wait()
            await self._clock.sleep(_AGAIN_S)
            waiting, self._waiting = self._waiting, []
            for place, each in enumerate(waiting):
                if not await self._attempt(each):
                    self._waiting = [*waiting[place:], *self._waiting]
                    break
            if not self._waiting:
                self._is_due.clear()

    async def _attempt(self, broken_off: BrokenOff) -> bool:
        claim, tx_hash = broken_off.claim, broken_off.tx_hash
        try:
            # in this order: a statement that is still under way turns a claim into an envelope
            is_free = await self._journal.release(claim.identity, claim.claim_id)
            if tx_hash is not None and not is_free:
                await self._journal.withdraw(claim.identity, tx_hash, claim_id=claim.claim_id)
        except DatabaseUnavailable:
            return False
        log.info("settlement.claim_returned", payer=claim.identity.payer)
        return True
