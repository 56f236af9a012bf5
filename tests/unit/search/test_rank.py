"""The order of results: relevance, freshness, payers, time, id."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.finding.rank import Freshness, Place, freshness, place_of

AT: Final = datetime(2026, 11, 21, tzinfo=UTC)
THEN: Final = AT - timedelta(days=3)


def place(
    relevance: int = 500, *, updated_at: datetime = THEN, payers: int = 5, listing_id: int = 7
) -> Place:
    return place_of(relevance, updated_at=updated_at, payers=payers, listing_id=listing_id, at=AT)


@pytest.mark.parametrize(
    "better",
    [
        place(501, updated_at=AT - timedelta(days=200), payers=0, listing_id=9),
        place(updated_at=AT - timedelta(hours=3), payers=0, listing_id=9),
        place(payers=8, updated_at=THEN - timedelta(days=1), listing_id=9),
        place(updated_at=THEN + timedelta(microseconds=1), payers=7, listing_id=9),
        place(listing_id=6),
    ],
)
def test_each_member_decides_before_the_next(better: Place) -> None:
    assert better < place()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(1, 1_000)),
        unique_by=lambda one: one[3],
    )
)
def test_no_two_listings_share_a_place(found: list[tuple[int, int, int, int]]) -> None:
    places = {
        place(relevance, updated_at=AT - timedelta(days=40 * days), payers=payers, listing_id=own)
        for relevance, days, payers, own in found
    }
    assert len(places) == len(found)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-1, Freshness.DAY),
        (0.5, Freshness.DAY),
        (2, Freshness.WEEK),
        (8, Freshness.MONTH),
        (31, Freshness.QUARTER),
        (100, Freshness.OLDER),
    ],
)
def test_an_age_has_its_class(days: float, expected: Freshness) -> None:
    assert freshness(AT - timedelta(days=days), at=AT) is expected


def test_three_payers_count_as_two_and_four_as_more() -> None:
    classes = [-place(payers=payers)[2] for payers in (0, 1, 2, 3, 4, 7, 8)]
    assert classes == [0, 1, 2, 2, 3, 3, 4]
