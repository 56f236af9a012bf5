"""Which spans of time a moment lies in, and which of them cover a stretch of it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from farebox.search.ages import MOST_SPANS, Ages, age_lexemes, begun, spans_between

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(timedelta(0), timedelta(days=20_000)).map(lambda age: FIRST + age)
STRETCHES = st.timedeltas(timedelta(0), timedelta(days=3000))


@given(MOMENTS, STRETCHES, st.floats(0, 1))
def test_every_moment_of_a_stretch_lies_in_one_of_its_spans(
    since: datetime, stretch: timedelta, share: float
) -> None:
    spans = spans_between(since, since + stretch)
    assert set(age_lexemes(since + stretch * share)) & set(spans)
    assert set(age_lexemes(since + stretch)) & set(spans)


@given(MOMENTS, STRETCHES)
def test_what_is_longer_ago_than_the_shortest_span_is_left_out(
    since: datetime, stretch: timedelta
) -> None:
    spans = spans_between(since, since + stretch)
    assert not set(age_lexemes(since - timedelta(seconds=226))) & set(spans)


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(days=160)))
def test_from_somewhat_earlier_on_the_spans_are_few(since: datetime, stretch: timedelta) -> None:
    start = begun(since, since + stretch)
    assert len(spans_between(start, since + stretch)) <= MOST_SPANS
    assert since - 2 * max(stretch, timedelta(seconds=225)) <= start <= since


@given(MOMENTS, STRETCHES)
def test_what_begins_with_a_span_is_not_made_to_begin_earlier(
    since: datetime, stretch: timedelta
) -> None:
    start = begun(since, since + stretch)
    assert begun(start, since + stretch) == start
    assert len(spans_between(start, since + stretch)) <= 40


def test_how_many_are_as_new_as_a_moment_follows_the_next_older_mark() -> None:
    ages = Ages.of(500, [(10, FIRST), (100, FIRST - timedelta(days=1))])
    assert ages.as_new_as(FIRST + timedelta(hours=1)) == 10
    assert ages.as_new_as(FIRST - timedelta(hours=1)) == 100
    assert ages.as_new_as(FIRST - timedelta(days=2)) == 500
