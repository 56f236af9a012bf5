"""List the resource of a settled payment: from stored discovery data to a bound listing."""

from typing import Final, assert_never

import structlog

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.catalog import listing_store, wrapper_listing_store
from farebox.catalog.discovery.canonical_url import MCP
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.reader import DiscoveryReader
from farebox.catalog.discovery.reader_process import ReaderProcess
from farebox.catalog.ingestion import outbox_store
from farebox.catalog.ingestion.gateway_sales import GatewaySales
from farebox.catalog.ingestion.listing_outcome import (
    LISTED,
    OWNERSHIP_CHECK_PENDING,
    FinalOutcome,
    Listed,
    ListingOutcome,
    ListingRejected,
    OwnershipCheckPending,
    RejectionReason,
    parse_outcome,
    render_outcome,
)
from farebox.catalog.listing import Ownership, Resource
from farebox.catalog.search_document import SearchIndex
from farebox.catalog.settled_payment import SettledDiscovery, SettledResource
from farebox.facilitator.listing_report import ListingReport, ListingStatus
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.caller import Caller, CallerKind, user_id
from farebox.storage.pool import Connection, Database
from farebox.x402.extensions import DiscoveryText

_REQUEST: Final = "outbox"  # the request id of the audit events: no caller's request made them
PLACES: Final = 1_000  # keys of a recipient under one host, on one network

log = structlog.get_logger(__name__)


async def _move_binding(
    db: Connection, binding: listing_store.Binding, new: SettledResource
) -> None:
    """Bind the key to the new recipient, with an audit event for each of the two."""
    listing_id, network = binding.listing_id, new.settled.identity.network
    await listing_store.move_binding(db, listing_id, new)
    for party in (binding.pay_to, new.settled.terms.pay_to):
        caller = Caller(user_id(network, party), CallerKind.SERVICE)
        event = AuditEvent(caller, Action.LISTING_TAKEN_OVER, str(listing_id), _REQUEST)
        await insert_event(db, event)
    log.info("listing.taken_over", listing_id=listing_id)


async def _lock_places(db: Connection, new: SettledResource) -> None:
    """Lock the places under the resource's host, of every recipient."""
    identity, resource = new.settled.identity, new.resource
    holder = (new.settled.terms.pay_to,) if _is_hostless(resource) else (resource.host,)
    await listing_store.lock_places(db, identity.network, *holder)


async def _has_other_recipient(db: Connection, new: SettledResource) -> bool:
    network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
    return not _is_hostless(new.resource) and await listing_store.has_other_recipient(
        db, network, new.resource.host, pay_to
    )


async def _is_full(db: Connection, new: SettledResource, ownership: Ownership) -> bool:
    network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
    count = await listing_store.count_keys(db, network, new.resource.host, pay_to, ownership)
    return count >= PLACES


def _is_hostless(resource: Resource) -> bool:
    """Whether the URL is that of a tool alone: its key names the recipient."""
    return resource.url.startswith(f"{MCP}://")


class _RollBack(Exception):
    """Rolls the transaction back; `outcome` is None when another transaction has decided."""

    def __init__(self, outcome: ListingOutcome | None) -> None:
        super().__init__("rolled back")
        self.outcome = outcome


