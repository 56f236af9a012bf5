"""Which statements find the candidates of a query, decided from frequencies and never by a planner.

A statement's cost is the documents it reads: where many match, it looks at those of late alone, as
far back as is likely to hold enough of them, and further back when it does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from math import inf, prod
from typing import Final, NamedTuple

from farebox.search.ages import Ages, begun
from farebox.search.query.expression import Expression, Term
from farebox.search.query.terms import Role, Sought, content_of

ENOUGH: Final = 20  # candidates; with fewer the search looks wider
FEW_WORDS: Final = 3  # with no more than these, and no sentence, words are meant to the letter:
LETTER_ENOUGH: Final = 5  # with so many documents that have every word, nothing else is looked for
NAMES_ENOUGH: Final = 100  # matches in names and tags; with these the rest is not looked at
CANDIDATES: Final = 208  # of one statement in a large catalog
ALL_CANDIDATES: Final = 2_000  # of one statement in a small catalog, or of one recipient
MARGIN: Final = 1.2  # times as many matches are reckoned with as are wanted
DEAR: Final = 20  # documents that are passed over cost as much as one that is read
DEAR_IN_NAMES: Final = 40  # the same among names and tags, whose lists are shorter
FIRST: Final = 20_000  # documents looked at to learn how often words come together
FEW: Final = 100  # likely matches that are simply all read
BESIDE: Final = 0.05  # the part of those with all words of a phrase that have them side by side
FOUND_ENOUGH: Final = 100  # with fewer a statement looks further back
PHRASES_ENOUGH: Final = 60  # found by a phrase: each costs many documents that are read in vain
RELAXED_ENOUGH: Final = 40  # found by fewer words: the meaning finds more
RELAXED_CANDIDATES: Final = 100
READ: Final = 6_000  # documents at most, where most of those read are none of those wanted
LOOSENED: Final = 3  # the rarest terms that a relaxed statement is made of


class AccessPath(StrEnum):
    """How a statement reaches the documents."""

    INDEX = "index"
    OWNED = "owned"  # the listings of one recipient


class Kind(StrEnum):
    """What a statement looks for; also how a hit's stage is told."""

    NAMES = "names"  # every word, in names and tags
    WORDS = "words"  # every word, anywhere
    RELAXED = "relaxed"  # some of the words, or others in their place


@dataclass(frozen=True, slots=True)
class RecallStage:
    """One statement."""

    kind: Kind
    form: AccessPath
    query: str  # a tsquery
    most: int
    since: datetime | None = None  # only documents as new; None: all of them
    share: float = 0.0  # the part of the documents it is likely to find
    reads: float = 0.0  # the part it is likely to read for that: more, with phrases

    @property
    def enough(self) -> int:
        """With so many, it need not look further back."""
        if self.kind is Kind.RELAXED:
            return min(self.most, RELAXED_ENOUGH)
        return min(self.most, PHRASES_ENOUGH if self.reads > self.share else FOUND_ENOUGH)

    @property
    def is_guess(self) -> bool:
        """Whether its share says how often words come together."""
        return " & " in self.query and self.reads <= self.share


def strict_query(expression: Expression, queries: dict[Term, str], sought: Sequence[Sought]) -> str:
    """A tsquery for the expression to the letter, without what only asks where that is known."""
    demanded = {term.text for term in content_of(sought)}
    is_asking = expression.may_be_relaxed or expression.is_sentence
    branches = []
    for branch in expression.branches:
        parts = [
            f"({queries[term]})"
            for term in branch.terms
            if queries[term] and (not is_asking or term.text in demanded)
        ]
        parts += [f"!({queries[term]})" for term in branch.excluded if queries[term]]
        if any(not part.startswith("!") for part in parts):
            branches.append(" & ".join(parts))
    return " | ".join(f"({branch})" for branch in branches)


def must_query(expression: Expression, queries: dict[Term, str]) -> str:
    """A tsquery for what every hit must meet whatever found it; "" for nothing."""
    if len(expression.branches) != 1:
        return ""
    (branch,) = expression.branches
    parts = [f"({queries[term]})" for term in branch.terms if term.is_quoted and queries[term]]
    parts += [f"!({queries[term]})" for term in branch.excluded if queries[term]]
    return " & ".join(parts)


def small_stages(
    strict: str,
    must: str,
    sought: Sequence[Sought],
    *,
    is_relaxed: bool,
    form: AccessPath = AccessPath.INDEX,
) -> tuple[RecallStage, ...]:
    """For a catalog so small, or a recipient with so few, that everything can be ranked."""
    if not is_relaxed:
        return (RecallStage(Kind.WORDS, form, strict, ALL_CANDIDATES),) if strict else ()
    asked = [term for term in sought if term.role is not Role.REQUEST] or list(sought)
    content = content_of(asked)
    query = _with_must(" | ".join(term.wide_query for term in content), must)
    return (RecallStage(Kind.RELAXED, form, query, ALL_CANDIDATES),) if query else ()


