"""The settlement journal: each step is one short transaction, batched over concurrent callers.

Every caller of a batch gets a result of its own.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeVar
from uuid import UUID, uuid4

import structlog

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import (
    UNLIMITED,
    BudgetRefusal,
    Budgets,
    EnvelopeEntry,
    admit,
    judge_charge,
    utc_day,
)
from farebox.facilitator.journal import envelope_store, reconcile_store, store
from farebox.facilitator.journal.foreign_landing import LostRecord
from farebox.facilitator.settlement import (
    Claim,
    FinalStatus,
    PaymentIdentity,
    Recording,
    Settlement,
)
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.batch import Batch, Item, Result
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope

_NO_BUDGETS: Final[Mapping[Network, Budgets]] = {}
_REPEAT_AFTER_S: Final = (0.05, 0.5)  # a response was lost: the server may be well
_MAX_KEPT: Final = 10_000  # lost responses; the success of a forgotten one cannot be taken
_SOURCE_BUSY: Final = frozenset(
    ("settlements_one_in_flight", "settlements_tx_hash", "settlements_inner_hash")
)


Key = TypeVar("Key")
Value = TypeVar("Value")
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SuccessAttempts:
    """Ids of the attempts to take a payment's one success (docs/decisions/0034).

    The row stores the id of the attempt that took its success. A statement whose response was lost
    is repeated under the same id, and then succeeds again; under any other id it does not. One id
    is never used by two callers at once.
    """

    def __init__(self) -> None:
        self._lost: OrderedDict[tuple[PaymentIdentity, bytes], UUID] = OrderedDict()
        self._answered: OrderedDict[PaymentIdentity, None] = OrderedDict()

    def note_answered(self, identity: PaymentIdentity) -> None:
        """Raise the alarm when a payment's success is answered a second time."""
        if identity in self._answered:
            log.error("settlement.alarm", alarm="success_answered_twice", payer=identity.payer)
        self._answered[identity] = None
        _trim(self._answered)

    def is_lost(self, identity: PaymentIdentity, request_digest: bytes) -> bool:
        """Whether the next attempt for the request repeats one that may have succeeded."""
        return (identity, request_digest) in self._lost

    @contextmanager
    def attempt(self, identity: PaymentIdentity, request_digest: bytes) -> Iterator[UUID]:
        """Yield the id of one attempt; it is kept where the body raises `DatabaseUnavailable`."""
        request = (identity, request_digest)
        attempt_id = self._lost.pop(request, None) or uuid4()
        try:
            yield attempt_id
        except DatabaseUnavailable:
            self._lost[request] = attempt_id
            _trim(self._lost)
            raise


def _trim(kept: OrderedDict[Key, Value]) -> None:
    while len(kept) > _MAX_KEPT:
        kept.popitem(last=False)


