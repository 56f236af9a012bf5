"""Measures one size: a copy of its database, a writing process and a searching process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec

from bench import search_client, search_writer
from bench.child_process import finish, start_process, stop
from bench.search_samples import Samples
from farebox.kernel.secret import Secret
from testing.database import connected, named_database
from testing.machine import RunFailed

_COPY = "listings_measured"
PER_S = 50.0
_ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one size."""

    samples: Samples
    stages: tuple[str, ...]
    written: search_writer.WriteReport
    megabytes: dict[str, float]

    @property
    def upserts_per_s(self) -> float:
        """Listings written each second during the measurement."""
        return round(self.written.upserts / self.written.seconds, 1)


async def measure(url: Secret[str], plan: search_client.Plan) -> Run:
    """Run the plan on a copy of the database while listings are written to it.

    Raises:
        RunFailed: a child process failed.
    """
    async with _copy_database(url, plan.listings) as copy:
        megabytes = await _megabytes(copy)
        writer_plan = search_writer.Plan(copy.reveal(), plan.listings, PER_S)
        writer = await start_process("search_writer", _ONE_THREAD)
        try:
            await _send_line(writer, msgspec.json.encode(writer_plan) + b"\n")
            client = await start_process("search_client", _ONE_THREAD)
            client_plan = msgspec.structs.replace(plan, url=copy.reveal())
            answer = await _finish_process(client, msgspec.json.encode(client_plan))
            written = await _finish_process(writer, b"")
        finally:
            await stop(writer)
    report = msgspec.json.decode(answer, type=search_client.ClientReport)
    return Run(
        Samples(report.samples),
        tuple(report.stages),
        msgspec.json.decode(written, type=search_writer.WriteReport),
        megabytes,
    )


async def _send_line(process: asyncio.subprocess.Process, line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    await process.stdin.drain()


async def _finish_process(process: asyncio.subprocess.Process, last_input: bytes) -> bytes:
    out, _ = await finish(process, last_input)
    if process.returncode:
        raise RunFailed("a process of the bench failed; its error is above")
    return out


@asynccontextmanager
async def _copy_database(url: Secret[str], listings: int) -> AsyncIterator[Secret[str]]:
    """Copy a size's database, so that the build stays unchanged; drop the copy at the end."""
    async with connected(url) as db:
        await db.execute(f"DROP DATABASE IF EXISTS {_COPY} WITH (FORCE)")
        await db.execute(f"CREATE DATABASE {_COPY} TEMPLATE listings_{listings} STRATEGY file_copy")
        await db.execute("CHECKPOINT")
        try:
            yield named_database(url, _COPY)
        finally:
            await db.execute(f"DROP DATABASE {_COPY} WITH (FORCE)")


async def _megabytes(url: Secret[str]) -> dict[str, float]:
    """Measure the largest tables and indexes of the catalog."""
    async with connected(url) as db:
        rows = await db.fetch(
            """
            SELECT relname, pg_relation_size(oid) / 1048576.0 AS size FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
            ORDER BY size DESC LIMIT 12
            """
        )
    return {row["relname"]: round(float(row["size"]), 1) for row in rows}
