"""all-MiniLM-L6-v2, run by onnxruntime: six BERT layers and the mean of what comes out of them.

Its weights are those it was published with, changed by what it learned for the search.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from safetensors.numpy import load_file

from farebox.semantic.adapter import adapt
from farebox.semantic.arrays import Floats, Tensors
from farebox.semantic.embedding import Embedding, cut
from farebox.semantic.graph import Graph, Value
from farebox.semantic.layers import (
    DIMENSIONS,
    LAYERS,
    Product,
    begun,
    filled_up,
    hidden_from,
    middle,
    rough,
    through,
    unit,
)
from farebox.semantic.together import LONGEST_LISTING, LONGEST_REQUEST, Together
from farebox.semantic.weights import LEARNED, MODEL, ModelFiles, ModelMissing

_MOST_PIECES: Final = 2048  # worked on at once; bounds the memory of a batch
_ALIKE: Final = 1.25  # lengths of texts that are worked on at once


class MiniLm:
    """An `Encoder`; threads may share it. `reading` is how texts are multiplied in `together`."""

    dimensions = DIMENSIONS

    def __init__(self, files: ModelFiles, *, reading: Product = rough) -> None:
        self.name = MODEL if files.adapter is None else LEARNED
        tensors = load_file(files.weights)
        self._embedding = Embedding(files.tokenizer, tensors)
        self.words = self._embedding.words
        self._together = None
        if files.together is not None:
            self._together = Together(tensors, files.together, product=reading)
        if files.adapter is not None:
            adapt(tensors, files.adapter)
        graph = Graph()
        self._vectors = graph.ready(_vectors(graph, tensors))

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length one for each text, in order; neighbours change nothing."""
        pieces = [self._embedding.pieces(text) for text in texts]
        found = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        # texts of like length stand together, so that little is filled up
        order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
        for chosen in _chunks(order, [len(each) for each in pieces]):
            rows, there = filled_up([self._embedding.rows(pieces[place]) for place in chosen])
            found[chosen] = self._vectors(rows=rows, there=there)
        return found

    def together(self, request: str, texts: Sequence[str]) -> Floats:
        """How surely each text answers the request, as the logarithm of the odds.

        Raises:
            ModelMissing: it is the model as it was published.
        """
        if self._together is None:
            raise ModelMissing("the model as published reads no two texts together")
        return self._together.judge(
            self._begun(request, LONGEST_REQUEST),
            [self._begun(text, LONGEST_LISTING) for text in texts],
        )

    def _begun(self, text: str, longest: int) -> Floats:
        return self._embedding.rows(cut(self._embedding.pieces(text), longest))


def _vectors(graph: Graph, tensors: Tensors) -> Value:
    there = graph.given("there", ("texts", "pieces"))
    hidden = hidden_from(graph, there)
    rows = begun(graph, tensors)
    for number in range(LAYERS):
        rows = through(graph, tensors, number, rows, hidden)
    return unit(graph, middle(graph, rows, there))


def _chunks(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts that are filled up to the longest of them: not by much, and not too many."""
    chunk: list[int] = []
    for place in order:  # from the shortest to the longest
        longest = lengths[place]
        if chunk and (
            (len(chunk) + 1) * longest > _MOST_PIECES or longest > _ALIKE * lengths[chunk[0]]
        ):
            yield chunk
            chunk = []
        chunk.append(place)
    if chunk:
        yield chunk
