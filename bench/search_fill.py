"""Fill the tables of a database with a share of its listings, in one of several processes."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import asyncpg
import msgspec

from bench.search_listings import Generator, Synthetic
from bench.search_rows import LISTING, PAYER, TERMS, document, listing_row, payer_rows, terms_row
from bench.search_vectors import Vectors, open_vectors
from farebox.search import vector_store, word_store
from farebox.search.index_store import StoredIndex
from farebox.search.read_texts import words_of
from farebox.storage.pool import Connection
from testing.machine import say

BATCH: Final = 2_000
_REPORT_EVERY: Final = 100_000
_WORDS_AT_ONCE: Final = 20_000


class Share(msgspec.Struct, frozen=True):
    """The batches of one process, and the time that ages are relative to."""

    url: str
    size: int
    worker: int
    workers: int
    now: datetime


def fill(share: Share) -> bool:
    """Write the share; return whether with vectors. Runs in a process pool."""
    return asyncio.run(_Filler(share).run())


class _Filler:
    def __init__(self, share: Share) -> None:
        self._share, self._index = share, StoredIndex()
        self._generator = Generator(size=share.size)
        self._vectors: Vectors | None = open_vectors(self._generator)
        self._words = Counter[str]()

    async def run(self) -> bool:
        next_report = _REPORT_EVERY
        db = await asyncpg.connect(self._share.url, command_timeout=None)
        try:
            await db.execute("SET session_replication_role = replica")  # every parent row is there
            step = BATCH * self._share.workers
            for first in range(1 + BATCH * self._share.worker, self._share.size + 1, step):
                count = min(BATCH, self._share.size + 1 - first)
                batch = list(self._generator.listings(first, count))
                async with db.transaction():
                    await self._listings(db, batch)
                    await self._documents(db, batch)
                if self._share.worker == 0 and first + step > next_report:
                    say(f"about {next_report:,} of {self._share.size:,} listings")
                    next_report += _REPORT_EVERY
            await self._put_words(db)
        finally:
            await db.close()
        return self._vectors is not None

    async def _listings(self, db: Connection, batch: Sequence[Synthetic]) -> None:
        now = self._share.now
        listings = [listing_row(each, now) for each in batch]
        await db.copy_records_to_table("listings", records=listings, columns=LISTING)
        terms = [terms_row(each, now) for each in batch]
        await db.copy_records_to_table("listing_terms", records=terms, columns=TERMS)
        payers = [row for each in batch for row in payer_rows(each, now)]
        await db.copy_records_to_table("listing_payers", records=payers, columns=PAYER)

    async def _documents(self, db: Connection, batch: Sequence[Synthetic]) -> None:
        """Write documents by the search's own index, and process its queue of texts."""
        await self._index.put(db, [document(each, self._share.now) for each in batch])
        rows = await db.fetch("SELECT text FROM search_texts_waiting")
        await db.execute("DELETE FROM search_texts_waiting")
        for row in rows:
            self._words.update(words_of(row["text"]))
        if self._vectors is None:
            return
        digests = await db.fetch(
            """
            SELECT text_digest FROM search_documents WHERE listing_id BETWEEN $1 AND $2
            ORDER BY listing_id
            """,
            batch[0].number,
            batch[-1].number,
        )
        codes = zip((row[0] for row in digests), self._vectors.codes(batch), strict=True)
        await vector_store.put_vectors(db, list(codes))

    async def _put_words(self, db: Connection) -> None:
        words = sorted(self._words)
        for at in range(0, len(words), _WORDS_AT_ONCE):
            part = words[at : at + _WORDS_AT_ONCE]
            await word_store.add_words(db, {word: self._words[word] for word in part})


def worker_count(size: int) -> int:
    """Return two workers for a large database, one otherwise."""
    return 2 if size >= _REPORT_EVERY else 1


def current_time() -> datetime:
    """Return the time that ages are relative to."""
    return datetime.now(UTC)
