"""Fixed points in the space of meanings: which vectors are worth comparing with which.

The points were computed once (`make bench BENCH=search-space` measures them) and never move, so
what is found near a text does not depend on what else is kept. All of it is computed from a
vector's bytes with sums that are exact, so that every machine finds the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from farebox.semantic.arrays import Floats
from farebox.semantic.generation import BUCKETS, POINTS

DIMENSIONS: Final = 384
_FILE: Final = "space.bin"  # a row of signed bytes a point; their lengths say nothing

Exact = NDArray[np.float64]  # holds whole numbers, whose sums and products it gives exactly


@dataclass(frozen=True, slots=True)
class Code:
    """A vector as it is kept: 384 bytes for its cosine, 48 for a first look, and a bucket."""

    bucket: int
    signature: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class BucketProbe:
    """Where to look for what is near a vector: every bucket, the likeliest first."""

    buckets: tuple[int, ...]
    signature: bytes


class Space:
    """Codes of vectors, and where to look for neighbours."""

    def __init__(self, table: bytes) -> None:
        self._points: Exact = _rows(table, POINTS).T.copy()
        self._lengths: Exact = np.sqrt((self._points**2).sum(axis=0))

    def codes(self, rows: Floats) -> list[Code]:
        """What is kept of each row."""
        vectors = as_bytes(rows)
        kept = _rows(b"".join(vectors), len(vectors))
        nearest = (kept @ self._points / self._lengths).argmax(axis=1)
        buckets = (nearest + BUCKETS.start).tolist()
        return [Code(*each) for each in zip(buckets, _signatures(kept), vectors, strict=True)]

    def probe(self, vector: bytes) -> BucketProbe:
        """Where to look for what is near a vector."""
        row = _rows(vector, 1)
        likeness = (row @ self._points / self._lengths)[0]
        order: list[int] = (np.argsort(-likeness, kind="stable") + BUCKETS.start).tolist()
        return BucketProbe(tuple(order), _signatures(row)[0])


@cache
def known_space() -> Space:
    """The space of the model that `load_encoder` loads."""
    return Space((resources.files("farebox") / "semantic" / _FILE).read_bytes())


def middles(rows: Floats, counts: Sequence[int]) -> Floats:
    """Runs of rows as one row each, of length one: the first as much as all others together."""
    found = np.zeros((len(counts), rows.shape[1]), np.float32)
    start = 0
    for number, count in enumerate(counts):
        own = rows[start : start + count]
        rest = own[1:].sum(axis=0)
        found[number] = own[0] + rest / max(float(np.linalg.norm(rest)), 1e-9)
        start += count
    middle: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return middle


def as_bytes(rows: Floats) -> list[bytes]:
    """Each row as 384 signed bytes, the largest number at 127; directions differ by about 0.2 %."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-9)
    return [row.tobytes() for row in np.rint(rows * (127 / largest)).astype(np.int8)]


def likeness(vector: bytes, others: Sequence[bytes]) -> list[int]:
    """The cosine of each with `vector` in thousandths, -1000 to 1000."""
    if not others:
        return []
    one, rows = _rows(vector, 1)[0], _rows(b"".join(others), len(others))
    lengths = np.sqrt((rows**2).sum(axis=1) * (one**2).sum())
    found: list[int] = np.rint(1000 * (rows @ one) / np.maximum(lengths, 1)).astype(int).tolist()
    return found


def _signatures(rows: Exact) -> list[bytes]:
    """On which side of zero each row lies, axis by axis."""
    return [side.tobytes() for side in np.packbits(rows > 0, axis=1)]


def _rows(table: bytes, count: int) -> Exact:
    return np.frombuffer(table, dtype=np.int8).reshape(count, DIMENSIONS).astype(np.float64)
