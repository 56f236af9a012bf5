"""The order of results: relevance, freshness, payers, time, id."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.rank import Freshness, Standing, freshness, standing

AT: Final = datetime(2026, 11, 21, tzinfo=UTC)
ONE: Final = standing(500, updated_at=AT - timedelta(days=3), payers=5, listing_id=7, at=AT)

STANDINGS = st.builds(
    Standing,
    relevance=st.integers(0, 3),
    freshness=st.sampled_from(Freshness),
    payer_class=st.integers(0, 3),
    updated_us=st.integers(0, 3),
    listing_id=st.integers(1, 1_000),
)


@pytest.mark.parametrize(
    "better",
    [
        replace(ONE, relevance=501, freshness=Freshness.OLDER, payer_class=0, updated_us=0),
        replace(ONE, freshness=Freshness.DAY, payer_class=0, updated_us=0, listing_id=9),
        replace(ONE, payer_class=4, updated_us=0, listing_id=9),
        replace(ONE, updated_us=ONE.updated_us + 1, listing_id=9),
        replace(ONE, listing_id=6),
    ],
)
def test_each_member_decides_before_the_next(better: Standing) -> None:
    assert better.place < ONE.place


@given(st.lists(STANDINGS, unique_by=lambda one: one.listing_id))
def test_no_two_listings_share_a_place(found: list[Standing]) -> None:
    assert len({one.place for one in found}) == len(found)


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
    classes = [
        standing(0, updated_at=AT, payers=payers, listing_id=1, at=AT).payer_class
        for payers in (0, 1, 2, 3, 4, 7, 8)
    ]
    assert classes == [0, 1, 2, 2, 3, 3, 4]
