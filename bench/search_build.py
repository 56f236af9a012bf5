"""Build a database of listings: tables first, by several processes, then the large indexes."""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Final

import asyncpg

from bench.search_cluster import database_of
from bench.search_fill import Share, current_time, fill, worker_count
from farebox.kernel.secret import Secret
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Connection
from testing.machine import say

_LARGE: Final = """
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
    WHERE relnamespace = 'public'::regnamespace AND amname = 'gin' ORDER BY 1
"""
# the counts that triggers and the payer count maintain
_COUNTS: Final = """
    INSERT INTO listing_counts (stretch, network, type, extension_keys, shown)
    SELECT id >> 10, network, type, extension_keys, count(*) FROM listings GROUP BY 1, 2, 3, 4;
    INSERT INTO listing_quality (listing_id, payers, settlements, weighed, counted_at)
    SELECT listing_id, count(*), sum(settlements), count(*), now() FROM listing_payers GROUP BY 1
"""


class DatabaseBuild:
    """Builds one database; `seconds` has the duration of each part."""

    def __init__(self, server: Secret[str], size: int) -> None:
        self._server, self._url, self._size = server, database_of(server, size), size
        self.seconds: dict[str, float] = {}

    async def build(self) -> None:
        """Create the database with listings, search tables and statistics."""
        server = await asyncpg.connect(self._server.reveal())
        try:
            await server.execute(f"DROP DATABASE IF EXISTS listings_{self._size} WITH (FORCE)")
            await server.execute(f"CREATE DATABASE listings_{self._size}")
        finally:
            await server.close()
        await migrate(self._url, packaged_migrations())
        db = await asyncpg.connect(self._url.reveal(), command_timeout=None)
        try:
            await self._fill(db)
        finally:
            await db.close()

    async def _fill(self, db: Connection) -> None:
        indexes = await db.fetch(_LARGE)
        for index in indexes:
            await db.execute(f"DROP INDEX {index['name']}")
        with self._timed("tables"):
            await self._tables()
        with self._timed("counts"):
            await db.execute(_COUNTS)
            await db.execute(
                f"SELECT setval(pg_get_serial_sequence('listings', 'id'), {self._size})"
            )
        for index in indexes:
            with self._timed(index["name"]):
                await db.execute(index["definition"])
        with self._timed("vacuum"):
            await db.execute("VACUUM ANALYZE")

    async def _tables(self) -> None:
        count, now = worker_count(self._size), current_time()
        shares = [
            Share(self._url.reveal(), self._size, worker, count, now) for worker in range(count)
        ]
        spawn = multiprocessing.get_context("spawn")  # a fork would share the event loop
        with ProcessPoolExecutor(count, mp_context=spawn) as pool:
            loop = asyncio.get_running_loop()
            found = await asyncio.gather(*(loop.run_in_executor(pool, fill, s) for s in shares))
        if not all(found):
            say("without the language model there are no vectors and no semantic stage")

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[part] = round(time.monotonic() - began, 1)
        say(f"{self._size:,}: {part} took {self.seconds[part]:g} s")
