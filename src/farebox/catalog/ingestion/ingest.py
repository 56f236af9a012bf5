"""List what a settled payment was made for: from the kept bytes to a row bound to its recipient."""

from typing import Final, Protocol

import structlog

from farebox.catalog import listing_store
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.catalog.ingestion import outbox_store
from farebox.catalog.ingestion.listing_outcome import (
    LISTED,
    Listed,
    ListingOutcome,
    NotListed,
    Outcome,
    Rejected,
    Undecided,
    outcome_of,
    outcome_text,
)
from farebox.catalog.listing import Resource
from farebox.catalog.search_document import SearchIndex
from farebox.catalog.settled import SettledResource, SettledText
from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.storage.pool import Connection, Database

KEYS_PER_RECIPIENT: Final = 1_000  # on one network

log = structlog.get_logger(__name__)


class ReadResource(Protocol):
    """The rules: which resource the kept bytes are about, or why it cannot be listed."""

    def __call__(self, text: bytes, *, pay_to: Address) -> Resource | Dropped: ...


class _NotDecided(Exception):
    """Rolls back a transaction that came to no decision of its own; carries what to say."""

    def __init__(self, outcome: ListingOutcome | None) -> None:
        super().__init__("nothing is kept")
        self.outcome = outcome


class Ingestion:
    """Every settlement is listed or rejected once, whoever asks for it and how often.

    Raises:
        DatabaseUnavailable: from every method; what was not done is still to be done.
    """

    def __init__(self, database: Database, index: SearchIndex, read: ReadResource) -> None:
        self._database, self._index, self._read = database, index, read

    async def find_text(self, identity: PaymentIdentity) -> SettledText | None:
        """What was kept of the request of a final settlement, or None."""
        async with self._database.connection() as db:
            return await outbox_store.find_text(db, identity)

    def read(self, text: SettledText) -> Resource | Rejected:
        """Which resource a text is about."""
        found = self._read(text.discovery, pay_to=text.settled.terms.pay_to)
        return Rejected(found.reason) if isinstance(found, Dropped) else found

    async def list(self, identity: PaymentIdentity) -> ListingOutcome:
        """What comes of the settlement's listing; `Undecided` leaves everything as it was."""
        text = await self.find_text(identity)
        if text is None:
            return Rejected(NotListed.NOT_KEPT)
        if text.outcome is not None:
            return await self.close(identity, outcome_of(text.outcome))
        found = self.read(text)
        if isinstance(found, Rejected):
            return await self.close(identity, found)
        return await self.place(SettledResource(text.settled, found))

    async def place(self, new: SettledResource, *, is_proven: bool = False) -> ListingOutcome:
        """The resource stands in the catalog, or the reason why not is written down.

        `is_proven`: the resource itself names the recipient, so that a key bound to another moves.
        """
        identity = new.settled.identity
        try:
            async with self._database.transaction() as db:
                outcome = await self._write(db, new, is_proven=is_proven)
        except _NotDecided as other:
            if isinstance(other.outcome, Undecided):
                return other.outcome
            text = await self.find_text(identity)
            said = text.outcome if text is not None else None
            return await self.close(identity, outcome_of(said or LISTED))
        return await self.close(identity, outcome)

    async def close(self, identity: PaymentIdentity, outcome: Outcome) -> Outcome:
        """The settlement's row says what its listing came to: nothing is left to do for it."""
        async with self._database.connection() as db:
            await outbox_store.mark(db, identity, outcome_text(outcome))
        if isinstance(outcome, Rejected):
            log.info("listing.rejected", reason=outcome.reason)
        return outcome

    async def _write(self, db: Connection, new: SettledResource, *, is_proven: bool) -> Outcome:
        settled, identity = new.settled, new.settled.identity
        if not await outbox_store.decide(db, identity, LISTED):
            raise _NotDecided(None)
        if await outbox_store.is_marked(db, identity):  # decided and swept since it was read
            raise _NotDecided(None)
        listing_id = await self._bound(db, new, is_proven=is_proven)
        if isinstance(listing_id, Rejected):
            await outbox_store.decide_otherwise(db, identity, listing_id.reason)
            return listing_id
        await listing_store.put_terms(db, listing_id, settled)
        await listing_store.count_payment(db, listing_id, identity.payer, at=settled.at)
        document = await listing_store.touch(db, listing_id, at=settled.at)
        if document is not None:
            await self._index.put(db, [document])
        return Listed()

    async def _bound(
        self, db: Connection, new: SettledResource, *, is_proven: bool
    ) -> int | Rejected:
        """The listing, bound to the recipient that was paid; it has the newest text."""
        network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
        if is_proven:
            await listing_store.lock_recipient(db, network, pay_to)
        binding = await listing_store.find_binding(db, network, new.resource.key)
        if binding is None:
            added = await self._add(db, new)
            if added is not None:
                return added
            binding = await listing_store.find_binding(db, network, new.resource.key)
        if binding is None:  # removed in between: another turn finds it gone or there
            raise _NotDecided(Undecided())
        if binding.pay_to == pay_to:
            await listing_store.replace_text(db, binding.listing_id, new)
            return binding.listing_id
        if not is_proven:
            raise _NotDecided(Undecided())
        if await listing_store.count_keys(db, network, pay_to) >= KEYS_PER_RECIPIENT:
            return Rejected(NotListed.TOO_MANY)
        await listing_store.move_binding(db, binding.listing_id, new)
        log.info("listing.taken_over", listing_id=binding.listing_id)
        return binding.listing_id

    async def _add(self, db: Connection, new: SettledResource) -> int | Rejected | None:
        """A new key of the recipient's; None when somebody has bound it meanwhile."""
        network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
        await listing_store.lock_recipient(db, network, pay_to)
        if await listing_store.count_keys(db, network, pay_to) >= KEYS_PER_RECIPIENT:
            return Rejected(NotListed.TOO_MANY)
        return await listing_store.insert_listing(db, new)
