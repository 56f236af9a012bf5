"""How long a caller waits for what the paymaster cannot send now."""

from datetime import UTC, datetime, timedelta

import pytest

from farebox.automation.execution.sponsor_obstacle import SponsorObstacle, judge_installs, wait_for

EVENING = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize("obstacle", SponsorObstacle)
def test_limit_of_a_day_is_waited_for_until_the_next_one(obstacle: SponsorObstacle) -> None:
    is_limit = obstacle.value.startswith(("budget_", "loss_"))
    is_of_a_day = is_limit or obstacle.value.endswith("_installations")
    expected = timedelta(hours=1) if is_of_a_day else timedelta(seconds=5)
    assert wait_for(obstacle, EVENING) == expected


def test_wait_is_never_shorter_than_some_seconds() -> None:
    just_before = datetime(2026, 11, 25, 23, 59, 59, tzinfo=UTC)
    assert wait_for(SponsorObstacle.BUDGET_OWNER, just_before) == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("of_plan", "of_owner", "limit"),
    [
        (3, 10, None),
        (4, 4, SponsorObstacle.PLAN_LIMIT),
        (1, 11, SponsorObstacle.OWNER_LIMIT),
        (4, 11, SponsorObstacle.PLAN_LIMIT),
    ],
)
def test_installations_are_limited_for_a_plan_and_for_its_owner(
    of_plan: int, of_owner: int, limit: SponsorObstacle | None
) -> None:
    assert judge_installs(of_plan=of_plan, of_owner=of_owner) is limit
