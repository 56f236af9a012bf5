"""A request and a listing read together, by layers that learned it (a cross-encoder).

Two vectors say what texts are about; whether one answers the other is seen only where each word of
the one may look at each of the other. How far a head looks across is learned.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file

from farebox.semantic.adapter import adapt
from farebox.semantic.arrays import Floats, Tensors
from farebox.semantic.graph import Graph, Value
from farebox.semantic.layers import (
    LAYERS,
    Product,
    begun,
    middle,
    rough,
    through,
    unit,
)

LONGEST_REQUEST: Final = 64  # word pieces
LONGEST_LISTING: Final = 48
TOLD_APART: Final = 3  # the layer before which a listing's pieces are told from a request's
_HALF: Final = 0.5


class Together:
    """The layers with what they learned; threads may share it."""

    def __init__(self, published: Tensors, learned: Path, *, product: Product = rough) -> None:
        tensors = dict(published)
        adapt(tensors, learned)
        tensors |= {name: part.astype(np.float32) for name, part in load_file(learned).items()}
        graph = Graph()
        self._run = graph.ready(_log_odds(graph, tensors, product))

    def judge(self, request: Floats, listings: Sequence[Floats]) -> Floats:
        """The logarithm of the odds that each listing answers the request.

        Both as they go into the first layer, a row a word piece.
        """
        # one by one: how finely numbers are told apart depends on all that is read at once
        return np.concatenate([self._judge(request, own) for own in listings])

    def _judge(self, request: Floats, listing: Floats) -> Floats:
        rows = np.concatenate([request, listing])[None]
        asked = np.zeros(rows.shape[:2], dtype=np.float32)
        asked[:, : len(request)] = 1
        return self._run(rows=rows, asked=asked, offered=1 - asked)


def _log_odds(graph: Graph, tensors: Tensors, product: Product) -> Value:
    asked, offered = (graph.given(each, ("texts", "pieces")) for each in ("asked", "offered"))
    across = _across(graph, asked)
    beside = graph.node(
        "Mul",
        graph.node("Unsqueeze", offered, graph.whole([2])),
        graph.weights(tensors["together.beside"]),
    )
    rows = begun(graph, tensors)
    for number in range(LAYERS):
        if number == TOLD_APART:
            rows = graph.node("Add", rows, beside)
        apart = graph.weights(tensors["together.apart"][number].reshape(1, -1, 1, 1))
        added = graph.node("Mul", across, apart)
        rows = through(graph, tensors, number, rows, added, product=product)
    request, listing = middle(graph, rows, asked), middle(graph, rows, offered)
    first = graph.node("Gather", rows, graph.whole(0), axis=1)
    said = graph.node("Concat", request, listing, first, axis=1)
    odds = graph.node("MatMul", said, graph.weights(tensors["together.head"]))
    alike = graph.node("Mul", unit(graph, request), unit(graph, listing))
    likeness = graph.node("ReduceSum", alike, graph.whole([1]), keepdims=0)
    beyond = graph.node("Sub", likeness, graph.number(_HALF))
    sharp = graph.node("Mul", beyond, graph.weights(tensors["together.sharpness"]))
    shift = graph.weights(tensors["together.shift"])
    return graph.node("Add", graph.node("Add", odds, sharp), shift)


def _across(graph: Graph, asked: Value) -> Value:
    """1 where a piece looks at one of the other text: `[text, 1, looking, looked at]`."""
    looking = graph.node("Unsqueeze", asked, graph.whole([1, 3]))
    looked_at = graph.node("Unsqueeze", asked, graph.whole([1, 2]))
    return graph.node("Abs", graph.node("Sub", looking, looked_at))
