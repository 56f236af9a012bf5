"""The language model's layers where a change of their weights can be learned.

The same computation as `farebox.semantic.minilm`, for texts of one length in rows that are filled
up. The lower layers never change: what comes out of them is computed once a text.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from farebox.semantic.adapter import PARTS
from farebox.semantic.layers import LAYERS, LOWER
from farebox.semantic.weights import ModelFiles

Array: TypeAlias = jax.Array
Layer: TypeAlias = dict[str, tuple[Array, Array]]  # weights and shift of each part, by its name
Change: TypeAlias = dict[str, dict[str, Array]]  # of one layer: narrow, wide and shift of a part

UPPER: Final = LAYERS - LOWER
RANK: Final = 8
_WIDTH: Final = 384
_HEADS: Final = 12
_LONGEST: Final = 96  # word pieces of a text that are learned from
_AT_ONCE: Final = 64
_QUERY, _KEY, _VALUE, _MIXED, _WIDE, _NARROW = PARTS
_NORMS: Final = ("attention.output.LayerNorm", "output.LayerNorm")


def no_change(seed: int, *, rank: int = RANK) -> list[Change]:
    """What training begins with: a change that changes nothing."""
    shapes = {_WIDE: (_WIDTH, 4 * _WIDTH), _NARROW: (4 * _WIDTH, _WIDTH)}
    key = jax.random.PRNGKey(seed)
    changes = []
    for _ in range(UPPER):
        change: Change = {}
        for part in PARTS:
            key, own = jax.random.split(key)
            inward, outward = shapes.get(part, (_WIDTH, _WIDTH))
            change[part] = {
                "narrow": jax.random.normal(own, (inward, rank)) / np.sqrt(inward),
                "wide": jnp.zeros((rank, outward)),
                "shift": jnp.zeros(outward),
            }
        changes.append(change)
    return changes


def write_changes(
    changes: Sequence[Change], path: Path, *, beside: Mapping[str, Array] | None = None
) -> None:
    """The file that `farebox.semantic.adapter` reads, in half precision.

    What stands `beside` the changes is there under its own names.
    """
    tensors = {name: _half(own) for name, own in (beside or {}).items()}
    for number, change in enumerate(changes, start=LOWER):
        for part, own in change.items():
            name = f"encoder.layer.{number}.{part}"
            tensors[f"{name}.narrow"] = _half(own["narrow"].T)
            tensors[f"{name}.wide"] = _half(own["wide"].T)
            tensors[f"{name}.shift"] = _half(own["shift"])
    save_file(tensors, path)


def read_changes(path: Path) -> tuple[list[Change], dict[str, Array]]:
    """What `write_changes` wrote: the changes, and what stands beside them."""
    tensors = {name: jnp.asarray(own, jnp.float32) for name, own in load_file(path).items()}
    changes: list[Change] = [
        {
            part: {
                name: tensors.pop(f"encoder.layer.{number}.{part}.{name}").T
                for name in ("narrow", "wide", "shift")
            }
            for part in PARTS
        }
        for number in range(LOWER, LAYERS)
    ]
    return changes, tensors


def _half(values: Array) -> NDArray[np.float16]:
    return np.ascontiguousarray(np.asarray(values), dtype=np.float16)


def upper_layers(files: ModelFiles) -> list[Layer]:
    """The layers that may change, as they were published."""
    tensors = load_file(files.weights)
    return [_layer(tensors, number) for number in range(LOWER, LOWER + UPPER)]


def _layer(tensors: Mapping[str, NDArray[np.float32]], number: int) -> Layer:
    name = f"encoder.layer.{number}."
    found = {
        part: (
            jnp.asarray(tensors[f"{name}{part}.weight"].T),
            jnp.asarray(tensors[f"{name}{part}.bias"]),
        )
        for part in PARTS
    }
    norms = {
        part: (
            jnp.asarray(tensors[f"{name}{part}.weight"]),
            jnp.asarray(tensors[f"{name}{part}.bias"]),
        )
        for part in _NORMS
    }
    return found | norms


class Lower:
    """What comes out of the lower layers, by text."""

    def __init__(self, files: ModelFiles, *, longest: int = _LONGEST) -> None:
        tensors = load_file(files.weights)
        self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)
        self._words = tensors["embeddings.word_embeddings.weight"]
        self._places = (
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        norm = "embeddings.LayerNorm"
        self._norm = (tensors[norm + ".weight"], tensors[norm + ".bias"])
        layers = [_layer(tensors, number) for number in range(LOWER)]
        self._run = jax.jit(
            lambda rows, there: run(layers, None, _normal(rows, *self._norm), there)
        )
        self._known: dict[str, NDArray[np.float16]] = {}

    def read(self, texts: Sequence[str]) -> None:
        """The texts are known from here on."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        pieces = {text: self._tokenizer.encode(text).ids for text in new}
        new.sort(key=lambda text: len(pieces[text]))
        for at in range(0, len(new), _AT_ONCE):
            part = new[at : at + _AT_ONCE]
            long = -(-len(pieces[part[-1]]) // 16) * 16
            rows = np.zeros((_AT_ONCE, long, _WIDTH), np.float32)
            there = np.zeros((_AT_ONCE, long), bool)
            there[:, 0] = True
            for place, text in enumerate(part):
                own = pieces[text]
                rows[place, : len(own)] = self._words[own] + self._places[: len(own)]
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
        rows = np.zeros((count, long, _WIDTH), np.float16)
        there = np.zeros((count, long), bool)
        there[len(texts) :, 0] = True
        for place, text in enumerate(texts):
            own = self._known[text][:long]
            rows[place, : len(own)] = own
            there[place, : len(own)] = True
        return rows, there


def run(
    layers: Sequence[Layer],
    changes: Sequence[Change] | None,
    rows: Array,
    there: Array,
    *,
    key: Array | None = None,
    left_out: float = 0.0,
) -> Array:
    """What comes out of the layers; with a key, a part of what goes into changes is left out."""
    hidden = jnp.where(there[:, None, None, :], 0.0, -1e9)
    keys = None if key is None else jax.random.split(key, len(layers))

    def through(rows: Array, own: tuple[Layer, Change | None, Array | None]) -> tuple[Array, None]:
        layer, change, key = own
        parts = None if key is None else jax.random.split(key, len(PARTS))
        return _through(layer, change or {}, rows, hidden, parts, left_out), None

    # written once for all layers: compiling is what takes long
    each = (_stacked(layers), _stacked(changes) if changes else None, keys)
    rows, _ = jax.lax.scan(through, rows.astype(jnp.float32), each)
    return rows


def _stacked(layers: Sequence[Layer] | Sequence[Change]) -> Any:
    return jax.tree.map(lambda *arrays: jnp.stack(arrays), *layers)


def meanings(rows: Array, there: Array) -> Array:
    """The middle of each text's pieces, at length one."""
    total = (rows * there[..., None]).sum(1)
    return total / jnp.maximum(jnp.linalg.norm(total, axis=-1, keepdims=True), 1e-9)


def _through(
    layer: Layer, change: Change, rows: Array, hidden: Array, keys: Array | None, left_out: float
) -> Array:
    def dense(part: str, inward: Array) -> Array:
        weights, shift = layer[part]
        made = inward @ weights + shift
        if part not in change:
            return made
        if keys is not None:
            own = keys[PARTS.index(part)]
            kept = jax.random.bernoulli(own, 1 - left_out, (len(inward), 1, inward.shape[2]))
            inward = inward * kept / (1 - left_out)
        own_change = change[part]
        return made + (inward @ own_change["narrow"]) @ own_change["wide"] + own_change["shift"]

    count, long, width = rows.shape

    def heads(part: str) -> Array:
        split = dense(part, rows).reshape(count, long, _HEADS, width // _HEADS)
        return split.transpose(0, 2, 1, 3)

    query, key, value = heads(_QUERY), heads(_KEY), heads(_VALUE)
    scores = query @ key.transpose(0, 1, 3, 2) * (width // _HEADS) ** -0.5 + hidden
    seen = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(count, long, width)
    mixed = _normal(rows + dense(_MIXED, seen), *layer[_NORMS[0]])
    wide = jax.nn.gelu(dense(_WIDE, mixed), approximate=False)
    return _normal(mixed + dense(_NARROW, wide), *layer[_NORMS[1]])


def _normal(rows: Array, scale: Array, shift: Array) -> Array:
    middle = rows.mean(-1, keepdims=True)
    variance = ((rows - middle) ** 2).mean(-1, keepdims=True)
    return (rows - middle) / jnp.sqrt(variance + 1e-12) * scale + shift
