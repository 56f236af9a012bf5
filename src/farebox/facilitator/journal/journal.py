"""The settlement journal as a use case sees it: each step one short transaction, shared by callers.

What many callers ask for at the same time goes to the database together; every one of them is
answered for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.admission import Sending, admit
from farebox.facilitator.budgets.budget import UNLIMITED, Budgets, OverBudget, judge_charge, utc_day
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal import envelope_store, store
from farebox.facilitator.journal.restore_store import LostRecord, restore_settlement
from farebox.facilitator.settlement import Claim, Ending, Recording, Settlement
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.batch import Batch
from farebox.storage.faults import Conflict
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope

_NO_BUDGETS: Final[Mapping[Network, Budgets]] = {}
_SOURCE_BUSY: Final = frozenset(
    ("settlements_one_in_flight", "settlements_tx_hash", "settlements_inner_hash")
)


class SettlementJournal:
    """Rows that only go forward; every method says whether it was the one that moved the row.

    What an envelope may cost is held against `budgets` from `sending` on, and given back by the
    step that ends or withdraws it.

    Raises:
        DatabaseUnavailable: from every method; whether the step took effect may be unknown.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        budgets: Mapping[Network, Budgets] = _NO_BUDGETS,
    ) -> None:
        self._database, self._clock, self._budgets = database, clock, budgets
        self._found = Batch(self._find_all)
        self._claims = Batch(self._claim_all)
        self._sendings = Batch(self._write_down)
        self._taken = Batch(self._record_submitted)
        self._ends = Batch(self._end_all)
        self._successes = Batch(self._take_all)
        self._left = Batch(self._hand_over_all)

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        """The row of a payment, or None."""
        return await self._found.add(identity)

    async def find_by_hash(self, tx_hash: bytes) -> Settlement | None:
        """The row of an envelope's outer or inner hash, or None."""
        async with self._database.connection() as db:
            return await store.find_by_hash(db, tx_hash)

    async def claim(self, claim: Claim) -> bool:
        """Take a payment's identity; False when somebody has it."""
        return await self._claims.add(claim)

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool:
        """Give an identity back for which nothing was signed."""
        async with self._database.connection() as db:
            return await store.release_claim(db, identity, claim_id)

    async def withdraw(self, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID) -> bool:
        """Give an identity back whose envelope certainly never left; False when it was taken over.

        Then somebody else may have sent it.
        """
        async with self._database.transaction() as db:
            await budget_store.lock_networks(db, [identity.network])
            return await envelope_store.withdraw_envelope(db, identity, tx_hash, claim_id=claim_id)

    async def take_over(self, known: Settlement, tx_hash: bytes) -> Settlement | None:
        """The row under a claim of the caller's own, who alone may send its envelope again.

        None when the row has gone on since it was read.
        """
        taken = replace(known, claim_id=uuid4())
        async with self._database.connection() as db:
            is_taken = await envelope_store.take_envelope_over(
                db,
                known.identity,
                tx_hash,
                from_claim=known.claim_id,
                to_claim=taken.claim_id,
            )
        return taken if is_taken else None

    async def sending(
        self, claim: Claim, sent: SentEnvelope, *, epoch: int = 0
    ) -> Recording | OverBudget:
        """Write an envelope down before the network sees it, or say why it may not be sent.

        `epoch` is that of the source's lease, 0 for the relayer itself: with an older one than the
        channel has now nothing is written. The most it may cost is reserved with it.
        """
        try:
            return await self._sendings.add(self._item(claim, sent, epoch=epoch))
        except Conflict as conflict:
            return _source_busy(conflict)

    async def replace(
        self, claim: Claim, *, dead: bytes, sent: SentEnvelope
    ) -> Recording | OverBudget:
        """Write down an envelope in place of one that can never land; its reservation is changed.

        `CLAIM_LOST`: the row is not about `dead` any more.
        """
        item = self._item(claim, sent, epoch=0)
        try:
            async with self._database.transaction() as db:
                await budget_store.lock_networks(db, [claim.identity.network])
                return await self._replace(db, item, dead)
        except Conflict as conflict:
            return _source_busy(conflict)

    async def submitted(self, tx_hash: bytes) -> bool:
        """A node took the envelope."""
        return await self._taken.add(tx_hash)

    async def end(self, tx_hash: bytes, ending: Ending) -> bool:
        """Write down the fate of an envelope; False when it was written before.

        Its fee stays spent, and the rest of what was reserved for it is free again.
        """
        return await self._ends.add((tx_hash, ending))

    async def take_success(self, identity: PaymentIdentity, request_digest: bytes) -> bool:
        """Own the one success of a confirmed payment: True exactly once, ever."""
        return await self._successes.add((identity, request_digest))

    async def restore(self, lost: LostRecord) -> bool:
        """Put back the record of a landed payment of ours; False when there is one after all."""
        async with self._database.connection() as db:
            return await restore_settlement(db, lost, at=self._clock.now())

    async def unresolved(
        self, network: Network, *, older_than_s: float, limit: int
    ) -> list[Settlement]:
        """Rows whose envelope may be with the network and whose caller is gone, oldest first.

        Those claimed that long ago, and those handed over.
        """
        now = self._clock.now()
        before = now - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await store.unresolved_settlements(
                db, network, before=before, at=now, limit=limit
            )

    async def hand_over(self, tx_hash: bytes) -> None:
        """Whoever reconciles next takes this envelope: nobody waits for it here any more."""
        await self._left.add(tx_hash)

    async def release_stale(self, network: Network, *, older_than_s: float) -> int:
        """Give back identities whose claimant is gone; how many."""
        before = self._clock.now() - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await store.release_stale_claims(db, network, before=before)

    def _budgets_of(self, network: Network) -> Budgets:
        return self._budgets.get(network, UNLIMITED)

    def _item(self, claim: Claim, sent: SentEnvelope, *, epoch: int) -> Sending:
        named = self._budgets_of(claim.identity.network).named_assets
        return Sending(
            claim,
            sent,
            epoch=epoch,
            day=utc_day(self._clock.now()),
            asset_is_named=claim.asset in named,
        )

    async def _find_all(self, identities: Sequence[PaymentIdentity]) -> list[Settlement | None]:
        async with self._database.connection() as db:
            return await store.find_settlements(db, identities)

    async def _claim_all(self, claims: Sequence[Claim]) -> list[bool]:
        async with self._database.connection() as db:
            return await store.claim_identities(db, claims)

    async def _write_down(self, items: Sequence[Sending]) -> list[Recording | OverBudget]:
        """Judge the items by what is committed and write down those that may be sent."""
        budgets = [self._budgets_of(item.claim.identity.network) for item in items]
        async with self._database.transaction() as db:
            await budget_store.lock_networks(db, {item.claim.identity.network for item in items})
            standings = await envelope_store.read_standing(db, items)
            bearing = {each for item in items for each in item.charge().bearing()}
            counted = await budget_store.read_counters(db, bearing)
            verdicts = admit(items, standings, counted, budgets)
            admitted = [place for place, each in enumerate(verdicts) if each is Recording.WRITTEN]
            if admitted:
                written = await envelope_store.record_sending(db, [items[i] for i in admitted])
                for place, is_written in zip(admitted, written, strict=True):
                    if not is_written:  # its claim was given back between the two looks
                        verdicts[place] = Recording.CLAIM_LOST
        return verdicts

    async def _replace(self, db: Connection, item: Sending, dead: bytes) -> Recording | OverBudget:
        identity = item.claim.identity
        held = await envelope_store.held_by(db, identity, dead)
        if held is None:
            return Recording.CLAIM_LOST
        if held.day is not None:
            item = replace(item, day=held.day, asset_is_named=held.asset_is_named)
        charge = item.charge(held=held.stroops)
        counted = await budget_store.read_counters(db, charge.bearing())
        own = self._budgets_of(identity.network)
        over = judge_charge(charge, own, counted, is_stopped=held.is_stopped)
        if over is not None:
            return over
        replaced = await envelope_store.replace_dead_envelope(
            db, item, dead=dead, held=held.stroops
        )
        return Recording.WRITTEN if replaced else Recording.CLAIM_LOST

    async def _record_submitted(self, hashes: Sequence[bytes]) -> list[bool]:
        async with self._database.connection() as db:
            return await envelope_store.record_submitted(db, hashes)

    async def _end_all(self, endings: Sequence[tuple[bytes, Ending]]) -> list[bool]:
        async with self._database.transaction() as db:
            await budget_store.lock_networks_of(db, [tx_hash for tx_hash, _ in endings])
            return await envelope_store.record_ends(db, endings, at=self._clock.now())

    async def _hand_over_all(self, hashes: Sequence[bytes]) -> list[None]:
        async with self._database.connection() as db:
            await store.hand_over(db, hashes, at=self._clock.now())
        return [None] * len(hashes)

    async def _take_all(self, wanted: Sequence[tuple[PaymentIdentity, bytes]]) -> list[bool]:
        async with self._database.connection() as db:
            return await store.take_successes(db, wanted, at=self._clock.now())


def _source_busy(conflict: Conflict) -> Recording:
    if conflict.constraint not in _SOURCE_BUSY:
        raise conflict
    return Recording.SOURCE_BUSY
