"""Words as the index knows them, and how many documents have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from farebox.search.ages import Ages


@dataclass(frozen=True, slots=True)
class Lexed:
    """A plain word as the index knows it."""

    lexemes: tuple[str, ...]  # nearly always one; none for a sign; several stand side by side
    is_stop: bool  # running text is indexed without it


@dataclass(frozen=True, slots=True)
class Census:
    """How many documents there are, and how many of them have each lexeme.

    In a small catalog counted just now; in a large one estimated from statistics some minutes old.
    """

    documents: int
    is_small: bool
    with_lexeme: Mapping[str, int]  # in any field
    with_name: Mapping[str, int]  # in names and tags
    ages: Ages = Ages()  # noqa: RUF009 - a frozen value
    with_filter: Mapping[str, int] = field(default_factory=dict)  # a network or type

    def share(self, lexeme: str) -> float:
        """The part of the documents that have it, 0 to 1."""
        return min(1.0, self.with_lexeme.get(lexeme, 0) / max(self.documents, 1))

    def filter_share(self, *values: str | None) -> float:
        """About the part of the documents that have these networks and types, 0 to 1."""
        known = (self.with_filter.get(value, 0) for value in values if value is not None)
        return prod(max(1, count) / max(self.documents, 1) for count in known)

    def name_share(self, lexeme: str) -> float:
        """The part of the documents that have it in names and tags, 0 to 1."""
        return min(1.0, self.with_name.get(lexeme, 0) / max(self.documents, 1))


def quoted(lexeme: str) -> str:
    """A lexeme as PostgreSQL's tsquery input takes it, whatever it is made of."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def phrase(words: Iterable[Lexed]) -> str:
    """A tsquery for the words side by side; a stop word leaves its place open. "" for nothing."""
    words = list(words)
    if all(word.is_stop for word in words):  # names keep their stop words
        return " <-> ".join(quoted(each) for word in words for each in word.lexemes)
    steps: list[str] = []
    gap = 1
    for word in words:
        if word.is_stop or not word.lexemes:
            gap += bool(steps)
            continue
        for lexeme in word.lexemes:
            steps.append(quoted(lexeme) if not steps else f"<{gap}> {quoted(lexeme)}")
            gap = 1
    return " ".join(steps)
