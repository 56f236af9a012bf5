"""One size measured: a copy of its database, a process that writes and a process that asks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg
import msgspec

from bench import search_asker, search_writer
from bench.part import end, heard, start_part
from bench.search_place import named_database
from bench.search_samples import Samples
from e2e.machine import RunFailed
from farebox.kernel.secret import Secret

_COPY = "listings_measured"
PER_S = 50.0
_ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one size."""

    samples: Samples
    stages: tuple[str, ...]
    written: search_writer.Written
    megabytes: dict[str, float]

    @property
    def upserts_per_s(self) -> float:
        """Listings written each second while the search was asked."""
        return round(self.written.upserts / self.written.seconds, 1)


async def measure(url: Secret[str], plan: search_asker.Plan) -> Run:
    """Ask as planned, of a copy of the database, while listings are written to it.

    Raises:
        RunFailed: a process of it failed.
    """
    async with _copied(url, plan.listings) as copy:
        megabytes = await _megabytes(copy)
        told = search_writer.Plan(copy.reveal(), plan.listings, PER_S)
        writer = await start_part("search_writer", _ONE_THREAD)
        try:
            await _tell(writer, msgspec.json.encode(told) + b"\n")
            asker = await start_part("search_asker", _ONE_THREAD)
            asked = msgspec.structs.replace(plan, url=copy.reveal())
            answer = await _ended(asker, msgspec.json.encode(asked))
            written = await _ended(writer, b"")
        finally:
            await end(writer)
    found = msgspec.json.decode(answer, type=search_asker.Answer)
    return Run(
        Samples(found.samples),
        tuple(found.stages),
        msgspec.json.decode(written, type=search_writer.Written),
        megabytes,
    )


async def _tell(process: asyncio.subprocess.Process, line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    await process.stdin.drain()


async def _ended(process: asyncio.subprocess.Process, last: bytes) -> bytes:
    out, _ = await heard(process, last)
    if process.returncode:
        raise RunFailed("a process of the bench failed: the lines above say why")
    return out


@asynccontextmanager
async def _copied(url: Secret[str], listings: int) -> AsyncIterator[Secret[str]]:
    """A copy of a size's database that is thrown away: what is kept stays as it was built."""
    db = await asyncpg.connect(url.reveal(), command_timeout=None)
    try:
        await db.execute(f"DROP DATABASE IF EXISTS {_COPY} WITH (FORCE)")
        await db.execute(f"CREATE DATABASE {_COPY} TEMPLATE listings_{listings} STRATEGY file_copy")
        await db.execute("CHECKPOINT")
        try:
            yield named_database(url, _COPY)
        finally:
            await db.execute(f"DROP DATABASE {_COPY} WITH (FORCE)")
    finally:
        await db.close()


async def _megabytes(url: Secret[str]) -> dict[str, float]:
    """The largest tables and indexes of the catalog."""
    db = await asyncpg.connect(url.reveal())
    try:
        rows = await db.fetch(
            """
            SELECT relname, pg_relation_size(oid) / 1048576.0 AS size FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
            ORDER BY size DESC LIMIT 12
            """
        )
    finally:
        await db.close()
    return {row["relname"]: round(float(row["size"]), 1) for row in rows}
