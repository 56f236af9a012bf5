"""BENCH=growth: the latency of each step with 10,000 settlements and with a million.

Both databases hold the same listings and users; settlements and the payers of a day differ.
QUICK=1 compares smaller ones.
"""

import gc
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.growth_fill import Size, add_users, bytes_per_settlement, fill
from bench.growth_steps import Samples, Steps, open_steps
from bench.search_build import DatabaseBuild
from bench.search_cluster import SERVER, configure
from bench.search_listings import Generator
from bench.search_queries import draw
from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from testing.database import connected, create_database, execute, named_database
from testing.machine import say
from testing.report import run_and_report, timed

_GROWTH_MAX: Final = 2.0
_BYTES_MAX: Final = 3_000
_EACH: Final = 8  # queries of a kind


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that are compared."""

    small: Size
    large: Size
    listings: int  # and users
    rounds: int


FULL: Final = Sizes(Size(10_000), Size(1_000_000), listings=100_000, rounds=5)
QUICK: Final = Sizes(Size(2_000), Size(100_000), listings=5_000, rounds=3)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether no step slows down with the settlements, and the figures."""
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="farebox-growth-") as folder:
        os.chmod(folder, 0o711 if os.geteuid() == 0 else 0o700)
        cluster = Path(folder)
        with EmbeddedPostgres(cluster, is_throwaway=True) as server:
            await configure(server.url, is_building=True)
        with EmbeddedPostgres(cluster, is_throwaway=True) as server:
            urls, stored_bytes = await _build(server.url, sizes)
            small, large = await _measure(urls, sizes)
    figures = _figures(small, large) | {
        "bytes_per_settlement": round(sum(stored_bytes.values())),
        "bytes": stored_bytes,
        "settlements": [sizes.small.settlements, sizes.large.settlements],
        "payers_a_day": [sizes.small.payers, sizes.large.payers],
        "listings": sizes.listings,
        "server": SERVER,
    }
    return _holds(figures), figures


async def _build(
    server: Secret[str], sizes: Sizes
) -> tuple[tuple[Secret[str], Secret[str]], dict[str, float]]:
    """Build both databases; return their URLs and the bytes for each settlement."""
    database_build = DatabaseBuild(server, sizes.listings)
    await database_build.build()
    template = f"listings_{sizes.listings}"
    async with connected(named_database(server, template)) as db:
        await add_users(db, sizes.listings)
        await db.execute("VACUUM (ANALYZE) users, api_keys")
    urls = []
    for name, size in (("small", sizes.small), ("large", sizes.large)):
        how = f"TEMPLATE {template} STRATEGY file_copy"
        urls.append(await create_database(server, name, how))
        await fill(urls[-1], size)
    async with connected(urls[-1]) as db:
        stored_bytes = await bytes_per_settlement(db, sizes.large)
    await configure(server, is_building=False)  # autovacuum is on from here
    await execute(server, "CHECKPOINT")
    return (urls[0], urls[1]), stored_bytes


async def _measure(urls: tuple[Secret[str], Secret[str]], sizes: Sizes) -> tuple[Samples, Samples]:
    """Measure both databases in turn, so that disturbances affect both alike."""
    queries = draw(Generator(), listings=sizes.listings, each=_EACH)
    async with (
        open_steps(urls[0], sizes.small, sizes.listings) as small,
        open_steps(urls[1], sizes.large, sizes.listings) as large,
    ):
        sides: tuple[Steps, ...] = (small, large)
        gc.freeze()  # keep the generator's words out of garbage collection
        for turn in range(sizes.rounds + 1):
            if turn == 1:  # the first round is a warm-up
                for side in sides:
                    side.samples.clear()
            for query in queries:
                for side in sides:
                    await side.run_all(query)
                sides = sides[::-1]
            label = f"round {turn} of {sizes.rounds}" if turn else "warm"
            say(f"{label}: {_growth(small.samples, large.samples)}")
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
    growth, stored_bytes = (float(str(figures[x])) for x in ("growth_max", "bytes_per_settlement"))
    return growth <= _GROWTH_MAX and stored_bytes <= _BYTES_MAX


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
