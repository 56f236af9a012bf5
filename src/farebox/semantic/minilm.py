"""all-MiniLM-L6-v2 in numpy: six BERT layers, the mean of what comes out, at length one.

Its weights are those it was published with, changed by what it learned for the search.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from farebox.semantic.adapter import adapt
from farebox.semantic.arithmetic import Floats, gelu, normalise, softmax, unit
from farebox.semantic.weights import LEARNED, MODEL, ModelFiles

DIMENSIONS: Final = 384
LONGEST: Final = 256  # word pieces of one text; what follows is not read
_LAYERS: Final = 6
_HEADS: Final = 12
_HEAD: Final = DIMENSIONS // _HEADS
_MOST_PIECES: Final = 2048  # worked on at once; bounds the memory of a batch
_MOST_CHARACTERS: Final = 4096  # of one text that are cut into word pieces at all


@dataclass(frozen=True, slots=True)
class _Layer:
    """Weights laid out for `rows @ weights`; the first product makes query, key and value."""

    qkv: Floats
    qkv_shift: Floats
    mixed: Floats
    mixed_shift: Floats
    mixed_norm: tuple[Floats, Floats]
    wide: Floats
    wide_shift: Floats
    narrow: Floats
    narrow_shift: Floats
    narrow_norm: tuple[Floats, Floats]


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
        if files.adapter is not None:
            adapt(tensors, files.adapter)
        self._words = tensors["embeddings.word_embeddings.weight"]
        self._places: Floats = (
            tensors["embeddings.position_embeddings.weight"][:LONGEST]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _norm(tensors, "embeddings.LayerNorm")
        self._layers = [_layer(tensors, f"encoder.layer.{each}.") for each in range(_LAYERS)]

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length one for each text, in order; neighbours change nothing."""
        pieces = [self._pieces(text) for text in texts]
        found = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        # texts of one length stand together, so that none is filled up
        order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
        for places in _chunks(order, [len(each) for each in pieces]):
            found[places] = self._run([pieces[place] for place in places])
        return found

    def _pieces(self, text: str) -> NDArray[np.int64]:
        read = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()  # no lone surrogates
        return np.array(self._tokenizer.encode(read).ids, dtype=np.int64)

    def _run(self, texts: Sequence[NDArray[np.int64]]) -> Floats:
        """Texts one behind the other: only attention looks at where one ends."""
        rows = self._words[np.concatenate(texts)]
        rows += np.concatenate([self._places[: len(text)] for text in texts])
        normalise(rows, *self._norm)
        ends = np.cumsum([len(text) for text in texts])
        spans = [
            slice(int(end) - len(text), int(end)) for text, end in zip(texts, ends, strict=True)
        ]
        for layer in self._layers:
            rows = _through(layer, rows, spans)
        return unit(np.stack([rows[span].mean(axis=0) for span in spans]))


def _through(layer: _Layer, rows: Floats, spans: Sequence[slice]) -> Floats:
    qkv = _dense(rows, layer.qkv, layer.qkv_shift)
    seen = np.empty_like(rows)
    for span in spans:
        _attend(qkv[span], seen[span])
    mixed = _dense(seen, layer.mixed, layer.mixed_shift)
    mixed += rows
    normalise(mixed, *layer.mixed_norm)
    wide = gelu(_dense(mixed, layer.wide, layer.wide_shift))
    narrow = _dense(wide, layer.narrow, layer.narrow_shift)
    narrow += mixed
    return normalise(narrow, *layer.narrow_norm)


def _dense(rows: Floats, weights: Floats, shift: Floats) -> Floats:
    made: Floats = np.matmul(rows, weights)
    made += shift
    return made


def _attend(qkv: Floats, out: Floats) -> None:
    """What each piece of one text takes from the others, into `out`."""
    length = len(qkv)
    query, key, value = qkv.reshape(length, 3, _HEADS, _HEAD).transpose(1, 2, 0, 3)
    shares = softmax(query @ key.transpose(0, 2, 1))
    out.reshape(length, _HEADS, _HEAD)[:] = (shares @ value).transpose(1, 0, 2)


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


def _norm(tensors: dict[str, Floats], name: str) -> tuple[Floats, Floats]:
    return tensors[name + ".weight"], tensors[name + ".bias"]


def _layer(tensors: dict[str, Floats], name: str) -> _Layer:
    own = name + "attention.self."
    scale = np.float32(_HEAD**-0.5)  # of the scores, laid into what makes the queries
    scales = {"query": scale, "key": np.float32(1), "value": np.float32(1)}
    return _Layer(
        qkv=np.concatenate(
            [_turned(tensors, own + part) * by for part, by in scales.items()], axis=1
        ),
        qkv_shift=np.concatenate(
            [tensors[f"{own}{part}.bias"] * by for part, by in scales.items()]
        ),
        mixed=_turned(tensors, name + "attention.output.dense"),
        mixed_shift=tensors[name + "attention.output.dense.bias"],
        mixed_norm=_norm(tensors, name + "attention.output.LayerNorm"),
        wide=_turned(tensors, name + "intermediate.dense"),
        wide_shift=tensors[name + "intermediate.dense.bias"],
        narrow=_turned(tensors, name + "output.dense"),
        narrow_shift=tensors[name + "output.dense.bias"],
        narrow_norm=_norm(tensors, name + "output.LayerNorm"),
    )


def _turned(tensors: dict[str, Floats], name: str) -> Floats:
    return np.ascontiguousarray(tensors[name + ".weight"].T)
