"""`make eval EVAL=search-alternatives`: ways to rank by meaning alone, on the labelled set.

The language model reading a listing once and from several passages, a static table of word vectors
distilled from it, and vectors learned from the catalog's own text with the list of synonyms.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eval.labelled import DATA, FOREIGN, Half, Kind, Labelled, Listing, Query, read_labelled
from eval.metrics import DEPTH, ndcg
from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.search.model_text import passages_of, text_of
from farebox.search.plain import plain_text
from farebox.search.vocabulary.common_words import GLUE, REQUEST
from farebox.search.vocabulary.synonyms import Synonyms, synonym_groups
from farebox.semantic.encoder import Encoder, load_encoder
from farebox.semantic.space import middles
from testing.machine import RunFailed, say
from testing.report import run_and_report

Rows = NDArray[np.float32]
_LEARNED: Final = 120  # dimensions of vectors learned from the catalog
_ENDINGS: Final = ("ing", "ies", "es", "ed", "s")


def _document(listing: Listing) -> SearchDocument:
    return SearchDocument(
        listing_id=1,
        network=Network(listing.network),
        type=ListingType(listing.type),
        service_name=listing.service_name or "",
        tags=listing.tags,
        tool_name=listing.tool or "",
        description=listing.description or "",
        parameters=", ".join(f"{name} {text}" for name, text in listing.params.items()),
        url=listing.url,
        updated_at=SystemClock().now(),
        payers=1,
    )


def _words(text: str) -> list[str]:
    plain = (word for word in plain_text(text).split() if word not in GLUE | REQUEST)
    return [_stem(word) for word in plain]


def _stem(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each)), "")
    return word.removesuffix(ending) if len(word) - len(ending) >= 3 else word


class Model:
    """The language model; `is_split` reads passages one by one."""

    def __init__(self, encoder: Encoder, *, is_split: bool) -> None:
        self._encoder, self._is_split = encoder, is_split

    def read(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Rows, Rows]:
        """Rows of listings and of queries."""
        passages = [passages_of(text) for text in texts]
        if not self._is_split:
            passages = [[". ".join(own)] for own in passages]
        rows = self._encoder.encode([each for own in passages for each in own])
        return middles(rows, [len(own) for own in passages]), self._encoder.encode(queries)


class Table:
    """Each word's vector by the model, weighed by how rare the word is."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def read(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Rows, Rows]:
        """Rows of listings and of queries."""
        bags = [_words(text) for text in (*texts, *queries)]
        vocabulary = sorted({word for bag in bags for word in bag})
        vectors = dict(zip(vocabulary, self._encoder.encode(vocabulary), strict=True))
        seen = Counter(word for bag in bags[: len(texts)] for word in set(bag))
        made = np.zeros((len(bags), self._encoder.dimensions), np.float32)
        for row, bag in zip(made, bags, strict=True):
            for word in bag:
                row += vectors[word] * math.log(1 + len(texts) / (seen[word] + 0.5))
        return made[: len(texts)], made[len(texts) :]


class Learned:
    """Words that stand in the same listings lie together; a query's synonyms stand in it too."""

    def read(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Rows, Rows]:
        """Rows of listings and of queries."""
        bags = [Counter(_words(text)) for text in texts]
        asked = [self._with_synonyms(_words(query)) for query in queries]
        places = {word: n for n, word in enumerate(sorted(set[str]().union(*bags)))}
        seen = Counter(word for bag in bags for word in bag)

        def table(all_bags: Sequence[Counter[str]]) -> Rows:
            made = np.zeros((len(all_bags), len(places)), np.float32)
            for row, bag in zip(made, all_bags, strict=True):
                for word in bag.keys() & places.keys():
                    rarity = math.log(1 + len(texts) / seen[word])
                    row[places[word]] = math.sqrt(bag[word]) * rarity
            return made

        listings = table(bags)
        listings /= np.maximum(np.linalg.norm(listings, axis=1, keepdims=True), 1e-9)
        _, _, axes = np.linalg.svd(listings, full_matrices=False)
        axes = axes[:_LEARNED].T
        return listings @ axes, table(asked) @ axes

    def _with_synonyms(self, words: list[str]) -> Counter[str]:
        groups = synonym_groups()
        stems = {word: _stem(word) for group in groups for entry in group.entries for word in entry}
        found = Counter(words)
        for standin in Synonyms(groups, stems).standins(words):
            for word in standin.entry:
                found[_stem(word)] += 1
        return found


def _ranked(rows: tuple[Rows, Rows]) -> Iterator[list[int]]:
    listings, queries = (
        each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-9) for each in rows
    )
    for likeness in queries @ listings.T:
        yield np.argsort(-likeness, kind="stable")[:DEPTH].tolist()


def _worth(labelled: Labelled, rows: tuple[Rows, Rows], queries: Sequence[Query]) -> list[float]:
    ids = [listing.id for listing in labelled.listings]
    return [
        ndcg([ids[place] for place in found], query.grades)
        for found, query in zip(_ranked(rows), queries, strict=True)
    ]


def _asked(labelled: Labelled) -> list[Query]:
    left_out = {Kind.NONE, Kind.OPERATORS, Kind.OBLIQUE}
    return [query for query in labelled.queries if query.kind not in left_out]


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Always True, and the mean nDCG@10 of each way, without any silence and without words.

    Raises:
        RunFailed: the language model is not installed.
    """
    encoder = load_encoder()
    if encoder is None:
        raise RunFailed("the language model is not installed: scripts/setup dev installs it")
    ways: dict[str, Callable[[Sequence[str], Sequence[str]], tuple[Rows, Rows]]] = {
        "model_by_passages": Model(encoder, is_split=True).read,
        "model_at_once": Model(encoder, is_split=False).read,
        "static_table": Table(encoder).read,
        "learned_from_catalog": Learned().read,
    }
    figures: dict[str, object] = {}
    sets = {"own": read_labelled(DATA)} | ({} if quick else {"foreign": read_labelled(FOREIGN)})
    for name, labelled in sets.items():
        queries = _asked(labelled)
        texts = [text_of(_document(listing)) for listing in labelled.listings]
        for way, read in ways.items():
            began = time.monotonic()
            worth = _worth(labelled, read(texts, [query.text for query in queries]), queries)
            halves = {half.value: round(_mean(worth, queries, half), 3) for half in Half}
            figures[f"{name}_{way}"] = halves
            say(f"{name} {way}: {halves}, {time.monotonic() - began:.1f} s")
    return True, figures


def _mean(worth: Sequence[float], queries: Sequence[Query], half: Half) -> float:
    own = [each for each, query in zip(worth, queries, strict=True) if query.half is half]
    return sum(own) / max(len(own), 1)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
