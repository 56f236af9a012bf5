"""Which documents mean nearly what a query means."""

from collections.abc import Mapping, Sequence
from typing import Final

from farebox.catalog.listing import ListingFilters
from farebox.kernel.clock import Clock
from farebox.search import vector_store
from farebox.search.meaning.senses import Near, Sense
from farebox.search.scope import Scope, View
from farebox.search.vector_store import BucketSizes
from farebox.storage.pool import Connection

_SMALL: Final = 20_000  # vectors that are all looked at
_WANTED: Final = 8_000  # signatures looked at in a larger table
_FEWEST_BUCKETS: Final = 4
_MOST_BUCKETS: Final = 64
_SIZES_LIVE_S: Final = 60.0
_FILTERED: Final = 10  # times as many texts are looked at where filters will leave few
_NO_FILTERS: Final = ListingFilters()


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

        probe = known_space().probe(sense)
        if scope.filters.pay_to is not None:
            found = await vector_store.nearest_of_recipient(db, probe, scope, most=most)
        else:
            buckets = choose_buckets(probe.buckets, await self._known_sizes(db))
            pool = most if scope.filters == _NO_FILTERS else most * _FILTERED
            found = await vector_store.nearest(db, probe, buckets, scope, pool=pool, most=most)
        measured = likeness(sense, [each.vector for each in found])
        near = [Near(each.document_id, like) for each, like in zip(found, measured, strict=True)]
        return sorted(near, key=lambda each: (-each.likeness, each.document_id))

    async def likeness(
        self, db: Connection, sense: Sense, view: View, digests: Sequence[bytes]
    ) -> Mapping[bytes, int]:
        """Cosine in thousandths for each text digest that had a vector in this view."""
        from farebox.semantic.space import likeness

        found = await vector_store.read_vectors(db, view, digests)
        return dict(zip(found, likeness(sense, list(found.values())), strict=True))

    async def _known_sizes(self, db: Connection) -> BucketSizes:
        now = self._clock.monotonic()
        if self._sizes is None or now - self._sizes[0] > _SIZES_LIVE_S:
            self._sizes = now, await vector_store.read_sizes(db)
        return self._sizes[1]


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
