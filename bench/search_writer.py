"""Writes listings at a constant rate in a process of its own: new ones and known ones.

`main` reads one plan as JSON on standard input, writes listings until standard input ends, and
prints a report as JSON on standard output.
"""

import asyncio
import random
import sys
import time
from datetime import UTC, datetime

import msgspec

from bench.plan_input import run_plan_of_input
from bench.search_listings import Generator, Synthetic
from bench.search_rows import extensions_of
from bench.search_samples import log_to_stderr, percentile
from farebox.catalog import listing_store
from farebox.catalog.listing import ListedTerms, ListingType, Metadata, Ownership, Resource
from farebox.catalog.search_document import SearchIndex
from farebox.catalog.settled_payment import SettledPayment, SettledResource
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.search.index_store import StoredIndex
from farebox.stellar.known_tokens import USDC
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_LEDGER = 2_000_000_000  # later than that of any listing


class Plan(msgspec.Struct, frozen=True):
    """The database and the rate of the writer."""

    url: str
    listings: int
    per_s: float


class WriteReport(msgspec.Struct, frozen=True):
    """The result of the writer."""

    upserts: int
    failed: int
    seconds: float
    p50_ms: float | None
    p95_ms: float | None


class Writer:
    """Writes new listings and payments for existing ones in turn."""

    def __init__(self, plan: Plan, database: Database, index: SearchIndex) -> None:
        self._plan, self._database, self._index = plan, database, index
        self._generator, self._rng = Generator(), random.Random(time.time_ns())
        self._took: list[float] = []
        self._failed = 0

    async def run(self, stopped: asyncio.Event) -> WriteReport:
        """Write until stopped; a slow write delays the next one."""
        began = time.perf_counter()
        turn = 0
        while not stopped.is_set():
            await asyncio.sleep(max(0.0, began + turn / self._plan.per_s - time.perf_counter()))
            await self._write(turn)
            turn += 1
        return WriteReport(
            upserts=turn - self._failed,
            failed=self._failed,
            seconds=round(time.perf_counter() - began, 1),
            p50_ms=percentile(self._took, 0.5),
            p95_ms=percentile(self._took, 0.95),
        )

    async def _write(self, turn: int) -> None:
        is_new = turn % 2 == 0
        known = self._plan.listings
        number = known + 1 + turn if is_new else self._rng.randint(1, known)
        began = time.perf_counter()
        try:
            await self._put(_settled(self._generator.listing(number), turn))
        except DatabaseUnavailable:
            self._failed += 1
        self._took.append((time.perf_counter() - began) * 1000)

    async def _put(self, new: SettledResource) -> None:
        """Ingest a settlement as the catalog does, without the outbox."""
        network, pay_to = new.settled.identity.network, new.settled.terms.pay_to
        async with self._database.transaction() as db:
            binding = await listing_store.find_binding(db, network, new.resource.key)
            if binding is None:
                host, ownership = new.resource.host, Ownership.UNVERIFIED
                await listing_store.lock_places(db, network, host)
                await listing_store.has_other_recipient(db, network, host, pay_to)
                await listing_store.count_keys(db, network, host, pay_to, ownership)
                listing_id = await listing_store.insert_listing(db, new, ownership)
            else:
                listing_id = binding.listing_id
                await listing_store.update_resource(db, listing_id, new)
            if listing_id is None:
                return
            await listing_store.upsert_terms(db, listing_id, new.settled)
            payer = new.settled.identity.payer
            await listing_store.count_payment(db, listing_id, payer, at=new.settled.at)
            document = await listing_store.touch(db, listing_id, at=new.settled.at)
            if document is not None:
                await self._index.put(db, [document])


def _settled(each: Synthetic, turn: int) -> SettledResource:
    identity = PaymentIdentity(each.network, each.payers[0], turn)
    terms = ListedTerms(
        scheme="exact",
        asset=USDC[each.network].contract,
        amount=BaseUnits(each.amount),
        pay_to=each.pay_to,
        max_timeout_s=60,
    )
    resource = Resource(
        type=each.type,
        key=each.key,
        url=each.url,
        metadata=Metadata(
            description=each.description,
            mime_type="application/json",
            service_name=each.service_name,
            tags=each.tags,
        ),
        extensions=extensions_of(each),
        extension_keys=("bazaar",),
        parameters=each.parameters,
        tool_name=each.tool_name or None,
        method="GET" if each.type is ListingType.HTTP else None,
    )
    return SettledResource(
        SettledPayment(identity, terms, _LEDGER + turn, datetime.now(UTC)), resource
    )


async def _run_plan(plan: Plan) -> WriteReport:
    stopped = asyncio.Event()

    def wait() -> None:
        sys.stdin.buffer.read()

    async with Database(Secret(plan.url), connections=2) as database:
        writer = Writer(plan, database, StoredIndex())
        writing = asyncio.create_task(writer.run(stopped))
        await asyncio.to_thread(wait)
        stopped.set()
        return await writing


def main() -> int:
    """Run the plan on the first line of standard input."""
    log_to_stderr()
    return run_plan_of_input(Plan, _run_plan, is_one_line=True)
