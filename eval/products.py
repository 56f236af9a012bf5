"""Matrix products that can be learned through: exact ones, and quicker ones in half precision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp

Array: TypeAlias = jax.Array
Product: TypeAlias = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Products:
    """Of rows with a matrix that never changes, with one that is learned, and text by text."""

    fixed: Product
    learned: Product
    batched: Product


def _half(left: Array, right: Array) -> Array:
    halves = (each.astype(jnp.bfloat16) for each in (left, right))
    return jnp.matmul(*halves, preferred_element_type=jnp.float32)


def _turned(values: Array) -> Array:
    return values.swapaxes(-1, -2)


def _with_slopes(slopes: Callable[[Any, Array], tuple[Array, Array | None]]) -> Product:
    """The product whose slopes are quick as well: left to themselves they are not."""
    product: Any = jax.custom_vjp(_half)
    product.defvjp(lambda left, right: (_half(left, right), (left, right)), slopes)
    found: Product = product
    return found


def _fixed_slopes(given: tuple[Array, Array], slope: Array) -> tuple[Array, None]:
    return _half(slope, _turned(given[1])), None


def _learned_slopes(given: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    left, right = given
    rows, slopes = (each.reshape(-1, each.shape[-1]) for each in (left, slope))
    return _half(slope, _turned(right)), _half(_turned(rows), slopes)


def _batched_slopes(given: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    left, right = given
    return _half(slope, _turned(right)), _half(_turned(left), slope)


EXACT: Final = Products(jnp.matmul, jnp.matmul, jnp.matmul)
# a third quicker where the processor multiplies such numbers; sums are in single precision
HALF: Final = Products(
    _with_slopes(_fixed_slopes), _with_slopes(_learned_slopes), _with_slopes(_batched_slopes)
)
