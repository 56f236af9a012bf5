"""Vectors for a million listings in a minute, where the language model would take hours.

The model reads a few texts of every subject. A listing's vector lies between two of its subject's,
with some noise, so vectors have the distribution of real ones. The bench does not judge the results
of queries.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bench.search_listings import SEED, Generator, Synthetic
from bench.search_topics import TOPICS
from farebox.semantic.encoder import load_encoder

if TYPE_CHECKING:
    from farebox.semantic.space import Code

_READ: Final = 12  # texts of a subject
_AT_ONCE: Final = 16
_ONE, _OTHER, _NOISE = 0.7, 0.5, 0.5  # parts of the length


class Vectors:
    """Computes the codes of listings, one instance for each process."""

    def __init__(self, generator: Generator) -> None:
        import numpy as np

        from farebox.semantic.space import known_space

        encoder = load_encoder()
        if encoder is None:
            raise LookupError("no language model")
        texts = _texts(generator)
        parts = [texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE)]
        rows = np.concatenate([encoder.encode(part) for part in parts])
        self._read = rows.reshape(len(TOPICS), _READ, -1)
        self._space = known_space()

    def codes(self, listings: Sequence[Synthetic]) -> "list[Code]":
        """Compute the stored codes of listings; deterministic."""
        import numpy as np

        rng = np.random.default_rng(SEED + listings[0].number)
        topics = [each.topic for each in listings]
        one, other = rng.integers(0, _READ, (2, len(listings)))
        noise = rng.standard_normal((len(listings), self._read.shape[2]), dtype=np.float32)
        rows = (
            np.float32(_ONE) * self._read[topics, one]
            + np.float32(_OTHER) * self._read[topics, other]
            + noise * np.float32(_NOISE / np.sqrt(noise.shape[1]))
        )
        return self._space.codes(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _texts(generator: Generator) -> list[str]:
    """Collect texts of the first listings of every subject."""
    found: list[list[str]] = [[] for _ in TOPICS]
    number = 1
    while any(len(texts) < _READ for texts in found):
        each = generator.listing(number)
        if len(found[each.topic]) < _READ:
            fields = (each.service_name, each.description, ", ".join(each.tags))
            found[each.topic].append(". ".join(fields))
        number += 1
    return [text for texts in found for text in texts]


def open_vectors(generator: Generator) -> Vectors | None:
    """Open the vectors; None when the language model is not installed."""
    try:
        return Vectors(generator)
    except (ImportError, LookupError):
        return None
