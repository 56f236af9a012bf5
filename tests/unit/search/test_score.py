"""What a document is worth to a query."""

import math
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.finding.score import CONVINCING, Judge, Score, bar_of
from farebox.search.query.terms import Role, Sought, TermProbe
from farebox.search.vocabulary.alternative import Kinship

ONE_PLACE: Final = 1 / 1.64493406685  # ts_rank of one word that stands once at weight 1
A, B, C, D = (weight * ONE_PLACE for weight in (1.0, 0.85, 0.5, 0.25))


def term(word: str, weight: int = 50, role: Role = Role.CONTENT, *others: TermProbe) -> Sought:
    return Sought(word, role, (TermProbe(f"'{word}'", word), *others), weight, 0.1, 0.1)


WEATHER: Final = term("weather")
RAIN: Final = term("rain", 50, Role.CONTENT, TermProbe("'shower'", "shower", 80, Kinship.SYNONYM))
API: Final = term("api", 8, Role.GENERIC)


def scored(
    *ranks: float, sought: tuple[Sought, ...] = (WEATHER,), likeness: int | None = None
) -> Score:
    judge = Judge(sought)
    return judge.score(judge.meet(ranks), (), likeness)


def test_the_field_a_word_stands_in_decides() -> None:
    found = [scored(rank).relevance for rank in (A, B, C, D, 0.0)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)


def test_more_of_what_is_requested_is_better() -> None:
    both = (WEATHER, RAIN)
    assert (
        scored(C, C, 0.0, sought=both).relevance
        > scored(A, 0.0, C, sought=both).relevance
        > scored(A, 0.0, 0.0, sought=both).relevance
    )


def test_a_word_in_anothers_place_counts_less_and_never_as_every_word() -> None:
    itself, other = scored(B, 0.0, sought=(RAIN,)), scored(0.0, B, sought=(RAIN,))
    assert itself.relevance > other.relevance > 0
    assert itself.is_full
    assert not other.is_full


def test_what_has_every_word_that_says_something_fits_without_meaning() -> None:
    assert scored(D, 0.0, sought=(WEATHER, API)).worth.fits
    assert scored(D, 0.0, sought=(WEATHER, API), likeness=-100).worth.fits


def test_what_has_only_the_word_that_every_listing_has_does_not_fit() -> None:
    found = scored(0.0, B, sought=(WEATHER, API))
    assert not found.worth.fits
    assert not scored(0.0, B, sought=(WEATHER, API), likeness=90).worth.fits


def test_the_word_that_every_listing_has_fits_when_it_is_the_whole_query() -> None:
    assert scored(B, sought=(API,)).worth.fits


def test_meaning_alone_fits_when_it_is_near_enough() -> None:
    assert scored(0.0, likeness=650).worth.fits
    assert not scored(0.0, likeness=100).worth.fits
    assert not scored(0.0).worth.fits


def test_neighbours_side_by_side_are_a_little_better() -> None:
    both = (WEATHER, API)
    judge = Judge(both)
    met = judge.meet((C, C))
    assert judge.score(met, (0.5,), None).relevance > judge.score(met, (0.0,), None).relevance


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(-1000, 1000))
def test_nearer_is_never_worse(ranks: list[float], likeness: int) -> None:
    both = (WEATHER, RAIN)
    near = scored(*ranks, sought=both, likeness=likeness)
    nearer = scored(*ranks, sought=both, likeness=min(likeness + 50, 1000))
    assert nearer.relevance >= near.relevance
    assert nearer.worth.fits >= near.worth.fits


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(0, 2))
def test_a_word_more_is_never_worse(ranks: list[float], place: int) -> None:
    both = (WEATHER, RAIN)
    more = [*ranks]
    more[place] = 1.0
    assert scored(*more, sought=both).relevance >= scored(*ranks, sought=both).relevance


@pytest.mark.parametrize("likeness", [None, 0, 500])
def test_nothing_sought_is_worth_nothing_but_its_meaning(likeness: int | None) -> None:
    assert Judge(()).score((), (), likeness).covered == 0


def test_a_sentence_is_answered_with_less_and_a_large_catalog_with_more() -> None:
    assert bar_of(12, 400) < bar_of(4, 400) < bar_of(2, 400)
    assert bar_of(4, 40) < bar_of(4, 400) < bar_of(4, 1_000) == bar_of(4, 1_000_000)
    assert bar_of(0, 0) == bar_of(2, 20)


def test_the_bar_is_for_meaning_and_words_alone_have_their_own() -> None:
    near = scored(0.0, likeness=400)
    assert near.worth.above(near.worth.evidence) == 0
    assert near.worth.above(near.worth.evidence + 1) == -1
    words = scored(0.0, B, sought=(RAIN,))
    is_enough = words.worth.evidence >= CONVINCING
    assert words.worth.above(9_999) == (math.inf if is_enough else -math.inf)
    assert scored(B).worth.above(9_999) == math.inf


@given(
    ranks=st.lists(st.sampled_from((0.0, A, B, C, D, 0.9, 2.0)), min_size=4, max_size=4),
    likeness=st.none() | st.integers(-1000, 1000),
)
def test_the_short_way_to_a_worth_says_what_the_score_says(
    ranks: list[float], likeness: int | None
) -> None:
    judge = Judge((WEATHER, RAIN))
    worth = judge.worth(tuple(ranks), likeness)
    score = judge.score(judge.meet(ranks), ranks[3:], likeness)
    assert worth == score.worth
