"""The measures of a ranking, held against values worked out by hand."""

import math

import pytest

from eval.labelled import Half, Kind, Query, half_of
from eval.metrics import estimate, ndcg, precision_at_1, reciprocal_rank, told_apart
from eval.scores import Answer, by_kind, misses, of_half, score

GRADES = {"a": 3, "b": 2, "c": 1}


def test_the_best_order_is_worth_one_and_nothing_found_is_worth_nothing() -> None:
    assert ndcg(["a", "b", "c"], GRADES) == 1.0
    assert ndcg([], GRADES) == 0.0
    assert ndcg(["x", "y"], GRADES) == 0.0


def test_gain_falls_with_the_place() -> None:
    ideal = 7 + 3 / math.log2(3) + 1 / 2
    assert ndcg(["c", "x", "a"], GRADES) == pytest.approx((1 + 7 / 2) / ideal)


def test_only_the_first_ten_count() -> None:
    assert ndcg([*"0123456789", "a"], GRADES) == 0.0
    many = {str(n): 1 for n in range(20)}
    assert ndcg([str(n) for n in range(10, 20)], many) == 1.0


def test_the_first_one_of_use_is_what_counts() -> None:
    assert reciprocal_rank(["x", "y", "c"], GRADES) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x"], GRADES) == 0.0
    assert (precision_at_1(["c", "x"], GRADES), precision_at_1(["x", "a"], GRADES)) == (1.0, 0.0)
    assert precision_at_1([], GRADES) == 0.0


def test_an_estimate_is_the_same_for_the_same_values_and_holds_the_mean() -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.25] * 8
    first, second = estimate(values), estimate(values)
    assert first == second
    assert first.low < first.mean < first.high
    assert first.mean == pytest.approx(0.55)
    assert estimate([1.0] * 5).rounded() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="nothing"):
        estimate([])


def _answer(kind: Kind, *found: str, half: Half = Half.LOCKED) -> Answer:
    grades = {} if kind is Kind.NONE else GRADES
    return Answer(Query("q", kind, "words", grades, half), found)


def test_silence_counts_where_nothing_fits_and_answers_where_something_does() -> None:
    answers = [
        _answer(Kind.KEYWORD, "a", "b", "c"),
        _answer(Kind.SENTENCE),
        _answer(Kind.NONE),
        _answer(Kind.NONE, "a"),
    ]
    scores = score(answers)
    assert (scores.ndcg10.mean, scores.answered.mean, scores.silence.mean) == (0.5, 0.5, 0.5)
    assert by_kind(answers) == {"keyword": 1.0, "sentence": 0.0, "none": 0.5}
    assert len(misses(answers)) == 2


def test_halves_follow_from_the_id_alone_and_are_about_equal() -> None:
    halves = [half_of(f"query-{n}") for n in range(1_000)]
    assert 450 < halves.count(Half.LOCKED) < 550
    assert half_of("query-1") is half_of("query-1")
    answers = [_answer(Kind.KEYWORD, half=half) for half in Half]
    assert of_half(answers, Half.TUNING) == answers[:1]


def test_told_apart_is_the_share_of_pairs_in_order_and_ties_are_half() -> None:
    assert told_apart([2.0, 3.0], [0.0, 1.0]) == 1.0
    assert told_apart([0.0], [1.0]) == 0.0
    assert told_apart([1.0, 1.0], [1.0]) == 0.5
    assert told_apart([1.0, 3.0], [0.0, 2.0]) == 0.75
