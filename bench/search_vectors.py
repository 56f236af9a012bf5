"""Vectors for a million listings in a minute, where the language model would take hours.

The model reads each word of the vocabulary's head once; a listing's vector is the mean of its
words' vectors, and some noise in place of the words the model was not asked for. Their form and how
they crowd together are those of real ones; what a query finds among them is not judged here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bench.search_listings import SEED, Synthetic
from bench.search_topics import TOPICS
from bench.search_words import HEAD, PLACES
from farebox.semantic.encoder import load_encoder

if TYPE_CHECKING:
    from farebox.semantic.space import Code

_NOISE: Final = 0.35  # of a vector's length
_AT_ONCE: Final = 64


class Vectors:
    """Codes of listings; one for a process."""

    def __init__(self) -> None:
        import numpy as np

        from farebox.semantic.space import known_space

        encoder = load_encoder()
        if encoder is None:
            raise LookupError("no language model")
        words = sorted({*HEAD, *PLACES, *(word for each in TOPICS for word in each.words)})
        self._place = {word: place for place, word in enumerate(words)}
        parts = [words[at : at + _AT_ONCE] for at in range(0, len(words), _AT_ONCE)]
        self._table = np.concatenate([encoder.encode(part) for part in parts])
        self._space, self._chance = known_space(), np.random.default_rng(SEED)

    def codes(self, listings: Sequence[Synthetic]) -> "list[Code]":
        """What is kept of each listing's vector."""
        import numpy as np

        means = np.stack([self._table[self._known(each)].mean(axis=0) for each in listings])
        rows = means / np.linalg.norm(means, axis=1, keepdims=True)
        noise = self._chance.standard_normal(rows.shape, dtype=np.float32)
        rows = rows + noise * np.float32(_NOISE / np.sqrt(rows.shape[1]))
        return self._space.codes(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def _known(self, each: Synthetic) -> list[int]:
        said = (each.service_name, each.description.rstrip("."), each.parameters, *each.tags)
        words = " ".join(said).lower().split()
        return [self._place[word] for word in words if word in self._place] or [0]


def open_vectors() -> Vectors | None:
    """None where the language model is not installed: the search has no semantic stage then."""
    try:
        return Vectors()
    except (ImportError, LookupError):
        return None
