"""The JSON shapes of search results, as x402's bazaar spells them, and of their explanations."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.catalog.wire import (
    ListingBody,
    UnappliedFilters,
    listing_body,
    unapplied_filters,
)
from farebox.search.finding.explain import QueryExplanation, WhyThere, WordMet
from farebox.search.meaning.doubt import Verdict
from farebox.search.search import Hit, SearchPage
from farebox.x402.wire import X402_VERSION

_ITSELF: Final = "itself"


class CursorPaginationBody(msgspec.Struct, frozen=True):
    """The cursor of the next page; null on the last."""

    limit: Annotated[int, Meta(ge=1, le=100)]
    cursor: str | None


class SearchBody(msgspec.Struct, frozen=True, rename="camel"):
    """A page of results, the best first."""

    x402_version: Literal[2]
    resources: list[ListingBody]
    partial_results: bool
    pagination: CursorPaginationBody
    truncated: Annotated[bool, Meta(extra_json_schema={"const": True})] | UnsetType = UNSET
    explain: dict[str, Any] | UnsetType = UNSET
    unapplied_filters: UnappliedFilters = UNSET


def search_body(page: SearchPage, unapplied: Sequence[str]) -> SearchBody:
    """Make the body of `/discovery/search`."""
    explanation = page.explanation
    return SearchBody(
        x402_version=X402_VERSION,
        resources=[_hit_body(hit) for hit in page.hits],
        partial_results=page.cursor is not None,
        pagination=CursorPaginationBody(page.limit, page.cursor),
        truncated=page.is_truncated or UNSET,
        explain=UNSET if explanation is None else _explanation_body(explanation),
        unapplied_filters=unapplied_filters(unapplied),
    )


def _hit_body(hit: Hit) -> ListingBody:
    return listing_body(hit.listing, UNSET if hit.why is None else _why_body(hit.why))


def _why_body(why: WhyThere) -> dict[str, Any]:
    score = why.score
    return {
        "relevance": score.relevance,
        "foundBy": list(why.found_by),
        "words": [_word_body(word) for word in why.words],
        "scores": {
            "covered": score.covered,
            "weighted": score.placed,
            "beside": score.beside,
            "everyWord": score.is_full,
            **({} if score.likeness is None else {"meaning": score.likeness}),
        },
        "freshness": why.freshness.name.lower(),
        "payers": why.payers,
    }


def _word_body(word: WordMet) -> dict[str, Any]:
    kind = _ITSELF if word.kinship is None else word.kinship.value
    return {"word": word.word, "found": word.found, "as": kind, "in": list(word.fields)}


def _explanation_body(explanation: QueryExplanation) -> dict[str, Any]:
    return {
        "words": [
            {
                "word": word.word,
                "role": word.role,
                "weight": word.weight,
                **({"inPlace": list(word.in_place)} if word.in_place else {}),
            }
            for word in explanation.words
        ],
        "stages": list(explanation.stages),
        "meaning": {"model": explanation.model}
        if explanation.model
        else {"absent": "no language model judged this search"},
        **({"readTogether": _verdict_body(explanation.verdict)} if explanation.verdict else {}),
    }


def _verdict_body(verdict: Verdict) -> dict[str, Any]:
    return {
        "answered": verdict.is_answered,
        "inTime": verdict.is_in_time,
        "listings": [{"evidence": own.above, "logOdds": own.log_odds} for own in verdict.read],
    }
