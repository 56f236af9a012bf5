"""What was typed into the search, as a value: quotes, `or` and `-` as the web writes them.

Total over any text. `or` binds weaker than standing side by side: `a b or c` is (a and b) or c.
In a sentence ("tell me if it will rain or snow") it is a word like others; `OR` never is.
What a sentence quotes may be what is to be worked on: see `quotations`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from farebox.search.plain import joined_of, parts_of, runs_of
from farebox.search.vocabulary.common_words import SENTENCE

MAX_QUERY: Final = 2_000  # characters; what stands behind is not read
MAX_EXAMPLES: Final = 4  # what else is quoted is to the letter: each is looked for beforehand
MAX_TERMS: Final = 40  # in all; those behind are not read

_QUOTES: Final = str.maketrans("“”„«»＂", '""""""')
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SIGNS: Final = frozenset(("OR", "|", "||"))
_TOKEN: Final = re.compile(
    r'(?P<minus>(?<!\S)-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))'
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is looked for: a word, a compound, or words side by side."""

    parts: tuple[str, ...]  # plain words, at least one; several stand side by side
    joined: str | None = None  # a compound as one word (e-mail: email)
    is_quoted: bool = False

    @property
    def text(self) -> str:
        """As words with one space between."""
        return " ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Branch:
    """All of these, none of those."""

    terms: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """Any one of the branches."""

    branches: tuple[Branch, ...]
    is_sentence: bool = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """What is looked for, each once, in the order it was typed."""
        return tuple(dict.fromkeys(term for branch in self.branches for term in branch.terms))

    @property
    def excluded(self) -> tuple[Term, ...]:
        """What must not be there in one branch or another."""
        return tuple(dict.fromkeys(term for branch in self.branches for term in branch.excluded))

    @property
    def quotations(self) -> tuple[Term, ...]:
        """What a sentence quotes: to the letter where a listing has it, or else an example.

        `how do I say "the train was late" in Hungarian?` asks for no listing with these words.
        """
        if not self.is_sentence or len(self.branches) != 1:
            return ()
        return tuple(term for term in self.terms if term.is_quoted)[:MAX_EXAMPLES]

    def with_examples(self, quoted: Collection[Term]) -> "Expression":
        """The same, with these quoted terms as words like others."""
        branches = [
            replace(branch, terms=tuple(_words_of(branch.terms, quoted)))
            for branch in self.branches
        ]
        return replace(self, branches=_bounded(branches))

    @property
    def may_be_relaxed(self) -> bool:
        """Whether other words may do too: never with quotes or `or`: they are meant."""
        return len(self.branches) == 1 and not any(term.is_quoted for term in self.terms)


def normalize_query(text: str) -> str:
    """Return the query as it is read; text pasted from elsewhere may have line breaks in it.

    Full-width letters and signs, ligatures and the like are read as their plain forms (NFKC).
    """
    return _CONTROLS.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def parse(text: str) -> Expression:
    """The expression in `text`; no branch when it holds nothing to look for."""
    branches: list[Branch] = []
    terms: list[Term] = []
    excluded: list[Term] = []
    alternatives = 0  # terms since the last `or`, so that a leading one is a word
    tokens = list(_TOKEN.finditer(text[:MAX_QUERY].translate(_QUOTES)))
    is_sentence = any(token["word"] in SENTENCE for token in tokens)
    signs = _SIGNS if is_sentence else _SIGNS | {"or", "Or"}
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        is_or = token["word"] in signs and token["minus"] is None
        if is_or and alternatives and after is not None and after["word"] not in signs:
            branches.append(Branch(tuple(terms), tuple(excluded)))
            terms, excluded, alternatives = [], [], 0
            continue
        read = _terms(token)
        (excluded if token["minus"] else terms).extend(read)
        alternatives += len(read)
        if (
            sum(len(each.terms) + len(each.excluded) for each in branches) + alternatives
            > MAX_TERMS
        ):
            break
    branches.append(Branch(tuple(terms), tuple(excluded)))
    return Expression(_bounded(branches), is_sentence)


def _words_of(terms: Iterable[Term], quoted: Collection[Term]) -> Iterator[Term]:
    for term in terms:
        if term in quoted:
            yield from (Term((part,)) for part in term.parts)
        else:
            yield term


def _terms(token: re.Match[str]) -> list[Term]:
    if token["phrase"] is not None:
        parts = tuple(part for run in runs_of(token["phrase"]) for part in parts_of(run))
        return [Term(parts, is_quoted=True)] if parts else []
    found = []
    for run in runs_of(token["word"]):
        parts = parts_of(run)
        joined = joined_of(run, parts)
        if joined is not None:
            found.append(Term(parts, joined))
        else:
            found += [Term((part,)) for part in parts]
    return found


def _bounded(branches: list[Branch]) -> tuple[Branch, ...]:
    """At most `MAX_TERMS` terms, and no branch that asks for nothing: it would fit everything."""
    left, kept = MAX_TERMS, []
    for branch in branches:
        terms = tuple(dict.fromkeys(branch.terms))[:left]
        excluded = tuple(dict.fromkeys(branch.excluded))[: left - len(terms)]
        left -= len(terms) + len(excluded)
        if terms:
            kept.append(Branch(terms, excluded))
    return tuple(kept)
