"""Which statements find the candidates, by the frequencies alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from farebox.search.ages import MOST_SPANS, Ages, spans_between
from farebox.search.query.expression import parse
from farebox.search.query.plan import (
    AccessPath,
    Kind,
    RecallStage,
    learned,
    loosened_stages,
    must_query,
    reaching,
    reckoned,
    reckoned_again,
    small_stages,
    strict_query,
    strict_stages,
)
from farebox.search.query.terms import Sought, seek, term_query, words_of
from farebox.search.vocabulary.lexemes import Census, Lexed

NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)
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

    def kinds(self) -> list[Kind]:
        """The strict stages."""
        stages = strict_stages(self.strict, self.expression, self.sought)
        return [stage.kind for stage in stages]


def test_names_are_looked_at_before_the_rest() -> None:
    assert Asked("escrow").kinds() == [Kind.NAMES, Kind.WORDS]


def share(text: str) -> float:
    """The part of the documents that is expected to have every word."""
    asked = Asked(text)
    return strict_stages(asked.strict, asked.expression, asked.sought)[1].share


def test_what_is_expected_of_words_follows_from_their_frequencies() -> None:
    assert share("escrow") == pytest.approx(0.00006)
    assert share("python") == pytest.approx(0.28)
    assert share("python escrow") < share("escrow")
    assert share("python or escrow") > share("python")


AGES = Ages.of(DOCUMENTS, [(1_000 * 2**turn, NOW - timedelta(hours=2**turn)) for turn in range(9)])


def since(stage: RecallStage, *, filtered: float = 1.0) -> datetime | None:
    """How far back it looks at first."""
    looked_at = reckoned(stage, AGES, filtered=filtered)
    return reaching(stage, AGES, looked_at, filtered=filtered, at=NOW).stage.since


def test_the_more_a_stage_will_find_the_less_far_it_looks_back() -> None:
    rare = RecallStage(Kind.WORDS, AccessPath.INDEX, "'x'", 400, share=0.001, reads=0.001)
    dense = replace(rare, share=0.2, reads=0.2)
    near = since(dense)
    assert since(rare) is None
    assert near is not None
    filtered = since(dense, filtered=0.1)
    assert filtered is not None
    assert filtered < near


def next_look(stage: RecallStage, looked_at: float, found: int) -> float:
    return reckoned_again(learned(stage, looked_at, found, filtered=1.0), looked_at, filtered=1.0)


def test_a_stage_that_found_too_little_looks_as_far_back_as_what_it_found_says() -> None:
    stage = RecallStage(Kind.WORDS, AccessPath.INDEX, "'x'", 300, share=0.2, reads=0.2)
    assert next_look(stage, 2_000, 30) >= 8_000
    assert next_look(stage, 2_000, 299) >= 4_000
    nothing = learned(stage, 2_000, 0, filtered=1.0)
    looked_at = next_look(stage, 2_000, 0)
    assert reaching(nothing, AGES, looked_at, filtered=1.0, at=NOW).is_last


def test_how_many_were_looked_at_is_told_of_where_the_first_span_begins() -> None:
    dense = RecallStage(Kind.WORDS, AccessPath.INDEX, "'x'", 400, share=0.2, reads=0.2)
    reach = reaching(dense, AGES, 5_000, filtered=1.0, at=NOW)
    assert reach.stage.since is not None
    assert len(spans_between(reach.stage.since, NOW)) <= MOST_SPANS
    assert 5_000 <= reach.looked_at == AGES.as_new_as(reach.stage.since)


def test_how_often_words_come_together_is_learned_by_a_short_look() -> None:
    guess = RecallStage(Kind.WORDS, AccessPath.INDEX, "'x' & 'y'", 300, share=0.005, reads=0.005)
    known = replace(guess, query="'x'")
    assert reckoned(guess, AGES, filtered=1.0) < reckoned(known, AGES, filtered=1.0)
    rare = replace(guess, share=0.0001, reads=0.0001)
    assert reckoned(rare, AGES, filtered=1.0) > DOCUMENTS


def test_what_is_read_in_vain_is_bounded() -> None:
    words = RecallStage(Kind.WORDS, AccessPath.INDEX, "'x'", 400, share=0.2, reads=0.2)
    phrase = replace(words, share=0.02)
    whole = reaching(words, AGES, 1e9, filtered=1.0, at=NOW)
    assert whole.stage.since is None
    assert whole.is_last
    for stage, filtered in ((words, 0.01), (phrase, 1.0)):
        bounded = reaching(stage, AGES, 1e9, filtered=filtered, at=NOW)
        assert bounded.stage.since is not None
        assert bounded.is_last
    assert phrase.enough < words.enough < words.most


def test_a_phrase_is_expected_where_its_words_are_but_more_rarely() -> None:
    asked = Asked('"weather rain"')
    stage = strict_stages(asked.strict, asked.expression, asked.sought)[1]
    assert 0 < stage.share < stage.reads


def test_a_word_that_nothing_has_needs_no_statement_for_every_word() -> None:
    assert Asked("weather zyzzyva").kinds() == []
    assert Asked('"zyzzyva"').kinds() != []


def test_what_only_asks_is_not_demanded() -> None:
    assert Asked("find weather api").strict == "((('weather')))"
    assert Asked('find "weather" api').strict == "((('weather')))"
    assert Asked('"weather" api').strict == "((('weather')) & (('api')))"


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
    assert asked.kinds() == []
    assert loosened_stages(asked.sought, asked.must) == []
    assert small_stages("", "", (), is_relaxed=True) == ()
    assert small_stages("", "", (), is_relaxed=False) == ()
