"""A slip of the finger is put right; a word that is merely unknown is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.vocabulary.typo import corrections, one_slip_from, slips_allowed, slips_between

WORDS = st.text("abcde", max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [
        ("forcast", "forecast", 1),
        ("wheather", "weather", 1),
        ("exchnage", "exchange", 1),
        ("sentimant", "sentiment", 1),
        ("tranlsatoin", "translation", 2),
        ("same", "same", 0),
    ],
)
def test_slips_are_counted(one: str, other: str, slips: int) -> None:
    assert slips_between(one, other, most=3) == slips


@given(WORDS, WORDS, st.integers(0, 3))
def test_slips_are_the_same_both_ways_and_bounded(one: str, other: str, most: int) -> None:
    there, back = slips_between(one, other, most=most), slips_between(other, one, most=most)
    assert there == back
    assert there is None or there <= most
    whole = slips_between(one, other, most=8)
    assert whole is not None
    assert there == (whole if whole <= most else None)
    assert (whole == 0) == (one == other)


@pytest.mark.parametrize(
    ("asked", "right"), [("forcast", ["forecast"]), ("curency", ["currency"]), ("tokne", ["token"])]
)
def test_a_mistyped_word_is_put_right(asked: str, right: list[str]) -> None:
    catalog = [("forecast", 9), ("currency", 7), ("token", 20), ("broadcast", 3)]
    assert [word for word, _ in corrections(asked, catalog)] == right


def test_of_two_as_near_the_commoner_word_stands_first() -> None:
    assert corrections("mail", [("main", 3), ("mails", 9)]) == [("mails", 1), ("main", 1)]


@pytest.mark.parametrize("asked", ["tokyo", "lima", "osaka", "berlin", "k8s", "b2b", "eth", "2024"])
def test_a_name_becomes_no_other_word(asked: str) -> None:
    catalog = [("token", 9), ("limit", 7), ("merging", 2), ("eta", 1), ("b2c", 1), ("2025", 4)]
    assert corrections(asked, catalog) == []


def test_only_words_of_letters_are_put_right_and_short_ones_never() -> None:
    assert [slips_allowed(word) for word in ("abc", "abcd", "abcdefg", "abcdefgh", "abcd1")] == [
        0,
        1,
        1,
        2,
        0,
    ]


def test_every_word_one_slip_away_is_thought_of_and_no_other() -> None:
    near = one_slip_from("rain")
    assert {"rai", "rian", "train", "ruin", "rains", "ain"} <= near
    assert {slips_between("rain", word, most=2) for word in near} == {1}
