"""Search results as x402's bazaar spells them, and explanations beside them."""

from collections.abc import Sequence
from typing import Final

from farebox.catalog.wire import Body, listing_body, unapplied_member
from farebox.search.finding.explain import Explanation, WhyThere, WordMet
from farebox.search.meaning.doubt import Verdict
from farebox.search.search import Hit, SearchPage
from farebox.x402.wire import X402_VERSION

_ITSELF: Final = "itself"


def search_body(page: SearchPage, unapplied: Sequence[str]) -> Body:
    """The answer of `/discovery/search`."""
    body: Body = {
        "x402Version": X402_VERSION,
        "resources": [_hit_body(hit) for hit in page.hits],
        "partialResults": page.cursor is not None,
        "pagination": {"limit": page.limit, "cursor": page.cursor},
    }
    if page.is_truncated:
        body["truncated"] = True
    if page.explanation is not None:
        body["explain"] = _explanation_body(page.explanation)
    return body | unapplied_member(unapplied)


def _hit_body(hit: Hit) -> Body:
    body = listing_body(hit.listing)
    return body if hit.why is None else body | {"explain": _why_body(hit.why)}


def _why_body(why: WhyThere) -> Body:
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


def _word_body(word: WordMet) -> Body:
    kind = _ITSELF if word.kinship is None else word.kinship.value
    return {"word": word.word, "found": word.found, "as": kind, "in": list(word.fields)}


def _explanation_body(explanation: Explanation) -> Body:
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


def _verdict_body(verdict: Verdict) -> Body:
    return {
        "answered": verdict.is_answered,
        "inTime": verdict.is_in_time,
        "listings": [{"evidence": own.above, "logOdds": own.log_odds} for own in verdict.read],
    }
