"""What the model's layers compute beside matrix products, in place and in single precision."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_NORM_EPSILON: Final = np.float32(1e-12)
# erf by Abramowitz and Stegun 7.1.26, within 1.5e-7 of the function the model was trained with
_P: Final = np.float32(0.3275911)
_ERF: Final = tuple(
    np.float32(each) for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
)
_HALF_ROOT: Final = np.float32(0.5**0.5)
_HALF: Final = np.float32(0.5)
_ONE: Final = np.float32(1)
_BLOCK: Final = 1 << 15  # values worked on at once: what a core's cache holds


def gelu(values: Floats) -> Floats:
    """`x * P(X <= x)` of the normal distribution, written over contiguous `values`."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        _gelu_block(block)
    return values


def _gelu_block(x: Floats) -> None:
    size = np.abs(x)
    size *= _HALF_ROOT
    t = size * _P
    t += _ONE
    np.reciprocal(t, out=t)
    tail = t * _ERF[0]
    for factor in _ERF[1:]:
        tail += factor
        tail *= t
    np.multiply(size, size, out=size)
    np.negative(size, out=size)
    np.exp(size, out=size)
    tail *= size  # 1 - erf(|x| / sqrt 2)
    np.subtract(_ONE, tail, out=tail)
    np.copysign(tail, x, out=tail)
    tail += _ONE
    tail *= _HALF
    x *= tail


def normalise(values: Floats, scale: Floats, shift: Floats) -> Floats:
    """Each row with mean 0 and variance 1, scaled and shifted; written over `values`."""
    values -= values.mean(axis=-1, keepdims=True)
    width = values.shape[-1]
    variance = np.einsum("ij,ij->i", values, values)[:, None]
    variance /= np.float32(width)
    variance += _NORM_EPSILON
    np.sqrt(variance, out=variance)
    values /= variance
    values *= scale
    values += shift
    return values


def softmax(scores: Floats) -> Floats:
    """Each last axis as shares of one, written over `scores`."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def unit(rows: Floats) -> Floats:
    """Each row at length one, written over `rows`."""
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), np.float32(1e-12))
    return rows
