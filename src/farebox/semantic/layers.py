"""The layers of the language model: what texts become that go through them (BERT, six layers).

Texts stand in rows of equal length, `[text, piece]`; what fills a row up is hidden from the rest.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from farebox.semantic.arrays import Floats, Tensors
from farebox.semantic.graph import FLOAT, Graph, Value

DIMENSIONS: Final = 384
LAYERS: Final = 6
HEADS: Final = 12
_HEAD: Final = DIMENSIONS // HEADS
_EPSILON: Final = 1e-12  # of the normalisations, as published
_LEAST: Final = 1e-12  # a length that is divided by
_HIDDEN: Final = 1e9
_SMALLEST_STEPS: Final = 63  # of a weight, either way

Product: TypeAlias = Callable[[Graph, Value, Floats], Value]


def filled_up(texts: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Each text's rows with nothing but 0 behind them, and 1 for each row that is there."""
    longest = max(map(len, texts))
    rows = np.zeros((len(texts), longest, DIMENSIONS), dtype=np.float32)
    there = np.zeros((len(texts), longest), dtype=np.float32)
    for place, text in enumerate(texts):
        rows[place, : len(text)] = text
        there[place, : len(text)] = 1
    return rows, there


def begun(graph: Graph, tensors: Tensors) -> Value:
    """The `rows` that are handed in, as the first layer takes them."""
    rows = graph.given("rows", ("texts", "pieces", DIMENSIONS))
    return _normalised(graph, tensors, "embeddings.LayerNorm", rows)


def hidden_from(graph: Graph, there: Value) -> Value:
    """What is added to the scores of pieces so that those that are not there count nothing."""
    gone = graph.node("Sub", there, graph.number(1.0))
    shaped = graph.node("Unsqueeze", gone, graph.whole([1, 2]))
    return graph.node("Mul", shaped, graph.number(_HIDDEN))


def exact(graph: Graph, rows: Value, weights: Floats) -> Value:
    """The product of the two."""
    return graph.node("MatMul", rows, graph.weights(weights))


def rough(graph: Graph, rows: Value, weights: Floats) -> Value:
    """Nearly the same by small whole numbers, in half the time: docs/decisions/0029 has how nearly.

    The weights have seven bits, so that no processor's sums of such products overflow.
    """
    scale = np.abs(weights).max(axis=0) / np.float32(_SMALLEST_STEPS)
    small = np.rint(weights / scale).astype(np.int8)
    whole, step, zero = graph.nodes("DynamicQuantizeLinear", rows, parts=3)
    sums = graph.node("MatMulInteger", whole, graph.weights(small), zero)
    steps = graph.node("Mul", step, graph.weights(scale))
    return graph.node("Mul", graph.node("Cast", sums, to=FLOAT), steps)


def through(
    graph: Graph,
    tensors: Tensors,
    number: int,
    rows: Value,
    added: Value,
    *,
    product: Product = exact,
) -> Value:
    """What comes out of the layer of that number, counted from 0.

    `added` is what is added to the scores, `[text, head, looking piece, piece looked at]`.
    """
    name = f"encoder.layer.{number}."

    def dense(part: str, rows: Value) -> Value:
        made = product(graph, rows, tensors[f"{name}{part}.weight"].T)
        return graph.node("Add", made, graph.weights(tensors[f"{name}{part}.bias"]))

    seen = _attended(graph, tensors, name + "attention.self.", rows, added, product)
    mixed = graph.node("Add", dense("attention.output.dense", seen), rows)
    mixed = _normalised(graph, tensors, name + "attention.output.LayerNorm", mixed)
    wide = graph.node("Gelu", dense("intermediate.dense", mixed))
    narrow = graph.node("Add", dense("output.dense", wide), mixed)
    return _normalised(graph, tensors, name + "output.LayerNorm", narrow)


def middle(graph: Graph, rows: Value, counted: Value) -> Value:
    """The mean of the pieces that are counted: a row a text."""
    weights = graph.node("Unsqueeze", counted, graph.whole([2]))
    total = graph.node("ReduceSum", graph.node("Mul", rows, weights), graph.whole([1]), keepdims=0)
    return graph.node("Div", total, graph.node("ReduceSum", weights, graph.whole([1]), keepdims=0))


def unit(graph: Graph, rows: Value) -> Value:
    """Each row at length one."""
    length = graph.node("ReduceL2", rows, graph.whole([-1]))
    return graph.node("Div", rows, graph.node("Max", length, graph.number(_LEAST)))


def _attended(
    graph: Graph, tensors: Tensors, name: str, rows: Value, added: Value, product: Product
) -> Value:
    """What each piece takes from the others."""
    scales = {"query": np.float32(_HEAD**-0.5), "key": np.float32(1), "value": np.float32(1)}
    weights = [tensors[f"{name}{part}.weight"].T * by for part, by in scales.items()]
    shifts = [tensors[f"{name}{part}.bias"] * by for part, by in scales.items()]
    made = product(graph, rows, np.concatenate(weights, axis=1))
    made = graph.node("Add", made, graph.weights(np.concatenate(shifts)))
    split = graph.whole([0, 0, HEADS, _HEAD])
    query, key, value = (
        graph.node("Reshape", part, split)
        for part in graph.nodes("Split", made, parts=3, axis=2, num_outputs=3)
    )
    scores = graph.node(
        "MatMul",
        graph.node("Transpose", query, perm=[0, 2, 1, 3]),
        graph.node("Transpose", key, perm=[0, 2, 3, 1]),
    )
    shares = graph.node("Softmax", graph.node("Add", scores, added), axis=-1)
    seen = graph.node("MatMul", shares, graph.node("Transpose", value, perm=[0, 2, 1, 3]))
    back = graph.node("Transpose", seen, perm=[0, 2, 1, 3])
    return graph.node("Reshape", back, graph.whole([0, 0, DIMENSIONS]))


def _normalised(graph: Graph, tensors: Tensors, name: str, rows: Value) -> Value:
    scale = graph.weights(tensors[name + ".weight"])
    shift = graph.weights(tensors[name + ".bias"])
    return graph.node("LayerNormalization", rows, scale, shift, axis=-1, epsilon=_EPSILON)
