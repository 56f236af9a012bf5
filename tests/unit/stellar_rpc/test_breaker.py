"""When a node is asked, and when it is left alone."""

import pytest

from farebox.stellar.breaker import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Breaker,
    BreakerState,
    served,
)
from farebox.stellar.high_water_mark import MAX_LAG_LEDGERS, LedgerHighWaterMark, is_behind


def opened(at: float = 0) -> Breaker:
    breaker = served()
    for _ in range(3):
        breaker = breaker.after_outage(at)
    return breaker


def test_two_outages_leave_it_closed_and_the_third_opens_it() -> None:
    two = served().after_outage(0).after_outage(0)
    assert two.state(0) is BreakerState.CLOSED
    assert two.after_outage(0).state(0) is BreakerState.OPEN


def test_an_answer_between_outages_starts_the_count_anew() -> None:
    assert served().after_outage(0).after_outage(0) != served()
    assert served().after_outage(1).state(1) is BreakerState.CLOSED


def test_after_the_pause_one_trial_decides() -> None:
    breaker = opened()
    assert breaker.state(FIRST_PAUSE_S - 0.01) is BreakerState.OPEN
    assert breaker.state(FIRST_PAUSE_S) is BreakerState.HALF_OPEN
    failed = breaker.after_outage(FIRST_PAUSE_S)
    assert failed.state(FIRST_PAUSE_S) is BreakerState.OPEN
    assert failed.open_until == FIRST_PAUSE_S + 2 * FIRST_PAUSE_S


def test_pauses_grow_up_to_the_longest() -> None:
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


def test_calls_that_fail_while_it_is_open_do_not_keep_it_open() -> None:
    breaker = opened()
    assert breaker.after_outage(1) == breaker
    assert breaker.after_stale_answer(1) == breaker


def test_a_stale_answer_opens_it_at_once() -> None:
    assert served().after_stale_answer(0).state(0) is BreakerState.OPEN


@pytest.mark.parametrize(("asked", "heeded"), [(5, 5), (86_400, LONGEST_PAUSE_S)])
def test_a_pause_asked_for_is_kept_but_not_for_ever(asked: float, heeded: float) -> None:
    breaker = served().after_asking_for_pause(100, asked)
    assert breaker.state(100 + heeded - 0.01) is BreakerState.FORBIDDEN
    assert breaker.state(100 + heeded) is BreakerState.HALF_OPEN


def test_the_high_water_mark_is_the_newest_ledger_reported_lately() -> None:
    mark = LedgerHighWaterMark()
    assert mark.newest(0) == 0
    mark.report(100, 0)
    mark.report(98, 1)
    assert mark.newest(5) == 100
    assert mark.newest(5.1) == 0, "no node has confirmed it for five seconds"
    mark.report(7, 5.1)  # the network was set back, or the ledger never existed
    assert mark.newest(5.1) == 7


def test_an_answer_is_about_the_past_beyond_a_few_ledgers() -> None:
    assert not is_behind(100 - MAX_LAG_LEDGERS, 100)
    assert is_behind(99 - MAX_LAG_LEDGERS, 100)
    assert not is_behind(1, 0), "nothing is known yet"
