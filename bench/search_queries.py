"""The queries of the bench by class, drawn from the listings."""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bench.search_listings import SEED, Generator, Synthetic
from bench.search_topics import TOPICS
from bench.search_words import GLUE, PLACES
from farebox.catalog.listing import ListingFilters, ListingType
from farebox.kernel.networks import Network

_COMMON_RANKS: Final = 40  # the most frequent words
_RARE_RANK: Final = 1500


class Kind(StrEnum):
    """The class of a query."""

    SELECTIVE = "selective"  # a word that few listings have, with another of the same listing
    MEDIUM = "medium"  # two or three words of one subject
    COMMON = "common"  # one to three of the most frequent words
    EXPRESSION = "expression"  # phrases, `or`, `-`
    SENTENCE = "sentence"  # a natural-language question


KEYWORDS: Final = (Kind.SELECTIVE, Kind.MEDIUM, Kind.COMMON, Kind.EXPRESSION)


class FilterKind(StrEnum):
    """The filter of a query."""

    NOTHING = "no filter"
    NETWORK = "network"
    TYPE = "type"
    PAY_TO = "payTo"


@dataclass(frozen=True, slots=True)
class Query:
    """One query and the recipient whose listing it was drawn from."""

    kind: Kind
    text: str
    pay_to: str

    def filters(self, filter_kind: FilterKind) -> ListingFilters:
        """Return the filters of the search request."""
        match filter_kind:
            case FilterKind.NETWORK:
                return ListingFilters(network=Network.PUBNET.value)
            case FilterKind.TYPE:
                return ListingFilters(type=ListingType.MCP)
            case FilterKind.PAY_TO:
                return ListingFilters(pay_to=self.pay_to)
            case FilterKind.NOTHING:
                return ListingFilters()


def draw(generator: Generator, *, listings: int, each: int) -> tuple[Query, ...]:
    """`each` different queries of every kind, the same ones for the same listings."""
    rng = random.Random(SEED + 1)
    source = _Source(generator, rng, listings)
    return tuple(
        query for kind in Kind for query in itertools.islice(_different(source, kind), each)
    )


def _different(source: "_Source", kind: Kind) -> Iterator[Query]:
    seen = set()
    while True:
        query = source.draw(kind)
        if query.text not in seen:
            seen.add(query.text)
            yield query


class _Source:
    def __init__(self, generator: Generator, rng: random.Random, listings: int) -> None:
        self._rng, self._generator, self._listings = rng, generator, listings
        self._rank = {word: rank for rank, word in enumerate(generator.words)}
        self._ways: dict[Kind, Callable[[Synthetic], str]] = {
            Kind.SELECTIVE: self._selective,
            Kind.MEDIUM: self._medium,
            Kind.COMMON: self._common,
            Kind.EXPRESSION: self._expression,
            Kind.SENTENCE: self._sentence,
        }

    def draw(self, kind: Kind) -> Query:
        """Draw one query from one listing."""
        while True:
            listing = self._generator.listing(self._rng.randint(1, self._listings))
            text = self._ways[kind](listing)
            if text:
                return Query(kind, text, listing.pay_to)

    def _content(self, listing: Synthetic) -> list[str]:
        words = listing.description.lower().rstrip(".").split()
        return [word for word in dict.fromkeys(words) if word not in GLUE]

    def _selective(self, listing: Synthetic) -> str:
        words = self._content(listing)
        rare = [each for each in words if self._rank.get(each, 0) >= _RARE_RANK]
        if not rare or len(words) < 3:
            return ""
        word = self._rng.choice(rare)
        other = self._rng.choice([each for each in words if each != word])
        return self._rng.choice((word, f"{word} {other}", f"{other} {word}"))

    def _medium(self, listing: Synthetic) -> str:
        words = TOPICS[listing.topic].words[:8]
        return " ".join(self._rng.sample(words, self._rng.choice((2, 2, 3))))

    def _common(self, listing: Synthetic) -> str:
        del listing
        words = self._generator.words[:_COMMON_RANKS]
        return " ".join(self._rng.sample(words, self._rng.choice((1, 2, 2, 3))))

    def _expression(self, listing: Synthetic) -> str:
        one, two, three, *_ = self._rng.sample(TOPICS[listing.topic].words[:8], 4)
        other = self._rng.choice(self._generator.words[:_COMMON_RANKS])
        return self._rng.choice(
            (
                f'"{one} {two}"',
                f'"{one} {two}" -{three}',
                f"{one} or {two}",
                f"{one} {other} -{three}",
                f'{one} "{other} {two}" or {three}',
            )
        )

    def _sentence(self, listing: Synthetic) -> str:
        topic = TOPICS[listing.topic]
        place = self._rng.choice(PLACES).capitalize()
        if self._rng.random() < 0.5:
            return self._rng.choice(topic.requests).format(place=place)
        one, two, three = self._rng.sample(topic.words, 3)
        return self._rng.choice(
            (
                f"I am looking for a service that gives me {one} and {two} in {place}",
                f"which agent can {one} the {two} of my {three} every day",
                f"find a cheap {one} tool for {two} with {three}",
                f"show me the best {one} {two} interface near {place}",
            )
        )
