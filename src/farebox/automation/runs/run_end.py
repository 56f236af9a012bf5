"""The effects of a run's change on its attempt, its plan and the budgets."""

from dataclasses import dataclass
from datetime import datetime

from farebox.automation.plans.proposal_state import PauseReason
from farebox.automation.runs.receipt import TokenChange
from farebox.automation.runs.run import Attempt, AttemptOutcome
from farebox.kernel.amounts import NO_STROOPS, Stroops


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """An attempt's envelope and its outcome; `uses_sequence`: its number is used on the ledger."""

    attempt: Attempt
    outcome: AttemptOutcome
    error_code: str | None = None
    fee_charged: Stroops = NO_STROOPS

    @property
    def uses_sequence(self) -> bool:
        """Whether its number is used on the ledger."""
        return self.outcome in (AttemptOutcome.SUCCESS, AttemptOutcome.FAILED)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The effects of a run's change besides its row.

    `changes` are the account's token movements, `closed_at` the ledger's close. `pause` pauses the
    plan, whatever the breaker says; `hits_ceiling` counts towards the fee ceiling's pause.
    `fee_now` is what a transaction costs now, where the plan pauses for a new quote; that pause is
    ignored for a run that has used its credit. `refused` is an attempt that did not fit a budget:
    where it fits by now, the run is due at once.
    """

    ended: EndedAttempt | None = None
    changes: tuple[TokenChange, ...] = ()
    closed_at: datetime | None = None
    pause: PauseReason | None = None
    hits_ceiling: bool = False
    fee_now: Stroops | None = None
    refused: Attempt | None = None
