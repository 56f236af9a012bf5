"""all-MiniLM-L6-v2 in numpy: six BERT layers, the mean of what comes out, at length one.

Its weights are those it was published with, changed by what it learned for the search. The lower
layers were left as they are: what comes out of them is also what a request and a listing are read
together from.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from farebox.semantic.adapter import adapt
from farebox.semantic.arithmetic import Floats, normalise, unit
from farebox.semantic.layers import (
    DIMENSIONS,
    LAYERS,
    LOWER,
    Layer,
    layer_of,
    norm_of,
    spans_of,
    through,
)
from farebox.semantic.together import LONGEST_LISTING, LONGEST_REQUEST, Together
from farebox.semantic.weights import LEARNED, MODEL, ModelFiles, ModelMissing

LONGEST: Final = 256  # word pieces of one text; what follows is not read
_MOST_PIECES: Final = 2048  # worked on at once; bounds the memory of a batch
_MOST_CHARACTERS: Final = 4096  # of one text that are cut into word pieces at all


class MiniLm:
    """An `Encoder`; threads may share it."""

    dimensions = DIMENSIONS

    def __init__(self, files: ModelFiles) -> None:
        self.name = MODEL if files.adapter is None else LEARNED
        self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self.words = frozenset(word for word in self._tokenizer.get_vocab() if word.isalpha())
        tensors = load_file(files.weights)
        self._together = None if files.together is None else Together(tensors, files.together)
        if files.adapter is not None:
            adapt(tensors, files.adapter)
        self._words = tensors["embeddings.word_embeddings.weight"]
        self._places: Floats = (
            tensors["embeddings.position_embeddings.weight"][:LONGEST]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = norm_of(tensors, "embeddings.LayerNorm")
        self._layers = [layer_of(tensors, each) for each in range(LAYERS)]

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length one for each text, in order; neighbours change nothing."""
        pieces = [self._pieces(text) for text in texts]
        found = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        # texts of one length stand together, so that none is filled up
        order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
        for places in _chunks(order, [len(each) for each in pieces]):
            rows, spans = self._run(self._layers, [pieces[place] for place in places])
            found[places] = unit(np.stack([rows[span].mean(axis=0) for span in spans]))
        return found

    def together(self, request: str, texts: Sequence[str]) -> Floats:
        """How surely each text answers the request, as the logarithm of the odds.

        Raises:
            ModelMissing: it is the model as it was published.
        """
        if self._together is None:
            raise ModelMissing("the model as published reads no two texts together")
        pieces = [_cut(self._pieces(request), LONGEST_REQUEST)]
        pieces += [_cut(self._pieces(text), LONGEST_LISTING) for text in texts]
        rows, (first, *others) = self._run(self._layers[:LOWER], pieces)
        return self._together.judge(rows[first], [rows[span] for span in others])

    def _pieces(self, text: str) -> NDArray[np.int64]:
        read = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()  # no lone surrogates
        return np.array(self._tokenizer.encode(read).ids, dtype=np.int64)

    def _run(
        self, layers: Sequence[Layer], texts: Sequence[NDArray[np.int64]]
    ) -> tuple[Floats, list[slice]]:
        """What comes out of the layers, texts one behind the other, and where each stands."""
        rows = self._words[np.concatenate(texts)]
        rows += np.concatenate([self._places[: len(text)] for text in texts])
        normalise(rows, *self._norm)
        spans = spans_of([len(text) for text in texts])
        for layer in layers:
            rows = through(layer, rows, spans)
        return rows, spans


def _cut(pieces: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """At most so many, the last of which says that the text ends."""
    return pieces if len(pieces) <= longest else np.append(pieces[: longest - 1], pieces[-1])


def _chunks(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    chunk: list[int] = []
    pieces = 0
    for place in order:
        if chunk and pieces + lengths[place] > _MOST_PIECES:
            yield chunk
            chunk, pieces = [], 0
        chunk.append(place)
        pieces += lengths[place]
    if chunk:
        yield chunk
