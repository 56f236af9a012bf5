"""One layer of the language model: what it holds, and what texts become that go through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from farebox.semantic.arithmetic import Floats, gelu, normalise, softmax

DIMENSIONS: Final = 384
LAYERS: Final = 6
LOWER: Final = 3  # that are as they were published, whatever was learned
_HEADS: Final = 12
_HEAD: Final = DIMENSIONS // _HEADS


@dataclass(frozen=True, slots=True)
class Layer:
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


def spans_of(lengths: Sequence[int]) -> list[slice]:
    """Where texts of these lengths stand, one behind the other."""
    ends = np.cumsum(lengths).tolist()
    return [slice(end - length, end) for length, end in zip(lengths, ends, strict=True)]


def through(layer: Layer, rows: Floats, spans: Sequence[slice]) -> Floats:
    """What comes out of the layer: only attention looks at where a text ends."""
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


def norm_of(tensors: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    """Scale and shift of the normalisation that the model's file names so."""
    return tensors[name + ".weight"], tensors[name + ".bias"]


def layer_of(tensors: Mapping[str, Floats], number: int) -> Layer:
    """The layer of that number, counted from 0."""
    name = f"encoder.layer.{number}."
    own = name + "attention.self."
    scale = np.float32(_HEAD**-0.5)  # of the scores, laid into what makes the queries
    scales = {"query": scale, "key": np.float32(1), "value": np.float32(1)}
    return Layer(
        qkv=np.concatenate(
            [_turned(tensors, own + part) * by for part, by in scales.items()], axis=1
        ),
        qkv_shift=np.concatenate(
            [tensors[f"{own}{part}.bias"] * by for part, by in scales.items()]
        ),
        mixed=_turned(tensors, name + "attention.output.dense"),
        mixed_shift=tensors[name + "attention.output.dense.bias"],
        mixed_norm=norm_of(tensors, name + "attention.output.LayerNorm"),
        wide=_turned(tensors, name + "intermediate.dense"),
        wide_shift=tensors[name + "intermediate.dense.bias"],
        narrow=_turned(tensors, name + "output.dense"),
        narrow_shift=tensors[name + "output.dense.bias"],
        narrow_norm=norm_of(tensors, name + "output.LayerNorm"),
    )


def _turned(tensors: Mapping[str, Floats], name: str) -> Floats:
    return np.ascontiguousarray(tensors[name + ".weight"].T)
