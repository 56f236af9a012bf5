"""Which statements find the candidates, by the frequencies alone."""

from collections.abc import Mapping
from typing import Final

from farebox.search.expression import parse
from farebox.search.lexemes import Census, Lexed
from farebox.search.plan import (
    Form,
    Kind,
    loosened_stages,
    must_query,
    small_stages,
    strict_query,
    strict_stages,
)
from farebox.search.terms import Sought, seek, term_query, words_of

DOCUMENTS: Final = 1_000_000
COUNTS: Final = {"weather": 30_000, "rain": 9_000, "python": 280_000, "api": 500_000, "escrow": 60}


class Asked:
    """A query with the frequencies of a large catalog."""

    def __init__(self, text: str, counts: Mapping[str, int] = COUNTS) -> None:
        self.expression = parse(text)
        terms = (*self.expression.terms, *self.expression.excluded)
        lexed = {word: Lexed((word,), is_stop=False) for word in words_of(terms)}
        census = Census(DOCUMENTS, is_small=False, with_lexeme=counts, with_name={})
        self.queries = {term: term_query(term, lexed) for term in terms}
        self.sought: tuple[Sought, ...] = seek(self.expression.terms, lexed, census)

    @property
    def strict(self) -> str:
        """The expression to the letter."""
        return strict_query(self.expression, self.queries, self.sought)

    @property
    def must(self) -> str:
        """What every hit meets."""
        return must_query(self.expression, self.queries)

    def forms(self) -> list[tuple[Kind, Form]]:
        """How the strict stages go."""
        stages = strict_stages(self.strict, self.expression, self.sought)
        return [(stage.kind, stage.form) for stage in stages]


def test_names_are_looked_at_before_the_rest() -> None:
    assert [kind for kind, _ in Asked("escrow").forms()] == [Kind.NAMES, Kind.WORDS]


def test_a_rare_word_goes_by_the_index_and_a_dense_one_by_the_freshest() -> None:
    assert Asked("escrow").forms()[1] == (Kind.WORDS, Form.INDEX)
    assert Asked("python").forms()[1] == (Kind.WORDS, Form.WALK)
    assert Asked("python escrow").forms()[1] == (Kind.WORDS, Form.INDEX)


def test_a_choice_is_as_dense_as_its_words_together() -> None:
    assert Asked("python or escrow").forms()[1] == (Kind.WORDS, Form.WALK)


def test_a_word_that_nothing_has_needs_no_statement_for_every_word() -> None:
    assert Asked("weather zyzzyva").forms() == []
    assert Asked('"zyzzyva"').forms() != []


def test_what_only_asks_is_not_demanded_of_a_plain_query() -> None:
    assert Asked("find weather api").strict == "((('weather')))"
    assert Asked('find "weather" api').strict == "((('find')) & (('weather')) & (('api')))"


def test_every_stage_leaves_out_what_is_excluded() -> None:
    asked = Asked("weather rain -radar")
    stages = loosened_stages(asked.sought, asked.must)
    assert stages
    assert all("!(('radar'))" in stage.query for stage in stages)
    (small,) = small_stages(asked.strict, asked.must, asked.sought, is_relaxed=True)
    assert small.query.endswith("& !(('radar'))")
    assert "!(('radar'))" in asked.strict


def test_relaxing_asks_for_fewer_and_fewer_of_the_rarest_words() -> None:
    asked = Asked("weather rain python api escrow")
    stages = loosened_stages(asked.sought, "")
    assert len(stages) == 3  # api only says that a service is looked for
    assert stages[0].query.count("&") > stages[-1].query.count("&") == 0
    assert "'api'" not in stages[0].query
    assert "'python'" not in stages[-1].query  # one of the two rarest
    assert "'escrow'" in stages[-1].query


def test_nothing_is_planned_for_nothing() -> None:
    asked = Asked("-weather")
    assert asked.strict == ""
    assert asked.forms() == []
    assert loosened_stages(asked.sought, asked.must) == []
    assert small_stages("", "", (), is_relaxed=True) == ()
    assert small_stages("", "", (), is_relaxed=False) == ()
