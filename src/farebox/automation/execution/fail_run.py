"""What follows an error of a run: a later attempt, another look at a budget, or its end."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.execution.build_run import FEE_CEILING
from farebox.automation.execution.simulate_run import NO_SLOT
from farebox.automation.runs.retries import ErrorClass, plan_retry
from farebox.automation.runs.run import Attempt, Run
from farebox.automation.runs.run_end import EndedAttempt, RunEnd
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.kernel.clock import Clock

_JUST_AFTER: Final = timedelta(seconds=1)
_SOONEST_LOOK: Final = timedelta(seconds=30)  # at a budget or cap that was used up
_LATEST_LOOK: Final = timedelta(hours=1)
_LATEST_LOOK_AT_BUDGETS: Final = timedelta(minutes=5)  # what is given back is announced besides
_LOOK_SHARE: Final = 4  # of the time that the run has waited
_STOPPED_FOR: Final = timedelta(seconds=30)  # between two looks at the operator's switch
_OWN_CONGESTION: Final = timedelta(seconds=2)


class RunFailures:
    """Ends or postpones runs by the class of their error; `draw` gives the jitter, 0 to 1."""

    def __init__(self, journal: RunJournal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._draw = random.Random().random

    async def fail(
        self, run: Run, error: ErrorClass, code: str, *, ended: EndedAttempt | None = None
    ) -> Run | None:
        """Record an error of a run; `ended` is the attempt that proves it, where one was made.

        Congestion of this service is no attempt: the run waits for a moment.

        Raises:
            DatabaseUnavailable: whether it was recorded is not known.
        """
        if code == NO_SLOT:
            return await self._wait(run, code)
        now = self._clock.now()
        attempts = run.attempts if ended is not None else run.attempts + 1
        retry = plan_retry(
            error, attempts=attempts, now=now, deadline=run.deadline_at, share=self._draw()
        )
        after = replace(run, attempts=attempts, reason=code, error_class=error, error_code=code)
        if retry.trigger is RunTrigger.DEFER:  # that is no attempt
            due_at = _next_look(run, now, latest=_LATEST_LOOK)
            after = replace(after, attempts=run.attempts, due_at=due_at)
        elif retry.trigger is RunTrigger.RETRY:
            after = replace(after, due_at=retry.next_attempt_at)
        if ended is None or ended.uses_sequence:
            after = _without_used_channel(after, ended)
        end = RunEnd(ended=ended, hits_ceiling=code == FEE_CEILING)
        return await self._journal.move(run, retry.trigger, after, end)

    async def defer_for_budget(self, run: Run, code: str, refused: Attempt) -> Run | None:
        """Let a run wait while a budget, or what failed runs may lose, is used up.

        `run_store.wake_deferred` ends the wait for a budget. What was given back since the attempt
        was refused has woken nothing: the journal looks once more.
        """
        after = replace(run.without_channel(), reason=code, error_class=ErrorClass.BUDGET)
        due_at = _next_look(run, self._clock.now(), latest=_LATEST_LOOK_AT_BUDGETS)
        after = replace(after, error_code=code, due_at=due_at)
        return await self._journal.move(run, RunTrigger.DEFER, after, RunEnd(refused=refused))

    async def defer_while_stopped(self, run: Run) -> Run | None:
        """Let a run wait while the operator has stopped automation."""
        due_at = self._clock.now() + _STOPPED_FOR
        after = replace(run.without_channel(), reason="automation_stopped", due_at=due_at)
        return await self._journal.move(run, RunTrigger.DEFER, after)

    async def wait_for_channel(self, run: Run) -> Run | None:
        """Let a run wait for a channel; that is no attempt of it."""
        return await self._wait(run, "no_channel")

    async def _wait(self, run: Run, reason: str) -> Run | None:
        after = replace(run, reason=reason, due_at=self._clock.now() + _OWN_CONGESTION)
        return await self._journal.move(run, RunTrigger.RETRY, after)


def _without_used_channel(run: Run, ended: EndedAttempt | None) -> Run:
    """The run without a channel that it needs no longer.

    It keeps channel and number only while an earlier envelope of that number is dead.
    """
    if ended is None and run.channel_sequence is not None:
        return run
    return run.without_channel()


def _next_look(run: Run, now: datetime, *, latest: timedelta) -> datetime:
    """When to look again, ever more seldom; just after the deadline, so that the run is missed."""
    waited = (now - run.scheduled_for) / _LOOK_SHARE
    return min(now + min(max(_SOONEST_LOOK, waited), latest), run.deadline_at + _JUST_AFTER)
