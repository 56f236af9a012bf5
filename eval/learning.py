"""What the changes of the language model are to achieve, as a loss that falls.

A request is near to the listing that answers it and far from every other, most of all from those
it is a near miss of: beyond a bound that follows the request's length alone, since a search has to
know when nothing fits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from eval.layers import Array, Change, Layer, meanings, no_change, run
from eval.lessons import LISTINGS, REQUESTS, Lesson
from eval.lower import Lower

Rows = NDArray[np.float32]
Learned: TypeAlias = dict[str, Any]  # `changes`; the bound: `scale`, `bound`, `of_length`

_SHARPNESS: Final = 20.0
_RATE: Final = 1e-3
_DECAY: Final = 0.01
_LEFT_OUT: Final = 0.1
_ORDER: Final = 0.25  # what the order of listings and of requests counts beside the bound
_ALL: Final = 0.3  # and what the listings outside a lesson count
_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Student:
    """One training: `learn` is called for each lesson in turn."""

    learn: Callable[[Learned, object, Lesson, Rows, int], tuple[Learned, object, float]]
    begin: Callable[[], tuple[Learned, object]]


def student(layers: Sequence[Layer], *, lessons: int, seed: int) -> Student:
    """A training of so many lessons."""
    rate = optax.warmup_cosine_decay_schedule(0.0, _RATE, max(lessons // 10, 1), lessons)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=_DECAY))

    def begin() -> tuple[Learned, object]:
        learned: Learned = {
            "changes": no_change(seed, layers=len(layers)),
            "scale": jnp.log(jnp.array(_SHARPNESS)),
            "bound": jnp.array(0.42),
            "of_length": jnp.array(0.08),
        }
        return learned, optimiser.init(learned)

    def learn(
        learned: Learned, state: object, lesson: Lesson, others: Rows, number: int
    ) -> tuple[Learned, object, float]:
        key = jax.random.fold_in(jax.random.PRNGKey(seed), number)
        learned, state, loss = step(learned, state, lesson, others, key)
        return learned, state, float(loss)

    def _step(
        learned: Learned, state: object, lesson: Lesson, others: Array, key: Array
    ) -> tuple[Learned, object, Array]:
        loss, slopes = jax.value_and_grad(lambda given: _loss(layers, given, lesson, others, key))(
            learned
        )
        updates, state = optimiser.update(slopes, state, learned)
        return optax.apply_updates(learned, updates), state, loss

    step = jax.jit(_step)
    return Student(learn, begin)


def _loss(
    layers: Sequence[Layer], learned: Learned, lesson: Lesson, others: Array, key: Array
) -> Array:
    requests, listings = _read(layers, learned["changes"], lesson, key)
    scale = jnp.exp(learned["scale"])
    bound = (learned["bound"] - learned["of_length"] * lesson.lengths)[:, None]
    likeness, elsewhere = requests @ listings.T, requests @ others.T
    sure, answered = lesson.counts > 0, lesson.answered > 0
    beyond = scale * (likeness - bound)
    judged = lesson.counts * (jnp.logaddexp(0, beyond) - lesson.answered * beyond)

    sharp = jnp.where(sure, _SHARPNESS * likeness, -1e9)
    own = jnp.where(answered, sharp, 0).sum(1)
    is_answered = answered.any(1)
    of_listings = (jax.nn.logsumexp(sharp, 1) - own) * is_answered
    wrong = jax.nn.logsumexp(jnp.where(answered, -1e9, sharp), 0)
    of_requests = jnp.where(answered, jnp.logaddexp(sharp, wrong[None]) - sharp, 0)

    is_other = lesson.others > 0
    silent = jax.nn.softplus(
        jax.nn.logsumexp(jnp.where(is_other, scale * (elsewhere - bound), -1e9), 1)
    )
    rivals = jax.nn.logsumexp(jnp.where(is_other, _SHARPNESS * elsewhere, -1e9), 1)
    over_rivals = (jnp.logaddexp(own, rivals) - own) * is_answered
    count = is_answered.sum()
    return (
        judged.sum() / (LISTINGS * REQUESTS)
        + _ORDER * (of_listings.sum() + of_requests.sum()) / count
        + _ALL * (silent.mean() + 0.5 * over_rivals.sum() / count)
    )


def _read(
    layers: Sequence[Layer], changes: Sequence[Change], lesson: Lesson, key: Array
) -> tuple[Array, Array]:
    """Requests and listings of a lesson as vectors."""

    def read(texts: tuple[Array, Array], number: int) -> Array:
        rows, there = texts
        own = jax.random.fold_in(key, number)
        return meanings(run(layers, changes, rows, there, key=own, left_out=_LEFT_OUT), there)

    requests = jnp.concatenate([read(lesson.short, 0), read(lesson.long, 1)])[lesson.order]
    wholes, sentences = read(lesson.wholes, 2), read(lesson.sentences, 3)
    rest = jax.ops.segment_sum(sentences, lesson.whose, num_segments=LISTINGS + 1)[:LISTINGS]
    found = wholes + rest / jnp.maximum(jnp.linalg.norm(rest, axis=1, keepdims=True), 1e-6)
    return requests, found / jnp.linalg.norm(found, axis=1, keepdims=True)


class Reading:
    """Vectors of whole texts by layers and their changes, as the search would have them."""

    def __init__(self, layers: Sequence[Layer], lower: Lower) -> None:
        self._lower = lower
        self._run = jax.jit(
            lambda changes, rows, there: meanings(run(layers, changes, rows, there), there)
        )

    def rows(self, changes: Sequence[Change] | None, texts: Sequence[str]) -> Rows:
        """One row a text; the lower layers know it already."""
        found = np.empty((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda place: self._lower.length(texts[place]))
        for at in range(0, len(order), _AT_ONCE):
            part = order[at : at + _AT_ONCE]
            long = -(-self._lower.length(texts[part[-1]]) // 16) * 16
            rows, there = self._lower.rows([texts[x] for x in part], long=long, count=_AT_ONCE)
            found[part] = np.asarray(self._run(changes, rows, there))[: len(part)]
        return found
