"""Recount each listing's independent payers whenever the count may have changed."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from farebox.catalog.quality import store
from farebox.catalog.quality.payer_clusters import (
    FundingGraph,
    PayerCount,
    count_independent_payers,
)
from farebox.catalog.quality.payment_graph_store import find_funding, read_payments
from farebox.catalog.quality.store import ListingPayers, Recount
from farebox.catalog.search_document import SearchIndex
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable, LimitExceeded
from farebox.storage.pool import Connection, Database

_IDLE_S: Final = 2.0
_PAUSE_S: Final = 0.05  # between two full batches: settlements and searches have priority
_PAYMENTS: Final = 500  # of the journal, read in one transaction
_LISTINGS: Final = 50  # counted in one batch
_OLD: Final = 20  # of these, listings whose count is only old
# A settlement may be committed after its end time: younger ones are not read yet.
_GRACE: Final = timedelta(seconds=20)
_POSTPONED: Final = timedelta(minutes=10)
_OLD_AFTER: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


class QualityCounter:
    """A loop that updates the `quality` of a listing within seconds of a payment.

    Every replica may run it: two counts of one listing agree.
    """

    def __init__(
        self, database: Database, index: SearchIndex, clock: Clock, *, grace: timedelta = _GRACE
    ) -> None:
        self._database, self._index, self._clock, self._grace = database, index, clock, grace

    async def run(self) -> None:
        """Read payments and count listings, batch after batch."""
        while True:
            try:
                while await self.run_batch():
                    await self._clock.sleep(_PAUSE_S)
            except DatabaseUnavailable:
                log.warning("quality.database_unavailable")
            await self._clock.sleep(_IDLE_S)

    async def run_batch(self) -> bool:
        """Read a batch of payments and count a batch of listings; return whether more are due.

        Raises:
            DatabaseUnavailable: the rest stays due.
        """
        now = self._clock.now()
        async with self._database.transaction() as db:
            payments = await read_payments(db, ended_before=now - self._grace, limit=_PAYMENTS)
        async with self._database.connection() as db:
            due = await store.find_due(db, now=now, limit=_LISTINGS)
            if len(due) < _OLD:
                due += await store.find_oldest(db, counted_before=now - _OLD_AFTER, limit=_OLD)
        for recount in due:
            await self._count_or_postpone(recount)
        return payments.read == _PAYMENTS or len(due) >= _LISTINGS

    async def _count_or_postpone(self, recount: Recount) -> None:
        """Count a listing; postpone its recount on a failure, an outage included.

        A count that exceeds the statement timeout looks like an outage every time.
        """
        try:
            async with self._database.connection() as db:
                await self._count(db, recount)
        except Exception as error:
            with suppress(DatabaseUnavailable):
                async with self._database.connection() as db:
                    until = self._clock.now() + _POSTPONED
                    await store.postpone(db, recount.listing_id, until=until)
            if isinstance(error, DatabaseUnavailable) and not isinstance(error, LimitExceeded):
                raise
            log.exception("quality.count_failed", listing_id=recount.listing_id)

    async def _count(self, db: Connection, recount: Recount) -> None:
        payers = await store.find_payers(db, recount.listing_id)
        if payers is not None:
            count = await _count_payers(db, recount.listing_id, payers)
            await self._store(db, recount.listing_id, count, payers_read=payers.read)
        if recount.changes is not None:
            await store.delete_recount(db, recount)

    async def _store(
        self, db: Connection, listing_id: int, count: PayerCount, *, payers_read: int
    ) -> None:
        """Store the count; the listing is locked first, as in ingestion, against deadlocks."""
        async with db.transaction():
            document = await store.lock_listing(db, listing_id)
            await store.upsert_quality(
                db, listing_id, count, payers_read=payers_read, at=self._clock.now()
            )
            if document is not None and document.payers != count.payers:
                await self._index.put(db, [replace(document, payers=count.payers)])


async def _count_payers(db: Connection, listing_id: int, payers: ListingPayers) -> PayerCount:
    """Count each payer funded elsewhere, and the others as their funding sources allow."""
    independent, recipient = payers.independent, payers.pay_to
    if not payers.funded:
        return independent
    funding = await find_funding(db, payers.network, payers.funded.keys(), recipient=recipient)
    paying_sources = await store.count_settlements(db, listing_id, _funding_sources(funding))
    graph_payers = {**payers.funded, **paying_sources}
    clustered = await asyncio.to_thread(
        count_independent_payers, graph_payers, funding, recipient=recipient
    )
    others = independent.settlements - sum(paying_sources.values())
    return PayerCount(
        payers=independent.payers - len(paying_sources) + clustered.payers,
        settlements=others + clustered.settlements,
    )


def _funding_sources(funding: FundingGraph) -> set[str]:
    """Accounts that fund others and are not funded; if they pay too, they belong to the graph."""
    funders = {funder for each in funding.paid_by.values() for funder in each}
    return funders - funding.paid_by.keys() - set(funding.untraced)
