"""How long a caller waits for what the paymaster cannot send now."""

from datetime import UTC, datetime, timedelta

import pytest

from farebox.automation.execution.sponsor_obstacle import SponsorObstacle, wait_for

EVENING = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize("obstacle", SponsorObstacle)
def test_budget_of_a_day_is_waited_for_until_the_next_one(obstacle: SponsorObstacle) -> None:
    is_budget = obstacle in (SponsorObstacle.BUDGET_TOTAL, SponsorObstacle.BUDGET_OWNER)
    expected = timedelta(hours=1) if is_budget else timedelta(seconds=5)
    assert wait_for(obstacle, EVENING) == expected


def test_wait_is_never_shorter_than_some_seconds() -> None:
    just_before = datetime(2026, 11, 25, 23, 59, 59, tzinfo=UTC)
    assert wait_for(SponsorObstacle.BUDGET_OWNER, just_before) == timedelta(seconds=5)
