"""What a query looks for, and what each part of it is worth."""

from collections.abc import Mapping
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.query.expression import Term, parse
from farebox.search.query.terms import (
    Role,
    Sought,
    content_of,
    role_of,
    seek,
    weight_of,
    with_alternatives,
    words_of,
)
from farebox.search.vocabulary.alternative import Alternative, Kinship
from farebox.search.vocabulary.lexemes import Census, Lexed, phrase, quoted

STOPS: Final = frozenset(("a", "for", "me", "the", "who"))
COUNTS: Final = {"weather": 40, "forecast": 20, "api": 500, "find": 10, "radar": 1}


def lexed_of(*words: str) -> Mapping[str, Lexed]:
    return {word: Lexed((word,), word in STOPS) for word in words}


def sought(text: str, counts: Mapping[str, int] = COUNTS) -> tuple[Sought, ...]:
    terms = parse(text).terms
    census = Census(1_000, is_small=True, with_lexeme=counts, with_name=counts)
    return seek(terms, lexed_of(*words_of(terms)), census)


def weights(text: str) -> dict[str, int]:
    return {term.text: term.weight for term in sought(text)}


def test_what_is_asked_for_weighs_more_than_that_it_is_asked_for() -> None:
    found = weights("find me a weather forecast API")
    assert found.keys() == {"find", "weather", "forecast", "api"}
    assert found["forecast"] > found["weather"] > 3 * found["api"]
    assert found["weather"] > 5 * found["find"]


def test_a_word_that_no_listing_has_says_less_than_a_rare_one_and_more_than_a_common_one() -> None:
    found = weights("weather radar paris api")
    assert found["radar"] > found["paris"] > found["api"]


def test_stop_words_count_when_there_is_nothing_else() -> None:
    assert [term.text for term in sought("the who")] == ["the", "who"]
    assert [term.text for term in sought("the weather")] == ["weather"]


@pytest.mark.parametrize(
    ("text", "content"),
    [("find me a weather api", ["weather"]), ("find me an api", ["api"]), ("find", ["find"])],
)
def test_the_best_words_there_are_are_the_content(text: str, content: list[str]) -> None:
    assert [term.text for term in content_of(sought(text))] == content


def test_a_quoted_word_is_meant_whatever_it_is() -> None:
    assert role_of(Term(("api",), is_quoted=True)) is Role.CONTENT
    assert role_of(Term(("api",))) is Role.GENERIC


@given(st.integers(1, 10**6), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_rarer_of_two_words_never_weighs_less(documents: int, one: float, other: float) -> None:
    rare, common = sorted((max(one, 1e-9), max(other, 1e-9)))
    assert 100 >= weight_of(rare, documents) >= weight_of(common, documents) >= 0


def test_other_words_are_held_against_documents_that_have_them() -> None:
    terms = parse("wether").terms
    lexed = lexed_of("wether", "weather", "gale")
    census = Census(1_000, is_small=True, with_lexeme=COUNTS, with_name=COUNTS)
    others = {
        "wether": (
            Alternative("weather", 90, Kinship.TYPO),
            Alternative("gale", 80, Kinship.SYNONYM),  # no document has it
        )
    }
    (term,) = with_alternatives(seek(terms, lexed, census), others, lexed, census)
    assert [(probe.word, probe.percent) for probe in term.probes] == [
        ("wether", 100),
        ("weather", 90),
    ]
    assert term.weight == weight_of(0.04, 1_000)  # of what was meant
    assert term.wide_query == "(('wether')) | ('weather')"


def test_a_stop_word_inside_a_phrase_leaves_its_place_open() -> None:
    lexed = lexed_of("state", "the", "art")
    words = [lexed["state"], lexed["the"], lexed["the"], lexed["art"]]
    assert phrase(words) == "'state' <3> 'art'"
    assert phrase([Lexed(("the",), is_stop=True)]) == "'the'"


@given(st.text(min_size=1, max_size=20))
def test_a_lexeme_is_quoted_whatever_it_is_made_of(lexeme: str) -> None:
    inside = quoted(lexeme)[1:-1]
    assert inside.replace("''", "").replace("\\\\", "").count("'") == 0
    assert inside.replace("''", "'").replace("\\\\", "\\") == lexeme
