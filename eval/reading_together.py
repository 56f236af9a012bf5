"""How the model's layers learn to read a request and a listing together.

The same computation as `farebox.semantic.together`, in batches of rows that are filled up.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from eval.layers import Array, Layer, no_change, normal, through
from eval.pairs import Pair
from eval.products import EXACT, HALF, Products
from farebox.semantic.arrays import Pieces
from farebox.semantic.embedding import Embedding, cut
from farebox.semantic.layers import DIMENSIONS, HEADS, LAYERS
from farebox.semantic.together import LONGEST_LISTING, LONGEST_REQUEST, TOLD_APART

Learned: TypeAlias = dict[str, Any]  # `changes`; what `together.py` reads beside them
Rows = NDArray[np.float32]

RANK: Final = 16
AT_ONCE: Final = 48  # pairs
_ALIKE: Final = 8  # batches that are sorted by length together
_STEPS: Final = 24, 16  # lengths of listings and requests are filled up to multiples of these
_RATE: Final = 1e-3
_RATE_LATER: Final = 5e-4  # where it goes on from what was learned before
_DECAY: Final = 0.01
_LEFT_OUT: Final = 0.1
_APART: Final = -3.0  # what the lower layers begin with: a twentieth of a look goes across
STRIDE: Final = 10.0  # times as quickly as anything else that is learned


class Batch(NamedTuple):
    """Pairs of texts, the request's pieces before the listing's."""

    rows: Rows  # as they go into the first layer
    asked: Rows  # which of them are there, of the request
    offered: Rows  # and of the listing
    targets: Rows


class Batches:
    """Draws pairs of like length together."""

    def __init__(self, embedding: Embedding, texts: Sequence[str], *, seed: int) -> None:
        self._embedding, self._texts = embedding, texts
        self._dice = random.Random(seed)
        self._known: dict[tuple[str, int], Pieces] = {}

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
        """The pairs' texts as they go into the first layer."""
        asked = [self._request(pair) for pair in pairs]
        offered = [self._listing(pair) for pair in pairs]
        listing_step, request_step = _STEPS
        before = _filled(max(map(len, asked)), request_step, LONGEST_REQUEST)
        behind = _filled(max(map(len, offered)), listing_step, LONGEST_LISTING)
        rows = np.zeros((AT_ONCE, before + behind, DIMENSIONS), np.float32)
        there = np.zeros((2, AT_ONCE, before + behind), np.float32)
        there[:, len(pairs) :, 0] = 1  # what fills up the batch is something
        for place, texts in enumerate(zip(asked, offered, strict=True)):
            for side, (own, at) in enumerate(zip(texts, (0, before), strict=True)):
                rows[place, at : at + len(own)] = self._embedding.rows(own)
                there[side, place, at : at + len(own)] = 1
        targets = np.zeros(AT_ONCE, np.float32)
        targets[: len(pairs)] = [pair.target for pair in pairs]
        return Batch(rows, there[0], there[1], targets)

    def _length(self, pair: Pair) -> tuple[bool, int]:
        return len(self._request(pair)) > _STEPS[1], len(self._listing(pair))

    def _request(self, pair: Pair) -> Pieces:
        return self._pieces(pair.request, LONGEST_REQUEST)

    def _listing(self, pair: Pair) -> Pieces:
        return self._pieces(self._texts[pair.listing], LONGEST_LISTING)

    def _pieces(self, text: str, longest: int) -> Pieces:
        if (text, longest) not in self._known:
            self._known[text, longest] = cut(self._embedding.pieces(text), longest)
        return self._known[text, longest]


def _filled(length: int, step: int, most: int) -> int:
    return min(-(-length // step) * step, most)


@dataclass(frozen=True, slots=True)
class Published:
    """What is there before anything is learned: the layers, and what stands before the first."""

    layers: Sequence[Layer]
    norm: tuple[Rows, Rows]


class Student:
    """One training of so many batches, on from what was learned before, if anything was.

    `learn` is called for each in turn.
    """

    def __init__(
        self, published: Published, *, batches: int, seed: int, before: Learned | None = None
    ) -> None:
        most = _RATE if before is None else _RATE_LATER
        rate = optax.warmup_cosine_decay_schedule(0.0, most, max(batches // 10, 1), batches)
        self._optimiser = optax.chain(
            optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=_DECAY)
        )
        self._published, self._key = published, jax.random.PRNGKey(seed)
        self.learned = before or _nothing_learned(seed)
        self._state = self._optimiser.init(self.learned)
        self._step = jax.jit(self._stepped)
        self._read = jax.jit(lambda learned, batch: odds(published, learned, batch))

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
            found = odds(self._published, given, batch, key=key, products=HALF)
            return (jnp.logaddexp(0, found) - batch.targets * found).mean()

        loss, slopes = jax.value_and_grad(loss_of)(learned)
        updates, state = self._optimiser.update(slopes, state, learned)
        return optax.apply_updates(learned, updates), state, loss


def _nothing_learned(seed: int) -> Learned:
    apart = jnp.zeros((LAYERS, HEADS)).at[:TOLD_APART].set(_APART / STRIDE)
    return {
        "changes": no_change(seed, layers=LAYERS, rank=RANK),
        "apart": apart,
        "beside": jnp.zeros(DIMENSIONS),
        "head": jnp.zeros(3 * DIMENSIONS),
        "shift": jnp.array(0.0),
        "sharpness": jnp.array(4.5),
    }


def odds(
    published: Published,
    learned: Learned,
    batch: Batch,
    *,
    key: Array | None = None,
    products: Products = EXACT,
) -> Array:
    """The logarithm of the odds that each listing answers its request."""
    there = batch.asked + batch.offered
    hidden = jnp.where(there[:, None, None, :] > 0, 0.0, -1e9)
    across = jnp.abs(batch.asked[:, :, None] - batch.asked[:, None, :])[:, None]
    rows = normal(batch.rows, *published.norm)
    # not as one loop: learning through it takes a third longer
    for number, (layer, change) in enumerate(
        zip(published.layers, learned["changes"], strict=True)
    ):
        if number == TOLD_APART:
            rows = rows + batch.offered[..., None] * learned["beside"]
        apart = STRIDE * learned["apart"][number][None, :, None, None]
        own = None if key is None else jax.random.fold_in(key, number)
        left_out = 0.0 if key is None else _LEFT_OUT
        added = hidden + across * apart
        rows = through(layer, change, rows, added, key=own, left_out=left_out, products=products)
    asked, offered = _middle(rows, batch.asked), _middle(rows, batch.offered)
    found = jnp.concatenate([asked, offered, rows[:, 0]], axis=-1) @ learned["head"]
    likeness = (_unit(asked) * _unit(offered)).sum(-1)
    return found + learned["shift"] + learned["sharpness"] * (likeness - 0.5)


def _middle(rows: Array, counted: Array) -> Array:
    return (rows * counted[..., None]).sum(1) / jnp.maximum(counted.sum(1), 1)[:, None]


def _unit(rows: Array) -> Array:
    return rows / jnp.maximum(jnp.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
