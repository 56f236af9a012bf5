"""How the model's upper layers learn to read a request and a listing together.

The same computation as `farebox.semantic.together`, in batches of rows that are filled up.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from eval.layers import Array, Layer, Lower, no_change, run
from eval.pairs import Pair
from farebox.semantic.together import LONGEST_LISTING, LONGEST_REQUEST

Learned: TypeAlias = dict[str, Any]  # `changes`; `beside`, `head`, `shift`, `sharpness`
Rows = NDArray[np.float32]

RANK: Final = 16
AT_ONCE: Final = 48  # pairs
_ALIKE: Final = 8  # batches that are sorted by length together
_STEPS: Final = 24, 16  # lengths of listings and requests are filled up to multiples of these
_RATE: Final = 1e-3
_RATE_LATER: Final = 5e-4  # where it goes on from what was learned before
_DECAY: Final = 0.01
_LEFT_OUT: Final = 0.1
_WIDTH: Final = 384


class Batch(NamedTuple):
    """Pairs of texts, the request's pieces before the listing's."""

    rows: NDArray[np.float16]
    there: NDArray[np.bool_]
    is_listing: Rows  # by piece
    targets: Rows


class Batches:
    """Draws pairs of like length together."""

    def __init__(
        self, requests: Lower, listings: Lower, texts: Sequence[str], *, seed: int
    ) -> None:
        self._requests, self._listings, self._texts = requests, listings, texts
        self._dice = random.Random(seed)

    def round(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        """Every pair once, in a new order, but for a rest."""
        mixed = self._dice.sample(pairs, len(pairs))
        drawn: list[list[Pair]] = []
        for at in range(0, len(mixed), _ALIKE * AT_ONCE):
            alike = sorted(mixed[at : at + _ALIKE * AT_ONCE], key=self._length)
            drawn += [alike[own : own + AT_ONCE] for own in range(0, len(alike), AT_ONCE)]
        self._dice.shuffle(drawn)
        return (self.batch(each) for each in drawn if len(each) == AT_ONCE)

    def in_order(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        """Every pair once, as they come; the last batch is filled up."""
        for at in range(0, len(pairs), AT_ONCE):
            yield self.batch(pairs[at : at + AT_ONCE])

    def batch(self, pairs: Sequence[Pair]) -> Batch:
        """The pairs' texts as they come out of the lower layers."""
        asked = [pair.request for pair in pairs]
        offered = [self._texts[pair.listing] for pair in pairs]
        listing_step, request_step = _STEPS
        before = _filled(max(map(self._requests.length, asked)), request_step, LONGEST_REQUEST)
        behind = _filled(max(map(self._listings.length, offered)), listing_step, LONGEST_LISTING)
        rows, there = self._requests.rows(asked, long=before, count=AT_ONCE)
        more, also = self._listings.rows(offered, long=behind, count=AT_ONCE)
        is_listing = np.zeros((AT_ONCE, before + behind), np.float32)
        is_listing[:, before:] = 1
        targets = np.zeros(AT_ONCE, np.float32)
        targets[: len(pairs)] = [pair.target for pair in pairs]
        return Batch(
            np.concatenate([rows, more], axis=1),
            np.concatenate([there, also], axis=1),
            is_listing,
            targets,
        )

    def _length(self, pair: Pair) -> int:
        return self._listings.length(self._texts[pair.listing])


def _filled(length: int, step: int, most: int) -> int:
    return min(-(-length // step) * step, most)


class Student:
    """One training of so many batches, on from what was learned before, if anything was.

    `learn` is called for each in turn.
    """

    def __init__(
        self, layers: Sequence[Layer], *, batches: int, seed: int, before: Learned | None = None
    ) -> None:
        most = _RATE if before is None else _RATE_LATER
        rate = optax.warmup_cosine_decay_schedule(0.0, most, max(batches // 10, 1), batches)
        self._optimiser = optax.chain(
            optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=_DECAY)
        )
        self._layers, self._key = layers, jax.random.PRNGKey(seed)
        self.learned = before or _nothing_learned(seed)
        self._state = self._optimiser.init(self.learned)
        self._step = jax.jit(self._stepped)
        self._read = jax.jit(lambda learned, batch: odds(layers, learned, batch))

    def learn(self, batch: Batch, number: int) -> float:
        """The loss before the batch was learned from."""
        key = jax.random.fold_in(self._key, number)
        self.learned, self._state, loss = self._step(self.learned, self._state, batch, key)
        return float(loss)

    def odds(self, batch: Batch) -> Rows:
        """The logarithm of the odds, a pair each."""
        return np.asarray(self._read(self.learned, batch))

    def _stepped(
        self, learned: Learned, state: object, batch: Batch, key: Array
    ) -> tuple[Learned, object, Array]:
        def loss_of(given: Learned) -> Array:
            found = odds(self._layers, given, batch, key=key)
            return (jnp.logaddexp(0, found) - batch.targets * found).mean()

        loss, slopes = jax.value_and_grad(loss_of)(learned)
        updates, state = self._optimiser.update(slopes, state, learned)
        return optax.apply_updates(learned, updates), state, loss


def _nothing_learned(seed: int) -> Learned:
    return {
        "changes": no_change(seed, rank=RANK),
        "beside": jnp.zeros(_WIDTH),
        "head": jnp.zeros(3 * _WIDTH),
        "shift": jnp.array(0.0),
        "sharpness": jnp.array(4.5),
    }


def odds(
    layers: Sequence[Layer], learned: Learned, batch: Batch, *, key: Array | None = None
) -> Array:
    """The logarithm of the odds that each listing answers its request."""
    rows = batch.rows.astype(jnp.float32) + batch.is_listing[..., None] * learned["beside"]
    left_out = 0.0 if key is None else _LEFT_OUT
    rows = run(layers, learned["changes"], rows, batch.there, key=key, left_out=left_out)
    asked = _middle(rows, batch.there & (batch.is_listing == 0))
    offered = _middle(rows, batch.there & (batch.is_listing == 1))
    found = jnp.concatenate([asked, offered, rows[:, 0]], axis=-1) @ learned["head"]
    likeness = (_unit(asked) * _unit(offered)).sum(-1)
    return found + learned["shift"] + learned["sharpness"] * (likeness - 0.5)


def _middle(rows: Array, there: Array) -> Array:
    return (rows * there[..., None]).sum(1) / jnp.maximum(there.sum(1), 1)[:, None]


def _unit(rows: Array) -> Array:
    return rows / jnp.maximum(jnp.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
