"""BENCH=growth: what each step costs with 10,000 settlements, and what with a million.

Both databases hold the same listings and users; settlements and the payers of a day differ.
QUICK=1 compares smaller ones.
"""

import contextlib
import gc
import os
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import asyncpg

from bench.growth_fill import Size, add_users, bytes_per_settlement, fill
from bench.growth_steps import Samples, Steps, open_steps
from bench.search_build import Building
from bench.search_listings import Generator
from bench.search_place import SERVER, configure, named_database
from bench.search_queries import draw
from e2e.ending import end_with_figures
from e2e.machine import say
from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.pool import Connection

_GROWTH_MAX: Final = 2.0
_BYTES_MAX: Final = 3_000
_EACH: Final = 8  # queries of a kind


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is compared."""

    small: Size
    large: Size
    listings: int  # and users
    rounds: int


FULL: Final = Sizes(Size(10_000), Size(1_000_000), listings=100_000, rounds=5)
QUICK: Final = Sizes(Size(2_000), Size(100_000), listings=5_000, rounds=3)


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether nothing grows with the settlements, and the figures."""
    sizes = QUICK if quick else FULL
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="farebox-growth-") as folder:
        os.chmod(folder, 0o711 if os.geteuid() == 0 else 0o700)
        cluster = Path(folder)
        with EmbeddedPostgres(cluster, is_throwaway=True) as server:
            await configure(server.url, is_building=True)
        with EmbeddedPostgres(cluster, is_throwaway=True) as server:
            urls, stored = await _build(server.url, sizes)
            small, large = await _measure(urls, sizes)
    figures = _figures(small, large) | {
        "bytes_per_settlement": round(sum(stored.values())),
        "bytes": stored,
        "settlements": [sizes.small.settlements, sizes.large.settlements],
        "payers_a_day": [sizes.small.payers, sizes.large.payers],
        "listings": sizes.listings,
        "server": SERVER,
        "seconds": round(time.monotonic() - began, 1),
    }
    return _holds(figures), figures


async def _build(
    server: Secret[str], sizes: Sizes
) -> tuple[tuple[Secret[str], Secret[str]], dict[str, float]]:
    """Both databases, and what the large one stores for each settlement, bytes."""
    building = Building(server, sizes.listings)
    await building.build()
    listed = f"listings_{sizes.listings}"
    async with _connected(named_database(server, listed)) as db:
        await add_users(db, sizes.listings)
        await db.execute("VACUUM (ANALYZE) users, api_keys")
    urls = []
    for name, size in (("small", sizes.small), ("large", sizes.large)):
        async with _connected(server) as db:
            await db.execute(f"CREATE DATABASE {name} TEMPLATE {listed} STRATEGY file_copy")
        urls.append(named_database(server, name))
        await fill(urls[-1], size)
    async with _connected(urls[-1]) as db:
        stored = await bytes_per_settlement(db, sizes.large)
    await configure(server, is_building=False)  # autovacuum is on from here
    async with _connected(server) as db:
        await db.execute("CHECKPOINT")
    return (urls[0], urls[1]), stored


async def _measure(urls: tuple[Secret[str], Secret[str]], sizes: Sizes) -> tuple[Samples, Samples]:
    """Turn about, so that what disturbs the machine disturbs both alike."""
    queries = draw(Generator(), listings=sizes.listings, each=_EACH)
    async with (
        open_steps(urls[0], sizes.small, sizes.listings) as small,
        open_steps(urls[1], sizes.large, sizes.listings) as large,
    ):
        sides: tuple[Steps, ...] = (small, large)
        gc.freeze()  # the generator's words are not for the collector to look through
        for turn in range(sizes.rounds + 1):
            if turn == 1:  # the first round warms
                for side in sides:
                    side.samples.clear()
            for query in queries:
                for side in sides:
                    await side.take_all(query)
                sides = sides[::-1]
            told = f"round {turn} of {sizes.rounds}" if turn else "warm"
            say(f"{told}: {_growth(small.samples, large.samples)}")
        return small.samples, large.samples


def _growth(small: Samples, large: Samples) -> dict[str, float]:
    return {step: round(median(large[step]) / median(small[step]), 2) for step in small}


def _figures(small: Samples, large: Samples) -> dict[str, object]:
    growth = _growth(small, large)
    return {
        "growth_max": max(growth.values()),
        "growth": growth,
        "p50_ms": {
            step: [round(median(small[step]), 3), round(median(large[step]), 3)] for step in small
        },
        "samples": min(map(len, large.values())),
    }


def _holds(figures: dict[str, object]) -> bool:
    growth, stored = (float(str(figures[x])) for x in ("growth_max", "bytes_per_settlement"))
    return growth <= _GROWTH_MAX and stored <= _BYTES_MAX


@contextlib.asynccontextmanager
async def _connected(url: Secret[str]) -> AsyncIterator[Connection]:
    db = await asyncpg.connect(url.reveal(), command_timeout=None)
    try:
        yield db
    finally:
        await db.close()


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
