"""Why a result stands where it does, in the words of the query."""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.search.finding.candidates import FoundBy, Result
from farebox.search.finding.explain_store import FIELDS, read_fields
from farebox.search.finding.rank import Freshness
from farebox.search.finding.score import Score
from farebox.search.finding.walk import Walk
from farebox.search.meaning.doubt import Verdict
from farebox.search.vocabulary.alternative import Kinship
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class WordMet:
    """One of the query's words in one result."""

    word: str
    found: str  # the word itself, or the one in its place
    kinship: Kinship | None  # None: itself
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhyThere:
    """Why one result stands where it does."""

    found_by: tuple[FoundBy, ...]
    words: tuple[WordMet, ...]
    score: Score
    freshness: Freshness
    payers: int


@dataclass(frozen=True, slots=True)
class Weighed:
    """One of the query's words as it was understood."""

    word: str
    role: str
    weight: int
    in_place: tuple[str, ...]  # other words that do as well


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """How the query was understood and searched."""

    words: tuple[Weighed, ...]
    stages: tuple[str, ...]  # in the order they ran
    model: str | None  # which language model judged the meaning; None: none did
    verdict: Verdict | None = None  # what came of reading listings with the request, where open


async def explain_page(
    db: Connection, walk: Walk, results: Sequence[Result]
) -> tuple[QueryExplanation, list[WhyThere | None]]:
    """How the walk was made, and each result's reasons in their order."""
    ids = [own.candidate.document_id for own in results]
    probes = [probe.query for term in walk.sought for probe in term.probes]
    fields = await read_fields(db, ids, probes) if ids and probes else {}
    whys: list[WhyThere | None] = [
        _why(walk, own, fields.get(own.candidate.document_id, ())) for own in results
    ]
    return _explanation(walk), whys


def _explanation(walk: Walk) -> QueryExplanation:
    return QueryExplanation(
        words=tuple(
            Weighed(
                term.text,
                term.role.value,
                term.weight,
                tuple(probe.word for probe in term.probes[1:]),
            )
            for term in walk.sought
        ),
        stages=tuple(
            dict.fromkeys(
                (*(stage.kind.value for stage in walk.stages), *(["meaning"] if walk.sense else []))
            )
        ),
        model=walk.model or None,
    )


def _why(walk: Walk, result: Result, fields: Sequence[int]) -> WhyThere:
    words = []
    at = 0
    for term, how in zip(walk.sought, result.met, strict=True):
        if how is not None:
            probe = term.probes[how.probe]
            bits = fields[at + how.probe] if fields else 0
            names = tuple(name for bit, name in enumerate(FIELDS) if bits >> bit & 1)
            words.append(WordMet(term.text, probe.word, probe.kinship, names))
        at += len(term.probes)
    return WhyThere(
        found_by=result.found_by,
        words=tuple(words),
        score=result.score,
        freshness=result.freshness,
        payers=result.candidate.payers,
    )
