"""Build the databases: listings by COPY, then search documents by the real index, then indexes."""

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg
import orjson

from bench.search_listings import Generator, Synthetic
from bench.search_place import database_of
from e2e.machine import say
from farebox.buyer.tokens import USDC
from farebox.catalog.listing import ListingType
from farebox.kernel.secret import Secret
from farebox.storage.migrate import migrate, packaged_migrations

_BATCH: Final = 20_000
_TOLD_EVERY: Final = 100_000
_LISTING: Final = (
    *("id", "network", "resource_key", "type", "url", "tool_name", "method", "pay_to"),
    *("bound_at", "description", "mime_type", "service_name", "tags", "extensions"),
    *("extension_keys", "parameters", "listed_at", "updated_at", "settled_in_ledger"),
)
_TERMS: Final = (
    *("listing_id", "scheme", "asset", "amount", "pay_to", "max_timeout_s", "settled_in_ledger"),
)
_PAYER: Final = ("listing_id", "payer", "settlements", "first_at", "last_at")
_OTHER_INDEXES: Final = """
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    WHERE relnamespace = 'public'::regnamespace AND NOT indisunique
      AND relname LIKE ANY (ARRAY['listing%', 'search%'])
"""


class Building:
    """One database being filled; what it took is in `seconds`."""

    def __init__(self, url: Secret[str], size: int) -> None:
        self._url, self._size = database_of(url, size), size
        self._server = url
        self._generator = Generator()
        self.seconds: dict[str, float] = {}

    async def build(self) -> None:
        """The database has its listings, everything search reads, and statistics."""
        server = await asyncpg.connect(self._server.reveal())
        try:
            await server.execute(f"CREATE DATABASE listings_{self._size}")
        finally:
            await server.close()
        await migrate(self._url, packaged_migrations())
        db = await asyncpg.connect(self._url.reveal(), command_timeout=None)
        try:
            await self._fill(db)
        finally:
            await db.close()

    async def _fill(self, db: "asyncpg.Connection[asyncpg.Record]") -> None:
        await db.execute("SET session_replication_role = replica")  # every row's parent is there
        indexes = await db.fetch(_OTHER_INDEXES)
        for index in indexes:
            await db.execute(f"DROP INDEX {index['name']}")
        with self._timed("listings"):
            await self._listings(db)
        with self._timed("documents"):
            await self._documents(db)
        for index in indexes:
            with self._timed(index["name"]):
                await db.execute(index["definition"])
        with self._timed("analyze"):
            await db.execute("VACUUM ANALYZE")

    async def _listings(self, db: "asyncpg.Connection[asyncpg.Record]") -> None:
        now = datetime.now(UTC)
        for batch in self._batches():
            listings = [_listing(each, now) for each in batch]
            await db.copy_records_to_table("listings", records=listings, columns=_LISTING)
            terms = [_terms(each) for each in batch]
            await db.copy_records_to_table("listing_terms", records=terms, columns=_TERMS)
            payers = [row for each in batch for row in _payers(each, now)]
            await db.copy_records_to_table("listing_payers", records=payers, columns=_PAYER)
        await db.execute("SELECT setval(pg_get_serial_sequence('listings', 'id'), $1)", self._size)

    async def _documents(self, db: "asyncpg.Connection[asyncpg.Record]") -> None:
        raise NotImplementedError

    def _batches(self) -> Iterator[Sequence[Synthetic]]:
        coming = self._generator.listings(1, self._size)
        done = 0
        while batch := list(itertools.islice(coming, _BATCH)):
            yield batch
            done += len(batch)
            if done % _TOLD_EVERY == 0:
                say(f"{done:,} of {self._size:,} listings")

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[part] = round(time.monotonic() - began, 1)
        if self._size >= _TOLD_EVERY:
            say(f"{self._size:,}: {part} took {self.seconds[part]:g} s")


def _listing(each: Synthetic, now: datetime) -> tuple[object, ...]:
    at = now - timedelta(seconds=each.age_s)
    return (
        *(each.number, each.network, each.key, each.type, each.url, each.tool_name or None),
        *("GET" if each.type is ListingType.HTTP else None, each.pay_to),
        *(at, each.description, "application/json", each.service_name, each.tags),
        *(extensions_of(each), ["bazaar"], each.parameters, at, at, each.number),
    )


def extensions_of(each: Synthetic) -> bytes:
    """What a seller declares: one object, with an example and a schema."""
    names = each.parameters.split()
    query = {name: {"type": "string", "description": f"The {name}"} for name in names}
    body = {
        "info": {"input": {"type": each.type.value, "queryParams": dict.fromkeys(names, "text")}},
        "schema": {"type": "object", "properties": query},
    }
    return orjson.dumps({"bazaar": body})


def _terms(each: Synthetic) -> tuple[object, ...]:
    asset = USDC[each.network].contract
    return (each.number, "exact", asset, each.amount, each.pay_to, 60, each.number)


def _payers(each: Synthetic, now: datetime) -> Iterator[tuple[object, ...]]:
    at = now - timedelta(seconds=each.age_s)
    for turn, payer in enumerate(each.payers):
        yield each.number, payer, 1 + turn % 3, at - timedelta(days=1), at
