"""The settlement journal as a use case sees it: each step one short transaction of its own."""

from datetime import timedelta
from uuid import UUID

from farebox.facilitator import store
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Claim, Ending, Recording, Settlement
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope


class SettlementJournal:
    """Rows that only go forward; every method says whether it was the one that moved the row.

    Raises:
        DatabaseUnavailable: from every method; whether the step took effect may be unknown.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        """The row of a payment, or None."""
        async with self._database.connection() as db:
            return await store.find_settlement(db, identity)

    async def find_by_hash(self, tx_hash: bytes) -> Settlement | None:
        """The row of an envelope's outer or inner hash, or None."""
        async with self._database.connection() as db:
            return await store.find_by_hash(db, tx_hash)

    async def claim(self, claim: Claim) -> bool:
        """Take a payment's identity; False when somebody has it."""
        async with self._database.connection() as db:
            return await store.claim_identity(db, claim)

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool:
        """Give an identity back for which nothing was signed."""
        async with self._database.connection() as db:
            return await store.release_claim(db, identity, claim_id)

    async def withdraw(self, identity: PaymentIdentity, tx_hash: bytes) -> bool:
        """Give an identity back whose envelope certainly never left."""
        async with self._database.connection() as db:
            return await store.withdraw_envelope(db, identity, tx_hash)

    async def sending(self, claim: Claim, sent: SentEnvelope, *, epoch: int = 0) -> Recording:
        """Write an envelope down before the network sees it.

        `epoch` is that of the source's lease, 0 for the relayer itself: with an older one than the
        channel has now nothing is written.
        """
        async with self._database.connection() as db:
            return await store.record_sending(db, claim.identity, claim.claim_id, sent, epoch=epoch)

    async def replace(self, claim: Claim, *, dead: bytes, sent: SentEnvelope) -> bool:
        """Write down an envelope in place of one that the network refused."""
        async with self._database.connection() as db:
            return await store.replace_dead_envelope(db, claim.identity, dead=dead, sent=sent)

    async def submitted(self, tx_hash: bytes) -> bool:
        """A node took the envelope."""
        async with self._database.connection() as db:
            return await store.record_submitted(db, tx_hash)

    async def end(self, tx_hash: bytes, ending: Ending) -> bool:
        """Write down the fate of an envelope; False when it was written before."""
        async with self._database.connection() as db:
            return await store.record_end(db, tx_hash, ending, at=self._clock.now())

    async def take_success(self, identity: PaymentIdentity, request_digest: bytes) -> bool:
        """Own the one success of a confirmed payment: True exactly once, ever."""
        async with self._database.connection() as db:
            return await store.take_success(db, identity, request_digest, at=self._clock.now())

    async def unresolved(
        self, network: Network, *, older_than_s: float, limit: int
    ) -> list[Settlement]:
        """Rows whose envelope may be with the network, claimed that long ago, oldest first."""
        before = self._clock.now() - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await store.unresolved_settlements(db, network, before=before, limit=limit)

    async def release_stale(self, network: Network, *, older_than_s: float) -> int:
        """Give back identities whose claimant is gone; how many."""
        before = self._clock.now() - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await store.release_stale_claims(db, network, before=before)
