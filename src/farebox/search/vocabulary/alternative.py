"""What the search asks of other words than those that were typed; they may be absent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from farebox.storage.pool import Database


class Kinship(StrEnum):
    """Why a word may stand for another."""

    TYPO = "typo"
    SYNONYM = "synonym"


@dataclass(frozen=True, slots=True)
class Alternative:
    """A word that may stand for one of the query's."""

    word: str  # plain, not a lexeme
    weight: int  # 1 to 99: percent of the word's own weight
    kinship: Kinship


class Words(Protocol):
    """Typos and synonyms."""

    async def expand(
        self, database: Database, words: Sequence[str]
    ) -> Mapping[str, Sequence[Alternative]]:
        """At most four alternatives a word, best first; a word without any may be left out.

        `words` are plain (`search.plain.plain_text`). A word no document has may get corrections,
        any word synonyms.
        """
        ...
