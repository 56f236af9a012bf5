"""Fixed points in the space of meanings: which vectors are worth comparing with which.

The points were computed once (`make bench BENCH=search-space` measures them) and never move, so what
is found near a text does not depend on what else is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from farebox.semantic.arithmetic import Floats, unit

DIMENSIONS: Final = 384
POINTS: Final = 1024
SIGNATURE_BYTES: Final = DIMENSIONS // 8
_FILE: Final = "space.bin"  # signed bytes: a row for the middle of the space, then one a point
_MIDDLE_STEP: Final = np.float32(1 / 1024)  # of the middle's bytes; points have any length


@dataclass(frozen=True, slots=True)
class Code:
    """A vector as it is kept: 384 bytes for its cosine, 48 for a first look, one of 1,024 buckets."""

    bucket: int
    signature: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class Probe:
    """Where to look for what is near a vector: every bucket, the likeliest first."""

    buckets: tuple[int, ...]
    signature: bytes


class Space:
    """Codes of vectors and distances between them."""

    def __init__(self, table: bytes) -> None:
        rows = np.frombuffer(table, dtype=np.int8).reshape(POINTS + 1, DIMENSIONS)
        self._middle: Floats = rows[0].astype(np.float32) * _MIDDLE_STEP
        self._points: Floats = unit(rows[1:].astype(np.float32)).T.copy()

    def codes(self, rows: Floats) -> list[Code]:
        """What is kept of each row of length one."""
        if len(rows) == 0:
            return []
        buckets = (rows @ self._points).argmax(axis=1)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        vectors = np.rint(rows * (127 / np.maximum(largest, np.float32(1e-9)))).astype(np.int8)
        return [
            Code(int(bucket), signature, vector.tobytes())
            for bucket, signature, vector in zip(
                buckets, self._signatures(rows), vectors, strict=True
            )
        ]

    def probe(self, row: Floats) -> Probe:
        """Where to look for what is near `row`, of length one."""
        order = np.argsort(-(row @ self._points), kind="stable")
        return Probe(tuple(order.tolist()), self._signatures(row[None])[0])

    def _signatures(self, rows: Floats) -> list[bytes]:
        return [bits.tobytes() for bits in np.packbits(rows > self._middle, axis=1)]


@cache
def known_space() -> Space:
    """The space of the model that `load_encoder` loads."""
    return Space((resources.files("farebox") / "semantic" / _FILE).read_bytes())


def cosines(row: Floats, vectors: Sequence[bytes]) -> list[float]:
    """The cosine of each kept vector with `row`, to about 0.002."""
    if not vectors:
        return []
    kept = np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(len(vectors), DIMENSIONS)
    found: list[float] = (unit(kept.astype(np.float32)) @ row).tolist()
    return found
