"""`make bench BENCH=search-space`: the recall of the buckets and signatures of the semantic search.

It draws short texts from the list of synonyms, finds their nearest neighbours exactly and through
buckets and signatures, and prints the recall. `WRITE=1` computes the points again from other texts
(an hour of a core) and overwrites `src/farebox/semantic/space.bin`: every stored vector must be
computed again then, so raise the number in `farebox.semantic.generation`.
"""

import os
import random
import time
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from farebox.search.vocabulary.synonyms import synonym_groups
from farebox.semantic import space
from farebox.semantic.encoder import Encoder, load_encoder
from farebox.semantic.generation import BUCKETS, POINTS
from testing.machine import RunFailed, say
from testing.report import run_and_report

Rows = NDArray[np.float32]
_TEXTS: Final = 20_000
_QUICK: Final = 3_000
_TO_WRITE: Final = 200_000
_ASKED: Final = 200
_NEAREST: Final = 20
_POOL: Final = 200  # nearest by signature
_PROBES: Final = (4, 8, 16, 32)
_ROUNDS: Final = 25
_SPREAD: Final = 6  # groups of the list around one: those of a subject stand together
_FORMS: Final = (
    "{0} API",
    "{0} {1}",
    "{0} and {1} for any {2}",
    "Returns {0} with {1} and {2}",
    "Get the {0} of a {2}, as JSON",
    "{0} service: {1}, {2}, {3}. Pay per request.",
    "{0}. {1} by {2}",
    "Find {0} by {1} and {2}",
    "{0}",
    "{0} for {1}: takes a {2}, gives its {3} in real time",
    "how to {0} a {1}",
    "{1} from {0}, with {3}",
    "{0} tool that helps you with {1}. Parameters: {2}, {3}",
    "Live {0}, {1} and {2} data. Updated every minute",
)


def draw_texts(count: int, *, seed: int) -> list[str]:
    """Draw random texts of listings and queries, mostly of one subject each."""
    groups = synonym_groups()
    rng = random.Random(seed)

    def word(near: int) -> str:
        at = near + rng.randint(-_SPREAD, _SPREAD) if rng.random() < 0.65 else rng.randrange(9999)
        return " ".join(rng.choice(groups[at % len(groups)].entries))

    texts = []
    for _ in range(count):
        near = rng.randrange(len(groups))
        texts.append(rng.choice(_FORMS).format(*(word(near) for _ in range(4))))
    return texts


def _encode(encoder: Encoder, texts: list[str]) -> Rows:
    rows = [encoder.encode(texts[at : at + 512]) for at in range(0, len(texts), 512)]
    return np.concatenate(rows)


def _points(rows: Rows) -> Rows:
    """Compute `POINTS` centroids of the rows by k-means."""
    rng = np.random.default_rng(3)
    points = rows[rng.choice(len(rows), POINTS, replace=False)].copy()
    for _ in range(_ROUNDS):
        own = _nearest_points(rows, points)
        sums = np.zeros_like(points)
        np.add.at(sums, own, rows)
        empty = np.bincount(own, minlength=POINTS) == 0
        sums[empty] = rows[rng.choice(len(rows), int(empty.sum()))]
        points = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return points


def _nearest_points(rows: Rows, points: Rows) -> NDArray[np.int64]:
    found = [(rows[at : at + 8192] @ points.T).argmax(axis=1) for at in range(0, len(rows), 8192)]
    return np.concatenate(found)


def _measure(rows: Rows) -> dict[str, object]:
    known = space.known_space()
    codes = known.codes(rows)
    buckets = np.array([code.bucket for code in codes])
    signatures = np.frombuffer(b"".join(code.signature for code in codes), np.uint8)
    signatures = signatures.reshape(len(rows), -1)
    bucket_recall = dict.fromkeys(_PROBES, 0.0)
    signature_recall = 0.0
    queries = np.random.default_rng(5).choice(len(rows), _ASKED, replace=False)
    for index in queries:
        nearest = np.argsort(-(rows @ rows[index]))[1 : _NEAREST + 1]
        probe = known.probe(codes[index].vector)
        for probes in _PROBES:
            bucket_recall[probes] += (
                np.isin(buckets[nearest], probe.buckets[:probes]).mean() / _ASKED
            )
        differences = np.bitwise_count(signatures ^ signatures[index]).sum(axis=1)
        pool = np.argsort(differences, kind="stable")[:_POOL]
        signature_recall += np.isin(nearest, pool).mean() / _ASKED
    return {
        "texts": len(rows),
        "fullest_bucket": round(float(np.bincount(buckets - BUCKETS.start).max() / len(rows)), 4),
        **{
            f"found_in_{probes}_buckets": round(share, 3) for probes, share in bucket_recall.items()
        },
        f"found_in_{_POOL}_signatures": round(signature_recall, 3),
    }


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the recall of signatures is high enough, and the figures.

    Raises:
        RunFailed: the language model is not installed.
    """
    encoder = load_encoder()
    if encoder is None:
        raise RunFailed("the language model is not installed: scripts/setup dev installs it")
    if os.environ.get("WRITE") == "1":
        points = _points(_encode(encoder, draw_texts(_TO_WRITE, seed=7)))
        Path(str(space.__file__)).with_name("space.bin").write_bytes(
            b"".join(space.as_bytes(points))
        )
        space.known_space.cache_clear()
        say("the points are written")
    began = time.monotonic()
    rows = _encode(encoder, draw_texts(_QUICK if quick else _TEXTS, seed=11))
    each_ms = 1000 * (time.monotonic() - began) / len(rows)
    figures = _measure(rows) | {"encode_ms": round(each_ms, 2)}
    found = figures[f"found_in_{_POOL}_signatures"]
    return isinstance(found, float) and found >= 0.95, figures


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
