"""The position of a page round-trips through its cursor to the microsecond."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from farebox.kernel.pages import PlaceBody
from farebox.web.paging import BadPage, read_page, write_cursor


class ThingPlace(PlaceBody):
    id: Annotated[str, Meta(pattern=r"^thing_[a-z]{4}\Z")]


EAST = timezone(timedelta(hours=5))
moments = st.timedeltas(timedelta(0), timedelta(days=366 * 280)).map(
    lambda age: datetime(1970, 1, 2, tzinfo=EAST) + age
)


@given(moments, st.from_regex(r"\Athing_[a-z]{4}\Z"))
def test_cursor_round_trips(at: datetime, record: str) -> None:
    cursor = write_cursor(ThingPlace.of((at, record)))
    page = read_page(f"cursor={cursor}".encode(), ThingPlace)
    assert page.after is not None
    assert page.after.place == (at, record)


@pytest.mark.parametrize(
    "place", [(-1, "thing_abcd"), (2**53 + 1, "thing_abcd"), (1, "other_abcd"), (1,), ("1", 1)]
)
def test_cursor_of_an_impossible_position_is_refused(place: tuple[object, ...]) -> None:
    with pytest.raises(BadPage):
        read_page(f"cursor={write_cursor(place)}".encode(), ThingPlace)
    assert ThingPlace(1, "thing_abcd").place == (
        datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        "thing_abcd",
    )
