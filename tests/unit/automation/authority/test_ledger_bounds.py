"""Ledgers of sessions and attempts from the cadence."""

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.authority.ledger_bounds import (
    AttemptBounds,
    EndTooFar,
    bound_attempt,
    default_horizon,
    ends_early,
    estimated_end,
    may_start,
    outlives,
    session_end_ledger,
)
from farebox.stellar.ledger_clock import LedgerReading
from support.plans import START

READING: Final = LedgerReading(1_000, START, 5.0, 0.0)
TTL: Final = 3_110_400


def reading(cadence_s: float, sequence: int = 1_000) -> LedgerReading:
    """The ledger clock."""
    return LedgerReading(sequence, START, cadence_s, 0.0)


def test_session_ends_at_the_fastest_cadence_that_is_plausible() -> None:
    end = START + timedelta(seconds=400)
    assert session_end_ledger(READING, end, max_entry_ttl=TTL) == 1_124, (
        "24 ledgers for a run at the end"
    )
    assert session_end_ledger(reading(1.0), end, max_entry_ttl=TTL) == 1_524
    assert session_end_ledger(READING, START - timedelta(days=1), max_entry_ttl=TTL) == 1_024


@given(cadence=st.floats(0.1, 10), share=st.floats(0.81, 2), seconds=st.integers(0, 170 * 86_400))
def test_ledger_of_a_session_never_closes_before_its_time(
    cadence: float, share: float, seconds: int
) -> None:
    """Whatever the cadence becomes, down to the fastest plausible one."""
    end = START + timedelta(seconds=seconds)
    ledger = session_end_ledger(reading(cadence), end, max_entry_ttl=10**9)
    assert estimated_end(reading(cadence * share), ledger) >= end - timedelta(microseconds=10)


def test_session_that_no_entry_can_outlive_is_refused() -> None:
    end = START + timedelta(seconds=4 * 75)
    assert session_end_ledger(READING, end, max_entry_ttl=100) == 1_099
    with pytest.raises(EndTooFar):
        session_end_ledger(READING, end + timedelta(seconds=1), max_entry_ttl=100)


def test_plan_without_an_end_has_a_session_at_a_faster_cadence_too() -> None:
    horizon = default_horizon(READING, max_entry_ttl=TTL)
    assert horizon.days == 129
    faster = reading(READING.cadence_s * 0.91)
    assert session_end_ledger(faster, START + horizon, max_entry_ttl=TTL) > 3_000_000


def test_session_ends_early_when_ledgers_close_faster() -> None:
    end = START + timedelta(seconds=400)
    ledger = session_end_ledger(READING, end, max_entry_ttl=TTL)
    assert not ends_early(READING, ledger, end)
    assert not ends_early(reading(3.3), ledger, end)
    assert ends_early(reading(3.2), ledger, end)


@pytest.mark.parametrize(("left", "may"), [(24, True), (23, False), (0, False), (-5, False)])
def test_run_starts_only_with_enough_ledgers_left(left: int, may: bool) -> None:
    assert may_start(READING, 1_000 + left) is may
    assert may_start(READING, None)


def test_session_outlives_a_run_with_its_margin() -> None:
    until = START + timedelta(seconds=400)
    assert outlives(READING, 1_124, until)
    assert not outlives(READING, 1_123, until)


def test_attempt_is_bounded_by_time_ledgers_deadline_and_session() -> None:
    far = START + timedelta(hours=1)
    near = START + timedelta(seconds=30)
    assert bound_attempt(READING, deadline=far, end_ledger=None) == AttemptBounds(
        START + timedelta(seconds=60), 1_012, 1_024
    )
    assert bound_attempt(READING, deadline=near, end_ledger=1_020) == AttemptBounds(
        near, 1_012, 1_020
    )
    assert bound_attempt(READING, deadline=far, end_ledger=1_005).max_ledger == 1_005
