"""The language model's layers where a change of their weights can be learned.

The same computation as `farebox.semantic.layers`, for texts in rows that are filled up.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from eval.products import EXACT, Products
from farebox.semantic.adapter import PARTS
from farebox.semantic.layers import DIMENSIONS, HEADS, LAYERS
from farebox.semantic.weights import ModelFiles

Array: TypeAlias = jax.Array
Layer: TypeAlias = dict[str, tuple[Array, Array]]  # weights and shift of each part, by its name
Change: TypeAlias = dict[str, dict[str, Array]]  # of one layer: narrow, wide and shift of a part

LOWER: Final = 3  # layers that never change for vectors: what they give is computed once a text
RANK: Final = 8
_QUERY, _KEY, _VALUE, _MIXED, _WIDE, _NARROW = PARTS
_NORMS: Final = ("attention.output.LayerNorm", "output.LayerNorm")


def no_change(seed: int, *, layers: int, rank: int = RANK) -> list[Change]:
    """What training begins with: a change of so many layers that changes nothing."""
    shapes = {_WIDE: (DIMENSIONS, 4 * DIMENSIONS), _NARROW: (4 * DIMENSIONS, DIMENSIONS)}
    key = jax.random.PRNGKey(seed)
    changes = []
    for _ in range(layers):
        change: Change = {}
        for part in PARTS:
            key, own = jax.random.split(key)
            inward, outward = shapes.get(part, (DIMENSIONS, DIMENSIONS))
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

    The changes are those of the upmost layers. What stands `beside` them is there under its own
    names.
    """
    tensors = {name: _half(own) for name, own in (beside or {}).items()}
    for number, change in enumerate(changes, start=LAYERS - len(changes)):
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
        for number in range(LAYERS)
        if f"encoder.layer.{number}.{PARTS[0]}.narrow" in tensors
    ]
    return changes, tensors


def _half(values: Array) -> NDArray[np.float16]:
    return np.ascontiguousarray(np.asarray(values), dtype=np.float16)


def layers_of(files: ModelFiles, *, above: int = 0) -> list[Layer]:
    """The layers as they were published, from that number on."""
    tensors = load_file(files.weights)
    return [_layer(tensors, number) for number in range(above, LAYERS)]


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

    def step(rows: Array, own: tuple[Layer, Change | None, Array | None]) -> tuple[Array, None]:
        layer, change, key = own
        return through(layer, change or {}, rows, hidden, key=key, left_out=left_out), None

    # written once for all layers: compiling is what takes long
    each = (_stacked(layers), _stacked(changes) if changes else None, keys)
    rows, _ = jax.lax.scan(step, rows.astype(jnp.float32), each)
    return rows


def _stacked(layers: Sequence[Layer] | Sequence[Change]) -> Any:
    return jax.tree.map(lambda *arrays: jnp.stack(arrays), *layers)


def meanings(rows: Array, there: Array) -> Array:
    """The middle of each text's pieces, at length one."""
    total = (rows * there[..., None]).sum(1)
    return total / jnp.maximum(jnp.linalg.norm(total, axis=-1, keepdims=True), 1e-9)


def through(
    layer: Layer,
    change: Change,
    rows: Array,
    added: Array,
    *,
    key: Array | None,
    left_out: float,
    products: Products = EXACT,
) -> Array:
    """What comes out of a layer; `added` is added to the scores of attention.

    With a key, a part of what goes into the change is left out.
    """
    keys = None if key is None else jax.random.split(key, len(PARTS))

    def dense(part: str, inward: Array) -> Array:
        weights, shift = layer[part]
        made = products.fixed(inward, weights) + shift
        if part not in change:
            return made
        if keys is not None:
            own = keys[PARTS.index(part)]
            kept = jax.random.bernoulli(own, 1 - left_out, (len(inward), 1, inward.shape[2]))
            inward = inward * kept / (1 - left_out)
        narrow, wide, own_shift = (change[part][each] for each in ("narrow", "wide", "shift"))
        return made + products.learned(products.learned(inward, narrow), wide) + own_shift

    count, long, width = rows.shape

    def heads(part: str) -> Array:
        split = dense(part, rows).reshape(count, long, HEADS, width // HEADS)
        return split.transpose(0, 2, 1, 3)

    query, key_rows, value = heads(_QUERY), heads(_KEY), heads(_VALUE)
    scores = products.batched(query, key_rows.swapaxes(-1, -2)) * (width // HEADS) ** -0.5
    shares = jax.nn.softmax(scores + added, -1)
    seen = products.batched(shares, value).transpose(0, 2, 1, 3).reshape(count, long, width)
    mixed = normal(rows + dense(_MIXED, seen), *layer[_NORMS[0]])
    wide = jax.nn.gelu(dense(_WIDE, mixed), approximate=False)
    return normal(mixed + dense(_NARROW, wide), *layer[_NORMS[1]])


def normal(rows: Array, scale: Array, shift: Array) -> Array:
    """Each row with mean 0 and variance 1, scaled and shifted."""
    middle = rows.mean(-1, keepdims=True)
    variance = ((rows - middle) ** 2).mean(-1, keepdims=True)
    return (rows - middle) / jnp.sqrt(variance + 1e-12) * scale + shift