class Ingestion:
    """Lists or rejects each settlement exactly once, however often and by whom it is called.

    A sale at this service's gateway counts for the listing of its wrapper and changes nothing of
    it; any other settlement that names a URL of the gateway is rejected.

    Raises:
        DatabaseUnavailable: from every method; the settlement stays in the outbox.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        reader: DiscoveryReader,
        gateway: GatewaySales,
    ) -> None:
        self._database, self._index, self._reader = database, index, reader
        self._gateway = gateway

    async def find_discovery(self, identity: PaymentIdentity) -> SettledDiscovery | None:
        """Find the stored discovery data of a final settlement."""
        async with self._database.connection() as db:
            return await outbox_store.find_discovery(db, identity)

    async def parse(self, stored: SettledDiscovery) -> Resource | ListingRejected:
        """Parse the resource from stored discovery data.

        Raises:
            ReaderUnavailable: it can be retried.
            ReadFailed: the data itself may be the cause.
        """
        if stored.discovery is None:
            return ListingRejected(RejectionReason.NOT_KEPT)
        parsed = await self._reader.read(stored.discovery, pay_to=stored.settled.terms.pay_to)
        return ListingRejected(parsed.reason) if isinstance(parsed, Dropped) else parsed.resource

    async def list(self, identity: PaymentIdentity) -> ListingOutcome:
        """List the settlement's resource; `OwnershipCheckPending` means that nothing is stored.

        Raises:
            ReaderUnavailable, ReadFailed: as `parse`.
        """
        stored = await self.find_discovery(identity)
        if stored is None:
            return ListingRejected(RejectionReason.NOT_KEPT)
        if stored.outcome is not None:
            return await self.close(identity, parse_outcome(stored.outcome))
        resource = await self.parse(stored)
        if isinstance(resource, ListingRejected):
            return await self.close(identity, resource)
        return await self.store(SettledResource(stored.settled, resource))

    async def store(self, new: SettledResource, *, is_verified: bool = False) -> ListingOutcome:
        """Store the resource in the catalog, or the reason against it.

        `is_verified`: the resource names the recipient, so that a key bound to another one moves.
        """
        identity = new.settled.identity
        try:
            async with self._database.transaction() as db:
                outcome = await self._write(db, new, is_verified=is_verified)
        except _RollBack as rolled_back:
            if isinstance(rolled_back.outcome, OwnershipCheckPending):
                return rolled_back.outcome
            stored = await self.find_discovery(identity)
            decided = stored.outcome if stored is not None else None
            return await self.close(identity, parse_outcome(decided or LISTED))
        return await self.close(identity, outcome)

    async def close(self, identity: PaymentIdentity, outcome: FinalOutcome) -> FinalOutcome:
        """Store the final outcome in the settlement's row, which removes it from the outbox."""
        async with self._database.connection() as db:
            await outbox_store.store_outcome(db, identity, render_outcome(outcome))
        if isinstance(outcome, ListingRejected):
            log.info("listing.rejected", reason=outcome.reason)
        return outcome

    async def _write(
        self, db: Connection, new: SettledResource, *, is_verified: bool
    ) -> FinalOutcome:
        settled, identity = new.settled, new.settled.identity
        if not await outbox_store.insert_decision(db, identity, LISTED):
            raise _RollBack(None)
        if await outbox_store.has_outcome(db, identity):  # decided and closed since it was read
            raise _RollBack(None)
        is_sale = self._gateway.is_own(new.resource.url)
        listing_id = await (
            self._find_sold(db, new) if is_sale else self._bind(db, new, is_verified=is_verified)
        )
        if isinstance(listing_id, ListingRejected):
            await outbox_store.update_decision(db, identity, listing_id.reason)
            return listing_id
        if not is_sale:
            await listing_store.upsert_terms(db, listing_id, settled)
        await listing_store.count_payment(db, listing_id, identity.payer, at=settled.at)
        document = await listing_store.touch(db, listing_id, at=settled.at)
        if document is not None:
            await self._index.put(db, [document])
        return Listed()

    async def _find_sold(self, db: Connection, new: SettledResource) -> int | ListingRejected:
        """Find and lock the listing that a sale at the gateway counts for."""
        wrapper_id = await self._gateway.find_wrapper(db, new.settled.identity)
        listing_id = wrapper_id and await wrapper_listing_store.find_sold(
            db, wrapper_id, new.settled.identity.network, new.resource.key
        )
        return listing_id or ListingRejected(RejectionReason.GATEWAY_URL)

    async def _bind(
        self, db: Connection, new: SettledResource, *, is_verified: bool
    ) -> int | ListingRejected:
        """Bind the key to the paid recipient and store the resource data; return the listing id."""
        network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
        if is_verified:
            await _lock_places(db, new)
        binding = await listing_store.find_binding(db, network, new.resource.key)
        if binding is None:
            inserted = await self._insert(db, new, is_verified=is_verified)
            if inserted is not None:
                return inserted
            binding = await listing_store.find_binding(db, network, new.resource.key)
        if binding is None:  # removed in between: a retry decides
            raise _RollBack(OwnershipCheckPending())
        if binding.pay_to == pay_to:
            await listing_store.update_resource(db, binding.listing_id, new)
            return binding.listing_id
        if not is_verified:
            raise _RollBack(OwnershipCheckPending())
        if await _is_full(db, new, Ownership.VERIFIED):
            return ListingRejected(RejectionReason.TOO_MANY)
        await _move_binding(db, binding, new)
        return binding.listing_id

    async def _insert(
        self, db: Connection, new: SettledResource, *, is_verified: bool
    ) -> int | ListingRejected | None:
        """Insert a key for the recipient; None when the key exists meanwhile.

        Anybody may pay a recipient and name any URL. Under a host with another recipient, and
        where the places for unverified keys are full, the resource's own 402 decides.
        """
        await _lock_places(db, new)
        if is_verified:
            if await _is_full(db, new, Ownership.VERIFIED):
                return ListingRejected(RejectionReason.TOO_MANY)
            return await listing_store.insert_listing(db, new, Ownership.VERIFIED)
        if await _has_other_recipient(db, new):
            raise _RollBack(OwnershipCheckPending())
        if await _is_full(db, new, Ownership.UNVERIFIED):
            if _is_hostless(new.resource):
                return ListingRejected(RejectionReason.TOO_MANY)
            raise _RollBack(OwnershipCheckPending(otherwise=RejectionReason.TOO_MANY))
        return await listing_store.insert_listing(db, new, Ownership.UNVERIFIED)


class SettledListings:
    """Lists the resource of a new settlement at once; on failure the outbox lists it."""

    def __init__(self, ingestion: Ingestion, reader: ReaderProcess) -> None:
        self._ingestion, self._reader = ingestion, reader

    async def prepare(self) -> None:
        """Start the process that reads discovery data."""
        await self._reader.start()

    async def list_resource(
        self, identity: PaymentIdentity, discovery: DiscoveryText
    ) -> ListingReport:
        """List the resource of a settled payment and report the outcome.

        Raises:
            DatabaseUnavailable: the outbox lists it.
        """
        if discovery.is_oversized:
            return ListingReport(ListingStatus.REJECTED, DropReason.DISCOVERY_TOO_LARGE)
        outcome = await self._ingestion.list(identity)
        match outcome:
            case Listed():
                return ListingReport(ListingStatus.SUCCESS)
            case ListingRejected(reason):
                return ListingReport(ListingStatus.REJECTED, reason)
            case OwnershipCheckPending():
                return ListingReport(ListingStatus.PROCESSING, OWNERSHIP_CHECK_PENDING)
            case _:
                assert_never(outcome)