class SettlementJournal:
    """Rows whose state only goes forward; every method returns whether it changed the row.

    `record_sending` reserves the most an envelope may cost in `budgets`; the step that finalizes or
    withdraws it frees the rest. `attempts` are shared by the journals of a process.

    Raises:
        DatabaseUnavailable: from every method; whether the step took effect may be unknown.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        budgets: Mapping[Network, Budgets] = _NO_BUDGETS,
        attempts: SuccessAttempts | None = None,
    ) -> None:
        self._database, self._clock, self._budgets = database, clock, budgets
        self.attempts = SuccessAttempts() if attempts is None else attempts
        self._finds = Batch(self._find_all)
        self._claims = Batch(self._claim_all)
        self._entries = Batch(self._record_all)
        self._submissions = Batch(self._submit_all)
        self._finals = Batch(self._finalize_all)
        self._successes = Batch(self._take_all)
        self._handovers = Batch(self._hand_over_all)

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        """Find the row of a payment; None when there is none.

        `is_answered` is false where this process may have taken the success in an attempt whose
        response was lost.
        """
        row = await self._finds.add(identity)
        if row is None or not self.attempts.is_lost(identity, row.request_digest):
            return row
        return replace(row, is_answered=False)

    async def find_by_hash(self, tx_hash: bytes) -> Settlement | None:
        """Find the row by an outer, inner or landed hash of its envelopes; None: there is none."""
        async with self._database.connection() as db:
            return await store.find_by_hash(db, tx_hash)

    async def claim(self, claim: Claim) -> bool:
        """Claim a payment's identity; False when another claim has it."""
        return await self._add_repeated(self._claims, claim)

    async def release(self, identity: PaymentIdentity, claim_id: UUID) -> bool:
        """Release an identity for which nothing was signed."""
        async with self._database.connection() as db:
            return await store.release_claim(db, identity, claim_id)

    async def withdraw(self, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID) -> bool:
        """Delete the row of an envelope that certainly never left this process.

        False when the row was taken over, so that another process may have sent it, or when an
        envelope that was replaced may be out.
        """
        async with self._database.transaction() as db:
            await budget_store.lock_networks(db, [identity.network])
            return await envelope_store.withdraw_envelope(db, identity, tx_hash, claim_id=claim_id)

    async def take_over(self, known: Settlement, tx_hash: bytes) -> Settlement | None:
        """Take the row over under a new claim, whose holder alone may send its envelope again.

        None when the row has changed since it was read.
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

    async def record_sending(
        self, claim: Claim, sent: SentEnvelope, *, epoch: int = 0
    ) -> Recording | BudgetRefusal:
        """Record an envelope before the network sees it, and reserve the most it may cost.

        `epoch` is that of the source's lease, 0 for the relayer itself: under an older one than the
        channel's nothing is recorded. Returns the refusal where a budget does not allow it.
        """
        try:
            entry = self._make_entry(claim, sent, epoch=epoch)
            return await self._add_repeated(self._entries, entry)
        except Conflict as conflict:
            return _read_conflict(conflict)

    async def replace(self, claim: Claim, sent: SentEnvelope) -> Recording | BudgetRefusal:
        """Record an envelope in place of the last one that it replaces; change the reservation.

        Those that were replaced stay recorded: any of them may land. `CLAIM_LOST`: the row no
        longer has the last of them.
        """
        entry = self._make_entry(claim, sent, epoch=0)
        try:
            async with self._database.transaction() as db:
                await budget_store.lock_networks(db, [claim.identity.network])
                return await self._replace(db, entry)
        except Conflict as conflict:
            return _read_conflict(conflict)

    async def record_submitted(self, tx_hash: bytes) -> bool:
        """Record that a node took the envelope."""
        return await self._submissions.add(tx_hash)

    async def record_final(self, tx_hash: bytes, final: FinalStatus) -> bool:
        """Record the final status of an envelope; False when its row was final before.

        The fee charged stays spent, and the rest of its reservation is freed.
        """
        return await self._add_repeated(self._finals, (tx_hash, final))

    async def take_success(self, identity: PaymentIdentity, request_digest: bytes) -> bool:
        """Take the one success of a confirmed payment: True for one call, ever.

        A statement whose response was lost is repeated under the same attempt id, here and by the
        next call for the same request.
        """
        with self.attempts.attempt(identity, request_digest) as attempt_id:
            attempt = (identity, request_digest, attempt_id)
            return await self._add_repeated(self._successes, attempt)

    async def restore(self, lost: LostRecord) -> bool:
        """Insert the lost row of a landed payment of ours; False when there is a row after all."""
        async with self._database.connection() as db:
            return await store.restore_settlement(db, lost, at=self._clock.now())

    async def find_unresolved(
        self, network: Network, *, older_than_s: float, limit: int
    ) -> list[Settlement]:
        """Find rows that are due for a look: no call owns them, and they may be with the network.

        Those claimed `older_than_s` seconds ago, and those handed over.
        """
        now = self._clock.now()
        before = now - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await reconcile_store.find_unresolved(
                db, network, before=before, at=now, limit=limit
            )

    async def find_unproven(self, network: Network, *, limit: int) -> list[Settlement]:
        """Find the rows whose outcome could not be proven that are due for another look."""
        async with self._database.connection() as db:
            return await reconcile_store.find_unproven(
                db, network, at=self._clock.now(), limit=limit
            )

    async def postpone_looks(self, hashes: Sequence[bytes]) -> None:
        """Set when the rows of these envelopes are looked at again, before this look at them."""
        if hashes:
            async with self._database.connection() as db:
                await reconcile_store.postpone_looks(db, hashes, at=self._clock.now())

    async def hand_over(self, tx_hash: bytes) -> None:
        """Hand an envelope over to the next reconciliation of any process."""
        await self._handovers.add(tx_hash)

    async def release_stale(self, network: Network, *, older_than_s: float) -> int:
        """Release identities claimed so long ago and never signed for; returns their number."""
        before = self._clock.now() - timedelta(seconds=older_than_s)
        async with self._database.connection() as db:
            return await store.release_stale_claims(db, network, before=before)

    async def _add_repeated(self, batch: Batch[Item, Result], item: Item) -> Result:
        """Run a repeatable statement again where it failed or its response was lost.

        Raises:
            DatabaseUnavailable: the database is unavailable for longer than the pauses.
        """
        for pause_s in _REPEAT_AFTER_S:
            try:
                return await batch.add(item)
            except DatabaseUnavailable:
                await self._clock.sleep(pause_s)
        return await batch.add(item)

    def _budgets_of(self, network: Network) -> Budgets:
        return self._budgets.get(network, UNLIMITED)

    def _make_entry(self, claim: Claim, sent: SentEnvelope, *, epoch: int) -> EnvelopeEntry:
        named = self._budgets_of(claim.identity.network).named_assets
        return EnvelopeEntry(
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

    async def _record_all(
        self, entries: Sequence[EnvelopeEntry]
    ) -> list[Recording | BudgetRefusal]:
        """Judge the envelopes by what is committed and record those that may be sent."""
        budgets = [self._budgets_of(entry.claim.identity.network) for entry in entries]
        async with self._database.transaction() as db:
            networks = {entry.claim.identity.network for entry in entries}
            await budget_store.lock_networks(db, networks)
            preconditions = await envelope_store.read_preconditions(db, entries)
            counters = {each for entry in entries for each in entry.charge().counters()}
            counted = await budget_store.read_counters(db, counters)
            verdicts = admit(entries, preconditions, counted, budgets)
            admitted = [
                index
                for index, verdict in enumerate(verdicts)
                if verdict is Recording.WRITTEN and not preconditions[index].is_written
            ]
            if admitted:
                written = await envelope_store.record_sending(db, [entries[i] for i in admitted])
                for index, is_written in zip(admitted, written, strict=True):
                    if not is_written:  # its claim was released between the two statements
                        verdicts[index] = Recording.CLAIM_LOST
        return verdicts

    async def _replace(self, db: Connection, entry: EnvelopeEntry) -> Recording | BudgetRefusal:
        identity, earlier = entry.claim.identity, entry.sent.replaced[-1]
        held = await envelope_store.find_reservation(db, identity, earlier.tx_hash)
        if held is None:
            return Recording.CLAIM_LOST
        if held.day is not None:
            entry = replace(entry, day=held.day, asset_is_named=held.asset_is_named)
        charge = entry.charge(held=held.stroops, at_risk=held.at_risk)
        counted = await budget_store.read_counters(db, charge.counters())
        budgets = self._budgets_of(identity.network)
        refusal = judge_charge(charge, budgets, counted, is_stopped=held.is_stopped)
        if refusal is not None:
            return refusal
        replaced = await envelope_store.replace_envelope(db, entry, held=held)
        return Recording.WRITTEN if replaced else Recording.CLAIM_LOST

    async def _submit_all(self, hashes: Sequence[bytes]) -> list[bool]:
        async with self._database.connection() as db:
            return await envelope_store.record_submitted(db, hashes)

    async def _finalize_all(self, finals: Sequence[tuple[bytes, FinalStatus]]) -> list[bool]:
        async with self._database.transaction() as db:
            await budget_store.lock_networks_of(db, [tx_hash for tx_hash, _ in finals])
            return await envelope_store.record_final(db, finals, at=self._clock.now())

    async def _hand_over_all(self, hashes: Sequence[bytes]) -> list[None]:
        async with self._database.connection() as db:
            await reconcile_store.hand_over(db, hashes, at=self._clock.now())
        return [None] * len(hashes)

    async def _take_all(
        self, attempts: Sequence[tuple[PaymentIdentity, bytes, UUID]]
    ) -> list[bool]:
        async with self._database.connection() as db:
            return await store.take_successes(db, attempts, at=self._clock.now())


def _read_conflict(conflict: Conflict) -> Recording:
    """The result of a recording that a unique constraint refused."""
    if conflict.constraint not in _SOURCE_BUSY:
        raise conflict
    return Recording.SOURCE_BUSY
