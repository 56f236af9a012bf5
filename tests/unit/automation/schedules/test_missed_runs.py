"""Missed-run policies, the interval that a session enforces, and that no legal run breaks it."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.gaps import default_lateness, session_interval_s, shortest_gap
from farebox.automation.schedules.missed_runs import (
    LatenessRule,
    MissedRuns,
    RunSlot,
    earliest_start,
    next_slots,
)
from farebox.automation.schedules.schedule import (
    ConditionSchedule,
    CronSchedule,
    IntervalSchedule,
    OnceSchedule,
    Schedule,
)

START: Final = datetime(2026, 11, 25, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
WINDOW: Final = PlanWindow(START, START + 48 * HOUR)
HOURLY: Final = IntervalSchedule(3_600, START)
SKIP, ONE, ALL = MissedRuns


def slots(
    policy: MissedRuns,
    *,
    after: float | None,
    now: float,
    count: int = 2,
    late_m: int = 15,
    schedule: Schedule = HOURLY,
) -> list[tuple[float, float]]:
    """The next slots, in hours since the start: (scheduled for, deadline)."""
    found = next_slots(
        schedule,
        WINDOW,
        LatenessRule(policy, timedelta(minutes=late_m)),
        after=None if after is None else START + after * HOUR,
        now=START + now * HOUR,
        count=count,
    )
    return [((s.scheduled_for - START) / HOUR, (s.deadline_at - START) / HOUR) for s in found]


@pytest.mark.parametrize("policy", MissedRuns)
def test_first_slots_begin_with_the_window(policy: MissedRuns) -> None:
    assert [at for at, _ in slots(policy, after=None, now=0)] == [0, 1]


@pytest.mark.parametrize("policy", MissedRuns)
def test_slots_follow_the_newest_run_when_none_was_missed(policy: MissedRuns) -> None:
    assert [at for at, _ in slots(policy, after=4, now=4.1)] == [5, 6]


def test_skip_leaves_out_every_slot_whose_lateness_has_passed() -> None:
    assert slots(SKIP, after=1, now=7.25) == [(7, 7.25), (8, 8.25)]
    assert [at for at, _ in slots(SKIP, after=1, now=7.5)] == [8, 9]


def test_catch_up_one_runs_the_latest_missed_slot_until_the_next_is_due() -> None:
    assert slots(ONE, after=1, now=7.5) == [(7, 8), (8, 9)]
    assert slots(ONE, after=7, now=7.5) == [(8, 9), (9, 10)]


def test_catch_up_all_runs_every_slot_until_the_window_ends() -> None:
    assert slots(ALL, after=1, now=7.5, count=3) == [(2, 48), (3, 48), (4, 48)]


def test_slots_end_with_the_window_and_so_do_their_deadlines() -> None:
    assert slots(SKIP, after=46, now=46.5, count=9) == [(47, 47.25)], "nothing lands at the end"
    assert slots(ONE, after=46, now=46.5, count=9) == [(47, 48)]
    assert slots(ALL, after=48, now=48, count=9) == []
    assert slots(SKIP, after=None, now=49, count=9) == []


def test_single_run_is_made_up_for_only_by_a_catch_up_policy() -> None:
    once = OnceSchedule(START + 2 * HOUR)
    assert slots(SKIP, after=None, now=3, schedule=once) == []
    assert slots(ONE, after=None, now=3, schedule=once) == [(2, 48)]
    assert slots(ALL, after=None, now=3, schedule=once) == [(2, 48)]
    assert slots(ALL, after=2, now=3, schedule=once) == []


@pytest.mark.parametrize("policy", MissedRuns)
def test_condition_is_never_made_up_for(policy: MissedRuns) -> None:
    polled = ConditionSchedule(60)
    first, *_ = slots(policy, after=1, now=7.5, late_m=0, schedule=polled)
    assert first == (7.5, 7.5)


@given(
    policy=st.sampled_from(MissedRuns),
    every_m=st.integers(1, 90),
    late_m=st.integers(0, 60),
    after=st.none() | st.integers(0, 2_000),
    now=st.integers(0, 3_000),
)
def test_slots_are_those_of_a_slow_model(
    policy: MissedRuns, every_m: int, late_m: int, after: int | None, now: int
) -> None:
    """Every due time is judged on its own, in minutes since the start."""
    end, room = 48 * 60, min(late_m, 0.5)  # half a minute, so that a run can land
    wanted = []
    for at in range(0, end + 1, every_m):
        following = at + every_m if at + every_m <= end else end
        deadline = {SKIP: at + late_m, ONE: max(at + late_m, following), ALL: end}[policy]
        is_superseded = policy is ONE and at + late_m < now and at + every_m <= min(now, end)
        has_room = min(deadline, end) - at >= room
        is_wanted = (after is None or at > after) and min(deadline, end) >= now
        if is_wanted and has_room and not is_superseded:
            wanted.append((at, min(deadline, end)))
    found = next_slots(
        IntervalSchedule(every_m * 60, START),
        WINDOW,
        LatenessRule(policy, timedelta(minutes=late_m)),
        after=None if after is None else START + timedelta(minutes=after),
        now=START + timedelta(minutes=now),
        count=10_000,
    )
    minute = timedelta(minutes=1)
    assert [
        ((s.scheduled_for - START) / minute, (s.deadline_at - START) / minute) for s in found
    ] == wanted


@given(
    every_s=st.integers(60, 7_200),
    lateness=st.none() | st.integers(0, 3_600),
    landed_late=st.lists(st.floats(0, 1), min_size=2, max_size=6),
)
def test_legal_runs_never_break_the_interval_of_the_session(
    every_s: int, lateness: int | None, landed_late: list[float]
) -> None:
    """Each run starts as early as it may and lands as late as it likes before its deadline."""
    gap = timedelta(seconds=every_s)
    late = default_lateness(gap) if lateness is None else min(timedelta(seconds=lateness), gap)
    interval = session_interval_s(gap, SKIP, late)
    landed: datetime | None = None
    for number, share in enumerate(landed_late):
        at = START + number * gap
        slot = RunSlot(at, at + late)
        start = earliest_start(slot, last_landed_at=landed, session_interval_s=interval)
        assert start <= slot.deadline_at or interval == 60
        here = start + max(slot.deadline_at - start, timedelta(0)) * share
        assert landed is None or (here - landed).total_seconds() >= interval
        landed = here


@pytest.mark.parametrize(
    ("gap", "policy", "late", "wanted"),
    [
        (HOUR, SKIP, timedelta(minutes=30), 1_800),
        (timedelta(seconds=60), SKIP, timedelta(seconds=30), 60),
        (HOUR, ONE, timedelta(0), 60),
        (HOUR, ALL, timedelta(0), 60),
        (None, SKIP, HOUR, 60),
    ],
)
def test_session_interval_is_the_gap_less_the_lateness_and_a_minute_at_least(
    gap: timedelta | None, policy: MissedRuns, late: timedelta, wanted: int
) -> None:
    assert session_interval_s(gap, policy, late) == wanted


def test_default_lateness_is_half_the_gap_and_an_hour_at_most() -> None:
    assert default_lateness(timedelta(seconds=61)) == timedelta(seconds=30)
    assert default_lateness(24 * HOUR) == HOUR
    assert default_lateness(None) == HOUR


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        (OnceSchedule(START), None),
        (HOURLY, HOUR),
        (IntervalSchedule(48 * 3_600 + 1, START), None),
        (ConditionSchedule(30), timedelta(seconds=30)),
        (CronSchedule("0 0 25 * *", "UTC"), None),
        (CronSchedule("* * * * *", "UTC"), timedelta(minutes=1)),
        (CronSchedule("0 1,7 * * *", "UTC"), 6 * HOUR),
    ],
)
def test_shortest_gap_is_between_two_due_times_of_the_window(
    schedule: Schedule, wanted: timedelta | None
) -> None:
    assert shortest_gap(schedule, WINDOW) == wanted


def test_shortest_gap_counts_elapsed_time_where_the_clocks_go_forward() -> None:
    window = PlanWindow(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC))
    assert shortest_gap(CronSchedule("0 1,4 * * *", "Europe/Berlin"), window) == 2 * HOUR
    assert shortest_gap(CronSchedule("30 2,3 * * *", "Europe/Berlin"), window) == HOUR / 2


def test_shortest_gap_of_very_many_due_times_is_a_lower_bound_in_little_time() -> None:
    minutes = ",".join(map(str, [*range(0, 57, 2), 59]))
    odd = CronSchedule(f"{minutes} 0,2,4,6,8,10,12,14,16,18,20,23 * * 1,3,5", "UTC")
    window = PlanWindow(START, START + timedelta(days=170))
    assert shortest_gap(odd, window) == timedelta(minutes=1)
