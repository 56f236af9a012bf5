"""What a query looks for, with what each part of it is worth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from farebox.search.query.expression import Term
from farebox.search.vocabulary.alternative import Alternative, Kinship
from farebox.search.vocabulary.common_words import GENERIC, GLUE, KINDS, REQUEST
from farebox.search.vocabulary.lexemes import Census, Lexed, phrase

MAX_SCORED: Final = 12  # terms; the weightiest
MAX_PAIRS: Final = 6
ALTERNATIVES: Final = 3  # a term

_KIND_PERCENT: Final = 80  # of a word that names a kind of listing
_ROLE_PERCENT: Final = {"content": 100, "generic": 20, "request": 6}
_UNKNOWN_PERCENT: Final = 50  # of a word no document has: it tells no document from another


class Role(StrEnum):
    """What a term does in a query."""

    CONTENT = "content"  # says what is looked for
    GENERIC = "generic"  # says that a service is looked for
    REQUEST = "request"  # says that something is looked for


@dataclass(frozen=True, slots=True)
class TermProbe:
    """One tsquery a document is held against."""

    query: str
    word: str
    percent: int = 100  # of the term's weight
    kinship: Kinship | None = None  # None: the word itself
    is_phrase: bool = False


@dataclass(frozen=True, slots=True)
class Sought:
    """One term as it is looked for and weighed."""

    text: str
    role: Role
    probes: tuple[TermProbe, ...]  # its own first
    weight: int  # 0 to 100
    share: float  # part of the documents that have it
    name_share: float

    @property
    def query(self) -> str:
        """A tsquery for the term as it was typed."""
        return self.probes[0].query

    @property
    def wide_query(self) -> str:
        """A tsquery for the term or anything that may stand for it."""
        return " | ".join(f"({probe.query})" for probe in self.probes)


def words_of(terms: Iterable[Term]) -> list[str]:
    """Every plain word in the terms, compounds as one word too."""
    words: dict[str, None] = {}
    for term in terms:
        words |= dict.fromkeys(term.parts)
        if term.joined:
            words[term.joined] = None
    return list(words)


def term_query(term: Term, lexed: Mapping[str, Lexed]) -> str:
    """A tsquery for one term; "" when nothing of it is indexed."""
    beside = phrase(lexed[part] for part in term.parts)
    joined = phrase([lexed[term.joined]]) if term.joined else ""
    return " | ".join(part for part in (f"({beside})" if beside else "", joined) if part)


def is_stop(term: Term, lexed: Mapping[str, Lexed]) -> bool:
    """Whether running text is indexed without any word of it."""
    return all(lexed[part].is_stop for part in term.parts)


def seek(terms: Sequence[Term], lexed: Mapping[str, Lexed], census: Census) -> tuple[Sought, ...]:
    """The terms with their weights. Stop words count only in a query of nothing else."""
    queries = {term: term_query(term, lexed) for term in terms}
    telling = [term for term in terms if queries[term] and not is_stop(term, lexed)]
    kept = telling or [term for term in terms if queries[term]]
    return tuple(_sought(term, queries[term], lexed, census) for term in kept)


def _sought(term: Term, query: str, lexed: Mapping[str, Lexed], census: Census) -> Sought:
    lexemes = [lexeme for part in term.parts for lexeme in lexed[part].lexemes]
    joined = lexed[term.joined].lexemes if term.joined else ()
    share = _share((census.share(x) for x in lexemes), (census.share(x) for x in joined))
    names = _share((census.name_share(x) for x in lexemes), (census.name_share(x) for x in joined))
    role = role_of(term)
    percent = _KIND_PERCENT if term.text in KINDS else _ROLE_PERCENT[role]
    is_phrase = len(lexemes) > 1
    probe = TermProbe(query, term.text, is_phrase=is_phrase)
    weight = weight_of(share, census.documents) * percent // 100
    return Sought(term.text, role, (probe,), max(weight, 1), share, names)


def _share(parts: Iterable[float], joined: Iterable[float]) -> float:
    return max(min(parts, default=0.0), min(joined, default=0.0))


def role_of(term: Term) -> Role:
    """Quoted terms are meant; the others by their words."""
    if term.is_quoted or len(term.parts) > 1:
        return Role.CONTENT
    (word,) = term.parts
    if word in REQUEST or word in GLUE:
        return Role.REQUEST
    return Role.GENERIC if word in GENERIC else Role.CONTENT


def weight_of(share: float, documents: int) -> int:
    """0 to 100: the rarer, the more it says. A word nobody has says less than a rare one."""
    total = max(documents, 1)
    most = math.log(1 + 2 * total)
    weight = round(100 * math.log(1 + total / (share * total + 0.5)) / most)
    return weight if share > 0 else weight * _UNKNOWN_PERCENT // 100


def with_alternatives(
    sought: Sequence[Sought],
    alternatives: Mapping[str, Sequence[Alternative]],
    lexed: Mapping[str, Lexed],
    census: Census,
) -> tuple[Sought, ...]:
    """The terms with other words that may stand for them."""
    return tuple(_with_alternatives(each, alternatives, lexed, census) for each in sought)


def _with_alternatives(
    term: Sought,
    alternatives: Mapping[str, Sequence[Alternative]],
    lexed: Mapping[str, Lexed],
    census: Census,
) -> Sought:
    probes = [*term.probes]
    share, weight = term.share, term.weight
    for each in alternatives.get(term.text, ())[:ALTERNATIVES]:
        words = [lexed[word] for word in each.word.split() if word in lexed]
        query = phrase(words)
        if not query or any(query == probe.query for probe in probes):
            continue
        lexemes = [lexeme for word in words for lexeme in word.lexemes]
        own = min((census.share(lexeme) for lexeme in lexemes), default=0.0)
        if own == 0.0:
            continue
        is_phrase = len(lexemes) > 1
        percent = min(max(each.weight, 1), 99)
        probes.append(TermProbe(query, each.word, percent, each.kinship, is_phrase=is_phrase))
        if term.share == 0.0 and each.kinship is Kinship.TYPO:  # it is what was meant
            weight = weight_of(own, census.documents)
        share = max(share, own)
    return replace(term, probes=tuple(probes), share=share, weight=weight)


def content_of(sought: Sequence[Sought]) -> tuple[Sought, ...]:
    """The terms that say what is looked for; the best there are when none does."""
    for role in Role:
        found = tuple(term for term in sought if term.role is role)
        if found:
            return found
    return ()


def scored_of(sought: Sequence[Sought]) -> tuple[Sought, ...]:
    """The weightiest terms, in the order they were typed."""
    best = sorted(sought, key=lambda term: -term.weight)[:MAX_SCORED]
    return tuple(term for term in sought if term in best)


def pairs_of(sought: Sequence[Sought]) -> tuple[str, ...]:
    """Tsqueries for neighbours of the query that stand side by side."""
    plain = [term for term in sought if not term.probes[0].is_phrase]
    pairs = pairwise(plain)
    return tuple(f"{one.query} <-> {two.query}" for one, two in pairs)[:MAX_PAIRS]
