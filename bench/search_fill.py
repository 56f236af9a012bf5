"""Fill one database's tables with a share of its listings: one of several processes does."""

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
from e2e.machine import say
from farebox.search import vector_store, word_store
from farebox.search.index_store import StoredIndex
from farebox.search.read_texts import words_of
from farebox.storage.pool import Connection

BATCH: Final = 2_000
_TOLD_EVERY: Final = 100_000
_WORDS_AT_ONCE: Final = 20_000


class Share(msgspec.Struct, frozen=True):
    """Which batches of which database, and the moment that ages are counted from."""

    url: str
    size: int
    worker: int
    workers: int
    now: datetime


def fill(share: Share) -> bool:
    """The share is written; whether with vectors. For a process of a pool."""
    return asyncio.run(_Filling(share).run())


class _Filling:
    def __init__(self, share: Share) -> None:
        self._share, self._index = share, StoredIndex()
        self._generator = Generator(size=share.size)
        self._vectors: Vectors | None = open_vectors(self._generator)
        self._words = Counter[str]()

    async def run(self) -> bool:
        told = _TOLD_EVERY
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
                if self._share.worker == 0 and first + step > told:
                    say(f"about {told:,} of {self._share.size:,} listings")
                    told += _TOLD_EVERY
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
        """By the search's own index; what it leaves to be read later is read here."""
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


def workers(size: int) -> int:
    """Two for a large database: one would mostly wait for the server."""
    return 2 if size >= _TOLD_EVERY else 1


def moment() -> datetime:
    """What ages are counted from."""
    return datetime.now(UTC)
