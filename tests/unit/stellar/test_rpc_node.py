"""The circuit breaker of a node and the high-water mark of ledgers."""

import pytest

from farebox.stellar.rpc_node import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    MAX_LAG_LEDGERS,
    BreakerState,
    CircuitBreaker,
    LedgerHighWaterMark,
    is_behind,
)


def opened(at: float = 0) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(3):
        breaker = breaker.after_outage(at)
    return breaker


def test_breaker_opens_at_the_third_outage() -> None:
    two = CircuitBreaker().after_outage(0).after_outage(0)
    assert two.state(0) is BreakerState.CLOSED
    assert two.after_outage(0).state(0) is BreakerState.OPEN


def test_breaker_counts_outages_from_its_last_success() -> None:
    assert CircuitBreaker().after_outage(0).after_outage(0) != CircuitBreaker()
    assert CircuitBreaker().after_outage(1).state(1) is BreakerState.CLOSED


def test_breaker_is_half_open_after_its_pause_and_a_failed_trial_doubles_it() -> None:
    breaker = opened()
    assert breaker.state(FIRST_PAUSE_S - 0.01) is BreakerState.OPEN
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.HALF_OPEN
    failed = breaker.after_outage(FIRST_PAUSE_S)
    assert failed.state(FIRST_PAUSE_S) is BreakerState.OPEN
    assert failed.open_until == FIRST_PAUSE_S + 2 * FIRST_PAUSE_S


def test_breaker_pauses_grow_up_to_the_longest() -> None:
    breaker, now = opened(), 0.0
    pauses = []
    for _ in range(40):
        assert breaker.open_until is not None
        pauses.append(breaker.open_until - now)
        now = breaker.open_until
        breaker = breaker.after_outage(now)
    assert pauses[0] == FIRST_PAUSE_S
    assert sorted(pauses) == pauses
    assert pauses[-1] == LONGEST_PAUSE_S


def test_breaker_ignores_failures_while_open() -> None:
    breaker = opened()
    assert breaker.after_outage(1) == breaker
    assert breaker.after_stale_response(1) == breaker


def test_breaker_opens_at_one_stale_response() -> None:
    assert CircuitBreaker().after_stale_response(0).state(0) is BreakerState.OPEN


@pytest.mark.parametrize(("requested", "kept"), [(5, 5), (86_400, LONGEST_PAUSE_S)])
def test_breaker_keeps_a_requested_pause_up_to_the_longest(requested: float, kept: float) -> None:
    breaker = CircuitBreaker().after_requested_pause(100, requested)
    assert breaker.state(100 + kept - 0.01) is BreakerState.FORBIDDEN
    assert breaker.state(100 + kept) is BreakerState.HALF_OPEN


def test_high_water_mark_is_the_newest_ledger_of_the_last_five_seconds() -> None:
    mark = LedgerHighWaterMark()
    assert mark.newest(0) == 0
    mark.report(100, 0)
    mark.report(98, 1)
    assert mark.newest(5) == 100
    assert mark.newest(5.1) == 0, "no node has confirmed it for five seconds"
    mark.report(7, 5.1)  # the network was set back, or the ledger never existed
    assert mark.newest(5.1) == 7


def test_response_is_behind_beyond_the_maximum_lag() -> None:
    assert not is_behind(100 - MAX_LAG_LEDGERS, 100)
    assert is_behind(99 - MAX_LAG_LEDGERS, 100)
    assert not is_behind(1, 0), "nothing is known yet"
