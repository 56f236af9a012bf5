"""A search, with a language model of a few concepts and a list of other words in its place."""

from collections.abc import Mapping, Sequence
from typing import Final

from farebox.search.meaning.senses import Near, Sense
from farebox.search.scope import Scope, View
from farebox.search.scope_store import IN_SCOPE, scope_arguments
from farebox.search.vocabulary.alternative import Alternative
from farebox.storage.pool import Connection, Database

FAR: Final = 50


class SaidMeaning:
    """Encodes a query as itself; counts how often it was asked.

    Of texts read together with a request it knows what the test says: the odds by a word that the
    text has, in thousandths; without any, nothing could be had in time.
    """

    name = "said"

    def __init__(self, odds: Mapping[str, int] | None = None) -> None:
        self.asked: list[str] = []
        self.together: list[tuple[str, tuple[str, ...]]] = []  # requests and texts
        self._odds = odds

    def words(self) -> frozenset[str]:
        """Every word is known."""
        return frozenset()

    async def encode(self, query: str) -> Sense | None:
        """The query's bytes."""
        self.asked.append(query)
        return Sense(query.encode())

    async def log_odds(self, request: str, texts: Sequence[str]) -> Sequence[int] | None:
        """What the test says."""
        self.together.append((request, tuple(texts)))
        if self._odds is None:
            return None
        said = self._odds
        return [sum(odds for word, odds in said.items() if word in text) for text in texts]


class SaidMeanings:
    """Likeness of queries to listings as a test says it, in thousandths."""

    def __init__(self, likeness: Mapping[str, Mapping[int, int]]) -> None:
        self._likeness = likeness  # by query, then listing id

    async def near(self, db: Connection, sense: Sense, scope: Scope, *, most: int) -> list[Near]:
        """The listings the test names for the query, in the scope."""
        said = self._likeness.get(sense.decode(), {})
        rows = await db.fetch(
            "SELECT d.id, d.listing_id FROM search_documents d WHERE "
            + IN_SCOPE
            + " AND d.listing_id = ANY ($8::bigint[])",
            *scope_arguments(scope),
            list(said),
        )
        near = [Near(row["id"], said[row["listing_id"]]) for row in rows]
        return sorted(near, key=lambda one: (-one.likeness, one.document_id))[:most]

    async def likeness(
        self, db: Connection, sense: Sense, view: View, digests: Sequence[bytes]
    ) -> Mapping[bytes, int]:
        """Everything else is far."""
        return dict.fromkeys(digests, FAR)


class SaidWords:
    """Other words as a test says them."""

    def __init__(self, said: Mapping[str, Sequence[Alternative]]) -> None:
        self._said = said

    async def expand(
        self, database: Database, words: Sequence[str]
    ) -> Mapping[str, Sequence[Alternative]]:
        """What the test says of these words."""
        return {word: self._said[word] for word in words if word in self._said}
