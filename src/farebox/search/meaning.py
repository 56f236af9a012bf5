"""What a text means, and which listings' texts mean nearly the same.

Without the language model there is no meaning to be had, and everything else works as it does with it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import structlog

from farebox.kernel.clock import Clock
from farebox.search import vector_store
from farebox.search.vector_store import BucketSizes, KeptVector
from farebox.semantic.encoder import Encoder
from farebox.storage.pool import Connection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from farebox.semantic.space import Code, Probe, Space

_SMALL: Final = 20_000  # vectors that are all looked at
_WANTED: Final = 16_000  # signatures looked at in a larger table
_FEWEST_BUCKETS: Final = 4
_MOST_BUCKETS: Final = 64
_SIZES_LIVE_S: Final = 60.0
_REMEMBERED: Final = 1024  # queries whose vector is kept
_MOST_ASKED: Final = 16  # queries that wait for the model; a further one goes without it
_WAIT_S: Final = 0.4  # for one query's vector
_LONGEST: Final = 512  # characters of a query that are read

log = structlog.get_logger(__name__)


class Presence(StrEnum):
    """Whether meaning can be had now."""

    PRESENT = "present"
    ABSENT = "absent"  # no model here
    BUSY = "busy"  # not in time for this query


@dataclass(frozen=True, slots=True)
class Meant:
    """A query's vector and where to look for what is near it."""

    row: "NDArray[np.float32]"
    probe: "Probe"


@dataclass(frozen=True, slots=True)
class Near:
    """A text and the cosine of its meaning with the query's: the same whatever else is kept."""

    text_digest: bytes
    cosine: float


class Meaning:
    """The language model behind the event loop, and the vectors in the database.

    `load` is called once, in a thread, when a meaning is first asked for. One query is read at a
    time and one batch of listings; both run beside the event loop. Use it as an async context
    manager.
    """

    def __init__(self, load: Callable[[], Encoder | None], clock: Clock) -> None:
        self._load, self._clock = load, clock
        self._for_queries = ThreadPoolExecutor(1, thread_name_prefix="query-meaning")
        self._for_listings = ThreadPoolExecutor(1, thread_name_prefix="listing-meaning")
        self._model: asyncio.Future[tuple[Encoder, Space] | None] | None = None
        self._remembered: OrderedDict[str, Meant] = OrderedDict()
        self._asked = 0
        self._sizes: tuple[float, BucketSizes] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for threads in (self._for_queries, self._for_listings):
            threads.shutdown(wait=False, cancel_futures=True)

    async def is_present(self) -> bool:
        """Whether there is a language model; loads it if that was not tried yet."""
        return await self._loaded() is not None

    async def read(self, query: str) -> Meant | Presence:
        """What a query means; or why that is not known now. Never waits for more than half a second.

        Equal queries mean the same, upper and lower case being equal.
        """
        text = " ".join(query[:_LONGEST].casefold().split())
        known = self._remembered.get(text)
        if known is not None:
            self._remembered.move_to_end(text)
            return known
        if self._asked >= _MOST_ASKED:
            return Presence.BUSY
        self._asked += 1
        try:
            async with asyncio.timeout(_WAIT_S):
                return await self._read(text)
        except TimeoutError:
            log.info("semantic.late")
            return Presence.BUSY
        finally:
            self._asked -= 1

    async def _read(self, text: str) -> Meant | Presence:
        model = await self._loaded()
        if model is None:
            return Presence.ABSENT
        loop = asyncio.get_running_loop()
        meant = await loop.run_in_executor(self._for_queries, _mean, *model, text)
        self._remembered[text] = meant
        if len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return meant

    async def codes(self, texts: Sequence[str]) -> "list[Code] | None":
        """What is kept of each text, in order; None without a language model. Takes its time."""
        model = await self._loaded()
        if model is None:
            return None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._for_listings, _code, *model, texts)

    async def near(self, db: Connection, meant: Meant, *, most: int) -> list[Near]:
        """The texts nearest in meaning, up to `most`, the nearest first."""
        buckets = choose_buckets(meant.probe.buckets, await self._known_sizes(db))
        return _by_cosine(meant, await vector_store.nearest(db, meant.probe, buckets, most=most))

    async def cosines(
        self, db: Connection, meant: Meant, digests: Sequence[bytes]
    ) -> dict[bytes, float]:
        """How near each of these texts is; one whose vector was not made yet is missing."""
        kept = await vector_store.read_vectors(db, digests)
        return {near.text_digest: near.cosine for near in _by_cosine(meant, kept)}

    async def _known_sizes(self, db: Connection) -> BucketSizes:
        now = self._clock.monotonic()
        if self._sizes is None or now - self._sizes[0] > _SIZES_LIVE_S:
            self._sizes = now, await vector_store.read_sizes(db)
        return self._sizes[1]

    async def _loaded(self) -> "tuple[Encoder, Space] | None":
        if self._model is None:
            loop = asyncio.get_running_loop()
            self._model = loop.run_in_executor(self._for_listings, _load, self._load)
        return await asyncio.shield(self._model)


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


def _load(load: Callable[[], Encoder | None]) -> "tuple[Encoder, Space] | None":
    encoder = load()
    if encoder is None:
        return None
    from farebox.semantic.space import known_space  # needs numpy, which is there now

    return encoder, known_space()


def _mean(encoder: Encoder, space: "Space", text: str) -> Meant:
    (row,) = encoder.encode([text])
    return Meant(row, space.probe(row))


def _code(encoder: Encoder, space: "Space", texts: Sequence[str]) -> "list[Code]":
    return space.codes(encoder.encode(texts))


def _by_cosine(meant: Meant, kept: Sequence[KeptVector]) -> list[Near]:
    from farebox.semantic.space import cosines  # needs numpy: there is a meaning, so it is there

    found = cosines(meant.row, [each.vector for each in kept])
    near = [Near(each.text_digest, cosine) for each, cosine in zip(kept, found, strict=True)]
    return sorted(near, key=lambda each: (-each.cosine, each.text_digest))
