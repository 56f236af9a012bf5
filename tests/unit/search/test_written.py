"""Which words were mistyped, by how often they are written."""

from collections.abc import Mapping

import pytest

from farebox.search.vocabulary import written
from farebox.search.vocabulary.written import SELDOM, is_rather, nothing_written, read_written


@pytest.fixture(scope="module")
def english() -> Mapping[str, int]:
    return read_written()


def test_the_list_holds_words_that_are_not_seldom(english: Mapping[str, int]) -> None:
    assert len(english) > 100_000
    assert english["the"] == max(english.values()) > english["weather"] > english["numerology"]
    assert min(english.values()) == SELDOM


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("wether", "weather"),  # a word too, of sheep
        ("recieve", "receive"),
        ("etherium", "ethereum"),
        ("curency", "currency"),
        ("xlmm", "xlm"),  # neither is in the list
    ],
)
def test_a_slip_is_told_by_how_much_more_often_the_other_is_written(
    english: Mapping[str, int], typed: str, meant: str
) -> None:
    assert is_rather(meant, typed, english)


@pytest.mark.parametrize(
    ("typed", "other"),
    [("spacex", "space"), ("saml", "aml"), ("capacitor", "capacity"), ("login", "logic")],
)
def test_a_word_of_its_own_was_meant(english: Mapping[str, int], typed: str, other: str) -> None:
    assert not is_rather(other, typed, english)
    assert is_rather(other, typed, nothing_written())


@pytest.mark.parametrize(
    ("name", "value"),
    [("PACKAGE", "no_such_package"), ("_LIST", ("data", "none")), ("LIST_SHA256", "0" * 64)],
)
def test_without_the_list_or_with_another_one_no_word_is_known(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(written, name, value)
    assert read_written() == {}
