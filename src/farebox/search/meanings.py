"""Which documents mean nearly what a query means."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from farebox.catalog.filters import Filters
from farebox.kernel.clock import Clock
from farebox.search import vector_store
from farebox.search.scope import Scope, View
from farebox.search.senses import Near, Sense
from farebox.search.vector_store import BucketSizes
from farebox.storage.pool import Connection

_SMALL: Final = 20_000  # vectors that are all looked at
_WANTED: Final = 16_000  # signatures looked at in a larger table
_FEWEST_BUCKETS: Final = 4
_MOST_BUCKETS: Final = 64
_SIZES_LIVE_S: Final = 60.0
_FILTERED: Final = 10  # times as many texts are looked at where filters will leave few
_LIFT: Final = 200  # thousandths a query of 2.7 times the words is lifted by
_PLAIN_LENGTH: Final = 4  # words of a query whose likeness is the cosine itself
_MOST_LIKE: Final = 1000
_NO_FILTERS: Final = Filters()


class StoredMeanings:
    """The `Meanings` of the vectors in the database; one for a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sizes: tuple[float, BucketSizes] | None = None

    async def near(self, db: Connection, sense: Sense, scope: Scope, *, most: int) -> list[Near]:
        """The nearest documents in the scope, up to `most`, nearest first, equals by document id.

        How near one is depends on it and the query alone.
        """
        from farebox.semantic.space import known_space, likeness  # numpy: there with the sense

        vector, lift = _parts(sense)
        probe = known_space().probe(vector)
        if scope.filters.pay_to is not None:
            found = await vector_store.nearest_of_recipient(db, probe, scope, most=most)
        else:
            buckets = choose_buckets(probe.buckets, await self._known_sizes(db))
            pool = most if scope.filters == _NO_FILTERS else most * _FILTERED
            found = await vector_store.nearest(db, probe, buckets, scope, pool=pool, most=most)
        measured = likeness(vector, [each.vector for each in found])
        near = [
            Near(each.document_id, min(like + lift, _MOST_LIKE))
            for each, like in zip(found, measured, strict=True)
        ]
        return sorted(near, key=lambda each: (-each.likeness, each.document_id))

    async def likeness(
        self, db: Connection, sense: Sense, view: View, digests: Sequence[bytes]
    ) -> Mapping[bytes, int]:
        """Likeness in thousandths for each text digest that had a vector in this view."""
        from farebox.semantic.space import likeness

        vector, lift = _parts(sense)
        found = await vector_store.read_vectors(db, view, digests)
        measured = likeness(vector, list(found.values()))
        return {
            digest: min(like + lift, _MOST_LIKE)
            for digest, like in zip(found, measured, strict=True)
        }

    async def _known_sizes(self, db: Connection) -> BucketSizes:
        now = self._clock.monotonic()
        if self._sizes is None or now - self._sizes[0] > _SIZES_LIVE_S:
            self._sizes = now, await vector_store.read_sizes(db)
        return self._sizes[1]


def _parts(sense: Sense) -> tuple[bytes, int]:
    """The query's vector, and what its length adds to every cosine.

    A sentence says more than the listing that answers it, so its cosine with it is lower than that
    of one or two words: without this, no one bound would suit both.
    """
    return sense[:-1], round(_LIFT * math.log(max(sense[-1], 1) / _PLAIN_LENGTH))


def choose_buckets(order: Sequence[int], sizes: BucketSizes) -> list[int] | None:
    """The buckets to look into, the likeliest first; None for all there is."""
    if sizes.total <= _SMALL:
        return None
    chosen: list[int] = []
    seen = 0
    for bucket in order[:_MOST_BUCKETS]:
        if seen >= _WANTED and len(chosen) >= _FEWEST_BUCKETS:
            break
        chosen.append(bucket)
        seen += sizes.of(bucket)
    return chosen
