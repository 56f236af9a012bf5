"""What was typed, as a value; total over any text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.query.expression import MAX_EXAMPLES, MAX_TERMS, Branch, Term, parse

TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(alphabet='ab"-| orORé_.’', max_size=120),
    st.lists(st.sampled_from(["or", "OR", "-a", '"b c"', "a", '"', "-", "|"]), max_size=60).map(
        " ".join
    ),
)


def words(*texts: str) -> tuple[Term, ...]:
    return tuple(Term(tuple(text.split())) for text in texts)


def quoted(text: str) -> Term:
    return Term(tuple(text.split()), is_quoted=True)


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("weather forecast", [Branch(words("weather", "forecast"))]),
        ('"weather forecast" paris', [Branch((quoted("weather forecast"), *words("paris")))]),
        ("“weather forecast”", [Branch((quoted("weather forecast"),))]),
        ("rain or snow", [Branch(words("rain")), Branch(words("snow"))]),
        ("a rain OR snow", [Branch(words("a", "rain")), Branch(words("snow"))]),
        ("rain -radar", [Branch(words("rain"), words("radar"))]),
        ('rain -"wind radar"', [Branch(words("rain"), (quoted("wind radar"),))]),
        ("rain - radar", [Branch(words("rain", "radar"))]),
        ("real-time", [Branch((Term(("real", "time"), "realtime"),))]),
        ("get_weather node.js", [Branch(words("get", "weather", "node", "js"))]),
        ("OpenAI", [Branch((Term(("open", "ai"), "openai"),))]),
        ("Café  CAFE", [Branch(words("cafe"))]),
        ('half "open', [Branch(words("half", "open"))]),
        ("or rain or", [Branch(words("or", "rain"))]),
        ("-radar", []),
        ('"" !?', []),
    ],
)
def test_quotes_or_and_minus_mean_what_they_do_on_the_web(
    text: str, branches: list[Branch]
) -> None:
    assert parse(text).branches == tuple(branches)


def test_an_or_inside_a_sentence_is_a_word_of_it() -> None:
    expression = parse("will it rain or snow in Oslo")
    assert len(expression.branches) == 1
    assert expression.may_be_relaxed


@pytest.mark.parametrize("text", ['"rain"', "rain or snow", 'rain "snow storm"'])
def test_what_is_quoted_or_offered_as_a_choice_is_never_relaxed(text: str) -> None:
    assert not parse(text).may_be_relaxed


@pytest.mark.parametrize(
    ("text", "quotations"),
    [
        ('how do I say "the train was late" in Hungarian?', [quoted("the train was late")]),
        ('translate "good day" to "Thai"', [quoted("good day"), quoted("thai")]),
        ('"weather forecast" paris', []),
        ('tell me about "rain" OR "snow"', []),
        ('find me rain -"snow storm"', []),
    ],
)
def test_only_a_sentence_quotes_what_may_be_an_example(text: str, quotations: list[Term]) -> None:
    assert parse(text).quotations == tuple(quotations)


def test_an_example_is_words_like_others() -> None:
    expression = parse('translate "good day to you" to "Thai" -"bad day"')
    said, thai = expression.quotations
    examples = expression.with_examples([said])
    assert examples.terms == (*words("translate", "good", "day", "to", "you"), thai)
    assert examples.excluded == expression.excluded
    assert not examples.may_be_relaxed
    assert expression.with_examples([said, thai]).may_be_relaxed


def test_only_so_many_quotations_may_be_examples() -> None:
    text = "say " + " ".join(f'"word{n}"' for n in range(MAX_EXAMPLES + 3)) + " to me"
    assert len(parse(text).quotations) == MAX_EXAMPLES


def test_a_long_example_is_bounded() -> None:
    expression = parse('say "' + " ".join(f"word{n}" for n in range(90)) + '" to me')
    assert len(expression.with_examples(expression.quotations).terms) == MAX_TERMS


@pytest.mark.parametrize("text", ["rain", "rain -snow", "e-mail", "find me rain"])
def test_plain_words_may_be_relaxed(text: str) -> None:
    assert parse(text).may_be_relaxed


@given(TEXTS)
def test_any_text_is_a_bounded_expression(text: str) -> None:
    expression = parse(text)
    every = [*expression.terms, *expression.excluded]
    assert len(every) <= MAX_TERMS
    assert all(branch.terms for branch in expression.branches)
    letters = "".join(part for term in every for part in term.parts)
    assert not any(unicodedata.category(letter) == "Cc" for letter in letters)


@given(TEXTS)
def test_what_was_read_says_the_same_again(text: str) -> None:
    """The plain words of an expression are words already."""
    for term in parse(text).terms:
        again = parse('"' + " ".join(term.parts) + '"')
        assert [each.parts for each in again.terms] == [term.parts]


def test_a_long_query_is_cut_and_not_refused() -> None:
    assert len(parse(" ".join(f"word{n}" for n in range(5_000))).terms) == MAX_TERMS
