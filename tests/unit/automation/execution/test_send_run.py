"""What follows the refusal to record an attempt: runs that wait are looked at ever more seldom."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.send_run import RunSender
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_journal import AttemptRecording
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.kernel.caller import OwnerId
from support.automation_world import NET
from support.manual_clock import START, ManualClock

LIMITS = [
    AttemptRecording.BUDGET_OWNER,
    AttemptRecording.BUDGET_TOTAL,
    AttemptRecording.LOSS_OWNER,
    AttemptRecording.LOSS_NEW,
]


class Moves:
    """A journal that takes every move."""

    async def move(self, run: Run, trigger: RunTrigger, after: Run, end: object = None) -> Run:
        assert trigger is RunTrigger.DEFER
        return after


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("waited", "pause"),
    [(timedelta(), timedelta(seconds=30)), (timedelta(hours=1), timedelta(minutes=5))],
)
async def test_run_that_waits_for_a_limit_is_looked_at_ever_more_seldom(
    limit: AttemptRecording, waited: timedelta, pause: timedelta
) -> None:
    """Each look checks and simulates the run, takes a channel and signs."""
    clock, journal = ManualClock(), Moves()
    needs: Any = SimpleNamespace(failures=RunFailures(journal, clock))  # type: ignore[arg-type]
    run = Run(
        id="run",
        proposal_id="auto",
        run_index=0,
        leg_index=0,
        network=NET,
        owner=OwnerId("user"),
        account=None,
        scheduled_for=START - waited,
        deadline_at=START + timedelta(days=1),
        state=RunState.BUILDING,
        due_at=None,
    )
    unused: Any = None
    after = await RunSender(needs, clock)._refuse(run, limit, unused)
    assert after is not None
    assert after.due_at == START + pause
    assert after.error_code == limit.value
