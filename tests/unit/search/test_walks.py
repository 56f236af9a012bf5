"""What walks have found is kept for the last ones, and no more of it than there is room for."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from farebox.catalog.listing import ListingFilters
from farebox.search.finding.candidate import Candidate
from farebox.search.finding.candidates import Candidates, FoundBy
from farebox.search.finding.walk import Walk
from farebox.search.finding.walks import no_walks

NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)
ANY: Final = ListingFilters()
FIRST, SECOND, THIRD = (
    Walk(NOW, snapshot=f"{number}:{number}:", must="", sought=(), stages=()) for number in range(3)
)


def found(count: int) -> Candidates:
    candidates = Candidates.of(FIRST)
    candidates.add((Candidate(n, n, NOW, 0, b"", ()) for n in range(count)), FoundBy.WORDS)
    return candidates


def test_what_a_walk_found_is_of_its_filters_alone() -> None:
    walks, own = no_walks(), found(3)
    walks.put((FIRST, ANY), own)
    assert walks.get((replace(FIRST), ListingFilters())) is own
    assert walks.get((FIRST, ListingFilters(type="http"))) is None
    assert walks.get((SECOND, ANY)) is None


def test_the_walk_gone_on_with_longest_ago_makes_room() -> None:
    walks = no_walks(most=10)
    walks.put((FIRST, ANY), found(4))
    walks.put((SECOND, ANY), found(4))
    assert walks.get((FIRST, ANY)) is not None
    walks.put((THIRD, ANY), found(4))
    assert walks.get((SECOND, ANY)) is None
    assert walks.get((FIRST, ANY)) is not None
    assert walks.get((THIRD, ANY)) is not None


def test_a_walk_that_is_kept_twice_counts_once() -> None:
    walks = no_walks(most=10)
    walks.put((FIRST, ANY), found(4))
    for _ in range(5):
        walks.put((SECOND, ANY), found(6))
    assert walks.get((FIRST, ANY)) is not None
    walks.put((SECOND, ANY), found(7))
    assert walks.get((FIRST, ANY)) is None


def test_what_has_no_room_is_not_kept() -> None:
    walks = no_walks(most=10)
    walks.put((FIRST, ANY), found(11))
    assert walks.get((FIRST, ANY)) is None
    walks.put((SECOND, ANY), found(10))
    assert walks.get((SECOND, ANY)) is not None
