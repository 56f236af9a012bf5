"""BENCH=search: a million listings, searched while fifty a second are written.

Data and indexes are built once and kept; every run works on a copy of them. QUICK=1 stops at a
hundred thousand. PLOT=path draws it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.search_client import Plan
from bench.search_cluster import SERVER, Cluster, Seconds, find_cluster, serve_cluster
from bench.search_plot import Bar, draw_latencies
from bench.search_queries import KEYWORDS, Kind
from bench.search_run import Run, measure
from bench.search_samples import Samples
from bench.search_sizes import build
from testing.machine import say
from testing.report import numbers_of, run_and_report, timed

_P50_MS: Final = 12.0
_P95_MS: Final = 60.0
_WORST_P50_MS: Final = 40.0
_WORST_P95_MS: Final = 120.0
_SENTENCE_P50_MS: Final = 30.0
_SENTENCE_P95_MS: Final = 120.0
_UPSERTS_PER_S: Final = 50.0


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes and repetitions of a run."""

    listings: tuple[int, ...]
    each: int  # queries of a kind of the largest size; half as many of the others
    rounds: int  # of the largest size
    plain: int  # queries of a kind for the plain statement


FULL: Final = Size(listings=(10_000, 100_000, 1_000_000), each=20, rounds=2, plain=3)
QUICK: Final = Size(listings=(10_000, 100_000), each=8, rounds=1, plain=2)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    cluster = find_cluster()
    built = await build(cluster, size.listings)
    runs = await _measure_sizes(cluster, size)
    figures = _figures(runs, built)
    if plot := os.environ.get("PLOT"):
        _draw(runs, Path(plot))
    return _holds(figures), figures


async def _measure_sizes(cluster: Cluster, size: Size) -> dict[int, Run]:
    runs = {}
    with serve_cluster(cluster, is_building=False) as url:
        for listings in size.listings:
            is_largest = listings == max(size.listings)
            index = str(cluster.index(listings)) if is_largest else ""
            each, rounds = (size.each, size.rounds) if is_largest else (size.each // 2, 1)
            plan = Plan("", listings, each, rounds, index, size.plain)
            runs[listings] = await measure(url, plan)
            say(f"{listings:,}: {runs[listings].samples.keywords('ours').figures()}")
    return runs


def _figures(runs: dict[int, Run], built: Seconds) -> dict[str, object]:
    largest = runs[max(runs)]
    ours, theirs = (largest.samples.keywords(side) for side in ("ours", "tantivy"))
    sentences = largest.samples.of("ours", kinds=(Kind.SENTENCE,))
    worst = largest.samples.worst("ours")
    return {
        "listings": max(runs),
        "p50_ms": ours.p50_ms,
        "p95_ms": ours.p95_ms,
        "worst_p50_ms": worst[0],
        "worst_p95_ms": worst[1],
        "sentence_p50_ms": sentences.p50_ms,
        "sentence_p95_ms": sentences.p95_ms,
        "engine_ratio": _ratio(ours.p50_ms, theirs.p50_ms),
        "upserts_per_s": largest.upserts_per_s,
        "failed_upserts": largest.written.failed,
        "stages": list(largest.stages),
        "classes": largest.samples.by_kind("ours"),
        "tantivy": largest.samples.by_kind("tantivy"),
        "plain": {
            kind.value: largest.samples.of("plain", kinds=(kind,)).figures() for kind in Kind
        },
        "sizes": {str(listings): _size_figures(each) for listings, each in runs.items()},
        "build_s": built,
        "server": SERVER,
    }


def _size_figures(each: Run) -> dict[str, object]:
    sentences = each.samples.of("ours", kinds=(Kind.SENTENCE,))
    return {
        "keywords": each.samples.keywords("ours").figures(),
        "sentences": sentences.figures(),
        "plain": each.samples.of("plain", kinds=KEYWORDS).figures(),
        "upserts_per_s": each.upserts_per_s,
        "upsert_ms": [each.written.p50_ms, each.written.p95_ms],
        "megabytes": each.megabytes,
    }


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 2) if ours and theirs else None


def _draw(runs: dict[int, Run], path: Path) -> None:
    """Draw our latency by class and size, and that of the comparison engine at the largest size."""
    sides = {f"farebox, {n:,}": run.samples for n, run in runs.items()}
    bars = {
        kind.value: {
            name: bar for name, samples in sides.items() if (bar := _bar(samples, "ours", kind))
        }
        for kind in Kind
    }
    largest = runs[max(runs)].samples
    for kind in Kind:
        if bar := _bar(largest, "tantivy", kind):
            bars[kind.value][f"tantivy, {max(runs):,}"] = bar
    draw_latencies(path, bars, "Search latency while 50 listings a second are written")
    say(f"drawn to {path}")


def _bar(samples: Samples, side: str, kind: Kind) -> Bar | None:
    samples_of_kind = samples.of(side, kinds=(kind,))
    return (
        Bar(samples_of_kind.p50_ms, samples_of_kind.p95_ms)
        if samples_of_kind.p50_ms and samples_of_kind.p95_ms
        else None
    )


def _holds(figures: dict[str, object]) -> bool:
    number = numbers_of(figures)
    return (
        number("p50_ms") <= _P50_MS
        and number("p95_ms") <= _P95_MS
        and number("worst_p50_ms") <= _WORST_P50_MS
        and number("worst_p95_ms") <= _WORST_P95_MS
        and number("sentence_p50_ms") <= _SENTENCE_P50_MS
        and number("sentence_p95_ms") <= _SENTENCE_P95_MS
        and number("upserts_per_s") >= _UPSERTS_PER_S * 0.95
        and number("failed_upserts") == 0
    )


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
