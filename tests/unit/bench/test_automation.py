"""The bench of automation: each of its figures would be zero if it were read wrongly."""

import pytest

from bench.automation import holds
from bench.automation_claims import ClaimResults, ClaimTimes

HELD: dict[str, object] = {
    "claim_ratio": 2.0,
    "claim_ms_p95": 10.0,
    "growth": 2.0,
    "runs_per_ledger_19": 18.0,
    "due_late_ms_p95": 2_000,
    "memory_mb": 150.0,
    "settle_ratio": 0.95,
    "settle_failed": 0,
    "runs_failed": 0,
}
MISSED = {
    "claim_ratio": 1.9,
    "claim_ms_p95": 10.1,
    "growth": 2.1,
    "runs_per_ledger_19": 17.9,
    "due_late_ms_p95": 2_001,
    "memory_mb": 150.1,
    "settle_ratio": 0.94,
    "settle_failed": 1,
    "runs_failed": 1,
}


def times(*rounds: tuple[list[float], int]) -> ClaimTimes:
    measured = ClaimTimes()
    for seconds, claimed in rounds:
        measured.add(seconds, claimed)
    return measured


def test_claims_of_a_round_are_divided_by_its_time() -> None:
    measured = times(([0.01] * 50, 1_000), ([0.02] * 50, 1_000))
    assert [round(each) for each in measured.per_s] == [2_000, 1_000]
    assert (measured.quantile_ms(0.5), measured.quantile_ms(0.95)) == (15.0, 15.0)
    assert measured.figures()["claims"] == 100


def test_ratio_and_growth_compare_rounds_and_sizes() -> None:
    few, many = times(([0.01], 100), ([0.01], 100)), times(([0.02], 100), ([0.02], 100))
    theirs = times(([0.1], 100), ([0.2], 100))
    results = ClaimResults(few, many, theirs)
    assert (results.ratio, results.growth) == (7.5, 2.0)


def test_thresholds_hold_at_their_limits() -> None:
    assert holds(HELD)


@pytest.mark.parametrize("name", MISSED)
def test_threshold_that_is_missed_fails_the_bench(name: str) -> None:
    assert not holds({**HELD, name: MISSED[name]})