def strict_stages(
    strict: str, expression: Expression, sought: Sequence[Sought]
) -> list[RecallStage]:
    """Every word: in names and tags first, then anywhere; for a large catalog."""
    content = content_of(sought)
    if not strict:
        return []
    if expression.may_be_relaxed and any(term.share == 0.0 for term in content):
        return []  # nothing has every word
    together = _any if len(expression.branches) > 1 else _all
    names = RecallStage(
        Kind.NAMES,
        AccessPath.INDEX,
        strict,
        CANDIDATES,
        share=together([term.name_share * _beside(term) for term in content]),
        reads=together([term.name_share for term in content]),
    )
    words = replace(
        names,
        kind=Kind.WORDS,
        share=together([term.share * _beside(term) for term in content]),
        reads=together([term.share for term in content]),
    )
    return [names, words]


def loosened_stages(sought: Sequence[Sought], must: str) -> list[RecallStage]:
    """Fewer and fewer of the rarest words, down to any of the two rarest; for a large catalog."""
    known = [term for term in content_of(sought) if term.share > 0.0]
    rarest = sorted(known, key=lambda term: (term.share, term.text))[:LOOSENED]
    stages = []
    is_widened = any(len(term.probes) > 1 for term in rarest) or len(known) < len(
        content_of(sought)
    )
    start = len(rarest) if is_widened or len(known) > len(rarest) else len(rarest) - 1
    for size in range(start, 0, -1):
        group = rarest[:2] if size == 1 else rarest
        sets = [tuple(each) for each in combinations(group, size)]
        query = " | ".join("(" + " & ".join(f"({t.wide_query})" for t in s) + ")" for s in sets)
        share = _any([_all([term.share for term in each]) for each in sets])
        stages.append(
            RecallStage(
                Kind.RELAXED,
                AccessPath.INDEX,
                _with_must(query, must),
                RELAXED_CANDIDATES,
                share=share,
                reads=share,
            )
        )
    return stages


def reckoned(stage: RecallStage, ages: Ages, *, filtered: float) -> float:
    """How many of the freshest documents are likely to hold enough of what the stage finds.

    `filtered` is the part of the documents that the filters let through. How often words come
    together is only guessed, so a first look is short where it may be much to read.
    """
    needed = MARGIN * stage.most / max(stage.share * filtered, 1e-9)
    is_unsure = stage.is_guess and stage.share * ages.documents > FEW
    return min(needed, FIRST) if is_unsure else needed


def learned(stage: RecallStage, looked_at: float, found: int, *, filtered: float) -> RecallStage:
    """The stage with what a look at so many documents has shown of its share."""
    share = max(found, 1) / max(looked_at * filtered, 1.0)
    reads = stage.reads if stage.reads > stage.share else share
    return replace(stage, share=min(share, reads), reads=reads)


def reckoned_again(stage: RecallStage, looked_at: float, *, filtered: float) -> float:
    """How many to look at next, by what was learned: more than before."""
    return max(looked_at * 2, MARGIN * stage.enough / max(stage.share * filtered, 1e-9))


class RecallWindow(NamedTuple):
    """How far back a statement looks."""

    stage: RecallStage
    looked_at: float  # about how many documents
    is_last: bool  # it never goes further


def reaching(
    stage: RecallStage, ages: Ages, looked_at: float, *, filtered: float, at: datetime
) -> RecallWindow:
    """The stage confined to so many of the documents that are freshest at a moment, or some more.

    All are looked at where passing over the older ones would cost more than reading what matches.
    Where much is read in vain, for a phrase or because of filters, it ends before that.
    """
    furthest = inf
    if filtered < 1.0 or stage.reads > stage.share:
        furthest = READ / max(stage.reads, 1e-9)
    dear = DEAR_IN_NAMES if stage.kind is Kind.NAMES else DEAR
    if looked_at > dear * stage.reads * ages.documents:
        looked_at = inf
    since = ages.since(min(looked_at, furthest))
    if since is None:
        return RecallWindow(replace(stage, since=None), ages.documents, is_last=True)
    since = begun(since, at)
    return RecallWindow(replace(stage, since=since), ages.as_new_as(since), looked_at >= furthest)


def _beside(term: Sought) -> float:
    return BESIDE if term.probes[0].is_phrase else 1.0


def _with_must(query: str, must: str) -> str:
    return f"({query}) & {must}" if query and must else query


def _all(shares: Sequence[float]) -> float:
    """The part that has all, rather too low: to look twice costs more than to look far.

    Words of one subject come together more often than by chance.
    """
    least = min(shares, default=0.0)
    if not least or len(shares) == 1:
        return least
    others: float = (prod(shares) / least) ** 0.6
    return least * others / 2


def _any(shares: Sequence[float]) -> float:
    return 1.0 - prod(1.0 - share for share in shares)
