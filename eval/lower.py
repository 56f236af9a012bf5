"""What comes out of the layers below those that are learned for vectors, once a text."""

from collections.abc import Sequence
from typing import Final

import jax
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from eval.layers import LOWER, layers_of, normal, run
from farebox.semantic.embedding import Embedding, cut
from farebox.semantic.layers import DIMENSIONS
from farebox.semantic.weights import ModelFiles

_LONGEST: Final = 96  # word pieces of a text that are learned from
_AT_ONCE: Final = 64


class Lower:
    """What comes out of the lower layers, by text."""

    def __init__(self, files: ModelFiles) -> None:
        tensors = load_file(files.weights)
        self._embedding = Embedding(files.tokenizer, tensors)
        norm = "embeddings.LayerNorm"
        self._norm = (tensors[norm + ".weight"], tensors[norm + ".bias"])
        layers = layers_of(files)[:LOWER]
        self._run = jax.jit(lambda rows, there: run(layers, None, normal(rows, *self._norm), there))
        self._known: dict[str, NDArray[np.float16]] = {}

    def read(self, texts: Sequence[str]) -> None:
        """The texts are known from here on."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        pieces = {text: cut(self._embedding.pieces(text), _LONGEST) for text in new}
        new.sort(key=lambda text: len(pieces[text]))
        for at in range(0, len(new), _AT_ONCE):
            part = new[at : at + _AT_ONCE]
            long = -(-len(pieces[part[-1]]) // 16) * 16
            rows = np.zeros((_AT_ONCE, long, DIMENSIONS), np.float32)
            there = np.zeros((_AT_ONCE, long), bool)
            there[:, 0] = True
            for place, text in enumerate(part):
                own = pieces[text]
                rows[place, : len(own)] = self._embedding.rows(own)
                there[place, : len(own)] = True
            made = np.asarray(self._run(rows, there), np.float16)
            for place, text in enumerate(part):
                self._known[text] = made[place, : len(pieces[text])].copy()

    def length(self, text: str) -> int:
        """Its word pieces."""
        return len(self._known[text])

    def rows(
        self, texts: Sequence[str], *, long: int, count: int
    ) -> tuple[NDArray[np.float16], NDArray[np.bool_]]:
        """The texts in `count` rows of `long` pieces, and which of those are there."""
        rows = np.zeros((count, long, DIMENSIONS), np.float16)
        there = np.zeros((count, long), bool)
        there[len(texts) :, 0] = True
        for place, text in enumerate(texts):
            own = self._known[text][:long]
            rows[place, : len(own)] = own
            there[place, : len(own)] = True
        return rows, there
