"""Count what is hard to fake about each listing's use, again whenever it may have changed."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from farebox.catalog.quality import store
from farebox.catalog.quality.cluster import Counted, Funding, count_independent
from farebox.catalog.quality.cluster_store import follow_back, read_payments
from farebox.catalog.quality.store import Recount, Weighed
from farebox.catalog.search_document import SearchIndex
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database

_EVERY_S: Final = 2.0
_BETWEEN_S: Final = 0.05  # while more is left: settlements and searches come first
_PAYMENTS: Final = 500  # of the journal, in one transaction
_LISTINGS: Final = 50  # counted in one turn
_OLD: Final = 20  # of these, such that have only waited long
# A settlement that ended may be committed a little later: what is younger is not read yet.
_GRACE: Final = timedelta(seconds=20)
_OLD_AFTER: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


class QualityCount:
    """Keeps `quality` of every listing within seconds of its last payment.

    Every replica may run it: two counts of one listing come to the same.
    """

    def __init__(
        self, database: Database, index: SearchIndex, clock: Clock, *, grace: timedelta = _GRACE
    ) -> None:
        self._database, self._index, self._clock, self._grace = database, index, clock, grace

    async def run(self) -> None:
        """Read payments and count listings for ever."""
        while True:
            try:
                while await self.turn():
                    await self._clock.sleep(_BETWEEN_S)
            except DatabaseUnavailable:
                log.warning("quality.database_away")
            await self._clock.sleep(_EVERY_S)

    async def turn(self) -> bool:
        """A batch of payments is read and a batch of listings counted; whether more is left.

        Raises:
            DatabaseUnavailable: what was not done is still to be done.
        """
        now = self._clock.now()
        async with self._database.transaction() as db:
            payments = await read_payments(db, ended_before=now - self._grace, limit=_PAYMENTS)
        async with self._database.connection() as db:
            due = await store.find_due(db, now=now, limit=_LISTINGS)
            if len(due) < _OLD:
                due += await store.find_oldest(db, counted_before=now - _OLD_AFTER, limit=_OLD)
            for recount in due:
                await self._count(db, recount)
        return payments.read == _PAYMENTS or len(due) >= _LISTINGS

    async def _count(self, db: Connection, recount: Recount) -> None:
        weighed = await store.find_weighed(db, recount.listing_id)
        if weighed is not None:
            counted = await _counted(db, recount.listing_id, weighed)
            await self._keep(db, recount.listing_id, counted, weighed.weighed)
        if recount.changes is not None:
            await store.close_recount(db, recount)

    async def _keep(self, db: Connection, listing_id: int, counted: Counted, weighed: int) -> None:
        """The listing is locked before anything of it is written, as whoever lists does."""
        async with db.transaction():
            found = await store.lock_listing(db, listing_id)
            await store.put_quality(db, listing_id, counted, weighed=weighed, at=self._clock.now())
            if found is not None and found.payers != counted.payers:
                await self._index.put(db, [replace(found, payers=counted.payers)])


async def _counted(db: Connection, listing_id: int, weighed: Weighed) -> Counted:
    """Payers who are nobody's count each; the others as their origins allow."""
    if not weighed.funded:
        return weighed.unfunded
    funding = await follow_back(
        db, weighed.network, weighed.funded.keys(), recipient=weighed.pay_to
    )
    taken = await store.find_settlements(db, listing_id, _origins(funding))
    payers = {**weighed.funded, **taken}
    counted = await asyncio.to_thread(count_independent, payers, funding, recipient=weighed.pay_to)
    return Counted(
        payers=weighed.unfunded.payers - len(taken) + counted.payers,
        settlements=weighed.unfunded.settlements - sum(taken.values()) + counted.settlements,
    )


def _origins(funding: Funding) -> set[str]:
    """Accounts that funded others and are funded by nobody: if they pay too, they count first."""
    funders = {funder for each in funding.paid_by.values() for funder in each}
    return funders - funding.paid_by.keys() - set(funding.unfollowed)
