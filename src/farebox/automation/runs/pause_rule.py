"""Why a plan pauses by itself after a run has changed."""

from collections.abc import Sequence
from typing import Final

from farebox.automation.plans.proposal_state import PauseReason
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.classify_error import lacks_balance
from farebox.automation.runs.finish_leg import MOST_FAILURES
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunEffect

_MOST_CEILINGS: Final = 2


def find_pause_reason(
    plan: StoredPlan, run: Run, effects: Sequence[RunEffect]
) -> PauseReason | None:
    """Why the plan pauses by itself now; None where it does not."""
    if RunEffect.RAISE_ALARM in effects:
        return PauseReason.OUTCOME_UNKNOWN
    if RunEffect.STOP_PLAN in effects:
        return PauseReason.SESSION_DRIFT
    if plan.counters.failures_in_row >= MOST_FAILURES:
        is_low = lacks_balance(run.error_class, run.error_code)
        return PauseReason.LOW_BALANCE if is_low else PauseReason.FAILED_RUNS
    return PauseReason.FEE_CEILING if plan.counters.ceilings_hit >= _MOST_CEILINGS else None
