"""Where words and likeness leave it open, what was read together decides with them."""

import pytest

from farebox.search.meaning.doubt import Doubt, Read

SURE, UNSURE, WRONG = 3_000, -2_000, -6_000  # thousandths of the odds' logarithm


def doubt(*above: int) -> Doubt:
    """Listings with so much evidence above the bar."""
    return Doubt(tuple(range(len(above))), above)


@pytest.mark.parametrize("above", [-90, 0, 120])
def test_what_surely_answers_does_and_what_surely_does_not_does_not(above: int) -> None:
    assert Read(above, SURE).answers
    assert not Read(above, WRONG).answers


def test_evidence_counts_with_what_was_read() -> None:
    assert Read(120, UNSURE).answers
    assert not Read(-90, UNSURE).answers


@pytest.mark.parametrize(("above", "is_answered"), [(0, True), (-1, False)])
def test_where_nothing_could_be_read_the_evidence_decides(above: int, is_answered: bool) -> None:
    assert doubt(above, -50).is_answered_by_evidence is is_answered


def test_a_doubt_whose_listings_are_gone_is_not_answered() -> None:
    assert not doubt().is_answered_by_evidence
